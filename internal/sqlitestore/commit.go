package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

// undoCause is the prefix of the cause that Undo writes. Undo reads it back, so nothing else may write it.
const undoCause = "undo:"

// Commit applies a Write in one transaction.
func (s *Store) Commit(ctx context.Context, w memory.Write) (memory.Receipt, error) {
	var receipt memory.Receipt
	p, err := prepareWrite(w)
	if err == nil {
		write := s.write
		if w.Late {
			write = s.writeUrgent
		}
		err = write(ctx, func(d tx) error {
			var err error
			receipt, err = s.commit(d, p)
			return err
		})
	}
	if err != nil {
		return memory.Receipt{}, fmt.Errorf("commit to the memory of %s: %w", w.Agent, err)
	}
	if len(w.Events) > 0 {
		s.feeds.notify(w.Agent)
	}
	return receipt, nil
}

// preparedWrite is a write whose items are encoded already, so that encoding happens before the file's lock is taken.
type preparedWrite struct {
	memory.Write
	add, change []row
	vectors     []storedVector
	events      [][]byte // packed
}

func prepareWrite(w memory.Write) (preparedWrite, error) {
	p := preparedWrite{Write: w}
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
	p.add, err = rows(w.Agent, w.Add)
	if err != nil {
		return p, err
	}
	p.change, err = rows(w.Agent, w.Change)
	if err != nil {
		return p, err
	}
	for _, v := range w.Vectors {
		if err := checkVector(v.Space, v.V); err != nil {
			return p, fmt.Errorf("vector of %s: %w", v.Item, err)
		}
		p.vectors = append(p.vectors, storeVector(v.V, w.Fence.Dream))
	}
	for _, e := range w.Events {
		if e.Agent != w.Agent || e.ID == "" {
			return p, fmt.Errorf("event %q of agent %q: it needs an id, and the agent %q", e.ID, e.Agent, w.Agent)
		}
		short, err := packEvent(e)
		if err != nil {
			return p, err
		}
		p.events = append(p.events, short)
	}
	return p, nil
}

func (s *Store) commit(d tx, p preparedWrite) (memory.Receipt, error) {
	var r memory.Receipt
	l, err := d.writable(p.Agent)
	if err != nil {
		return r, err
	}
	if err := d.checkFence(p.Agent, p.Fence, p.Late); err != nil {
		return r, err
	}
	if err := l.checkReading(p.Fence.Read); err != nil {
		return r, err
	}
	now := s.stamp()
	before := l
	next := l.vectorRevision + 1
	for _, row := range p.add {
		added, err := d.insert(row, p.Cause, now, next)
		if err != nil {
			return r, fmt.Errorf("add %s: %w", row.id, err)
		}
		if added {
			r.Added++
		} else {
			r.Existing++
		}
	}
	written := map[string]bool{}
	for _, row := range p.change {
		if written[row.id] {
			row.read = 0 // the revision that was read was the newest when this write began
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
	for i, v := range p.Vectors {
		if err := d.putVector(p.Agent, &l, v, p.vectors[i], next); err != nil {
			return r, fmt.Errorf("vector of %s: %w", v.Item, err)
		}
	}
	if r.Added > 0 || r.Changed > 0 || len(p.Vectors) > 0 {
		l.vectorRevision = next
	}
	if len(p.Vectors) > 0 && p.Fence.Awake() {
		if err := d.dropEmbeddings(p.Agent); err != nil {
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
	for i, e := range p.Events {
		if err := d.appendEvent(e, p.events[i], &l.seq); err != nil {
			return r, fmt.Errorf("event %s: %w", e.ID, err)
		}
	}
	r.LastSeq = l.seq
	if l == before {
		return r, nil
	}
	return r, d.setCounters(p.Agent, l)
}

// appendEvent assigns the next sequence number, unless the agent's log has an event with this id.
func (d tx) appendEvent(e event.Event, short []byte, seq *int64) error {
	e.Seq = *seq + 1
	n, err := d.putEvent(e, short)
	*seq += n
	return err
}

// putEvent inserts an event that the agent's log does not have yet, in its packed form if it has one.
func (d tx) putEvent(e event.Event, short []byte) (int64, error) {
	const insert = "INSERT INTO events (agent, seq, id, schema, subsystem, dream, type, at, data, packed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) " +
		"ON CONFLICT (agent, id) DO NOTHING"
	if short != nil {
		return d.exec(insert, e.Agent, e.Seq, e.ID, 0, "", "", "", "", nil, short)
	}
	var data any
	if e.Data != nil {
		data = string(e.Data)
	}
	return d.exec(insert, e.Agent, e.Seq, e.ID, e.Schema, e.Subsystem, e.Dream, e.Type, date(e.At), data, nil)
}
