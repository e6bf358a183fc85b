package sqlitestore

import (
	"encoding/json"

	"github.com/seed-56a03226/oneiros/internal/memory"
)

type recordFunc = func(memory.Record) error

// export returns every record in the order of an archive.
func (d tx) export(put recordFunc) error {
	if err := d.exportNames(put); err != nil {
		return err
	}
	var agents []string
	err := d.each(
		`SELECT agent FROM lives UNION SELECT agent FROM presences UNION SELECT agent FROM leases UNION SELECT agent FROM slots
		UNION SELECT agent FROM affects UNION SELECT agent FROM items UNION SELECT agent FROM moves UNION SELECT agent FROM events
		UNION SELECT agent FROM notes ORDER BY 1`, nil, func(scan func(...any) error) error {
			var agent string
			err := scan(&agent)
			agents = append(agents, agent)
			return err
		})
	if err != nil {
		return err
	}
	for _, agent := range agents {
		for _, part := range []func(string, recordFunc) error{
			d.exportCounters, d.exportLeases, d.exportSlot, d.exportAffects, d.exportItems, d.exportEvents,
			d.exportNotes,
		} {
			if err := part(agent, put); err != nil {
				return err
			}
		}
	}
	return d.exportLedger(put)
}

func (d tx) exportNames(put recordFunc) error {
	err := d.each("SELECT name, body FROM feeds ORDER BY name", nil, func(scan func(...any) error) error {
		var f memory.KeptFeed
		if err := scan(&f.Name, (*[]byte)(&f.Body)); err != nil {
			return err
		}
		return put(memory.Record{Feed: &f})
	})
	if err != nil {
		return err
	}
	err = d.each("SELECT id, handle, body FROM agents ORDER BY id", nil, func(scan func(...any) error) error {
		var a memory.KeptAgent
		if err := scan(&a.ID, &a.Handle, (*[]byte)(&a.Body)); err != nil {
			return err
		}
		return put(memory.Record{Agent: &a})
	})
	if err != nil {
		return err
	}
	some := false
	err = d.each("SELECT id, hash, body FROM keys ORDER BY id", nil, func(scan func(...any) error) error {
		var k memory.KeptKey
		if err := scan(&k.ID, &k.Hash, (*[]byte)(&k.Body)); err != nil {
			return err
		}
		some = true
		return put(memory.Record{Key: &k})
	})
	if err != nil {
		return err
	}
	required, err := d.keysRequired()
	if err != nil || required == some {
		return err
	}
	return put(memory.Record{Access: &memory.KeptAccess{KeysRequired: required}})
}

func (d tx) exportCounters(agent string, put recordFunc) error {
	l, err := d.counters(agent)
	if err != nil {
		return err
	}
	v, err := d.presenceRow(agent)
	if err != nil {
		return err
	}
	k := memory.KeptCounters{
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
	}
	if len(v.digest) > 0 {
		k.Digest = v.digest
	}
	if w := v.last; w != nil {
		k.Wake = &memory.KeptWake{
			Epoch:  w.Epoch,
			Cause:  string(w.Cause),
			Client: w.Client,
			At:     w.At.UTC(),
			Dream:  w.Dream,
			Affect: w.Affect,
			Delta:  w.Delta,
		}
		if len(w.Digest) > 0 {
			k.Wake.Digest = w.Digest
		}
	}
	err = d.each("SELECT space, dim FROM moves WHERE agent = ? ORDER BY space", []any{agent},
		func(scan func(...any) error) error {
			var s memory.KeptSpace
			err := scan(&s.Space, &s.Dim)
			k.Collecting = append(k.Collecting, s)
			return err
		})
	if err != nil || k.Blank() {
		return err
	}
	return put(memory.Record{Counters: &k})
}

func (d tx) exportLeases(agent string, put recordFunc) error {
	return d.each("SELECT client, cause, since, until FROM leases WHERE agent = ? ORDER BY client", []any{agent},
		func(scan func(...any) error) error {
			l := memory.KeptLease{Agent: agent}
			var since, until int64
			if err := scan(&l.Client, &l.Cause, &since, &until); err != nil {
				return err
			}
			l.Since, l.Until = fromNanos(since), fromNanos(until)
			return put(memory.Record{Lease: &l})
		})
}

func (d tx) exportSlot(agent string, put recordFunc) error {
	held, err := d.slot(agent)
	if err != nil || held.Same(memory.Fence{}) {
		return err
	}
	k := memory.KeptSlot{
		Agent:    agent,
		Dream:    held.Dream,
		Run:      held.Run,
		Workflow: held.Workflow,
		Cluster:  held.Cluster,
		Since:    held.Since,
		Epoch:    held.Epoch,
	}
	var left []byte
	if _, err := d.one("SELECT mood FROM slots WHERE agent = ?", []any{agent}, &left); err != nil {
		return err
	}
	if left != nil {
		k.Mood = &memory.Foreseen{}
		if err := json.Unmarshal(left, k.Mood); err != nil {
			return err
		}
	}
	return put(memory.Record{Slot: &k})
}

func (d tx) exportAffects(agent string, put recordFunc) error {
	return d.each("SELECT number, cause, body FROM affects WHERE agent = ? ORDER BY number", []any{agent},
		func(scan func(...any) error) error {
			a := memory.KeptAffect{Agent: agent}
			var body []byte
			if err := scan(&a.Number, &a.Cause, &body); err != nil {
				return err
			}
			if err := json.Unmarshal(body, &a.Affect); err != nil {
				return err
			}
			return put(memory.Record{Affect: &a})
		})
}

func (d tx) exportEvents(agent string, put recordFunc) error {
	return d.each("SELECT "+eventColumns+" FROM events WHERE agent = ? ORDER BY seq", []any{agent},
		func(scan func(...any) error) error {
			e, err := readEvent(agent, scan)
			if err != nil {
				return err
			}
			return put(memory.Record{Event: &memory.KeptEvent{
				Agent:     agent,
				Seq:       e.Seq,
				ID:        e.ID,
				Schema:    e.Schema,
				Subsystem: e.Subsystem,
				Dream:     e.Dream,
				Type:      e.Type,
				At:        e.At,
				Data:      memory.Raw(e.Data),
			}})
		})
}

func (d tx) exportNotes(agent string, put recordFunc) error {
	return d.each("SELECT dream, name, value FROM notes WHERE agent = ? ORDER BY dream, name", []any{agent},
		func(scan func(...any) error) error {
			n := memory.KeptNote{Agent: agent}
			if err := scan(&n.Dream, &n.Key, &n.Value); err != nil {
				return err
			}
			n.Value = append([]byte{}, n.Value...)
			return put(memory.Record{Note: &n})
		})
}

func (d tx) exportLedger(put recordFunc) error {
	err := d.each(
		`SELECT forgotten, step, attempt, agent, dream, phase, model, day, accounts, reserved, counted, state, tokens, finish, at, ended, latest, packed
		FROM attempts ORDER BY key`, nil, func(scan func(...any) error) error {
			var forgotten bool
			row, err := scanRow(func(dest ...any) error { return scan(append([]any{&forgotten}, dest...)...) })
			if err != nil {
				return err
			}
			a := memory.KeptAttempt{
				Step:      row.Step,
				Attempt:   row.Attempt,
				Agent:     row.Agent,
				Dream:     row.Dream,
				Phase:     row.Phase,
				Model:     row.Model,
				Day:       row.Day,
				Reserved:  row.Reserved,
				Counted:   row.Counted,
				State:     string(row.State),
				Tokens:    row.Tokens,
				Finish:    row.Finish,
				At:        row.At,
				Ended:     row.Ended,
				Latest:    row.Latest,
				Forgotten: forgotten,
			}
			if len(row.Accounts) > 0 {
				a.Accounts = row.Accounts
			}
			return put(memory.Record{Attempt: &a})
		})
	if err != nil {
		return err
	}
	err = d.each("SELECT scope, reserved, spent FROM accounts ORDER BY scope", nil,
		func(scan func(...any) error) error {
			var a memory.KeptAccount
			if err := scan(&a.Scope, &a.Reserved, &a.Spent); err != nil {
				return err
			}
			return put(memory.Record{Account: &a})
		})
	if err != nil {
		return err
	}
	err = d.each("SELECT step, answer FROM answers ORDER BY step", nil, func(scan func(...any) error) error {
		var a memory.KeptAnswer
		if err := scan(&a.Step, &a.Answer); err != nil {
			return err
		}
		a.Answer = append([]byte{}, a.Answer...)
		return put(memory.Record{Answer: &a})
	})
	if err != nil {
		return err
	}
	return d.each("SELECT dream, agent, day, amount FROM allowances ORDER BY dream", nil,
		func(scan func(...any) error) error {
			var a memory.KeptAllowance
			if err := scan(&a.Dream, &a.Agent, &a.Day, &a.Amount); err != nil {
				return err
			}
			return put(memory.Record{Allowance: &a})
		})
}
