package console

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

func (app *App) playbook() *cobra.Command {
	cmd := &cobra.Command{Use: "playbook", Short: "The heuristics an agent acts by, and the hypotheses that want to join them", GroupID: minds}
	cmd.AddCommand(app.playbookExport())
	return cmd
}

func (app *App) playbookExport() *cobra.Command {
	var output string
	cmd := &cobra.Command{Use: "export", Short: "Write the playbook as a readable PLAYBOOK.md"}
	app.whose(cmd)
	cmd.Flags().StringVarP(&output, "output", "o", "-", "the `file` to write, such as PLAYBOOK.md; - is standard output")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		h, a, err := app.agentOf(cmd)
		if err != nil {
			return err
		}
		find := func(q memory.Query) ([]dream.Item, error) {
			q.Agent, q.Order = a.ID, memory.HighestScore
			return h.Store.Find(cmd.Context(), q)
		}
		entries, err := find(memory.Query{Kinds: []dream.Kind{dream.KindPlaybook}})
		if err != nil {
			return err
		}
		staged, err := find(memory.Query{Kinds: []dream.Kind{dream.KindHypothesis}, Statuses: []string{dream.HypothesisStaged}})
		if err != nil {
			return err
		}
		heuristics, hypotheses := memory.As[*dream.Playbook](entries), memory.As[*dream.Hypothesis](staged)
		return app.into(output, func(w io.Writer) error {
			if app.json {
				return app.answer(map[string]any{"agent": a.Handle, "heuristics": heuristics, "staged": hypotheses})
			}
			return writePlaybook(w, a, heuristics, hypotheses)
		})
	}
	return cmd
}

// writePlaybook writes Markdown: first what is acted by, then what is only proposed.
func writePlaybook(w io.Writer, a dream.Agent, heuristics []*dream.Playbook, staged []*dream.Hypothesis) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Playbook of %s\n\n## Heuristics\n\n", a.Handle)
	if len(heuristics) == 0 {
		b.WriteString("None yet.\n")
	}
	for _, p := range heuristics {
		fmt.Fprintf(&b, "- %s (confidence %s, since %s", sentence(p.Content), score(p.Confidence), day(p.At, a.Zone))
		if p.Hypothesis != "" {
			fmt.Fprintf(&b, ", from %s", p.Hypothesis)
		}
		b.WriteString(")\n")
	}
	b.WriteString("\n## Staged: dreamt, not yet proven\n\n")
	if len(staged) == 0 {
		b.WriteString("None.\n")
	}
	for _, h := range staged {
		fmt.Fprintf(&b, "- %s (confidence %s, dreamt %s, %s)\n", sentence(h.Claim), score(h.Confidence), day(h.At, a.Zone), h.Dream)
		if h.FirstStep != "" {
			fmt.Fprintf(&b, "  First step: %s\n", sentence(h.FirstStep))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// sentence makes one line that Markdown reads as plain words.
func sentence(s string) string {
	return strings.NewReplacer("*", `\*`, "_", `\_`, "`", "\\`", "<", `\<`, "#", `\#`, "[", `\[`).Replace(strings.Join(strings.Fields(screen.Clean(s)), " "))
}
