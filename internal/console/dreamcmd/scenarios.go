package dreamcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

// Scenarios builds the command oneiros scenarios.
func Scenarios(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "scenarios", Short: "What dreams imagined in REM, and how one grew out of another",
		GroupID: cli.MemoryGroup,
	}
	cmd.AddCommand(view.List(app, "list", view.Listing{
		Kind: dream.KindScenario, Short: "List scenarios, newest first", Sort: memory.Newest,
		Nothing: "%s has imagined no scenario yet.",
		States:  []dream.State{dream.Live, dream.Archived},
		Columns: cli.Columns("ID,flex,least=30", "WHEN,drop=2", "MADE", "ROUND,right,drop=3", "STATUS", "SCORE,right",
			"NOVEL,right,drop=4", "PLAUSIBLE,right,drop=4", "RELEVANT,right,drop=4", "TEXT,flex",
			"REASON,flex,drop=5"),
		Row: func(item dream.Item, a dream.Agent) []string {
			s := item.(*dream.Scenario)
			novel, plausible, matters := "-", "-", "-"
			if w := s.Worth; w != nil {
				novel, plausible, matters = cli.Score(w.Novelty), cli.Score(w.Plausible), cli.Score(w.Relevance)
			}
			made, round := string(s.Operation), "-"
			if s.Round > 0 {
				round = fmt.Sprint(s.Round)
			}
			return []string{
				cli.Short(s.ID,
					a), cli.When(s.At, a.Zone), cmp.Or(made, string(dream.Branch)), round, s.Marks().Status,
				scoreText(s), novel, plausible, matters,
				s.Content, cli.OrDash(s.Reason),
			}
		},
	}), scenariosShow(app), scenariosShares(app))
	return cmd
}

// scoreText is the score of a scenario; "-" without one.
func scoreText(s *dream.Scenario) string {
	if s.Round > 0 && s.Worth == nil {
		return "-"
	}
	return cli.Score(s.Score)
}

func scenariosShow(app *cli.App) *cobra.Command {
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
	view.AddAgentFlag(app, cmd)
	cmd.Flags().BoolVar(&dot, "dot", false, "answer in the DOT language of Graphviz")
	cmd.ValidArgsFunction = completeScenarios(app)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if dot && app.Json {
			return exit.Usagef("--dot and --json are two answers; ask for one of them")
		}
		a, id, chosen, err := searchOf(app, cmd, append(args, "last")[0])
		if err != nil {
			return err
		}
		all, err := searched(cmd.Context(), app, a, id)
		switch {
		case err != nil:
			return err
		case dot:
			_, err = fmt.Fprint(app.Out, screen.ScenariosDot(id, all))
			return err
		case app.Json:
			return app.Answer(searchJSON(id, all, chosen))
		case len(all) == 0:
			app.Note("%s imagined no scenario.", id)
			return nil
		case chosen != nil:
			if err := view.ShowItem(app, a, chosen); err != nil {
				return err
			}
			app.Say("")
			fmt.Fprint(app.Out, screen.Scenarios(all, chosen.ID, app.Style(a)))
			return nil
		}
		fmt.Fprint(app.Out, screen.Scenarios(all, "", app.Style(a)))
		return nil
	}
	return cmd
}

// searchOf finds the named dream, or the dream of the named scenario.
func searchOf(app *cli.App, cmd *cobra.Command, name string) (dream.Agent, string, *dream.Scenario, error) {
	a, record, err := view.RecordOf(app, cmd, name)
	if err == nil {
		return a, record.ID, nil, nil
	}
	if !errors.Is(err, view.ErrRecord) {
		return a, "", nil, err
	}
	a, item, err := view.ItemOf(app, cmd, name, dream.KindScenario)
	if err != nil {
		if cli.Code(err) == exit.NotFound {
			err = exit.NotFoundf("%q is neither a dream nor a scenario; dreams list and scenarios list name them",
				name)
		}
		return a, "", nil, err
	}
	s := item.(*dream.Scenario)
	return a, s.Dream, s, nil
}

// searched returns the scenarios of a dream in the order they were made.
func searched(ctx context.Context, app *cli.App, a dream.Agent, id string) ([]*dream.Scenario, error) {
	items, err := app.Store.Find(ctx, memory.Query{
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
		return map[string]any{"dream": id, "rounds": rounds, "scenarios": cli.OrEmpty(all)}
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
func completeScenarios(app *cli.App) cobra.CompletionFunc {
	return cli.FirstArgument(func(cmd *cobra.Command) []string {
		return append(view.ItemIDs(app, cmd, memory.Query{Kinds: []dream.Kind{dream.KindRecord}}),
			view.ItemIDs(app, cmd, memory.Query{Kinds: []dream.Kind{dream.KindScenario}})...)
	})
}
