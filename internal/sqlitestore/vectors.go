package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/store"
	"github.com/seed-56a03226/oneiros/internal/store/packed"
)

// vectors keeps the vectors of items, in one space for each agent.
type vectors struct{ *file }

// putVector stores an item's vector in the agent's space; the first vector of an agent sets the space.
func (c *commit) putVector(v memory.Vector, kept storedVector) {
	if c.space == "" {
		c.settle(v)
	}
	if c.space != v.Space {
		c.fail(fmt.Errorf("it is in space %s and the agent's vectors are in %s: %w", v.Space, c.space, memory.ErrSpace))
	}
	if c.dim != int64(len(v.V)) {
		c.fail(fmt.Errorf("it has %d numbers and the agent's vectors in %s have %d: %w", len(v.V), c.space, c.dim,
			memory.ErrSpace))
	}
	var key int64
	var kind, state, dreamID string
	if !c.one("SELECT key, kind, state, dream FROM items WHERE agent = ? AND id = ?", []any{c.Agent, v.Item},
		&key, &kind, &state, &dreamID) {
		c.fail(memory.ErrNotFound)
	}
	if dreamID == "" { // vectors of memories are read at every start of a search, so they are not packed
		kept = storedVector{v: packed.PlainVector(v.V)}
	}
	c.exec(`INSERT INTO vectors (agent, id, space, kind, live, v, numbers) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (agent, id, space) DO UPDATE SET live = excluded.live, v = excluded.v, numbers = excluded.numbers`,
		c.Agent, v.Item, v.Space, kind, state == string(dream.Live), kept.v, kept.numbers)
	c.exec("UPDATE items SET bare = 0, tide = ? WHERE key = ?", c.next, key)
}

// settle makes a vector's space the agent's own, with everything that has been collected in it.
func (c *commit) settle(v memory.Vector) {
	c.space, c.dim = v.Space, c.dimension(c.Agent, v.Space)
	if c.dim == 0 { // nothing was collected in it
		c.dim = int64(len(v.V))
		return
	}
	c.exec("DELETE FROM moves WHERE agent = ? AND space = ?", c.Agent, v.Space)
	c.exec(`UPDATE items SET bare = 0 WHERE agent = ? AND bare = 1 AND EXISTS
		(SELECT 1 FROM vectors AS v WHERE v.agent = items.agent AND v.id = items.id AND v.space = ?)`, c.Agent, v.Space)
}

// WithoutVector returns live items without a vector in the space, oldest first.
func (s vectors) WithoutVector(ctx context.Context, agent, space string, kinds []dream.Kind,
	limit int,
) ([]dream.Item, error) {
	q := memory.Query{Agent: agent, Kinds: kinds, Sort: memory.Oldest, Limit: limit}
	return in(ctx, s.read, "memories of "+agent+" without a vector in "+space, func(d *tx) []dream.Item {
		sort := sorts[memory.Oldest]
		only := condition{term: "bare = 1"}
		if d.counters(agent).space == space {
			sort.index = "items_bare"
		} else { // part of it may have been collected
			only = condition{
				"NOT EXISTS (SELECT 1 FROM vectors AS v WHERE v.agent = items.agent AND v.id = items.id AND v.space = ?)",
				[]any{space},
			}
		}
		query, args := findSQL(q, sort, only)
		return d.items(query, args)
	})
}

// Vectors returns stored vectors in the order of ids.
func (s vectors) Vectors(ctx context.Context, agent, space string, ids ...string) ([]memory.Vector, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return in(ctx, s.readOnce, "vectors of "+agent, func(d *tx) []memory.Vector {
		return rows(d,
			`SELECT vectors.id, v, numbers FROM json_each(?) AS asked CROSS JOIN vectors ON agent = ? AND vectors.id = asked.value AND space = ?
			ORDER BY asked.key`, []any{jsonText{ids}, agent, space}, func(scan scanner) memory.Vector {
				v := memory.Vector{Space: space}
				var kept storedVector
				scan(&v.Item, (*sql.RawBytes)(&kept.v), &kept.numbers)
				v.V = make([]float32, kept.len())
				d.fail(store.Wrap(kept.read(v.V), "vector of ", v.Item))
				return v
			})
	})
}

// Space returns the space of the agent's vectors.
func (s vectors) Space(ctx context.Context, agent string) (string, error) {
	return in(ctx, s.readOnce, "space of "+agent, func(d *tx) string { return d.counters(agent).space })
}

// storedVector is a vector as a row stores it.
type storedVector struct {
	v       []byte
	numbers *int // dimension of a packed vector; nil: v is not packed
}

// storeVector packs the vector of an item that a dream made.
func storeVector(v []float32, dreamID string) storedVector {
	if dreamID == "" {
		return storedVector{v: packed.PlainVector(v)}
	}
	n := len(v)
	return storedVector{packed.PackVector(v), &n}
}

func (s storedVector) len() int {
	if s.numbers != nil {
		return *s.numbers
	}
	return len(s.v) / 4
}

// read writes the vector to out, which must have its dimension.
func (s storedVector) read(out []float32) error {
	if s.len() != len(out) {
		return fmt.Errorf("it has %d numbers, and its space has %d", s.len(), len(out))
	}
	if s.numbers != nil {
		return packed.UnpackVector(s.v, out)
	}
	return packed.ReadPlainVector(s.v, out)
}

// plain returns the vector in the form of an archive.
func (s storedVector) plain() ([]byte, error) {
	if s.numbers == nil {
		return s.v, nil
	}
	out := make([]float32, *s.numbers)
	err := packed.UnpackVector(s.v, out)
	return packed.PlainVector(out), err
}
