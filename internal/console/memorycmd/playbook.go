package memorycmd

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/importer"
)

// Playbook builds the command oneiros playbook.
func Playbook(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "playbook",
		Short: "The heuristics an agent acts by, and the hypotheses that want to join them", GroupID: cli.MemoryGroup,
	}
	cmd.AddCommand(playbookExport(app))
	return cmd
}

func playbookExport(app *cli.App) *cobra.Command {
	var output string
	cmd := &cobra.Command{Use: "export", Short: "Write the playbook as a readable PLAYBOOK.md"}
	cmd.Flags().StringVarP(&output, "output", "o", "-",
		"the `file` to write, such as PLAYBOOK.md; - is standard output")
	return view.ForAgent(app, cmd, func(ctx context.Context, a dream.Agent, _ []string) error {
		find := func(q memory.Query) ([]dream.Item, error) {
			q.Agent, q.Sort = a.ID, memory.HighestScore
			return app.Store.Find(ctx, q)
		}
		entries, err := find(memory.Query{Kinds: []dream.Kind{dream.KindPlaybook}})
		if err != nil {
			return err
		}
		tried, err := find(
			memory.Query{
				Kinds:  []dream.Kind{dream.KindHypothesis},
				States: []dream.State{dream.Live, dream.Archived},
			},
		)
		if err != nil {
			return err
		}
		heuristics, hypotheses := memory.As[*dream.Playbook](entries), memory.As[*dream.Hypothesis](tried)
		return writeOutput(app, output, func(w io.Writer) error {
			if app.Json {
				return app.Answer(
					map[string]any{"agent": a.Handle, "heuristics": heuristics, "hypotheses": hypotheses})
			}
			_, err := io.WriteString(w, importer.PlaybookMarkdown(heuristics, hypotheses))
			return err
		})
	})
}
