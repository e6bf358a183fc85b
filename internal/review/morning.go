package review

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/claims"
	"github.com/seed-56a03226/oneiros/internal/morning"
)

// Morning reports what is new for an agent after since, until now, with the sentences of the episodes that show it.
func Morning(ctx context.Context, store memory.DreamStore, agent dream.Agent,
	since, now time.Time,
) (morning.Report, error) {
	m, err := memoryOf(ctx, store, agent)
	if err != nil {
		return morning.Report{}, err
	}
	r := morning.Of(m, since, now)
	return r, quoteSightings(ctx, store, agent.ID, &r)
}

// memoryOf reads what a report is made from.
func memoryOf(ctx context.Context, store memory.DreamStore, agent dream.Agent) (morning.Memory, error) {
	m := morning.Memory{Agent: agent.Handle}
	var err error
	m.Claims, err = Claims(ctx, store, agent.ID)
	if err != nil {
		return m, err
	}
	m.Playbook, err = playbookOf(ctx, store, agent.ID)
	if err != nil {
		return m, err
	}
	open, err := store.Find(ctx, memory.Query{
		Agent: agent.ID, Kinds: []dream.Kind{dream.KindPrediction}, Statuses: []string{dream.PredictionOpen},
		Sort: memory.SoonestDue,
	})
	if err == nil {
		err = memory.ReadClaims(ctx, store, agent.ID, open)
	}
	if err != nil {
		return m, fmt.Errorf("read the open predictions of %s: %w", agent.Handle, err)
	}
	m.Open = memory.As[*dream.Prediction](open)
	m.Dreams, err = dreamsOf(ctx, store, agent.ID)
	return m, err
}

// dreamsOf reads the records of all dreams of an agent.
func dreamsOf(ctx context.Context, store memory.DreamStore, agent string) ([]*dream.Record, error) {
	return find[*dream.Record](ctx, store, "the dreams", dream.KindRecord, memory.Query{Agent: agent})
}

// playbookOf reads the playbook of an agent.
func playbookOf(ctx context.Context, store memory.DreamStore, agent string) ([]*dream.Playbook, error) {
	return find[*dream.Playbook](ctx, store, "the playbook", dream.KindPlaybook, memory.Query{Agent: agent})
}

// quoteSightings fills in what the episodes of a report say.
func quoteSightings(ctx context.Context, store memory.DreamStore, agent string, r *morning.Report) error {
	var ids []string
	for _, f := range r.Findings() {
		for _, s := range f.Sighted {
			ids = append(ids, s.Episodes...)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	items, err := store.Get(ctx, agent, ids...)
	if err != nil {
		return fmt.Errorf("read the episodes that show it: %w", err)
	}
	episodes := map[string]*dream.Episode{}
	for _, e := range memory.As[*dream.Episode](items) {
		episodes[e.ID] = e
	}
	r.Quote(func(id string, names []string) (time.Time, string, bool) {
		e := episodes[id]
		if e == nil {
			return time.Time{}, "", false
		}
		return e.At, strings.Join(claims.Sentences(e.Content, names...), " "), true
	})
	return nil
}

// Trend reads how an agent's knowledge grew over its newest dreams.
func Trend(ctx context.Context, store memory.DreamStore, agent string) (morning.Trend, error) {
	dreams, err := dreamsOf(ctx, store, agent)
	if err != nil {
		return morning.Trend{}, err
	}
	all, err := Claims(ctx, store, agent)
	return morning.TrendOf(dreams, all), err
}

// News are the sentences of what an agent learned and stopped believing between the dream before a dream and the end of
// that dream.
func News(ctx context.Context, store memory.DreamStore, agent string,
	of *dream.Record,
) (learned, stopped []string, err error) {
	dreams, err := dreamsOf(ctx, store, agent)
	if err != nil {
		return nil, nil, err
	}
	var since time.Time
	for _, d := range dreams {
		if d.AsOf.Before(of.AsOf) && d.AsOf.After(since) {
			since = d.AsOf
		}
	}
	all, err := Claims(ctx, store, agent)
	if err != nil {
		return nil, nil, err
	}
	r := morning.Of(morning.Memory{Claims: all}, since, of.AsOf.Add(took(of)))
	for _, f := range r.Learned {
		learned = append(learned, sentenceOf(f))
	}
	for _, f := range r.Stopped {
		stopped = append(stopped, sentenceOf(f))
	}
	return learned, stopped, nil
}

// took is how long a dream has taken; zero while it goes on.
func took(d *dream.Record) time.Duration {
	if d.Ended.IsZero() {
		return 0
	}
	return max(0, d.Ended.Sub(d.At))
}

func sentenceOf(f morning.Finding) string {
	return fmt.Sprintf("%s (%s)", strings.TrimSuffix(f.Says, "."), f.Because)
}
