package dreamcmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/review"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

// Dreams builds the command oneiros dreams.
func Dreams(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "dreams",
		Short:   "List, show, resume, cancel and repeat dreams",
		GroupID: cli.DreamGroup,
	}
	cmd.AddCommand(view.List(app, "list", view.Listing{
		Kind: dream.KindRecord, Short: "List dreams, newest first", Sort: memory.Newest,
		Nothing: "%s has not dreamt yet.",
		States:  []dream.State{dream.Live, dream.Archived},
		Columns: recordColumns(),
		Row:     func(item dream.Item, a dream.Agent) []string { return recordRow(app, item, a) },
		Public:  func(item dream.Item) any { return view.Public(app, item.(*dream.Record)) },
		All: func(ctx context.Context, q memory.Query, after string) error {
			return listAll(ctx, app, q, after)
		},
	}), dreamsShow(app), dreamsResume(app), dreamsCancel(app), dreamsRedream(app), dreamsQuality(app))
	return cmd
}

func recordRow(app *cli.App, item dream.Item, a dream.Agent) []string {
	n := item.(*dream.Record)
	kept, calls := 0, 0
	for _, t := range n.Phases {
		calls += t.Calls
		if t.Phase != dream.Return { // what comes back on return was counted before
			kept += t.Kept
		}
	}
	keptText, callsText, spentText := fmt.Sprint(kept), fmt.Sprint(calls), n.Spent.String()
	switch {
	case n.Outcome == dream.Dreaming && n.Stretches > 1: // what its earlier stretches left
		keptText, callsText, spentText = keptText+"+", callsText+"+", spentText+"+"
	case n.Outcome == dream.Dreaming: // its ledger is not closed
		keptText, callsText, spentText = "-", "-", "-"
	}
	outcome := cli.OutcomeOf(n)
	if view.MayGoOn(app, n) {
		outcome += ", waits"
	}
	if n.State == dream.Archived {
		outcome += ", undone"
	}
	return []string{
		cli.Short(n.ID,
			a), cli.When(n.At, a.Zone), cli.Lasted(n.Ended.Sub(n.At)), outcome, string(n.Tier), keptText, callsText,
		spentText, n.Budget.String(), cli.OrDash(view.Reason(app, n, a.Zone)), cli.OrDash(n.Theme),
	}
}

func dreamsShow(app *cli.App) *cobra.Command {
	return view.ForDream(app, &cobra.Command{
		Use: "show [DREAM]", Short: "Read the report of a dream", Args: cobra.MaximumNArgs(1),
		Long: "Show reads the report of a dream: what was noticed, what was kept and why, what it cost.\nDREAM is an id, a number of the agent's, or last, which is shown when none is named.",
	}, func(ctx context.Context, a dream.Agent, record *dream.Record) error {
		return report(ctx, app, a, record)
	})
}

// report prints a dream's report, or all of it as JSON.
func report(ctx context.Context, app *cli.App, a dream.Agent, record *dream.Record) error {
	r, err := reportOf(ctx, app, a, record)
	if err != nil {
		return fmt.Errorf("report of %s: %w", record.ID, err)
	}
	if app.Json {
		return app.Answer(reportJSON(app, r))
	}
	fmt.Fprint(app.Out, screen.Report(r, app.Style(a)))
	return nil
}

// reportJSON is a report in which every list is present.
func reportJSON(app *cli.App, r screen.DreamReport) map[string]any {
	return map[string]any{
		"agent": r.Agent, "summary": screen.Summarize(r), "dream": view.Public(app, &r.Record), "breaks": cli.OrEmpty(r.Breaks),
		"fragments": cli.OrEmpty(r.Fragments), "predictions": cli.OrEmpty(r.Predictions),
		"scenarios": cli.OrEmpty(r.Scenarios), "hypotheses": cli.OrEmpty(r.Hypotheses), "gists": cli.OrEmpty(r.Gists),
		"playbook": cli.OrEmpty(r.Playbook), "surfaced": cli.OrEmpty(r.Surfaced), "archived": cli.OrEmpty(r.Archived),
		"built_in": r.BuiltIn, "built_in_roles": cli.OrEmpty(r.BuiltInRoles),
	}
}

// reportOf reads everything a dream left behind from the store.
func reportOf(ctx context.Context, app *cli.App, a dream.Agent, record *dream.Record) (screen.DreamReport, error) {
	r := screen.DreamReport{
		Agent:   a.Handle,
		Record:  *record,
		Option:  app.Option(),
		MayGoOn: view.MayGoOn(app, record),
	}
	items, err := app.Store.Find(ctx, memory.Query{
		Agent: a.ID, Dream: record.ID, Sort: memory.Oldest,
		States: dream.States,
	})
	if err != nil {
		return r, err
	}
	if err := memory.ReadClaims(ctx, app.Store, a.ID, items); err != nil {
		return r, err
	}
	r.AddItems(items)
	surfaced, err := app.Store.Get(ctx, a.ID, record.Insights...)
	for _, item := range surfaced {
		r.Surfaced = append(r.Surfaced, item.Text())
	}
	models := map[dream.Role]string{}
	for _, line := range record.Models { // "role=provider/model"
		role, name, _ := strings.Cut(line, "=")
		models[dream.Role(role)] = name
	}
	r.BuiltInRoles, r.BuiltIn = builtIn(app, models)
	if err != nil {
		return r, err
	}
	r.Learned, r.Stopped, err = review.News(ctx, app.Store, a.ID, record)
	if err != nil {
		return r, err
	}
	events, err := view.EventsOf(ctx, app, record)
	if err != nil {
		return r, err
	}
	if record.Stretches > 1 || record.Outcome == dream.Interrupted {
		r.Breaks = screen.Breaks(events)
	}
	return r, r.AddEvents(events, func(ids ...string) ([]dream.Item, error) {
		return app.Store.Get(ctx, a.ID, ids...)
	})
}
