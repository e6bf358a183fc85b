package console

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

func (app *App) memory() *cobra.Command {
	cmd := &cobra.Command{Use: "memory", Short: "What an agent remembers", GroupID: minds}
	cmd.AddCommand(app.memoryAdd(), app.memoryImport(), app.memoryExport(), app.memoryEmbed(), app.memorySearch(),
		app.memoryList(), app.memoryShow(), app.memoryUndo(), app.memoryRestore(), app.memoryOwners(),
		app.memoryOwn(), app.memoryForget())
	return cmd
}

// listFlags narrow a list of memories.
type listFlags struct {
	kinds, states, statuses []string
	dream, session          string
	since, until, sort      string
	limit                   int
}

func (app *App) addListFlags(cmd *cobra.Command, f *listFlags, kinds bool) {
	fs := cmd.Flags()
	if kinds {
		fs.StringSliceVarP(&f.kinds, "kind", "k", nil, "only these `kinds`, such as episode,gist")
		app.completes(cmd, "kind", fixed(dream.Kinds))
	}
	fs.StringSliceVar(&f.states, "state", nil, "live (the default), superseded, archived or proposed")
	fs.StringSliceVar(&f.statuses, "status", nil, "only these `statuses`")
	fs.StringVar(&f.dream, "dream", "", "only what this `dream` made: its id, its number, or last")
	fs.StringVar(&f.since, "since", "", "not before this `time`: 2026-11-20, 2026-11-20T06:00 or 36h (ago)")
	fs.StringVar(&f.until, "until", "", "before this `time`")
	fs.IntVarP(&f.limit, "limit", "n", 20, "at most this many; 0 for all")
	app.completes(cmd, "status", fixed(statusesOf(nil)))
	app.completes(cmd, "state", fixed(dream.States))
}

// query turns the flags into a query, in the agent's time zone.
func (f *listFlags) query(a dream.Agent, now time.Time) (memory.Query, error) {
	q := memory.Query{
		Agent:    a.ID,
		Statuses: f.statuses,
		Session:  f.session,
		Sort:     memory.SortOrder(f.sort),
		Limit:    f.limit,
	}
	for _, k := range f.kinds {
		if !oneOf(k, dream.Kinds) {
			return q, exit(Usage, "--kind %s is unknown; kinds are %s", k, listed(dream.Kinds))
		}
		q.Kinds = append(q.Kinds, dream.Kind(k))
	}
	existing := statusesOf(q.Kinds)
	for _, s := range f.statuses {
		if !slices.Contains(existing, s) {
			return q, exit(Usage, "--status %s is unknown; statuses are %s", s, strings.Join(existing, ", "))
		}
	}
	states := dream.States
	for _, s := range f.states {
		if !oneOf(s, states) {
			return q, exit(Usage, "--state %s is unknown; states are %s", s, listed(states))
		}
		q.States = append(q.States, dream.State(s))
	}
	orders := []memory.SortOrder{
		"", memory.Newest, memory.Oldest, memory.MostSalient, memory.HighestScore,
		memory.SoonestDue,
	}
	if !oneOf(f.sort, orders) {
		return q, exit(Usage, "--order %s is unknown; orders are %s", f.sort, listed(orders[1:]))
	}
	var err error
	q.Since, err = readTime(f.since, a.Zone, now)
	if err != nil {
		return q, exit(Usage, "--since: %w", err)
	}
	q.Until, err = readTime(f.until, a.Zone, now)
	if err != nil {
		return q, exit(Usage, "--until: %w", err)
	}
	if f.limit < 0 {
		return q, exit(Usage, "--limit is %d; it must not be negative", f.limit)
	}
	return q, nil
}

// listQuery returns the query of a list's flags. It fails when they name a dream that does not exist.
func (app *App) listQuery(ctx context.Context, h *Deployment, a dream.Agent, f *listFlags) (memory.Query, error) {
	q, err := f.query(a, app.Now())
	if err == nil && f.dream != "" {
		q.Dream, err = dreamNamed(ctx, h, a, f.dream)
	}
	return q, err
}

// without is the text of an empty list: that there is nothing, or nothing that matches the flags.
func without(cmd *cobra.Command, a dream.Agent, nothing string) string {
	var questions []string
	for _, name := range []string{"kind", "state", "status", "dream", "session", "since", "until"} {
		if flag := cmd.Flags().Lookup(name); flag != nil && flag.Changed {
			questions = append(questions, "--"+name+" "+strings.Trim(flag.Value.String(), "[]"))
		}
	}
	if len(questions) == 0 {
		return fmt.Sprintf(nothing, a.Handle)
	}
	return fmt.Sprintf("%s has nothing that fits %s.", a.Handle, strings.Join(questions, " "))
}

func oneOf[S ~string](word string, words []S) bool {
	for _, w := range words {
		if string(w) == word {
			return true
		}
	}
	return false
}

// listed joins words with commas.
func listed[S ~string](words []S) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = string(w)
	}
	return strings.Join(texts, ", ")
}

// readTime parses a day, a time, or a duration before now.
func readTime(s, zone string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{"2006-01-02", "2006-01-02T15:04", "2006-01-02 15:04"} {
		if t, err := time.ParseInLocation(layout, s, location(zone)); err == nil {
			return t.UTC(), nil
		}
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t.UTC(), nil
	}
	text := s
	if days, ok := strings.CutSuffix(s, "d"); ok {
		text = days + "h"
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return time.Time{}, fmt.Errorf("%q is no time such as 2026-11-20, 2026-11-20T06:00 or 36h", s)
	}
	if text != s {
		d *= 24
	}
	return now.Add(-d).UTC(), nil
}

func (app *App) memoryList() *cobra.Command {
	f := &listFlags{}
	cmd := &cobra.Command{Use: "list", Short: "List memories, newest first"}
	app.addAgentFlag(cmd)
	app.addListFlags(cmd, f, true)
	cmd.Flags().StringVar(&f.session, "session", "", "only this `session`")
	cmd.Flags().StringVar(&f.sort, "order", "", "newest, oldest, most_salient, highest_score or soonest_due")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		h, a, err := app.agentOf(cmd)
		if err != nil {
			return err
		}
		q, err := app.listQuery(cmd.Context(), h, a, f)
		if err != nil {
			return err
		}
		if len(q.Kinds) == 0 {
			// `dreams` lists the records
			q.Kinds = slices.DeleteFunc(slices.Clone(dream.Kinds),
				func(k dream.Kind) bool { return k == dream.KindRecord })
		}
		items, err := h.Store.Find(cmd.Context(), q)
		if err != nil {
			return err
		}
		if err := app.rows(orEmpty(items), itemTable(items, a), "%s",
			without(cmd, a, "%s remembers nothing yet.")); err != nil {
			return err
		}
		return app.more(cmd, h, q, len(items))
	}
	return cmd
}

// more says how many a limit has left out.
func (app *App) more(cmd *cobra.Command, h *Deployment, q memory.Query, shown int) error {
	if q.Limit == 0 || shown < q.Limit || app.json {
		return nil
	}
	q.Limit = 0
	all, err := h.Store.Count(cmd.Context(), q)
	if err == nil && all > shown {
		app.note("%d of %d are shown; --limit 0 shows all.", shown, all)
	}
	return err
}

func itemTable(items []dream.Item, a dream.Agent) *table {
	t := &table{columns: []column{
		idColumn(),
		{title: "WHEN", drop: 1},
		{title: "KIND"},
		{title: "SALIENCE", right: true, drop: 2},
		{title: "SCORE", right: true, drop: 3},
		{title: "STATUS", drop: 4},
		{title: "TAINT", drop: 5},
		{title: "TEXT", flex: true},
	}}
	for _, item := range items {
		head, marks := item.Header(), item.Marks()
		salience, worth := "-", "-"
		switch head.Kind {
		case dream.KindEpisode:
			salience = score(marks.Salience)
		case dream.KindGist, dream.KindRecord:
		default:
			worth = score(marks.Score)
		}
		t.add(short(head.ID, a), when(head.At, a.Zone), string(head.Kind), salience, worth, orDash(marks.Status),
			string(head.Taint), item.Text())
	}
	return t
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
