package redisstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// Fields of the life hash that say since when an agent's history is whole, and the deployment's key of what was swept.
const (
	undoFromField    = "undofrom"
	detailsFromField = "detailsfrom"
	sweepKey         = "sweep"
)

var (
	trimEventsScript    = script("trimevents")
	trimRevisionsScript = script("memory", "trimrevisions")
	trimAffectsScript   = script("trimaffects")
	discardScript       = script("memory", "discard")
	sweptScript         = script("swept")
)

// aging removes what has become old.
type aging struct{ items }

// Aged returns since when the agent's history is whole.
func (s aging) Aged(ctx context.Context, agent string) (memory.Aged, error) {
	values, err := ask(ctx, s.server, func(ctx context.Context) ([]any, error) {
		return s.client.HMGet(ctx, s.key(agent, countersPart), undoFromField, detailsFromField).Result()
	})
	p := parser{err: err}
	aged := memory.Aged{Undo: p.time(text(values, 0)), Details: p.time(text(values, 1))}
	return aged, store.Wrap(p.err, "the age of the history of ", agent)
}

// TrimEvents removes the agent's oldest events.
func (s aging) TrimEvents(ctx context.Context, agent string, through int64, limit int) (int, error) {
	what := "trim the events of " + agent
	after := int64(0)
	n := 0
	for n < limit {
		page, err := s.log.Events(ctx, agent, after, min(limit-n, eventsAtOnce))
		if err != nil {
			return n, store.Wrap(err, what)
		}
		var names []any
		for _, e := range page {
			if e.Seq <= through {
				names, after = append(names, e.ID), e.Seq
			}
		}
		if len(names) == 0 {
			return n, nil
		}
		args := append([]any{s.key(agent, "events"), s.key(agent, "announced"), after}, names...)
		if _, err := s.run(ctx, trimEventsScript, nil, args...); err != nil {
			return n, store.Wrap(err, what)
		}
		n += len(names)
	}
	return n, nil
}

// trimPlan lists revisions to remove, of one item after another.
type trimPlan struct {
	Before string     `json:"before"`
	Items  []trimItem `json:"items,omitempty"`
}

type trimItem struct {
	ID      string `json:"id"`
	Numbers []int  `json:"numbers"`
}

// TrimRevisions removes revisions of live items and affects that were replaced before a time.
func (s aging) TrimRevisions(ctx context.Context, agent string, before time.Time, limit int) (int, error) {
	plan, err := s.oldRevisions(ctx, agent, before, limit)
	if err != nil {
		return 0, store.Wrap(err, "find old revisions of ", agent)
	}
	args, err := s.apply(ctx, trimRevisionsScript, agent, plan)
	n := int(integer(args, 1))
	if err == nil {
		var affects int
		affects, err = s.trimAffects(ctx, agent, before, limit)
		n += affects
	}
	return n, store.Wrap(err, "trim the revisions of ", agent)
}

// oldRevisions finds up to limit revisions of live items that were replaced before a time. What it finds may be removed
// later as well, as long as the item stays live.
func (s aging) oldRevisions(ctx context.Context, agent string, before time.Time, limit int) (trimPlan, error) {
	plan := trimPlan{Before: date(before)}
	past, err := s.pastRevisions(ctx, agent)
	if err != nil || len(past) == 0 {
		return plan, err
	}
	ids := make([]string, 0, len(past))
	for id := range past {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for some := range slices.Chunk(ids, headsAtOnce) {
		newest, err := s.newestRows(ctx, agent, some)
		if err != nil {
			return plan, err
		}
		for i, id := range some {
			if newest[i].number == 0 || newest[i].marks.State != dream.Live {
				continue
			}
			item := trimItem{ID: id}
			history := append(past[id], newest[i])
			slices.SortFunc(history, func(a, b row) int { return cmp.Compare(a.number, b.number) })
			for n := 0; n+1 < len(history) && limit > 0; n++ {
				if history[n+1].marks.Changed < plan.Before {
					item.Numbers = append(item.Numbers, history[n].number)
					limit--
				}
			}
			if len(item.Numbers) > 0 {
				plan.Items = append(plan.Items, item)
			}
		}
	}
	return plan, nil
}

// pastRevisions reads all older revisions of an agent's items, by id.
func (s aging) pastRevisions(ctx context.Context, agent string) (map[string][]row, error) {
	past, seen := map[string][]row{}, map[string]bool{}
	for cursor := uint64(0); ; {
		var fields []string
		err := s.exchange(ctx, func(ctx context.Context) error {
			var next uint64
			var err error
			fields, next, err = s.client.HScan(ctx, s.key(agent, "revisions"), cursor, "", keysAtOnce).Result()
			if err == nil {
				cursor = next
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		for i := 0; i+1 < len(fields); i += 2 {
			id, number, _ := strings.Cut(fields[i], "\x00")
			if seen[fields[i]] {
				continue
			}
			seen[fields[i]] = true
			r, err := parseMarks(id, fields[i+1])
			if err != nil {
				return nil, fmt.Errorf("revision %s: %w", number, err)
			}
			past[id] = append(past[id], r)
		}
		if cursor == 0 {
			return past, nil
		}
	}
}

// newestRows reads the newest rows of items with their marks; an empty row for one that does not exist.
func (s aging) newestRows(ctx context.Context, agent string, ids []string) ([]row, error) {
	values, err := ask(ctx, s.server, func(ctx context.Context) ([]any, error) {
		return s.client.HMGet(ctx, s.key(agent, "items"), ids...).Result()
	})
	rows := make([]row, len(ids))
	for i := 0; err == nil && i < len(values); i++ {
		if kept := text(values, i); kept != "" {
			rows[i], err = parseMarks(ids[i], kept)
		}
	}
	return rows, err
}

// trimAffects removes the oldest affects, as long as the next one was set before the time.
func (s aging) trimAffects(ctx context.Context, agent string, before time.Time, limit int) (int, error) {
	oldest, err := ask(ctx, s.server, func(ctx context.Context) ([]string, error) {
		return s.client.LRange(ctx, s.key(agent, affectsPart), 0, int64(limit)).Result()
	})
	if err != nil {
		return 0, err
	}
	affects, err := store.Decode[store.Affect](oldest)
	if err != nil {
		return 0, err
	}
	n := 0
	for n+1 < len(affects) && affects[n+1].Affect.Since.Before(before) {
		n++
	}
	if n == 0 {
		return 0, nil
	}
	_, err = s.run(ctx, trimAffectsScript, nil, s.key(agent, affectsPart), n, oldest[n-1], oldest[n])
	return n, err
}

// discardPlan lists the items to delete.
type discardPlan struct {
	Token   string   `json:"token"`
	IDs     []string `json:"ids,omitempty"`
	Details string   `json:"details"`
}

// Discard deletes items that dreams made.
func (s aging) Discard(ctx context.Context, agent string, ids []string, details time.Time) (int, error) {
	args, err := s.runMemory(ctx, discardScript, agent,
		discardPlan{Token: rand.Text(), IDs: store.Distinct(ids), Details: date(details)})
	if err == nil && text(args, 0) == "taken" {
		err = fmt.Errorf("dream %q holds its slot: %w", text(args, 1), memory.ErrTaken)
	} else if err == nil {
		err = refusal(args)
	}
	return int(integer(args, 1)), store.Wrap(err, "discard memories of dreams of ", agent)
}

// Swept returns what sweeps have done.
func (s aging) Swept(ctx context.Context) (memory.SweepState, error) {
	_, state, err := s.swept(ctx)
	return state, store.Wrap(err, "what was swept")
}

func (s aging) swept(ctx context.Context) (body string, state memory.SweepState, err error) {
	body, err = ask(ctx, s.server, func(ctx context.Context) (string, error) {
		return s.client.Get(ctx, s.root(sweepKey)).Result()
	})
	p := parser{err: ignoreMissing(err)}
	p.json(body, &state)
	return body, state, p.err
}

// ChangeSwept replaces what sweeps have done.
func (s aging) ChangeSwept(
	ctx context.Context, change func(memory.SweepState) (memory.SweepState, error),
) (memory.SweepState, error) {
	var after memory.SweepState
	err := s.retryTorn(ctx, func(int) (bool, error) {
		body, before, err := s.swept(ctx)
		if err != nil {
			return false, err
		}
		after, err = change(before)
		if err != nil {
			return false, err
		}
		next, err := json.Marshal(after)
		if err != nil {
			return false, err
		}
		word, err := s.run(ctx, sweptScript, nil, body, next)
		return word == "torn", err
	})
	return after, store.Wrap(err, "what was swept")
}

// parseMarks parses a row with its marks and without its body.
func parseMarks(id, kept string) (row, error) {
	r := row{id: id}
	number, rest, found := strings.Cut(kept, " ")
	head, _, whole := strings.Cut(rest[min(len(rest), placeBytes):], "\n")
	from := strings.IndexByte(head, '{')
	if !found || !whole || from < 0 {
		return row{}, fmt.Errorf("the row of %s has no number, places or marks", id)
	}
	var err error
	r.number, err = strconv.Atoi(number)
	if err == nil {
		err = json.Unmarshal([]byte(head[from:]), &r.marks)
	}
	return r, store.Wrap(err, "the row of ", id)
}
