package redisstore

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/seed-56a03226/oneiros/internal/memory"
)

// exportAgent exports one agent.
func (r *reader) exportAgent(agent string, dreams []string) error {
	keys := []string{}
	for _, part := range []string{
		countersPart, slotPart, leasesPart, affectsPart, "items", "revisions", "events",
		"spaces",
	} {
		keys = append(keys, r.key(agent, part))
	}
	for _, dream := range dreams {
		keys = append(keys, r.notesKey(agent, dream))
	}
	if err := r.watch(keys...); err != nil {
		return err
	}
	counters, err := r.counters(agent)
	if err != nil {
		return err
	}
	for _, part := range []func() error{
		func() error { return r.leases(agent) }, func() error { return r.slot(agent) },
		func() error { return r.affects(agent) },
		func() error { return r.items(agent, counters) }, func() error { return r.events(agent) },
		func() error { return r.notes(agent, dreams) },
	} {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) counters(agent string) (memory.KeptCounters, error) {
	k := memory.KeptCounters{Agent: agent}
	values, err := r.tx.HGetAll(r.ctx, r.key(agent, countersPart)).Result()
	if err != nil {
		return k, err
	}
	dim := int64(0)
	for name, n := range map[string]*int64{
		"seq": &k.Seq, "dreams": &k.Dreams, "scrubs": &k.Scrubs, "dim": &dim,
		"epoch": &k.Epoch, "told": &k.RecordedEpoch,
	} {
		if values[name] == "" {
			continue
		}
		*n, err = strconv.ParseInt(values[name], 10, 64)
		if err != nil {
			return k, fmt.Errorf("its counter %s: %w", name, err)
		}
	}
	k.Space, k.Dim, k.Removed = values["space"], int(dim), values["removed"] != ""
	k.Lock, err = parseDate(values["lock"])
	if err != nil {
		return k, err
	}
	k.Seen, err = parseDate(values["seen"])
	if err != nil {
		return k, err
	}
	if values["digest"] != "" {
		if err := json.Unmarshal([]byte(values["digest"]), &k.Digest); err != nil {
			return k, fmt.Errorf("its digest: %w", err)
		}
	}
	if values["last"] != "" {
		w, err := readWake(values["last"])
		if err != nil {
			return k, err
		}
		k.Wake = &memory.KeptWake{
			Epoch:  w.Epoch,
			Cause:  string(w.Cause),
			Client: w.Client,
			At:     w.At,
			Dream:  w.Dream,
			Affect: w.Affect,
			Delta:  w.Delta,
			Digest: w.Digest,
		}
	}
	collecting, err := r.tx.HGetAll(r.ctx, r.key(agent, "spaces")).Result()
	if err != nil {
		return k, err
	}
	for _, space := range slices.Sorted(maps.Keys(collecting)) {
		n, err := strconv.Atoi(collecting[space])
		if err != nil {
			return k, fmt.Errorf("the dimension of space %q: %w", space, err)
		}
		k.Collecting = append(k.Collecting, memory.KeptSpace{Space: space, Dim: n})
	}
	if k.Blank() {
		return k, nil
	}
	return k, r.hold(memory.Record{Counters: &k}, 1000)
}

func (r *reader) leases(agent string) error {
	kept, err := r.tx.HGetAll(r.ctx, r.key(agent, leasesPart)).Result()
	if err != nil {
		return err
	}
	for _, client := range slices.Sorted(maps.Keys(kept)) {
		l, err := readLease(kept[client])
		if err != nil {
			return err
		}
		k := memory.KeptLease{
			Agent:  agent,
			Client: client,
			Cause:  string(l.Cause),
			Since:  l.Since,
			Until:  l.Until,
		}
		if err := r.hold(memory.Record{Lease: &k}, 100); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) slot(agent string) error {
	h, err := r.tx.HGetAll(r.ctx, r.key(agent, slotPart)).Result()
	if err != nil || h["dream"]+h["run"] == "" {
		return err
	}
	k := memory.KeptSlot{
		Agent:    agent,
		Dream:    h["dream"],
		Run:      h["run"],
		Workflow: h["workflow"],
		Cluster:  h["cluster"],
	}
	if h["epoch"] != "" {
		k.Epoch, err = strconv.ParseInt(h["epoch"], 10, 64)
		if err != nil {
			return err
		}
	}
	k.Since, err = parseDate(h["since"])
	if err != nil {
		return err
	}
	if h["mood"] != "" {
		k.Mood = &memory.Foreseen{}
		if err := json.Unmarshal([]byte(h["mood"]), k.Mood); err != nil {
			return err
		}
	}
	return r.hold(memory.Record{Slot: &k}, 500)
}

func (r *reader) affects(agent string) error {
	for from := int64(0); ; from += keysAtOnce {
		kept, err := r.tx.LRange(r.ctx, r.key(agent, affectsPart), from, from+keysAtOnce-1).Result()
		if err != nil || len(kept) == 0 {
			return err
		}
		for i, text := range kept {
			var f storedAffect
			if err := json.Unmarshal([]byte(text), &f); err != nil {
				return err
			}
			k := memory.KeptAffect{Agent: agent, Number: int(from) + i + 1, Cause: f.Cause, Affect: f.Affect}
			if err := r.hold(memory.Record{Affect: &k}, len(text)); err != nil {
				return err
			}
		}
	}
}

func (r *reader) events(agent string) error {
	for next := "-"; ; {
		found, err := r.tx.XRangeN(r.ctx, r.key(agent, "events"), next, "+", eventsAtOnce).Result()
		if err != nil || len(found) == 0 {
			return err
		}
		for _, m := range found {
			e, err := decodeEvent(m)
			if err != nil {
				return err
			}
			k := memory.KeptEvent{
				Agent:     agent,
				Seq:       e.Seq,
				ID:        e.ID,
				Schema:    e.Schema,
				Subsystem: e.Subsystem,
				Dream:     e.Dream,
				Type:      e.Type,
				At:        e.At.UTC(),
				Data:      memory.Raw(e.Data),
			}
			if err := r.hold(memory.Record{Event: &k}, 200+len(k.Data)); err != nil {
				return err
			}
			next = "(" + m.ID
		}
	}
}

func (r *reader) notes(agent string, dreams []string) error {
	for _, dream := range dreams {
		notes, err := r.tx.HGetAll(r.ctx, r.notesKey(agent, dream)).Result()
		if err != nil {
			return err
		}
		for _, key := range slices.Sorted(maps.Keys(notes)) {
			k := memory.KeptNote{Agent: agent, Dream: dream, Key: key, Value: []byte(notes[key])}
			if err := r.hold(memory.Record{Note: &k}, len(k.Value)); err != nil {
				return err
			}
		}
	}
	return nil
}
