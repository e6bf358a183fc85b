package store

import (
	"context"
	"slices"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/memory/index"
)

// IndexMemory is how many bytes of search indexes a process keeps: some 500,000 items with vectors of dimension 384.
// The agents searched least recently are evicted. An agent's index is always held whole while it is searched.
const IndexMemory = 1 << 30

// Searcher answers searches by the agents' indexes that it keeps in memory.
type Searcher struct {
	Indexes index.Cache
	Limit   int64 // of the indexes, in bytes
	// CatchUp reads what an agent's index is missing, and returns the version that the index then has.
	CatchUp func(ctx context.Context, x *index.Index, agent string) (index.Version, error)
}

// Near compares a vector with the vectors of all live items of the agent that pass the filter.
func (s *Searcher) Near(ctx context.Context, q memory.Near) ([]memory.Hit, error) {
	var hits []memory.Hit
	err := checkSought(q.Space, q.V)
	if err == nil {
		x, catchUp := s.of(ctx, q.Agent)
		hits, err = x.NearNow(q, catchUp)
		s.Indexes.Trim(s.Limit)
	}
	return Result(hits, err, "nearest memories of ", q.Agent)
}

// Search scores all live items of the agent that pass the filter.
func (s *Searcher) Search(ctx context.Context, q memory.Search) (memory.Found, error) {
	var found memory.Found
	var err error
	if q.V != nil {
		err = checkSought(q.Space, q.V)
	}
	if err == nil {
		x, catchUp := s.of(ctx, q.Agent)
		found, err = x.SearchNow(q, catchUp)
		s.Indexes.Trim(s.Limit)
	}
	return Result(found, err, "search the memory of ", q.Agent)
}

// of returns an agent's index, and what brings it up to date. Under memory.SteadySearches that reads the store for the
// first search only, and again where the index has lost what it had.
func (s *Searcher) of(ctx context.Context, agent string) (*index.Index, func() (index.Version, error)) {
	x := s.Indexes.Of(agent)
	versions, looked := memory.SteadyVersions(ctx), false
	return x, func() (index.Version, error) {
		if versions != nil && !looked {
			looked = true
			if seen, ok := versions.Load(agent); ok && x.Current(seen.(index.Version)) {
				return seen.(index.Version), nil
			}
		}
		v, err := s.CatchUp(ctx, x, agent)
		if versions != nil && err == nil {
			versions.Store(agent, v)
		}
		return v, err
	}
}

// Kinds are the kinds of items that a query asks for.
func Kinds(q memory.Query) []dream.Kind {
	if len(q.Kinds) == 0 {
		return dream.Kinds
	}
	return Distinct(q.Kinds)
}

// States are the states of items that a query asks for.
func States(q memory.Query) []dream.State {
	if len(q.States) == 0 {
		return []dream.State{dream.Live}
	}
	return Distinct(q.States)
}

// Distinct returns the values without duplicates, each in its first place.
func Distinct[T comparable](values []T) []T {
	var out []T
	for _, v := range values {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

func checkSought(space string, v []float32) error {
	return memory.Vector{Item: "the search", Space: space, V: v}.Validate()
}
