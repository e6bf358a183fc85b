package view

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

// ListFlags narrow a list of memories.
type ListFlags struct {
	Kinds, states, statuses []string
	dream, Session          string
	since, until, Sort      string
	limit                   int
}

// AddListFlags adds the flags that choose items.
func AddListFlags(app *cli.App, cmd *cobra.Command, f *ListFlags, kinds bool) {
	fs := cmd.Flags()
	if kinds {
		fs.StringSliceVarP(&f.Kinds, "kind", "k", nil, "only these `kinds`, such as episode,gist")
		Completes(app, cmd, "kind", Fixed(dream.KindNames()))
	}
	fs.StringSliceVar(&f.states, "state", nil, "live (the default), superseded, archived or proposed")
	fs.StringSliceVar(&f.statuses, "status", nil, "only these `statuses`")
	fs.StringVar(&f.dream, "dream", "", "only what this `dream` made: its id, its number, or last")
	fs.StringVar(&f.since, "since", "", "not before this `time`: 2026-11-20, 2026-11-20T06:00 or 36h (ago)")
	fs.StringVar(&f.until, "until", "", "before this `time`")
	fs.IntVarP(&f.limit, "limit", "n", 20, "at most this many; 0 for all")
	Completes(app, cmd, "status", Fixed(statusesOf(nil)))
	Completes(app, cmd, "state", Fixed(dream.States))
}

// Query turns the flags into a query, in the agent's time zone.
func (f *ListFlags) Query(a dream.Agent, now time.Time) (memory.Query, error) {
	q := memory.Query{
		Agent:    a.ID,
		Statuses: f.statuses,
		Session:  f.Session,
		Sort:     memory.SortOrder(f.Sort),
		Limit:    f.limit,
	}
	for _, k := range f.Kinds {
		kind, valid := dream.ParseKind(k)
		if !valid {
			return q, exit.Usagef("--kind %s is unknown; kinds are %s", k, cli.Listed(dream.KindNames()))
		}
		q.Kinds = append(q.Kinds, kind)
	}
	existing := statusesOf(q.Kinds)
	for _, s := range f.statuses {
		if !slices.Contains(existing, s) {
			return q, exit.Usagef("--status %s is unknown; statuses are %s", s, strings.Join(existing, ", "))
		}
	}
	states := dream.States
	for _, s := range f.states {
		if !cli.OneOf(s, states) {
			return q, exit.Usagef("--state %s is unknown; states are %s", s, cli.Listed(states))
		}
		q.States = append(q.States, dream.State(s))
	}
	orders := []memory.SortOrder{
		"", memory.Newest, memory.Oldest, memory.MostSalient, memory.HighestScore,
		memory.SoonestDue,
	}
	if !cli.OneOf(f.Sort, orders) {
		return q, exit.Usagef("--order %s is unknown; orders are %s", f.Sort, cli.Listed(orders[1:]))
	}
	var err error
	q.Since, err = cli.ReadTime(f.since, a.Zone, now)
	if err != nil {
		return q, exit.Usagef("--since: %w", err)
	}
	q.Until, err = cli.ReadTime(f.until, a.Zone, now)
	if err != nil {
		return q, exit.Usagef("--until: %w", err)
	}
	if f.limit < 0 {
		return q, exit.Usagef("--limit is %d; it must not be negative", f.limit)
	}
	return q, nil
}

// ListQuery returns the query of a list's flags. It fails when they name a dream that does not exist.
func ListQuery(ctx context.Context, app *cli.App, a dream.Agent, f *ListFlags) (memory.Query, error) {
	q, err := f.Query(a, app.Now())
	if err == nil && f.dream != "" {
		q.Dream, err = DreamNamed(ctx, app, a, f.dream)
	}
	return q, err
}

// More says how many a limit has left out.
func More(ctx context.Context, app *cli.App, q memory.Query, shown int) error {
	if q.Limit == 0 || shown < q.Limit || app.Json {
		return nil
	}
	q.Limit = 0
	all, err := app.Store.Count(ctx, q)
	if err == nil && all > shown {
		app.Note("%d of %d are shown; --limit 0 shows all.", shown, all)
	}
	return err
}

// Kinds counts items by kind, in words.
func Kinds(counts dream.KindCounts) string {
	var texts []string
	for _, kind := range dream.Kinds {
		if counts[kind] > 0 {
			texts = append(texts, fmt.Sprintf("%s %d", kind, counts[kind]))
		}
	}
	return strings.Join(texts, ", ")
}
