package sqlitestore

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/store/packed"
)

// checkVector refuses vectors that have no cosine.
func checkVector(space string, v []float32) error {
	if space == "" {
		return errors.New("its space is empty; a space names embedder, version and dimension")
	}
	if len(v) == 0 {
		return errors.New("it has no numbers")
	}
	for i, x := range v {
		if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("number %d is %v; it must be finite", i, x)
		}
	}
	return nil
}

// putVector stores an item's vector in the agent's space; the first vector of an agent sets the space.
func (d tx) putVector(agent string, l *agentCounters, v memory.Vector, kept storedVector, vectorRevision int64) error {
	if l.space == "" {
		if err := d.found(agent, l, v); err != nil {
			return err
		}
	}
	if l.space != v.Space {
		return fmt.Errorf("it is in space %s and the agent's vectors are in %s: %w", v.Space, l.space, memory.ErrSpace)
	}
	if l.dim != int64(len(v.V)) {
		return fmt.Errorf("it has %d numbers and the agent's vectors in %s have %d: %w", len(v.V), l.space, l.dim,
			memory.ErrSpace)
	}
	var key int64
	var kind, state, dreamID string
	found, err := d.one("SELECT key, kind, state, dream FROM items WHERE agent = ? AND id = ?", []any{agent, v.Item},
		&key, &kind, &state, &dreamID)
	if err != nil {
		return err
	}
	if !found {
		return memory.ErrNotFound
	}
	if dreamID == "" { // vectors of memories are read at every start of a search, so they are not packed
		kept = storedVector{v: packVector(v.V)}
	}
	if _, err := d.exec(`INSERT INTO vectors (agent, id, space, kind, live, v, numbers) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (agent, id, space) DO UPDATE SET live = excluded.live, v = excluded.v, numbers = excluded.numbers`,
		agent, v.Item, v.Space, kind, state == string(dream.Live), kept.v, kept.numbers); err != nil {
		return err
	}
	_, err = d.exec("UPDATE items SET bare = 0, tide = ? WHERE key = ?", vectorRevision, key)
	return err
}

// found makes a vector's space the agent's own, with everything that has been collected in it.
func (d tx) found(agent string, l *agentCounters, v memory.Vector) error {
	dim, err := d.dimension(agent, v.Space)
	if err != nil {
		return err
	}
	l.space, l.dim = v.Space, dim
	if dim == 0 { // nothing was collected in it
		l.dim = int64(len(v.V))
		return nil
	}
	if _, err := d.exec("DELETE FROM moves WHERE agent = ? AND space = ?", agent, v.Space); err != nil {
		return err
	}
	_, err = d.exec(`UPDATE items SET bare = 0 WHERE agent = ? AND bare = 1 AND EXISTS
		(SELECT 1 FROM vectors AS v WHERE v.agent = items.agent AND v.id = items.id AND v.space = ?)`, agent, v.Space)
	return err
}

// WithoutVector returns live items without a vector in the space, oldest first.
func (s *Store) WithoutVector(ctx context.Context, agent, space string, kinds []dream.Kind,
	limit int,
) ([]dream.Item, error) {
	q := memory.Query{Agent: agent, Kinds: kinds, Sort: memory.Oldest, Limit: limit}
	var items []dream.Item
	err := s.read(ctx, func(d tx) error {
		l, err := d.counters(agent)
		if err != nil {
			return err
		}
		sort := sorts[memory.Oldest]
		if l.space == space {
			sort.index, sort.only = "items_bare", "bare = 1"
		} else { // part of it may have been collected
			sort.only, sort.args =
				"NOT EXISTS (SELECT 1 FROM vectors AS v WHERE v.agent = items.agent AND v.id = items.id AND v.space = ?)",
				[]any{space}
		}
		query, args := findSQL(q, sort)
		return d.items(query, args, &items)
	})
	if err != nil {
		return nil, fmt.Errorf("memories of %s without a vector in %s: %w", agent, space, err)
	}
	return items, nil
}

// Vectors returns stored vectors in the order of ids.
func (s *Store) Vectors(ctx context.Context, agent, space string, ids ...string) ([]memory.Vector, error) {
	var out []memory.Vector
	list, err := json.Marshal(ids)
	if err == nil && len(ids) > 0 {
		err = s.readOnce(ctx, func(d tx) error {
			return d.each(
				`SELECT vectors.id, v, numbers FROM json_each(?) AS asked CROSS JOIN vectors ON agent = ? AND vectors.id = asked.value AND space = ?
				ORDER BY asked.key`, []any{string(list), agent, space}, func(scan func(...any) error) error {
					var id string
					var kept storedVector
					if err := scan(&id, (*sql.RawBytes)(&kept.v), &kept.numbers); err != nil {
						return err
					}
					v := make([]float32, kept.len())
					if err := kept.read(v); err != nil {
						return fmt.Errorf("vector of %s: %w", id, err)
					}
					out = append(out, memory.Vector{Item: id, Space: space, V: v})
					return nil
				})
		})
	}
	if err != nil {
		return nil, fmt.Errorf("vectors of %s: %w", agent, err)
	}
	return out, nil
}

// Space returns the space of the agent's vectors.
func (s *Store) Space(ctx context.Context, agent string) (string, error) {
	var l agentCounters
	err := s.readOnce(ctx, func(d tx) error {
		var err error
		l, err = d.counters(agent)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("space of %s: %w", agent, err)
	}
	return l.space, nil
}

func packVector(v []float32) []byte {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// storedVector is a vector as a row stores it.
type storedVector struct {
	v       []byte
	numbers *int // dimension of a packed vector; nil: v is not packed
}

// storeVector packs the vector of an item that a dream made.
func storeVector(v []float32, dreamID string) storedVector {
	if dreamID == "" {
		return storedVector{v: packVector(v)}
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
	if len(s.v) != 4*len(out) {
		return fmt.Errorf("it has %d bytes for %d numbers", len(s.v), len(out))
	}
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(s.v[4*i:]))
	}
	return nil
}

// plain returns the vector in the form of an archive.
func (s storedVector) plain() ([]byte, error) {
	if s.numbers == nil {
		return s.v, nil
	}
	out := make([]float32, *s.numbers)
	err := packed.UnpackVector(s.v, out)
	return packVector(out), err
}
