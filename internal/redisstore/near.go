package redisstore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/store/index"
)

var (
	entriesScript = script("memory", "entries")
	indexScript   = script("memory", "feed")
)

// entriesAtOnce is about how many items one step reads.
const entriesAtOnce = 1000

// indexMemory is the default size of a process's indexes in bytes: some 500,000 items with vectors of dimension 384.
const indexMemory = 1 << 30

// checkVector refuses vectors that have no cosine.
func checkVector(v memory.Vector) error {
	if v.Space == "" {
		return fmt.Errorf("vector of %s: its space is empty; a space names embedder, version and dimension", v.Item)
	}
	if len(v.V) == 0 {
		return fmt.Errorf("vector of %s: it has no numbers", v.Item)
	}
	for i, x := range v.V {
		if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("vector of %s: number %d is %v; it must be finite", v.Item, i, x)
		}
	}
	return nil
}

func packVector(v []float32) []byte {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// Near compares a vector with the vectors of all live items of the agent that pass the filter.
func (s *Store) Near(ctx context.Context, q memory.Near) ([]memory.Hit, error) {
	hits, err := s.nearest(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("nearest memories of %s: %w", q.Agent, err)
	}
	return hits, nil
}

func (s *Store) nearest(ctx context.Context, q memory.Near) ([]memory.Hit, error) {
	if err := checkVector(memory.Vector{Item: "what is sought", Space: q.Space, V: q.V}); err != nil {
		return nil, err
	}
	x := s.local.indexes.Of(q.Agent)
	defer s.trimIndexes()
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
		if err := checkVector(memory.Vector{Item: "what is sought", Space: q.Space, V: q.V}); err != nil {
			return memory.Found{}, err
		}
	}
	x := s.local.indexes.Of(q.Agent)
	defer s.trimIndexes()
	return x.SearchNow(q, func() (index.Version, error) { return s.catchUp(ctx, x, q.Agent) })
}

func (s *Store) trimIndexes() {
	limit := s.set.indexMemory
	if limit == 0 {
		limit = indexMemory
	}
	s.local.indexes.Trim(limit)
}

// catchUp reads what an agent's index is missing, and returns the version it then has.
func (s *Store) catchUp(ctx context.Context, x *index.Index, agent string) (index.Version, error) {
	for {
		p, err := s.entries(ctx, agent, index.Version{}, -1, 0)
		if err != nil || x.Current(p.Version) {
			return p.Version, err
		}
		if !p.indexed {
			if err := s.indexOldItems(ctx, agent); err != nil {
				return index.Version{}, err
			}
		}
		err = x.CatchUp(p.Version, func(since int64, put func(index.Entry)) (int64, error) {
			return s.readEntries(ctx, agent, p.Version, since, put)
		})
		if !errors.Is(err, errTorn) {
			return p.Version, err
		}
	}
}

// readEntries reads all pages. Each page is as of one moment, and items that change after they were read come again in
// a later page, so that after the last page everything is as of that page.
func (s *Store) readEntries(
	ctx context.Context, agent string, of index.Version, since int64, put func(index.Entry),
) (int64, error) {
	numbers := make([]float32, of.Numbers)
	for {
		p, err := s.entries(ctx, agent, of, since, entriesAtOnce)
		if err != nil {
			return 0, err
		}
		if p.Space != of.Space || p.Erasures != of.Erasures || p.Numbers != of.Numbers {
			return 0, errTorn
		}
		for i := 0; i+2 < len(p.values); i += 3 {
			e, err := readEntry(text(p.values, i), text(p.values, i+1), text(p.values, i+2), numbers)
			if err != nil {
				return 0, err
			}
			put(e)
		}
		since = p.reached
		if !p.more {
			return since, nil
		}
	}
}

// readEntry parses an item's row, and its vector into numbers.
func readEntry(id, kept, vector string, numbers []float32) (index.Entry, error) {
	if kept == "" { // the item does not exist any more
		return index.Entry{ID: id}, nil
	}
	r, err := parseRow(id, kept, false)
	if err != nil {
		return index.Entry{}, err
	}
	item, err := r.item()
	if err != nil {
		return index.Entry{}, err
	}
	h := item.Header()
	e := index.Entry{
		ID:     id,
		Kind:   h.Kind,
		Owner:  item.Marks().Owner,
		Live:   h.State == dream.Live,
		Dreamt: h.Dreamt(),
		At:     h.At,
		Text:   item.Text(),
	}
	if vector != "" {
		_, packed, _ := strings.Cut(vector, "\n")
		if !unpackVector(packed, numbers) {
			return e,
				fmt.Errorf("vector of %s has %d bytes; the agent's vectors have %d numbers", id, len(packed),
					len(numbers))
		}
		e.Vector = numbers
	}
	return e, nil
}

// entryPage is the reply of entries.lua.
type entryPage struct {
	index.Version
	reached int64 // the newest vector revision read
	more    bool
	indexed bool
	values  []any // ids, rows and vectors
}

func (s *Store) entries(ctx context.Context, agent string, of index.Version, since int64, most int) (entryPage, error) {
	args, err := s.runMemory(ctx, entriesScript, agent, struct{}{}, since, of.Space, of.Erasures, most)
	if err != nil {
		return entryPage{}, err
	}
	if len(args) < 7 {
		return entryPage{}, fmt.Errorf("the server replied with a change of %d parts; expected 7 at least", len(args))
	}
	n, err := numbers([]string{text(args, 1), text(args, 2), text(args, 3), text(args, 4)})
	if err != nil {
		return entryPage{}, fmt.Errorf("the counters of the memory of %s: %w", agent, err)
	}
	return entryPage{
		Version: index.Version{Space: text(args, 0), Numbers: int(n[0]), VectorRevision: n[1], Erasures: n[2]},
		reached: n[3],
		more:    integer(args, 5) == 1,
		indexed: integer(args, 6) == 1,
		values:  args[7:],
	}, nil
}

// ensureIndexed feeds an agent's items unless a process is known to have done it.
func (s *Store) ensureIndexed(ctx context.Context, agent string) error {
	if _, found := s.local.indexed.Load(agent); found {
		return nil
	}
	p, err := s.entries(ctx, agent, index.Version{}, -1, 0)
	if err != nil {
		return err
	}
	if !p.indexed {
		return s.indexOldItems(ctx, agent)
	}
	s.local.indexed.Store(agent, true)
	return nil
}

// indexOldItems adds the items that an older program wrote to the sets of changes and owners, a page at a time.
func (s *Store) indexOldItems(ctx context.Context, agent string) error {
	for cursor := "0"; ; {
		args, err := s.runMemory(ctx, indexScript, agent, struct{}{}, cursor)
		if err != nil {
			return fmt.Errorf("feed the items of an older deployment: %w", err)
		}
		cursor = text(args, 0)
		if cursor == "0" {
			s.local.indexed.Store(agent, true)
			return nil
		}
	}
}

// unpackVector reads a packed vector into out; false when the lengths differ.
func unpackVector(b string, out []float32) bool {
	if len(b) != 4*len(out) {
		return false
	}
	for i := range out {
		four := b[4*i : 4*i+4]
		out[i] = math.Float32frombits(uint32(four[0]) | uint32(four[1])<<8 | uint32(four[2])<<16 | uint32(four[3])<<24)
	}
	return true
}
