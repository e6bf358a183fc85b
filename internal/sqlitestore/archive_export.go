package sqlitestore

import (
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// exporter returns every record of a snapshot in the order of an archive.
type exporter struct {
	book
	put store.Put
}

// give returns a record, unless reading it has failed.
func (x *exporter) give(r memory.Record) {
	if x.err == nil {
		x.fail(x.put(r))
	}
}

// export gives the record that record makes of every row of a query.
func (x *exporter) export(query string, args []any, record func(scan scanner) memory.Record) {
	x.each(query, args, func(scan scanner) { x.give(record(scan)) })
}

func (x *exporter) all() {
	x.names()
	for _, agent := range column[string](x.tx,
		`SELECT agent FROM lives UNION SELECT agent FROM presences UNION SELECT agent FROM leases UNION SELECT agent FROM slots
		UNION SELECT agent FROM affects UNION SELECT agent FROM items UNION SELECT agent FROM moves UNION SELECT agent FROM events
		UNION SELECT agent FROM notes ORDER BY 1`) {
		x.agent(agent)
	}
	x.roomRecords()
	x.ledger()
}

func (x *exporter) names() {
	x.export("SELECT name, body FROM feeds ORDER BY name", nil, func(scan scanner) memory.Record {
		var f memory.KeptFeed
		scan(&f.Name, (*[]byte)(&f.Body))
		return memory.Record{Feed: &f}
	})
	x.export("SELECT id, handle, body FROM agents ORDER BY id", nil, func(scan scanner) memory.Record {
		var a memory.KeptAgent
		scan(&a.ID, &a.Handle, (*[]byte)(&a.Body))
		return memory.Record{Agent: &a}
	})
	some := false
	x.export("SELECT id, hash, body FROM keys ORDER BY id", nil, func(scan scanner) memory.Record {
		var k memory.KeptKey
		scan(&k.ID, &k.Hash, (*[]byte)(&k.Body))
		some = true
		return memory.Record{Key: &k}
	})
	if required := x.keysRequired(); required != some {
		x.give(memory.Record{Access: &memory.KeptAccess{KeysRequired: required}})
	}
}

func (x *exporter) agent(agent string) {
	if k := x.keptCounters(agent); !k.Blank() {
		x.give(memory.Record{Counters: &k})
	}
	args := []any{agent}
	x.export("SELECT client, cause, since, until FROM leases WHERE agent = ? ORDER BY client", args,
		func(scan scanner) memory.Record {
			l := memory.KeptLease{Agent: agent}
			scan(&l.Client, &l.Cause, (*sortedTime)(&l.Since), (*sortedTime)(&l.Until))
			return memory.Record{Lease: &l}
		})
	x.export("SELECT dream, run, workflow, cluster, since, epoch, mood FROM slots WHERE agent = ?", args,
		func(scan scanner) memory.Record {
			k := memory.KeptSlot{Agent: agent}
			scan(&k.Dream, &k.Run, &k.Workflow, &k.Cluster, (*textTime)(&k.Since), &k.Epoch, jsonText{&k.Mood})
			return memory.Record{Slot: &k}
		})
	for i, a := range x.affects(agent) {
		x.give(memory.Record{Affect: &memory.KeptAffect{Agent: agent, Number: i + 1, Cause: a.Cause, Affect: a.Affect}})
	}
	x.items(agent)
	x.export("SELECT "+eventColumns+" FROM events WHERE agent = ? ORDER BY seq", args,
		func(scan scanner) memory.Record { return store.EventRecord(x.readEvent(agent, scan)) })
	x.export("SELECT dream, name, value FROM notes WHERE agent = ? ORDER BY dream, name", args,
		func(scan scanner) memory.Record {
			n := memory.KeptNote{Agent: agent, Value: []byte{}}
			scan(&n.Dream, &n.Key, &n.Value)
			n.Value = append([]byte{}, n.Value...)
			return memory.Record{Note: &n}
		})
}

func (x *exporter) keptCounters(agent string) memory.KeptCounters {
	l, v := x.counters(agent), x.presenceRow(agent)
	return memory.KeptCounters{
		Agent:         agent,
		Seq:           l.seq,
		Dreams:        l.dreams,
		Scrubs:        l.scrubs,
		Space:         l.space,
		Dim:           int(l.dim),
		Epoch:         v.epoch,
		RecordedEpoch: v.recorded,
		Lock:          v.lock,
		Seen:          v.seen,
		Removed:       l.removed,
		Aged:          l.aged,
		Digest:        v.digest,
		Wake:          store.WakeRecord(v.last),
		Collecting: rows(x.tx, "SELECT space, dim FROM moves WHERE agent = ? ORDER BY space", []any{agent},
			func(scan scanner) (s memory.KeptSpace) {
				scan(&s.Space, &s.Dim)
				return s
			}),
	}
}

func (x *exporter) ledger() {
	x.export("SELECT "+attemptColumns+" FROM attempts ORDER BY key", nil, func(scan scanner) memory.Record {
		a := x.readAttempt(scan)
		return memory.Record{Attempt: &a}
	})
	for _, s := range x.sortedSums() {
		x.give(memory.Record{Sum: &s})
	}
	x.export("SELECT scope, reserved, spent FROM accounts ORDER BY scope", nil, func(scan scanner) memory.Record {
		var a memory.KeptAccount
		scan(&a.Scope, &a.Reserved, &a.Spent)
		return memory.Record{Account: &a}
	})
	x.export("SELECT step, answer FROM answers ORDER BY step", nil, func(scan scanner) memory.Record {
		var a memory.KeptAnswer
		scan(&a.Step, &a.Answer)
		a.Answer = append([]byte{}, a.Answer...)
		return memory.Record{Answer: &a}
	})
	x.export("SELECT dream, agent, day, amount FROM allowances ORDER BY dream", nil, func(scan scanner) memory.Record {
		var a memory.KeptAllowance
		scan(&a.Dream, &a.Agent, &a.Day, &a.Amount)
		return memory.Record{Allowance: &a}
	})
}
