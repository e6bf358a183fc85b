package console

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/importer"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

func (app *App) playbook() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "playbook",
		Short: "The heuristics an agent acts by, and the hypotheses that want to join them", GroupID: minds,
	}
	cmd.AddCommand(app.playbookExport())
	return cmd
}

func (app *App) playbookExport() *cobra.Command {
	var output string
	cmd := &cobra.Command{Use: "export", Short: "Write the playbook as a readable PLAYBOOK.md"}
	app.addAgentFlag(cmd)
	cmd.Flags().StringVarP(&output, "output", "o", "-",
		"the `file` to write, such as PLAYBOOK.md; - is standard output")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		h, a, err := app.agentOf(cmd)
		if err != nil {
			return err
		}
		find := func(q memory.Query) ([]dream.Item, error) {
			q.Agent, q.Sort = a.ID, memory.HighestScore
			return h.Store.Find(cmd.Context(), q)
		}
		entries, err := find(memory.Query{Kinds: []dream.Kind{dream.KindPlaybook}})
		if err != nil {
			return err
		}
		tried, err := find(
			memory.Query{Kinds: []dream.Kind{dream.KindHypothesis}, States: []dream.State{dream.Live, dream.Archived}})
		if err != nil {
			return err
		}
		heuristics, hypotheses := memory.As[*dream.Playbook](entries), memory.As[*dream.Hypothesis](tried)
		return app.into(output, func(w io.Writer) error {
			if app.json {
				return app.answer(map[string]any{"agent": a.Handle, "heuristics": heuristics, "hypotheses": hypotheses})
			}
			_, err := io.WriteString(w, importer.PlaybookMarkdown(heuristics, hypotheses))
			return err
		})
	}
	return cmd
}
