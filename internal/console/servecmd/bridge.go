package servecmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/deploy"
)

// Bridge builds the command oneiros bridge.
func Bridge(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "bridge", Short: "Bring rooms of other places to agents", GroupID: cli.RoomGroup,
		Long: `A bridge posts what people say in rooms of another place into rooms here, and sends what agents answer back.`,
	}
	cmd.AddCommand(bridgeMatrix(app))
	return cmd
}

func bridgeMatrix(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "matrix", Short: "Bridge rooms of a Matrix homeserver, until Ctrl-C",
		Long: `Matrix bridges the rooms of the homeserver matrix.homeserver, until Ctrl-C. Each agent of matrix.accounts has a
Matrix account of its own there: people invite it into rooms and mention it, and it answers in threads.

A running oneiros up bridges by itself once the homeserver is configured. This command is for a machine of its own:
its process answers what it brings, and leaves dreams and timers to workers elsewhere.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serve(cmd.Context(), app,
				func(ctx context.Context, h *deploy.Deployment) (deploy.Engine, error) {
					return app.Backend.Bridge(ctx, h, app.Note)
				},
				", once answers under way have ended; what was not answered is answered next time")
		},
	}
}
