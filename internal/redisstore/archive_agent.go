package redisstore

import (
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// agent exports one agent.
func (r *reader) agent(agent string, dreams []string) {
	for _, part := range []string{
		countersPart, slotPart, leasesPart, affectsPart, "items", "revisions", "events", "spaces",
	} {
		r.watch(r.key(agent, part))
	}
	for _, dream := range dreams {
		r.watch(r.notesKey(agent, dream))
	}
	counters := r.counters(agent)
	r.leases(agent)
	r.slot(agent)
	r.affects(agent)
	r.items(agent, counters)
	r.events(agent)
	for _, dream := range dreams {
		r.each(r.notesKey(agent, dream), func(key, value string) {
			k := memory.KeptNote{Agent: agent, Dream: dream, Key: key, Value: []byte(value)}
			r.hold(memory.Record{Note: &k}, len(value))
		})
	}
}

func (r *reader) counters(agent string) memory.KeptCounters {
	values := r.hash(r.key(agent, countersPart))
	number := func(name string) int64 { return r.number(values[name]) }
	k := memory.KeptCounters{
		Agent:         agent,
		Seq:           number("seq"),
		Dreams:        number("dreams"),
		Scrubs:        number("scrubs"),
		Space:         values["space"],
		Dim:           int(number("dim")),
		Epoch:         number("epoch"),
		RecordedEpoch: number("told"),
		Lock:          r.time(values["lock"]),
		Seen:          r.time(values["seen"]),
		Removed:       values["removed"] != "",
		Aged:          memory.Aged{Undo: r.time(values[undoFromField]), Details: r.time(values[detailsFromField])},
	}
	r.json(values["digest"], &k.Digest)
	if values["last"] != "" {
		w, err := readWake(values["last"])
		r.fail(err)
		k.Wake = store.WakeRecord(&w)
	}
	r.each(r.key(agent, "spaces"), func(space, dim string) {
		k.Collecting = append(k.Collecting, memory.KeptSpace{Space: space, Dim: int(r.number(dim))})
	})
	if !k.Blank() {
		r.hold(memory.Record{Counters: &k}, 1000)
	}
	return k
}

func (r *reader) leases(agent string) {
	r.each(r.key(agent, leasesPart), func(client, kept string) {
		l, err := readLease(kept)
		r.fail(err)
		r.hold(memory.Record{Lease: &memory.KeptLease{
			Agent:  agent,
			Client: client,
			Cause:  string(l.Cause),
			Since:  l.Since,
			Until:  l.Until,
		}}, 100)
	})
}

func (r *reader) slot(agent string) {
	h := r.hash(r.key(agent, slotPart))
	if h["dream"]+h["run"] == "" {
		return
	}
	k := memory.KeptSlot{
		Agent:    agent,
		Dream:    h["dream"],
		Run:      h["run"],
		Workflow: h["workflow"],
		Cluster:  h["cluster"],
		Epoch:    r.number(h["epoch"]),
		Since:    r.time(h["since"]),
	}
	r.json(h["mood"], &k.Mood)
	r.hold(memory.Record{Slot: &k}, 500)
}

func (r *reader) affects(agent string) {
	for from := 0; r.err == nil; from += keysAtOnce {
		kept, err := r.tx.LRange(r.ctx, r.key(agent, affectsPart), int64(from), int64(from+keysAtOnce-1)).Result()
		r.fail(err)
		if len(kept) == 0 {
			return
		}
		for i, text := range kept {
			var a store.Affect
			r.json(text, &a)
			k := memory.KeptAffect{Agent: agent, Number: from + i + 1, Cause: a.Cause, Affect: a.Affect}
			r.hold(memory.Record{Affect: &k}, len(text))
		}
	}
}

func (r *reader) events(agent string) {
	for next := "-"; r.err == nil; {
		found, err := r.tx.XRangeN(r.ctx, r.key(agent, "events"), next, "+", eventsAtOnce).Result()
		r.fail(err)
		if len(found) == 0 {
			return
		}
		for _, m := range found {
			e, err := decodeEvent(m)
			r.fail(err)
			e.Agent = agent
			r.hold(store.EventRecord(e), 200+len(e.Data))
			next = "(" + m.ID
		}
	}
}
