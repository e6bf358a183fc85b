package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/memory/archive"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
)

// Put takes the next record of an export or an import.
type Put = func(memory.Record) error

// ErrStopped ends an export whose reader has stopped.
var ErrStopped = errors.New("enough")

// Export makes a sequence of the records that a function puts. name is the store's, for errors.
func Export(name string, export func(Put) error) memory.Records {
	return func(yield func(memory.Record, error) bool) {
		err := export(func(r memory.Record) error {
			if !yield(r, nil) {
				return ErrStopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, ErrStopped) {
			yield(memory.Record{}, Wrap(err, "export ", name))
		}
	}
}

// Import checks records and puts them. After the last one it calls end, and then compares what was given with what the
// store exports (memory.ErrAltered).
func Import(
	ctx context.Context, given memory.Records, put Put, end func() error, kept memory.Records,
) (tally memory.Tally, err error) {
	for r, err := range archive.Through(given, &tally) {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = put(r)
		}
		if err != nil {
			return tally, err
		}
	}
	if err := end(); err != nil {
		return tally, err
	}
	stored, err := archive.Count(kept)
	if err == nil && stored != tally {
		err = fmt.Errorf("%w: given %+v, kept %+v", memory.ErrAltered, tally, stored)
	}
	return tally, err
}

// CheckAgent refuses an agent whose body disagrees with the id or handle that a store finds it by.
func CheckAgent(k memory.KeptAgent) error {
	var a dream.Agent
	if err := json.Unmarshal(k.Body, &a); err != nil || a.ID != k.ID || a.Handle != k.Handle {
		return fmt.Errorf("the body of agent %q has another id, or another handle than %q: %w", k.ID, k.Handle,
			memory.ErrAltered)
	}
	return nil
}

// ItemOf decodes a revision of an item. It refuses a body of another item.
func ItemOf(k memory.KeptItem, r memory.KeptRevision) (dream.Item, error) {
	item, err := dream.Decode(dream.Kind(k.Kind), r.Body)
	if err == nil {
		err = memory.ValidateItem(k.Agent, item)
	}
	if err != nil {
		return nil, err
	}
	if h := item.Header(); h.ID != k.ID || string(h.Kind) != k.Kind {
		return nil, fmt.Errorf("its body is that of the %s %s: %w", h.Kind, h.ID, memory.ErrAltered)
	}
	return item, nil
}

// EventRecord is an event as an archive holds it.
func EventRecord(e event.Event) memory.Record {
	return memory.Record{Event: &memory.KeptEvent{
		Agent:     e.Agent,
		Seq:       e.Seq,
		ID:        e.ID,
		Schema:    e.Schema,
		Subsystem: e.Subsystem,
		Dream:     e.Dream,
		Type:      e.Type,
		At:        e.At.UTC(),
		Data:      memory.Raw(e.Data),
	}}
}

// EventOf reverses EventRecord.
func EventOf(k memory.KeptEvent) event.Event {
	return event.Event{
		Agent:     k.Agent,
		Seq:       k.Seq,
		ID:        k.ID,
		Schema:    k.Schema,
		Subsystem: k.Subsystem,
		Dream:     k.Dream,
		Type:      k.Type,
		At:        k.At,
		Data:      json.RawMessage(k.Data),
	}
}

// WakeRecord is an agent's newest wake as an archive holds it; nil for none.
func WakeRecord(w *presence.Wake) *memory.KeptWake {
	if w == nil {
		return nil
	}
	k := &memory.KeptWake{
		Epoch:  w.Epoch,
		Cause:  string(w.Cause),
		Client: w.Client,
		At:     w.At.UTC(),
		Dream:  w.Dream,
		Affect: w.Affect,
		Delta:  w.Delta,
	}
	if len(w.Digest) > 0 {
		k.Digest = w.Digest
	}
	return k
}
