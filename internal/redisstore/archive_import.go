package redisstore

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/memory/archive"
	"github.com/seed-56a03226/oneiros/internal/presence"
)

// How much one step of an import writes at most: some milliseconds of the server.
const (
	wordsAtOnce = 4000
	bytesAtOnce = 1 << 20
)

// importer is an import in progress.
type importer struct {
	*Store
	ctx   context.Context
	token string
	step  int
	now   string // the current mark, as far as known
	next  string // the mark of a step whose outcome is unknown

	words          []any // waiting commands
	bytes          int
	counters       memory.KeptCounters
	batch          batch
	vectorRevision int64

	attempted int64
}

func (f *importer) fill(records memory.Records) (given memory.Tally, err error) {
	for r, err := range archive.Through(records, &given) {
		if err == nil {
			err = f.ctx.Err()
		}
		if err == nil {
			err = f.importRecord(r)
		}
		if err != nil {
			return given, err
		}
	}
	if err := f.flush(); err != nil {
		return given, err
	}
	return given, f.verifyImport(f.ctx, given)
}

// do adds a command to the step.
func (f *importer) do(words ...any) error {
	f.words = append(append(f.words, len(words)), words...)
	for _, w := range words {
		switch w := w.(type) {
		case string:
			f.bytes += len(w)
		case []byte:
			f.bytes += len(w)
		}
	}
	if len(f.words) < wordsAtOnce && f.bytes < bytesAtOnce {
		return nil
	}
	return f.flush()
}

// flush writes the waiting commands.
func (f *importer) flush() error {
	if err := f.flushBatch(); err != nil || len(f.words) == 0 {
		return err
	}
	words := f.words
	f.words, f.bytes = nil, 0
	return f.advance(func(before, after string) (any, error) {
		return f.run(f.ctx, again, fillScript, nil, append([]any{before, after}, words...)...)
	})
}

// advance runs a step under the current mark, which leaves the next one.
func (f *importer) advance(do func(before, after string) (any, error)) error {
	f.step++
	f.next = f.token + " " + strconv.Itoa(f.step)
	return f.checkMark(do(f.now, f.next))
}

func (f *importer) checkMark(reply any, err error) error {
	if err != nil {
		return err
	}
	args, _ := reply.([]any)
	if text(args, 0) != "ok" {
		return fmt.Errorf("%w: their mark is %q", errLost, text(args, 1))
	}
	f.now, f.next = f.next, ""
	return nil
}

// recoverMark finds out which mark is current after a step whose outcome is unknown, and drops the waiting commands.
func (f *importer) recoverMark() error {
	f.words, f.bytes, f.batch = nil, 0, batch{}
	if f.next == "" {
		return nil
	}
	stands, err := f.currentMark(f.ctx)
	if err != nil {
		return err
	}
	if stands != f.now && stands != f.next {
		return errLost
	}
	f.now, f.next = stands, ""
	return nil
}

// mark ends the import: the keys are complete, or empty.
func (f *importer) mark(last string) error {
	f.next = last
	reply, err := f.run(f.ctx, again, fillScript, nil, f.now, last)
	return f.checkMark(reply, err)
}

func (f *importer) importRecord(r memory.Record) error {
	switch {
	case r.Feed != nil:
		return f.do("HSET", f.feedsKey(), r.Feed.Name, []byte(r.Feed.Body))
	case r.Agent != nil:
		return f.agent(*r.Agent)
	case r.Key != nil:
		if err := f.do("HSET", f.keysKey(), r.Key.ID, []byte(r.Key.Body)); err != nil {
			return err
		}
		return f.do("HSET", f.keyHashesKey(), r.Key.Hash, r.Key.ID)
	case r.Access != nil:
		return f.do("SET", f.keysRequiredKey(), map[bool]string{true: "1", false: "0"}[r.Access.KeysRequired])
	case r.Counters != nil:
		return f.importCounters(*r.Counters)
	case r.Lease != nil:
		l := r.Lease
		body, err := json.Marshal(storedLease{l.Client, presence.CauseOf(l.Cause), date(l.Since), date(l.Until)})
		if err != nil {
			return err
		}
		return f.do("HSET", f.key(l.Agent, leasesPart), l.Client, body)
	case r.Slot != nil:
		return f.slot(*r.Slot)
	case r.Affect != nil:
		body, err := json.Marshal(storedAffect{r.Affect.Cause, r.Affect.Affect})
		if err != nil {
			return err
		}
		return f.do("RPUSH", f.key(r.Affect.Agent, affectsPart), body)
	case r.Item != nil:
		return f.item(*r.Item)
	case r.Event != nil:
		return f.event(*r.Event)
	case r.Note != nil:
		return f.do("HSET", f.notesKey(r.Note.Agent, r.Note.Dream), r.Note.Key, r.Note.Value)
	}
	return f.ledger(r)
}

func (f *importer) agent(k memory.KeptAgent) error {
	var a dream.Agent
	if err := json.Unmarshal(k.Body, &a); err != nil || a.ID != k.ID || a.Handle != k.Handle {
		return fmt.Errorf("the body of agent %q has another id, or another handle than %q: %w", k.ID, k.Handle,
			memory.ErrAltered)
	}
	if err := f.do("HSET", f.set.prefix+"agents", k.ID, []byte(k.Body)); err != nil {
		return err
	}
	return f.do("HSET", f.set.prefix+"handles", k.Handle, k.ID)
}

func (f *importer) importCounters(k memory.KeptCounters) error {
	if err := f.flushBatch(); err != nil { // the waiting items belong to the agent before
		return err
	}
	f.counters, f.vectorRevision = k, 0
	words := []any{"HSET", f.key(k.Agent, countersPart), "pulse", 1, "fed", 1, "tallied", 1}
	set := func(name string, value any) { words = append(words, name, value) }
	for _, n := range []struct {
		name  string
		value int64
	}{
		{"seq", k.Seq},
		{"dreams", k.Dreams},
		{"scrubs", k.Scrubs},
		{"dim", int64(k.Dim)},
		{"epoch", k.Epoch},
		{"told", k.RecordedEpoch},
	} {
		if n.value != 0 {
			set(n.name, n.value)
		}
	}
	for _, t := range []struct{ name, value string }{
		{"space", k.Space},
		{"lock", date(k.Lock)},
		{"seen", date(k.Seen)},
	} {
		if t.value != "" {
			set(t.name, t.value)
		}
	}
	if k.Removed {
		set("removed", 1)
	}
	if len(k.Digest) > 0 {
		body, err := json.Marshal(k.Digest)
		if err != nil {
			return err
		}
		set("digest", body)
	}
	if w := k.Wake; w != nil {
		body, err := json.Marshal(storedWake{
			Agent:  k.Agent,
			Epoch:  w.Epoch,
			Cause:  presence.CauseOf(w.Cause),
			Client: w.Client,
			At:     date(w.At),
			Dream:  w.Dream,
			Digest: w.Digest,
			Affect: &importedAffect{w.Affect, w.Delta},
		})
		if err != nil {
			return err
		}
		set("last", body)
	}
	if err := f.do(words...); err != nil {
		return err
	}
	for _, c := range k.Collecting {
		if err := f.do("HSET", f.key(k.Agent, "spaces"), c.Space, c.Dim); err != nil {
			return err
		}
	}
	if k.RecordedEpoch < k.Epoch {
		return f.do("SADD", f.unrecordedKey(), escaped.Replace(k.Agent))
	}
	return nil
}

func (f *importer) slot(k memory.KeptSlot) error {
	key := f.key(k.Agent, slotPart)
	words := []any{
		"HSET", key, "dream", k.Dream, "run", k.Run, "epoch", k.Epoch, "workflow", k.Workflow, "cluster",
		k.Cluster, "since", date(k.Since),
	}
	if k.Mood != nil {
		body, err := json.Marshal(k.Mood)
		if err != nil {
			return err
		}
		words = append(words, "mood", body)
	}
	if err := f.do(words...); err != nil {
		return err
	}
	return f.do("HSET", f.set.prefix+"slots", k.Agent, key)
}

func (f *importer) event(k memory.KeptEvent) error {
	e := event.Event{
		ID:        k.ID,
		Schema:    k.Schema,
		Subsystem: k.Subsystem,
		Agent:     k.Agent,
		Dream:     k.Dream,
		Type:      k.Type,
		At:        k.At,
		Data:      json.RawMessage(k.Data),
	}
	envelope, data, err := encodeEvent(e)
	if err != nil {
		return err
	}
	if err := f.do("XADD", f.key(k.Agent, "events"), fmt.Sprintf("%d-0", k.Seq), "e", envelope, "d", data); err != nil {
		return err
	}
	return f.do("SADD", f.key(k.Agent, "announced"), k.ID)
}
