package sqlitestore

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/store/index"
)

// Near compares a vector with the vectors of all live items of the agent that pass the filter.
func (s *Store) Near(ctx context.Context, q memory.Near) ([]memory.Hit, error) {
	hits, err := s.nearest(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("nearest memories of %s: %w", q.Agent, err)
	}
	return hits, nil
}

func (s *Store) nearest(ctx context.Context, q memory.Near) ([]memory.Hit, error) {
	if err := checkVector(q.Space, q.V); err != nil {
		return nil, fmt.Errorf("the search vector: %w", err)
	}
	x := s.indexes.Of(q.Agent)
	defer s.indexes.Trim(s.set.indexMemory)
	return x.NearNow(q, func() (index.Version, error) { return s.catchUp(ctx, x, q.Agent) })
}

// Search scores all live items of the agent that pass the filter.
func (s *Store) Search(ctx context.Context, q memory.Search) (memory.Found, error) {
	found, err := s.search(ctx, q)
	if err != nil {
		return memory.Found{}, fmt.Errorf("search the memory of %s: %w", q.Agent, err)
	}
	return found, nil
}

func (s *Store) search(ctx context.Context, q memory.Search) (memory.Found, error) {
	if q.V != nil {
		if err := checkVector(q.Space, q.V); err != nil {
			return memory.Found{}, fmt.Errorf("the search vector: %w", err)
		}
	}
	x := s.indexes.Of(q.Agent)
	defer s.indexes.Trim(s.set.indexMemory)
	return x.SearchNow(q, func() (index.Version, error) { return s.catchUp(ctx, x, q.Agent) })
}

// catchUp reads what an agent's index is missing, and returns the version it then has.
func (s *Store) catchUp(ctx context.Context, x *index.Index, agent string) (index.Version, error) {
	var v index.Version
	err := s.read(ctx, func(d tx) error {
		l, err := d.counters(agent)
		if err != nil {
			return err
		}
		v = index.Version{Erasures: l.scrubs, Space: l.space, Numbers: int(l.dim), VectorRevision: l.vectorRevision}
		if x.Current(v) {
			return nil
		}
		return x.CatchUp(v, func(since int64, put func(index.Entry)) (int64, error) {
			return v.VectorRevision, d.entries(agent, v, since, put)
		})
	})
	return v, err
}

// entries reads the items that changed after a vector revision, or all live items when the index is empty.
func (d tx) entries(agent string, of index.Version, since int64, put func(index.Entry)) error {
	query := `SELECT i.id, i.kind, i.state, i.owner, i.dreamt, i.at, i.text, v.v, v.numbers FROM items AS i INDEXED BY items_tide
		LEFT JOIN vectors AS v ON v.agent = i.agent AND v.id = i.id AND v.space = ? WHERE i.agent = ? AND i.tide > ?`
	if since < 0 {
		query += " AND i.state = 'live'"
	}
	numbers := make([]float32, of.Numbers)
	return d.each(query, []any{of.Space, agent, since}, func(scan func(...any) error) error {
		var e index.Entry
		var kind, state string
		var kept storedVector
		var at int64
		if err := scan(&e.ID, &kind, &state, &e.Owner, &e.Dreamt, &at, &e.Text, &kept.v, &kept.numbers); err != nil {
			return err
		}
		e.Kind, e.Live, e.At = dream.Kind(kind), state == string(dream.Live), time.Unix(0, at)
		if kept.v != nil {
			if err := kept.read(numbers); err != nil {
				return fmt.Errorf("vector of %s in %s: %w", e.ID, of.Space, err)
			}
			e.Vector = numbers
		}
		put(e)
		return nil
	})
}
