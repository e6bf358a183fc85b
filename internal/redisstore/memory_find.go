package redisstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/store"
	"github.com/seed-56a03226/oneiros/internal/store/packed"
)

var (
	findScript = script("memory", "find")
	pastScript = script("memory", "past")
)

// items keeps the items of memories with their revisions.
type items struct {
	vectors
	log *eventLog
}

// Get returns the newest revisions in the order of ids.
func (s items) Get(ctx context.Context, agent string, ids ...string) ([]dream.Item, error) {
	items := make([]dream.Item, 0, len(ids))
	rows, err := s.fields(ctx, s.key(agent, "items"), ids)
	for i := 0; err == nil && i < len(rows); i++ {
		if kept, ok := rows[i].(string); ok {
			items, err = appendItem(items, ids[i], kept)
		}
	}
	return store.Result(items, err, "get memories of ", agent)
}

// fields reads fields of a hash, nil for those that do not exist.
func (s *server) fields(ctx context.Context, key string, names []string) ([]any, error) {
	if len(names) == 0 {
		return nil, nil
	}
	return ask(ctx, s, func(ctx context.Context) ([]any, error) { return s.client.HMGet(ctx, key, names...).Result() })
}

func appendItem(items []dream.Item, id, kept string) ([]dream.Item, error) {
	r, err := parseRow(id, kept, false)
	if err != nil {
		return items, err
	}
	item, err := r.item()
	return append(items, item), err
}

// Find returns the items that match a query.
func (s items) Find(ctx context.Context, q memory.Query) ([]dream.Item, error) {
	var items []dream.Item
	p, err := planQuery(q)
	if err == nil {
		items, err = s.fetch(ctx, q.Agent, p, q.Sort)
	}
	return store.Result(items, err, "find memories of ", q.Agent)
}

// planQuery chooses how a query is read.
func planQuery(q memory.Query) (readPlan, error) {
	if onlyUnsettled(q) {
		return planUnsettled(q)
	}
	return planRead(q)
}

// WithoutVector returns live items without a vector in the space, oldest first.
func (s items) WithoutVector(ctx context.Context, agent, space string, kinds []dream.Kind,
	limit int,
) ([]dream.Item, error) {
	p, err := planRead(memory.Query{Agent: agent, Kinds: kinds, Sort: memory.Oldest, Limit: limit})
	var items []dream.Item
	if err == nil {
		p.Bare = &space
		items, err = s.fetch(ctx, agent, p, memory.Oldest)
	}
	return store.Result(items, err, "memories of ", agent, " without a vector in ", space)
}

// Vectors returns stored vectors in the order of ids.
func (s vectors) Vectors(ctx context.Context, agent, space string, ids ...string) ([]memory.Vector, error) {
	if space == "" {
		return nil, nil
	}
	var out []memory.Vector
	rows, err := s.fields(ctx, s.key(agent, "vectors:"+space), ids)
	for i := 0; err == nil && i < len(rows); i++ {
		if kept, ok := rows[i].(string); ok {
			_, plain, _ := strings.Cut(kept, "\n")
			v := make([]float32, len(plain)/4)
			err = store.Wrap(packed.ReadPlainVector([]byte(plain), v), ids[i])
			out = append(out, memory.Vector{Item: ids[i], Space: space, V: v})
		}
	}
	return store.Result(out, err, "vectors of ", agent)
}

// fetch sorts what was found, by whole texts where the order ties, and applies the limit.
func (s items) fetch(ctx context.Context, agent string, p readPlan, by memory.SortOrder) ([]dream.Item, error) {
	rows, _, err := s.readPages(ctx, agent, p)
	if err != nil {
		return nil, err
	}
	items := make([]dream.Item, 0, len(rows))
	for _, kept := range rows {
		kept, _ := kept.(string)
		items, err = appendItem(items, "an item", kept)
		if err != nil {
			return nil, err
		}
	}
	memory.SortItems(items, by)
	if p.cut > 0 && len(items) > p.cut {
		items = items[:p.cut]
	}
	return items, nil
}

// Count counts what Find would return without a limit.
func (s items) Count(ctx context.Context, q memory.Query) (int, error) {
	if _, ok := sortOrders[q.Sort]; !ok {
		return 0, fmt.Errorf("count memories of %s: unknown sort order %q", q.Agent, q.Sort)
	}
	dated := q.Sort == memory.SoonestDue || !q.DueBefore.IsZero()
	q.Sort, q.Limit = memory.Newest, 0
	if dated {
		q.Sort = memory.SoonestDue
	}
	p, err := planQuery(q)
	n := int64(0)
	if err == nil {
		p.Count = true
		_, n, err = s.readPages(ctx, q.Agent, p)
	}
	return store.Result(int(n), err, "count memories of ", q.Agent)
}

// readPages reads all pages of a result as of one moment.
func (s items) readPages(ctx context.Context, agent string, p readPlan) (rows []any, count int64, err error) {
	if p.needsIndexing {
		if err := s.ensureIndexed(ctx, agent); err != nil {
			return nil, 0, err
		}
	}
	err = s.retryTorn(ctx, func(try int) (bool, error) {
		p.Scan = itemsPerStep
		p.Pair = 1
		p.Found = 0
		rows = nil
		count = 0
		if try >= pagedTries {
			p.Scan = allItems
		}
		after, tie, version := "", "", int64(-1)
		for {
			args, err := s.runMemory(ctx, findScript, agent, p, p.from, p.to, after, tie)
			if err != nil {
				return false, err
			}
			if text(args, 0) == "unsorted" {
				if !s.sortUnsettled(ctx, agent) {
					counts := p.Count
					p = *p.unsorted
					p.Count = counts
				}
				return true, nil
			}
			if len(args) != 8 {
				return false, fmt.Errorf("the server replied with %d parts of a page; expected 8", len(args))
			}
			if now := integer(args, 0); version < 0 {
				version = now
			} else if now != version {
				return true, nil
			}
			page, _ := args[7].([]any)
			rows = append(rows, page...)
			count += integer(args, 6)
			if integer(args, 1) == 1 {
				return false, nil
			}
			p.Pair, p.Found = integer(args, 2), integer(args, 3)
			after, tie = text(args, 4), text(args, 5)
		}
	})
	return rows, count, err
}

// Revisions returns every revision of an item, oldest first.
func (s items) Revisions(ctx context.Context, agent, id string) ([]memory.Revision, error) {
	var out []memory.Revision
	histories, err := s.histories(ctx, agent, []string{id})
	if err == nil {
		out, err = revisionsOf(histories[0])
	}
	if err == nil && len(out) == 0 {
		err = memory.ErrNotFound
	}
	return store.Result(out, err, "revisions of ", id, " of ", agent)
}

// revisionsOf decodes the rows of an item.
func revisionsOf(history []row) ([]memory.Revision, error) {
	var p parser
	out := make([]memory.Revision, len(history))
	for i, r := range history {
		item, err := r.item()
		p.fail(err)
		out[i] = memory.Revision{Number: r.number, Cause: r.marks.Cause, At: p.time(r.marks.Changed), Item: item}
	}
	return out, p.err
}

// historiesAtOnce is how many items' revisions one step reads.
const historiesAtOnce = 200

// histories returns the revisions of items, oldest first; empty for an unknown item.
func (s items) histories(ctx context.Context, agent string, ids []string) ([][]row, error) {
	out := make([][]row, 0, len(ids))
	for len(out) < len(ids) {
		some := ids[len(out):min(len(out)+historiesAtOnce, len(ids))]
		args, err := s.runMemory(ctx, pastScript, agent, some)
		if err != nil {
			return nil, err
		}
		if len(args) != len(some) {
			return nil, fmt.Errorf("the server replied with %d histories of %d", len(args), len(some))
		}
		for i := range args {
			kept, _ := args[i].([]any)
			history := make([]row, len(kept))
			for j := range kept {
				history[j], err = parseRow(some[i], text(kept, j), true)
				if err != nil {
					return nil, err
				}
			}
			out = append(out, history)
		}
	}
	return out, nil
}
