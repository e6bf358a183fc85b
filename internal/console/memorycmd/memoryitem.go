package memorycmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
)

func memoryShow(app *cli.App) *cobra.Command {
	var history bool
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show one memory whole, with what it was made from",
		Args: cobra.ExactArgs(1),
	}
	cmd.Flags().BoolVar(&history, "revisions", false, "also every state it has been in, and what changed it")
	return view.ForItem(app, cmd, func(ctx context.Context, a dream.Agent, item dream.Item) error {
		if history {
			return view.ShowRevisions(ctx, app, a, item)
		}
		if app.Json {
			return app.Answer(view.PublicItem(item))
		}
		return view.ShowItem(app, a, item)
	})
}
