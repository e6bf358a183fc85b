package sqlitestore

import (
	"context"

	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// items keeps the items of memories with their revisions.
type items struct {
	*file
	log *eventLog
}

// Commit applies a Write in one transaction.
func (s items) Commit(ctx context.Context, w memory.Write) (memory.Receipt, error) {
	what := "commit to the memory of " + w.Agent
	p, err := prepareWrite(w)
	if err != nil {
		return memory.Receipt{}, store.Wrap(err, what)
	}
	write := s.write
	if w.Late {
		write = s.writeUrgent
	}
	receipt, err := in(ctx, write, what, func(d *tx) memory.Receipt {
		c := commit{book: book{d}, preparedWrite: p, now: s.stamp()}
		return c.all()
	})
	if err == nil && len(w.Events) > 0 {
		s.log.waiters.Notify(w.Agent)
	}
	return receipt, err
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
	p.Cause = w.CauseOf()
	if err := w.Validate(); err != nil {
		return p, err
	}
	var err error
	p.add, err = encodeAll(w.Agent, w.Add)
	if err != nil {
		return p, err
	}
	p.change, err = encodeAll(w.Agent, w.Change)
	if err != nil {
		return p, err
	}
	for _, v := range w.Vectors {
		p.vectors = append(p.vectors, storeVector(v.V, w.Fence.Dream))
	}
	for _, e := range w.Events {
		short, err := packEvent(e)
		if err != nil {
			return p, err
		}
		p.events = append(p.events, short)
	}
	return p, nil
}

// commit is a write while it is applied.
type commit struct {
	book
	preparedWrite
	agentCounters
	now  int64
	next int64 // the vector revision of what it changes
}

func (c *commit) all() memory.Receipt {
	before := c.writable(c.Agent)
	c.agentCounters, c.next = before, before.vectorRevision+1
	c.checkFence(c.Agent, c.Fence, c.Late)
	c.fail(c.Fence.Read.Check(c.scrubs))
	r := c.items()
	for i, v := range c.Vectors {
		c.doing("vector of "+v.Item, func() { c.putVector(v, c.vectors[i]) })
	}
	if r.Added > 0 || r.Changed > 0 || len(c.Vectors) > 0 {
		c.vectorRevision = c.next
	}
	if len(c.Vectors) > 0 && c.Fence.Awake() {
		c.dropEmbeddings(c.Agent)
	}
	if c.Affect != nil {
		c.putAffect(c.Agent, c.Cause, *c.Affect)
	}
	if c.OnWake != nil {
		c.setMoodOnWake(c.Agent, c.Fence, *c.OnWake)
	}
	for i, e := range c.Events {
		e.Seq = c.seq + 1
		c.doing("event "+e.ID, func() { c.seq += c.putEvent(e, c.events[i]) })
	}
	r.LastSeq = c.seq
	if c.agentCounters != before {
		c.setCounters(c.Agent, c.agentCounters)
	}
	return r
}

// items adds and changes the items.
func (c *commit) items() (r memory.Receipt) {
	for _, row := range c.add {
		c.doing("add "+row.id, func() {
			if c.insert(row, c.Cause, c.now, c.next) {
				r.Added++
			} else {
				r.Existing++
			}
		})
	}
	written := map[string]bool{}
	for _, row := range c.change {
		if written[row.id] {
			row.read = 0 // the revision that was read was the newest when this write began
		}
		written[row.id] = true
		c.doing("change "+row.id, func() {
			if c.revise(row, c.Write, c.now, c.next) {
				r.Changed++
			}
		})
	}
	return r
}

// putEvent inserts an event that the agent's log does not have yet, in its packed form if it has one. It returns how
// many it inserted.
func (d *tx) putEvent(e event.Event, short []byte) int64 {
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
