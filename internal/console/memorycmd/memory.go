// Package memorycmd has the commands on memories and playbooks.
package memorycmd

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
)

// Memory builds the command oneiros memory.
func Memory(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{Use: "memory", Short: "What an agent remembers", GroupID: cli.MemoryGroup}
	cmd.AddCommand(memoryAdd(app), memoryImport(app), memoryExport(app), memoryEmbed(app), memorySearch(app),
		memoryList(app), memoryShow(app), memoryUndo(app), memoryRestore(app), memoryOwners(app),
		memoryOwn(app), memoryForget(app))
	return cmd
}

func memoryList(app *cli.App) *cobra.Command {
	f := &view.ListFlags{}
	cmd := &cobra.Command{Use: "list", Short: "List memories, newest first"}
	view.AddListFlags(app, cmd, f, true)
	cmd.Flags().StringVar(&f.Session, "session", "", "only this `session`")
	cmd.Flags().StringVar(&f.Sort, "order", "", "newest, oldest, most_salient, highest_score or soonest_due")
	return view.ForAgent(app, cmd, func(ctx context.Context, a dream.Agent, _ []string) error {
		q, err := view.ListQuery(ctx, app, a, f)
		if err != nil {
			return err
		}
		if len(q.Kinds) == 0 {
			// `dreams` lists the records
			q.Kinds = slices.DeleteFunc(slices.Clone(dream.Kinds),
				func(k dream.Kind) bool { return k == dream.KindRecord })
		}
		items, err := app.Store.Find(ctx, q)
		if err != nil {
			return err
		}
		if err := app.Rows(cli.OrEmpty(items), itemTable(items, a), "%s",
			cli.Without(cmd, a, "%s remembers nothing yet.")); err != nil {
			return err
		}
		return view.More(ctx, app, q, len(items))
	})
}

func itemTable(items []dream.Item, a dream.Agent) *cli.Table {
	t := cli.NewTable("ID,flex,least=30", "WHEN,drop=1", "KIND", "SALIENCE,right,drop=2", "SCORE,right,drop=3",
		"STATUS,drop=4", "TAINT,drop=5", "TEXT,flex")
	for _, item := range items {
		head, marks := item.Header(), item.Marks()
		salience, worth := "-", "-"
		switch head.Kind {
		case dream.KindEpisode:
			salience = cli.Score(marks.Salience)
		case dream.KindGist, dream.KindRecord:
		default:
			worth = cli.Score(marks.Score)
		}
		t.Add(cli.Short(head.ID, a), cli.When(head.At, a.Zone), head.Kind.String(), salience, worth,
			cli.OrDash(marks.Status), string(head.Taint), item.Text())
	}
	return t
}
