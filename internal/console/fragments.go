package console

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

func (app *App) fragments() *cobra.Command {
	cmd := &cobra.Command{Use: "fragments", Short: "Fragments of the onset, kept and discarded", GroupID: minds}
	cmd.AddCommand(app.list("list", listing{
		kind: dream.KindFragment, short: "List fragments, newest first", sort: memory.Newest,
		nothing: "%s has caught no fragment yet.",
		states:  []dream.State{dream.Live, dream.Archived},
		columns: []column{
			idColumn(),
			{title: "WHEN", drop: 2},
			{title: "CYCLE", right: true, drop: 4},
			{title: "STATUS"},
			{title: "SCORE", right: true},
			{title: "NOVEL", right: true, drop: 3},
			{title: "RELEVANT", right: true, drop: 5},
			{title: "COHERENT", right: true, drop: 5},
			{title: "TEXT", flex: true},
			{title: "REASON", flex: true, drop: 5},
		},
		row: func(item dream.Item, a dream.Agent) []string {
			f := item.(*dream.Fragment)
			return []string{
				short(f.ID, a), when(f.At, a.Zone), fmt.Sprint(f.Cycle), f.Status, score(f.Verdict.Composite),
				score(f.Verdict.Novelty),
				score(f.Verdict.Relevance), score(f.Verdict.Coherence), f.Content, orDash(f.Reason),
			}
		},
	}), app.show(dream.KindFragment, "Show one fragment whole, with what judged it and what it came from"),
		app.fragmentsExplain(), app.fragmentsBias())
	return cmd
}

// completeFragments completes the ids of the newest fragments.
func (app *App) completeFragments(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var ids []string
	if len(args) > 0 {
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
	cmd.SetContext(existing(cmd))
	err := app.each(cmd, func(h *Deployment, a dream.Agent) error {
		found, err := h.Store.Find(cmd.Context(),
			memory.Query{Agent: a.ID, Kinds: []dream.Kind{dream.KindFragment}, Limit: dreamsOffered})
		for _, item := range found {
			ids = append(ids, item.Header().ID)
		}
		return err
	})
	if err != nil { // no completion when the store cannot be read
		ids = nil
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}
