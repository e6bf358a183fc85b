package memorycmd

import (
	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
)

func memoryShow(app *cli.App) *cobra.Command {
	var history bool
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show one memory whole, with what it was made from",
		Args: cobra.ExactArgs(1),
	}
	view.AddAgentFlag(app, cmd)
	cmd.Flags().BoolVar(&history, "revisions", false, "also every state it has been in, and what changed it")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		a, item, err := view.ItemOf(app, cmd, args[0])
		if err != nil {
			return err
		}
		if history {
			return view.ShowRevisions(app, cmd, a, item)
		}
		if app.Json {
			return app.Answer(view.PublicItem(item))
		}
		return view.ShowItem(app, app.Out, a, item)
	}
	return cmd
}
