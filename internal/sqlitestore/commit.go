package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

// undoCause begins the cause of what Undo writes; Undo reads it back, so nobody else may write it.
const undoCause = "undo:"

// Commit does a Write in one transaction.
func (s *Store) Commit(ctx context.Context, w memory.Write) (memory.Receipt, error) {
	var receipt memory.Receipt
	p, err := prepareWrite(w)
	if err == nil {
		write := s.write
		if w.Late {
			write = s.hurry
		}
		err = write(ctx, func(d deal) error {
			var err error
			receipt, err = s.commit(d, p)
			return err
		})
	}
	if err != nil {
		return memory.Receipt{}, fmt.Errorf("commit to the memory of %s: %w", w.Agent, err)
	}
	if len(w.Events) > 0 {
		s.bell.ring(w.Agent)
	}
	return receipt, nil
}

// prepared is a write whose items are rows already: encoding happens before the file's lock is taken.
type prepared struct {
	memory.Write
	add, change []row
}

func prepareWrite(w memory.Write) (prepared, error) {
	p := prepared{Write: w}
	if p.Cause == "" {
		p.Cause = w.Fence.Dream
	}
	if w.Agent == "" {
		return p, errors.New("the agent's id is empty")
	}
	if strings.HasPrefix(p.Cause, undoCause) {
		return p, fmt.Errorf("cause %q begins with %q, which only Undo may write", p.Cause, undoCause)
	}
	if err := checkWaking(w); err != nil {
		return p, err
	}
	var err error
	if p.add, err = rows(w.Agent, w.Add); err != nil {
		return p, err
	}
	if p.change, err = rows(w.Agent, w.Change); err != nil {
		return p, err
	}
	for _, v := range w.Vectors {
		if err := checkVector(v.Space, v.V); err != nil {
			return p, fmt.Errorf("vector of %s: %w", v.Item, err)
		}
	}
	for _, e := range w.Events {
		if e.Agent != w.Agent || e.ID == "" {
			return p, fmt.Errorf("event %q of agent %q: it needs an id, and the agent %q", e.ID, e.Agent, w.Agent)
		}
	}
	return p, nil
}

func (s *Store) commit(d deal, p prepared) (memory.Receipt, error) {
	var r memory.Receipt
	l, err := d.writable(p.Agent)
	if err != nil {
		return r, err
	}
	if err := d.fenced(p.Agent, p.Fence, p.Late); err != nil {
		return r, err
	}
	now := s.stamp()
	before := l
	next := l.tide + 1
	for _, row := range p.add {
		added, err := d.insert(row, p.Cause, now, next)
		if err != nil {
			return r, fmt.Errorf("add %s: %w", row.id, err)
		}
		if added {
			r.Added++
		} else {
			r.Known++
		}
	}
	written := map[string]bool{}
	for _, row := range p.change {
		if written[row.id] {
			row.read = 0 // the revision it was read at was the newest when this write began
		}
		written[row.id] = true
		changed, err := d.revise(row, p.Write, now, next)
		if err != nil {
			return r, fmt.Errorf("change %s: %w", row.id, err)
		}
		if changed {
			r.Changed++
		}
	}
	for _, v := range p.Vectors {
		if err := d.putVector(p.Agent, &l, v, next); err != nil {
			return r, fmt.Errorf("vector of %s: %w", v.Item, err)
		}
	}
	if r.Added > 0 || r.Changed > 0 || len(p.Vectors) > 0 {
		l.tide = next
	}
	if len(p.Vectors) > 0 && p.Fence == (memory.Fence{}) {
		if err := d.dropPlacing(p.Agent); err != nil {
			return r, err
		}
	}
	if p.Affect != nil {
		if err := d.putAffect(p.Agent, p.Cause, *p.Affect); err != nil {
			return r, err
		}
	}
	if p.Waking != nil {
		if err := d.foresee(p.Agent, p.Fence, *p.Waking); err != nil {
			return r, err
		}
	}
	for _, e := range p.Events {
		if err := d.appendEvent(e, &l.seq); err != nil {
			return r, fmt.Errorf("event %s: %w", e.ID, err)
		}
	}
	r.LastSeq = l.seq
	if l == before {
		return r, nil
	}
	return r, d.setLife(p.Agent, l)
}

// appendEvent gives the next sequence number, unless the agent's log has an event of this id.
func (d deal) appendEvent(e event.Event, seq *int64) error {
	var data any
	if e.Data != nil {
		data = string(e.Data)
	}
	n, err := d.exec(`INSERT INTO events (agent, seq, id, schema, subsystem, dream, type, at, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (agent, id) DO NOTHING`, e.Agent, *seq+1, e.ID, e.Schema, e.Subsystem, e.Dream, e.Type, date(e.At), data)
	*seq += n
	return err
}
