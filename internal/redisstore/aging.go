package redisstore

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

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

// replacedOrder has the agent's live items that have older revisions, by when the oldest of these was replaced, in
// microseconds since 1970; 0 while that is not computed. Older programs did not write it, so that every revision is
// looked at when an agent is trimmed first, and then once in lookEvery; scannedField is the date.
const (
	replacedOrder = "by:replaced"
	scannedField  = "scanned"
	lookEvery     = 30 * 24 * time.Hour
)

// trimmedAtOnce is how many items one step of TrimRevisions reads: some milliseconds for the server.
const trimmedAtOnce = 100

// trimPlan lists revisions to remove, of one item after another.
type trimPlan struct {
	Before  string     `json:"before"`
	Items   []trimItem `json:"items,omitempty"`
	Look    []string   `json:"look,omitempty"`    // items to read at the next step, because they have older revisions
	Scanned string     `json:"scanned,omitempty"` // when every revision was looked at
}

type trimItem struct {
	ID      string `json:"id"`
	Newest  int    `json:"newest"` // the newest revision that was read; after a later one the item is read again
	Numbers []int  `json:"numbers,omitempty"`
	Next    string `json:"next,omitempty"` // when the oldest revision that stays was replaced; empty: none can age
}

// TrimRevisions removes revisions of live items and affects that were replaced before a time.
func (s aging) TrimRevisions(ctx context.Context, agent string, before time.Time, limit int) (int, error) {
	n, err := s.trimRevisions(ctx, agent, before, limit)
	if err == nil {
		var affects int
		affects, err = s.trimAffects(ctx, agent, before, limit)
		n += affects
	}
	return n, store.Wrap(err, "trim the revisions of ", agent)
}

func (s aging) trimRevisions(ctx context.Context, agent string, before time.Time, limit int) (int, error) {
	if err := s.scanRevisions(ctx, agent); err != nil {
		return 0, err
	}
	for n := 0; ; {
		plan, err := s.oldRevisions(ctx, agent, before, limit-n)
		if err != nil {
			return n, err
		}
		args, err := s.apply(ctx, trimRevisionsScript, agent, plan)
		n += int(integer(args, 1))
		if err != nil || n >= limit || len(plan.Items) == 0 {
			return n, err
		}
	}
}

// oldRevisions finds up to limit revisions of live items that were replaced before a time.
func (s aging) oldRevisions(ctx context.Context, agent string, before time.Time, limit int) (trimPlan, error) {
	plan := trimPlan{Before: date(before)}
	ids, err := ask(ctx, s.server, func(ctx context.Context) ([]string, error) {
		return s.client.ZRangeArgs(ctx, redis.ZRangeArgs{
			Key:     s.key(agent, replacedOrder),
			Start:   "-inf",
			Stop:    "(" + micros(before),
			ByScore: true,
			Count:   trimmedAtOnce,
		}).Result()
	})
	if err != nil {
		return plan, err
	}
	histories, err := s.histories(ctx, agent, ids)
	if err != nil {
		return plan, err
	}
	for i, history := range histories {
		item := trimItem{ID: ids[i]}
		if len(history) > 0 {
			newest := history[len(history)-1]
			item.Newest = newest.number
			if newest.marks.State == dream.Live {
				item.Numbers, item.Next, err = trimmable(history, plan.Before, limit)
			}
			limit -= len(item.Numbers)
		}
		if err != nil {
			return plan, err
		}
		plan.Items = append(plan.Items, item)
	}
	return plan, nil
}

// trimmable returns the numbers of at most limit revisions that were replaced before a time, and when the first of the
// others was.
func trimmable(history []row, before string, limit int) (numbers []int, next string, err error) {
	first := ""
	for i, by := range history[1:] {
		if by.marks.Changed < before && len(numbers) < limit {
			numbers = append(numbers, history[i].number)
		} else if first == "" || by.marks.Changed < first {
			first = by.marks.Changed
		}
	}
	if first == "" {
		return numbers, "", nil
	}
	var p parser
	at := p.time(first)
	return numbers, micros(at), p.err
}

// micros is a score of replacedOrder.
func micros(t time.Time) string { return strconv.FormatInt(t.UnixMicro(), 10) }

// scanRevisions completes replacedOrder, seldom, with every item that has older revisions.
func (s aging) scanRevisions(ctx context.Context, agent string) error {
	scanned, err := ask(ctx, s.server, func(ctx context.Context) (string, error) {
		return s.client.HGet(ctx, s.key(agent, countersPart), scannedField).Result()
	})
	p := parser{err: ignoreMissing(err)}
	now := s.set.now()
	if last := p.time(scanned); p.err != nil || !last.IsZero() && now.Sub(last) < lookEvery {
		return p.err
	}
	for cursor := uint64(0); ; {
		plan := trimPlan{}
		err := s.exchange(ctx, func(ctx context.Context) error {
			fields, next, err := s.client.HScan(ctx, s.key(agent, "revisions"), cursor, "", keysAtOnce).Result()
			if err != nil {
				return err
			}
			cursor, plan.Look = next, nil
			for i := 0; i < len(fields); i += 2 {
				id, _, _ := strings.Cut(fields[i], "\x00")
				plan.Look = append(plan.Look, id)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if cursor == 0 {
			plan.Scanned = date(now)
		}
		plan.Look = store.Distinct(plan.Look)
		_, err = s.apply(ctx, trimRevisionsScript, agent, plan)
		if err != nil || cursor == 0 {
			return err
		}
	}
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
	return state, store.Wrap(err, "marks and sweeps")
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
	return after, store.Wrap(err, "marks and sweeps")
}
