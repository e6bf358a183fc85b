package console

import (
	"context"

	"github.com/spf13/cobra"
)

func (app *App) serveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "serve", Short: "Answer clients: OpenAI's wire, MCP and the dreams API", GroupID: deployment,
		Long: `Serve answers clients at serve.listen, until Ctrl-C: OpenAI's wire, to which each agent is a model, MCP and the
dreams API. Talk needs the store and a provider. Dreams need workers elsewhere: oneiros up serves, and works as well.

Only this machine is answered until keys are made with oneiros keys add. When told to stop, it lets nobody new in and
gives answers under way serve.grace to end.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return app.serve(cmd.Context(),
				func(ctx context.Context, h *Deployment) (Engine, error) { return app.Dream.Serve(ctx, h, app.note) },
				", once answers under way have ended")
		},
	}
}
