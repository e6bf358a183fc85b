package console

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

func (app *App) dreams() *cobra.Command {
	cmd := &cobra.Command{Use: "dreams", Short: "List, show, resume, cancel and repeat dreams", GroupID: nights}
	cmd.AddCommand(app.list("list", listing{
		kind: dream.KindRecord, short: "List dreams, newest first", sort: memory.Newest,
		nothing: "%s has not dreamt yet.",
		states:  []dream.State{dream.Live, dream.Archived},
		columns: []column{
			{title: "DREAM"},
			{title: "BEGAN"},
			{title: "LASTED", right: true, drop: 2},
			{title: "OUTCOME"},
			{title: "TIER", drop: 3},
			{title: "KEPT", right: true, drop: 1},
			{title: "CALLS", right: true, drop: 2},
			{title: "SPENT", right: true},
			{title: "BUDGET", right: true, drop: 3},
			{title: "REASON", flex: true, drop: 4, under: true},
			{title: "THEME", flex: true, drop: 4},
		},
		row:    app.recordRow,
		public: func(item dream.Item) any { return app.public(item.(*dream.Record)) },
	}), app.dreamsShow(), app.dreamsResume(), app.dreamsCancel(), app.dreamsRedream())
	return cmd
}

func (app *App) recordRow(item dream.Item, a dream.Agent) []string {
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
	outcome := outcomeOf(n)
	if app.mayGoOn(n) {
		outcome += ", waits"
	}
	if n.State == dream.Archived {
		outcome += ", undone"
	}
	return []string{
		short(n.ID, a), when(n.At, a.Zone), lasted(n.Ended.Sub(n.At)), outcome, string(n.Tier), keptText, callsText,
		spentText, n.Budget.String(), orDash(app.reason(n, a.Zone)), orDash(n.Theme),
	}
}

func (app *App) dreamsShow() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show [DREAM]", Short: "Read the report of a dream", Args: cobra.MaximumNArgs(1),
		Long: "Show reads the report of a dream: what was noticed, what was kept and why, what it cost.\nDREAM is an id, a number of the agent's, or last, which is shown when none is named.",
	}
	app.addAgentFlag(cmd)
	cmd.ValidArgsFunction = app.completeDreams(nil)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		h, a, record, err := app.recordOf(cmd, append(args, "last")[0])
		if err != nil {
			return err
		}
		return app.report(cmd.Context(), h, a, record)
	}
	return cmd
}

// report prints a dream's report, or all of it as JSON.
func (app *App) report(ctx context.Context, h *Deployment, a dream.Agent, record *dream.Record) error {
	r, err := app.reportOf(ctx, h, a, record)
	if err != nil {
		return fmt.Errorf("report of %s: %w", record.ID, err)
	}
	if app.json {
		return app.answer(app.reportJSON(r))
	}
	fmt.Fprint(app.Out, screen.Report(r, app.style(a)))
	return nil
}

// reportJSON is a report in which every list is present.
func (app *App) reportJSON(r screen.DreamReport) map[string]any {
	return map[string]any{
		"agent": r.Agent, "summary": screen.Summarize(r), "dream": app.public(&r.Record), "breaks": orEmpty(r.Breaks),
		"fragments": orEmpty(r.Fragments), "predictions": orEmpty(r.Predictions),
		"scenarios": orEmpty(r.Scenarios), "hypotheses": orEmpty(r.Hypotheses), "gists": orEmpty(r.Gists),
		"playbook": orEmpty(r.Playbook), "surfaced": orEmpty(r.Surfaced), "archived": orEmpty(r.Archived),
		"built_in": r.BuiltIn, "built_in_roles": orEmpty(r.BuiltInRoles),
	}
}

func (app *App) style(a dream.Agent) screen.Style {
	return screen.Style{Colour: app.Colour, Width: app.Width, Zone: location(a.Zone)}
}

// reportOf reads everything a dream left behind from the store.
func (app *App) reportOf(
	ctx context.Context, h *Deployment, a dream.Agent, record *dream.Record,
) (screen.DreamReport, error) {
	r := screen.DreamReport{Agent: a.Handle, Record: *record, Option: h.option(), MayGoOn: app.mayGoOn(record)}
	items, err := h.Store.Find(ctx, memory.Query{
		Agent: a.ID, Dream: record.ID, Sort: memory.Oldest,
		States: dream.States,
	})
	if err != nil {
		return r, err
	}
	if err := memory.ReadClaims(ctx, h.Store, a.ID, items); err != nil {
		return r, err
	}
	r.AddItems(items)
	surfaced, err := h.Store.Get(ctx, a.ID, record.Insights...)
	for _, item := range surfaced {
		r.Surfaced = append(r.Surfaced, item.Text())
	}
	models := map[dream.Role]string{}
	for _, line := range record.Models { // "role=provider/model"
		role, name, _ := strings.Cut(line, "=")
		models[dream.Role(role)] = name
	}
	r.BuiltInRoles, r.BuiltIn = builtIn(h, models)
	if err != nil {
		return r, err
	}
	events, err := eventsOf(ctx, h, record)
	if err != nil {
		return r, err
	}
	if record.Stretches > 1 || record.Outcome == dream.Interrupted {
		r.Breaks = screen.Breaks(events)
	}
	return r, r.AddEvents(events, func(ids ...string) ([]dream.Item, error) {
		return h.Store.Get(ctx, a.ID, ids...)
	})
}
