package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory/index"
	"github.com/seed-56a03226/oneiros/internal/store"
	"github.com/seed-56a03226/oneiros/internal/store/packed"
)

var (
	entriesScript = script("memory", "entries")
	indexScript   = script("memory", "feed")
)

// entriesAtOnce is about how many items one step reads.
const entriesAtOnce = 1000

// vectors keeps the vectors of items, in one space for each agent, and reads what search indexes are missing.
type vectors struct {
	*server
	indexed *sync.Map // agents whose items are known to be in the sets of changes and owners
}

// catchUp reads what an agent's index is missing, and returns the version it then has.
func (s vectors) catchUp(ctx context.Context, x *index.Index, agent string) (index.Version, error) {
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
func (s vectors) readEntries(
	ctx context.Context, agent string, of index.Version, since int64, put func(index.Entry),
) (int64, error) {
	numbers := make([]float32, of.Numbers)
	for {
		p, err := s.entries(ctx, agent, of, since, entriesAtOnce)
		if err != nil {
			return 0, err
		}
		if p.Source != of.Source || p.Space != of.Space || p.Erasures != of.Erasures || p.Numbers != of.Numbers {
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
		_, plain, _ := strings.Cut(vector, "\n")
		err = packed.ReadPlainVector([]byte(plain), numbers)
		e.Vector = numbers
	}
	return e, store.Wrap(err, "vector of ", id)
}

// entryPage is the reply of entries.lua.
type entryPage struct {
	index.Version
	reached int64 // the newest vector revision read
	more    bool
	indexed bool
	values  []any // ids, rows and vectors
}

func (s vectors) entries(ctx context.Context, agent string, of index.Version, since int64,
	most int,
) (entryPage, error) {
	source := s.runID() // before the reading: a later run is noticed with the next one
	args, err := s.runMemory(ctx, entriesScript, agent, struct{}{}, since, of.Space, of.Erasures, most)
	if err != nil {
		return entryPage{}, err
	}
	if len(args) < 7 {
		return entryPage{}, fmt.Errorf("the server replied with a change of %d parts; expected 7 at least", len(args))
	}
	var p parser
	number := func(i int) int64 { return p.number(text(args, i)) }
	page := entryPage{
		Version: index.Version{
			Space:          text(args, 0),
			Numbers:        int(number(1)),
			VectorRevision: number(2),
			Erasures:       number(3),
			Source:         source,
		},
		reached: number(4),
		more:    integer(args, 5) == 1,
		indexed: integer(args, 6) == 1,
		values:  args[7:],
	}
	return store.Result(page, p.err, "the counters of the memory of ", agent)
}

// ensureIndexed feeds an agent's items unless a process is known to have done it.
func (s vectors) ensureIndexed(ctx context.Context, agent string) error {
	if _, found := s.indexed.Load(agent); found {
		return nil
	}
	p, err := s.entries(ctx, agent, index.Version{}, -1, 0)
	if err != nil {
		return err
	}
	if !p.indexed {
		return s.indexOldItems(ctx, agent)
	}
	s.indexed.Store(agent, true)
	return nil
}

// indexOldItems adds the items that an older program wrote to the sets of changes and owners.
func (s vectors) indexOldItems(ctx context.Context, agent string) error {
	err := s.addOldItems(ctx, indexScript, agent)
	if err == nil {
		s.indexed.Store(agent, true)
	}
	return err
}
