package sqlitestore

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/presence"
)

// importer inserts records into empty tables.
type importer struct {
	tx
	counters memory.KeptCounters // of the agent whose records come
}

func (f *importer) importRecord(r memory.Record) error {
	switch {
	case r.Feed != nil:
		return f.put("INSERT INTO feeds (name, body) VALUES (?, ?)", r.Feed.Name, string(r.Feed.Body))
	case r.Agent != nil:
		return f.agent(*r.Agent)
	case r.Key != nil:
		if err := f.requireKeys(true); err != nil {
			return err
		}
		return f.put("INSERT INTO keys (id, hash, body) VALUES (?, ?, ?)", r.Key.ID, r.Key.Hash, string(r.Key.Body))
	case r.Access != nil:
		return f.requireKeys(r.Access.KeysRequired)
	case r.Counters != nil:
		return f.importCounters(*r.Counters)
	case r.Lease != nil:
		return f.lease(*r.Lease)
	case r.Slot != nil:
		return f.slots(*r.Slot)
	case r.Affect != nil:
		a := r.Affect
		body, err := json.Marshal(a.Affect)
		if err != nil {
			return err
		}
		return f.put("INSERT INTO affects (agent, number, cause, body) VALUES (?, ?, ?, ?)", a.Agent, a.Number,
			a.Cause, string(body))
	case r.Item != nil:
		return f.item(*r.Item)
	case r.Event != nil:
		return f.event(*r.Event)
	case r.Note != nil:
		n := r.Note
		return f.put("INSERT INTO notes (agent, dream, name, value) VALUES (?, ?, ?, ?)", n.Agent, n.Dream, n.Key,
			n.Value)
	case r.Attempt != nil:
		return f.attempt(*r.Attempt)
	case r.Account != nil:
		return nil // the accounts are computed from the attempts
	case r.Answer != nil:
		return f.put("INSERT INTO answers (step, answer) VALUES (?, ?)", r.Answer.Step, r.Answer.Answer)
	case r.Allowance != nil:
		a := r.Allowance
		return f.put("INSERT INTO allowances (dream, agent, day, amount) VALUES (?, ?, ?, ?)", a.Dream, a.Agent,
			a.Day, int64(a.Amount))
	}
	return nil
}

func (f *importer) put(query string, args ...any) error {
	_, err := f.exec(query, args...)
	return err
}

func (f *importer) agent(k memory.KeptAgent) error {
	var a dream.Agent
	if err := json.Unmarshal(k.Body, &a); err != nil || a.ID != k.ID || a.Handle != k.Handle {
		return fmt.Errorf("the body of agent %q has another id, or another handle than %q: %w", k.ID, k.Handle,
			memory.ErrAltered)
	}
	return f.put("INSERT INTO agents (id, handle, body) VALUES (?, ?, ?)", k.ID, k.Handle, string(k.Body))
}

func (f *importer) importCounters(k memory.KeptCounters) error {
	f.counters = k
	l := agentCounters{
		seq:            k.Seq,
		dreams:         k.Dreams,
		dim:            int64(k.Dim),
		scrubs:         k.Scrubs,
		space:          k.Space,
		vectorRevision: filledVectorRevision,
		removed:        k.Removed,
	}
	if err := f.setCounters(k.Agent, l); err != nil {
		return err
	}
	for _, c := range k.Collecting {
		if err := f.put("INSERT INTO moves (agent, space, dim) VALUES (?, ?, ?)", k.Agent, c.Space, c.Dim); err != nil {
			return err
		}
	}
	if k.Epoch == 0 && k.Lock.IsZero() && k.Seen.IsZero() && len(k.Digest) == 0 {
		return nil
	}
	if err := f.sortable(k.Lock, k.Seen); err != nil {
		return err
	}
	v := presenceRow{
		epoch:    k.Epoch,
		recorded: k.RecordedEpoch,
		lock:     k.Lock,
		seen:     k.Seen,
		digest:   k.Digest,
	}
	if w := k.Wake; w != nil {
		v.last = &presence.Wake{
			Agent:  k.Agent,
			Epoch:  w.Epoch,
			Cause:  presence.CauseOf(w.Cause),
			Client: w.Client,
			At:     w.At,
			Dream:  w.Dream,
			Affect: w.Affect,
			Delta:  w.Delta,
			Digest: append([]string{}, w.Digest...),
		}
	}
	return f.setPresenceRow(k.Agent, v)
}

// filledVectorRevision is the vector revision of every imported item.
const filledVectorRevision = 1

// sortable refuses times that the file could store only as its earliest or latest one.
func (f *importer) sortable(times ...time.Time) error {
	for _, t := range times {
		if !t.IsZero() && !fromNanos(nanos(t)).Equal(t) {
			return fmt.Errorf("the time %s lies outside of what a SQLite store can sort, 1678 to 2262",
				t.Format(time.RFC3339))
		}
	}
	return nil
}

func (f *importer) lease(l memory.KeptLease) error {
	if err := f.sortable(l.Since, l.Until); err != nil {
		return err
	}
	return f.put("INSERT INTO leases (agent, client, cause, since, until) VALUES (?, ?, ?, ?, ?)", l.Agent, l.Client,
		l.Cause, nanos(l.Since), nanos(l.Until))
}

func (f *importer) slots(k memory.KeptSlot) error {
	var left any
	if k.Mood != nil {
		body, err := json.Marshal(k.Mood)
		if err != nil {
			return err
		}
		left = string(body)
	}
	return f.put(
		"INSERT INTO slots (agent, dream, run, workflow, cluster, since, epoch, mood) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		k.Agent, k.Dream, k.Run, k.Workflow, k.Cluster, date(k.Since), k.Epoch, left)
}

func (f *importer) item(k memory.KeptItem) error {
	numbers := k.Numbers()
	for i, r := range k.Revisions {
		if err := f.sortable(r.At); err != nil {
			return err
		}
		row, err := f.row(k, r)
		if err != nil {
			return fmt.Errorf("item %s, revision %d: %w", k.ID, numbers[i], err)
		}
		if i+1 < len(numbers) {
			kept := storeText(row.body, row.head.Dream, k.ID)
			err = f.put(
				"INSERT INTO revisions (agent, id, number, kind, cause, at, body, packed) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
				k.Agent, k.ID, numbers[i], string(k.Kind), r.Cause, r.At.UnixNano(), kept.text, kept.packed)
		} else {
			err = f.newest(k, row, numbers[i], r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// row computes the columns that a revision is sorted by; its body stays as it is.
func (f *importer) row(k memory.KeptItem, r memory.KeptRevision) (row, error) {
	item, err := dream.Decode(k.Kind, r.Body)
	if err != nil {
		return row{}, err
	}
	w, err := encode(k.Agent, item)
	if err != nil {
		return row{}, err
	}
	if w.id != k.ID || w.head.Kind != k.Kind {
		return row{}, fmt.Errorf("its body is that of the %s %s: %w", w.head.Kind, w.id, memory.ErrAltered)
	}
	w.body = string(r.Body)
	return w, nil
}

func (f *importer) newest(k memory.KeptItem, r row, number int, kept memory.KeptRevision) error {
	own := f.counters.Space
	if f.counters.Agent != k.Agent {
		own = ""
	}
	bare := true
	for _, v := range k.Vectors {
		bare = bare && v.Space != own
		numbers := make([]float32, len(v.V)/4)
		if err := (storedVector{v: v.V}).read(numbers); err != nil {
			return fmt.Errorf("vector of %s: %w", k.ID, err)
		}
		kept := storeVector(numbers, r.head.Dream)
		if err := f.put("INSERT INTO vectors (agent, id, space, kind, live, v, numbers) VALUES (?, ?, ?, ?, ?, ?, ?)",
			k.Agent, k.ID, v.Space, string(k.Kind), r.head.State == dream.Live, kept.v, kept.numbers); err != nil {
			return err
		}
	}
	body := storeText(r.body, r.head.Dream, r.text, r.id)
	return f.put(
		`INSERT INTO items (agent, id, kind, state, at, salience, surprise, score, due, status, session, dream, bare,
		revision, cause, changed, text, body, owner, dreamt, tide, packed)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		k.Agent, k.ID, string(k.Kind), string(r.head.State), nanos(r.head.At), r.marks.Salience, r.marks.Surprise,
		r.marks.Score, r.due(),
		r.marks.Status, r.marks.Session, r.head.Dream, bare, number, kept.Cause, kept.At.UnixNano(), r.text, body.text,
		r.marks.Owner, r.head.Dreamt(), filledVectorRevision, body.packed)
}

func (f *importer) event(k memory.KeptEvent) error {
	e := event.Event{
		ID:        k.ID,
		Seq:       k.Seq,
		Schema:    k.Schema,
		Subsystem: k.Subsystem,
		Agent:     k.Agent,
		Dream:     k.Dream,
		Type:      k.Type,
		At:        k.At,
	}
	if len(k.Data) > 0 {
		e.Data = json.RawMessage(k.Data)
	}
	short, err := packEvent(e)
	if err == nil {
		_, err = f.putEvent(e, short)
	}
	return err
}

func (f *importer) attempt(a memory.KeptAttempt) error {
	accounts, err := json.Marshal(a.Accounts)
	if err != nil {
		return err
	}
	kept := storeText(string(accounts), a.Dream, a.Step)
	tokens, err := json.Marshal(a.Tokens)
	if err != nil {
		return err
	}
	if err := f.put(
		`INSERT INTO attempts (step, attempt, agent, dream, phase, model, day, accounts, reserved, counted, state, tokens, finish,
		at, ended, latest, forgotten, packed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, a.Step,
		a.Attempt, a.Agent, a.Dream, a.Phase, a.Model,
		a.Day, kept.text, int64(a.Reserved), int64(a.Counted), a.State, string(tokens), a.Finish, date(a.At),
		date(a.Ended), a.Latest, a.Forgotten, kept.packed); err != nil {
		return err
	}
	column := "spent"
	if a.State == memory.OpenAttempt {
		column = "reserved"
	}
	for _, scope := range scopes(a.Accounts) {
		if err := f.put("INSERT INTO accounts (scope, reserved, spent) VALUES (?, 0, 0) ON CONFLICT DO NOTHING",
			scope); err != nil {
			return err
		}
		if err := f.put("UPDATE accounts SET "+column+" = min(?, "+column+") + ? WHERE scope = ?",
			math.MaxInt64-int64(a.Counted), int64(a.Counted), scope); err != nil {
			return err
		}
	}
	return nil
}
