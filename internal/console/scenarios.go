package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

func (app *App) scenarios() *cobra.Command {
	cmd := &cobra.Command{
		Use: "scenarios", Short: "What dreams imagined in REM, and how one grew out of another",
		GroupID: minds,
	}
	cmd.AddCommand(app.list("list", listing{
		kind: dream.KindScenario, short: "List scenarios, newest first", sort: memory.Newest,
		nothing: "%s has imagined no scenario yet.",
		states:  []dream.State{dream.Live, dream.Archived},
		columns: []column{
			idColumn(),
			{title: "WHEN", drop: 2},
			{title: "MADE"},
			{title: "ROUND", right: true, drop: 3},
			{title: "STATUS"},
			{title: "SCORE", right: true},
			{title: "NOVEL", right: true, drop: 4},
			{title: "PLAUSIBLE", right: true, drop: 4},
			{title: "MATTERS", right: true, drop: 4},
			{title: "TEXT", flex: true},
			{title: "REASON", flex: true, drop: 5},
		},
		row: func(item dream.Item, a dream.Agent) []string {
			s := item.(*dream.Scenario)
			novel, plausible, matters := "-", "-", "-"
			if w := s.Worth; w != nil {
				novel, plausible, matters = score(w.Novelty), score(w.Plausible), score(w.Matters)
			}
			made, round := string(s.Operation), "-"
			if s.Round > 0 {
				round = fmt.Sprint(s.Round)
			}
			return []string{
				short(s.ID, a), when(s.At, a.Zone), cmp.Or(made, string(dream.Branch)), round, s.Marks().Status,
				scoreText(s), novel, plausible, matters,
				s.Content, orDash(s.Reason),
			}
		},
	}), app.scenariosShow(), app.scenariosShares())
	return cmd
}

// scoreText is the score of a scenario; "-" without one.
func scoreText(s *dream.Scenario) string {
	if s.Round > 0 && s.Worth == nil {
		return "-"
	}
	return score(s.Score)
}

func (app *App) scenariosShow() *cobra.Command {
	var dot bool
	cmd := &cobra.Command{
		Use:   "show [DREAM|SCENARIO]",
		Short: "Show the search of a dream as a tree, or one scenario with where it stands",
		Args:  cobra.MaximumNArgs(1),
		Long: "Show draws the search of a dream: what was branched, refined and merged, round by round, what was kept and why the rest was not.\n" +
			"A merger stands beneath the first scenario it was made from, and is named beneath the other. ● is kept, ○ was let go.\n" +
			"DREAM is an id, a number of the agent's, or last, which is shown when none is named. SCENARIO is an id; it is shown whole, and pointed at in its tree.\n" +
			"With --dot the answer is a graph for Graphviz: oneiros scenarios show last --dot | dot -Tsvg > search.svg",
	}
	app.addAgentFlag(cmd)
	cmd.Flags().BoolVar(&dot, "dot", false, "answer in the DOT language of Graphviz")
	cmd.ValidArgsFunction = app.completeScenarios
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if dot && app.json {
			return exit(Usage, "--dot and --json are two answers; ask for one of them")
		}
		h, a, id, chosen, err := app.searchOf(cmd, append(args, "last")[0])
		if err != nil {
			return err
		}
		all, err := searched(cmd.Context(), h, a, id)
		switch {
		case err != nil:
			return err
		case dot:
			_, err = fmt.Fprint(app.Out, screen.ScenariosDot(id, all))
			return err
		case app.json:
			return app.answer(searchJSON(id, all, chosen))
		case len(all) == 0:
			app.note("%s imagined no scenario.", id)
			return nil
		case chosen != nil:
			if err := app.showItem(app.Out, a, chosen); err != nil {
				return err
			}
			app.say("")
			fmt.Fprint(app.Out, screen.Scenarios(all, chosen.ID, app.style(a)))
			return nil
		}
		fmt.Fprint(app.Out, screen.Scenarios(all, "", app.style(a)))
		return nil
	}
	return cmd
}

// searchOf finds the named dream, or the dream of the named scenario.
func (app *App) searchOf(cmd *cobra.Command, name string) (*Deployment, dream.Agent, string, *dream.Scenario, error) {
	h, a, record, err := app.recordOf(cmd, name)
	if err == nil {
		return h, a, record.ID, nil, nil
	}
	if !errors.Is(err, errRecord) {
		return h, a, "", nil, err
	}
	h, a, item, err := app.itemOf(cmd, name, dream.KindScenario)
	if err != nil {
		if Code(err) == NotFound {
			err = exit(NotFound, "%q is neither a dream nor a scenario; dreams list and scenarios list name them", name)
		}
		return h, a, "", nil, err
	}
	s := item.(*dream.Scenario)
	return h, a, s.Dream, s, nil
}

// searched returns the scenarios of a dream in the order they were made.
func searched(ctx context.Context, h *Deployment, a dream.Agent, id string) ([]*dream.Scenario, error) {
	items, err := h.Store.Find(ctx, memory.Query{
		Agent: a.ID, Dream: id, Kinds: []dream.Kind{dream.KindScenario}, Sort: memory.Oldest,
		States: dream.States,
	})
	if err != nil {
		return nil, fmt.Errorf("read the scenarios of %s: %w", id, err)
	}
	all := memory.As[*dream.Scenario](items)
	slices.SortStableFunc(all, func(x, y *dream.Scenario) int {
		return cmp.Or(cmp.Compare(x.Turn, y.Turn), cmp.Compare(len(x.ID), len(y.ID)), cmp.Compare(x.ID, y.ID))
	})
	return all, nil
}

// searchJSON is a search, or one scenario with the scenarios made from it.
func searchJSON(id string, all []*dream.Scenario, chosen *dream.Scenario) map[string]any {
	if chosen == nil {
		rounds := 0
		for _, s := range all {
			rounds = max(rounds, s.Round)
		}
		return map[string]any{"dream": id, "rounds": rounds, "scenarios": orEmpty(all)}
	}
	children := []string{}
	for _, s := range all {
		if slices.Contains(s.Parents, chosen.ID) {
			children = append(children, s.ID)
		}
	}
	return map[string]any{"dream": id, "scenario": chosen, "children": children}
}

// completeScenarios completes dreams, then the newest scenarios.
func (app *App) completeScenarios(cmd *cobra.Command, args []string, part string) ([]string, cobra.ShellCompDirective) {
	ids, directive := app.completeDreams(nil)(cmd, args, part)
	if len(args) > 0 {
		return ids, directive
	}
	err := app.each(cmd, func(h *Deployment, a dream.Agent) error {
		found, err := h.Store.Find(cmd.Context(),
			memory.Query{Agent: a.ID, Kinds: []dream.Kind{dream.KindScenario}, Limit: dreamsOffered})
		for _, item := range found {
			ids = append(ids, item.Header().ID)
		}
		return err
	})
	if err != nil { // a store that cannot be read completes nothing
		return nil, directive
	}
	return ids, directive
}
