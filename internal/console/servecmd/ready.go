package servecmd

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

// Ready builds the command oneiros ready.
func Ready(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "ready", Short: "Ask the server for clients on this machine whether it is ready", GroupID: cli.DeploymentGroup,
		Long: `Ready asks the server of oneiros up or oneiros serve at serve.listen of this machine for /readyz, and exits with 0
when it can take requests, else with 5. It opens no store and needs no key: it is for health checks of containers and for
scripts that wait.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c := app.Backend.Configuration()
			if len(c.Faults) > 0 {
				return exit.Usagef("%w:\n%s", exit.ErrConfiguration, strings.Join(c.Faults, "\n"))
			}
			answer, err := deploy.ProbeServer(cmd.Context(), c)
			if answer.Status == "" {
				return err
			}
			if app.Json {
				return errors.Join(app.Answer(answer), err)
			}
			pairs := []string{"status", answer.Status}
			for _, part := range slices.Sorted(maps.Keys(answer.Parts)) {
				pairs = append(pairs, part, answer.Parts[part])
			}
			app.Fields(app.Out, pairs...)
			return err
		},
	}
}
