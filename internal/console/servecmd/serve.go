// Package servecmd has the commands that run a worker or a server, and those on the keys of clients.
package servecmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/deploy"
)

// ServeCommand builds the command oneiros serve.
func ServeCommand(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "serve", Short: "Answer clients: OpenAI's wire, MCP and the dreams API", GroupID: cli.DeploymentGroup,
		Long: `Serve answers clients at serve.listen, until Ctrl-C: OpenAI's wire, to which each agent is a model, MCP and the
dreams API. Talk needs the store and a provider. Dreams need workers elsewhere: oneiros up serves, and works as well.

Only this machine is answered until keys are made with oneiros keys add. When told to stop, it lets nobody new in and
gives answers under way serve.grace to end.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serve(cmd.Context(), app,
				func(ctx context.Context, h *deploy.Deployment) (deploy.Engine, error) {
					return app.Backend.Serve(ctx, h, app.Note)
				},
				", once answers under way have ended")
		},
	}
}
