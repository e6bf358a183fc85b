package dreamcmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
)

// Fragments builds the command oneiros fragments.
func Fragments(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "fragments",
		Short:   "Fragments of the onset, kept and discarded",
		GroupID: cli.MemoryGroup,
	}
	cmd.AddCommand(view.List(app, "list", view.Listing{
		Kind: dream.KindFragment, Short: "List fragments, newest first", Sort: memory.Newest,
		Nothing: "%s has caught no fragment yet.",
		States:  []dream.State{dream.Live, dream.Archived},
		Columns: cli.Columns("ID,flex,least=30", "WHEN,drop=2", "CYCLE,right,drop=4", "STATUS", "SCORE,right",
			"NOVEL,right,drop=3", "RELEVANT,right,drop=5", "COHERENT,right,drop=5", "TEXT,flex",
			"REASON,flex,drop=5"),
		Row: func(item dream.Item, a dream.Agent) []string {
			f := item.(*dream.Fragment)
			return []string{
				cli.Short(f.ID,
					a), cli.When(f.At, a.Zone), fmt.Sprint(f.Cycle), f.Status, cli.Score(f.Verdict.Composite),
				cli.Score(f.Verdict.Novelty),
				cli.Score(f.Verdict.Relevance), cli.Score(f.Verdict.Coherence), f.Content, cli.OrDash(f.Reason),
			}
		},
	}), view.Show(app, dream.KindFragment, "Show one fragment whole, with what judged it and what it came from"),
		fragmentsExplain(app), fragmentsBias(app))
	return cmd
}
