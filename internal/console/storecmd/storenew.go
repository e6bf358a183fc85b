package storecmd

import (
	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/console/cli"
)

func storeNew(app *cli.App) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "new", Short: "Begin anew where the file of the store was lost",
		Long: `New makes an empty store where the configured file is missing or empty. Every other command refuses that where the data
folder says that there was one, so that a lost disk or a wrong store.path is not taken for a new deployment. It changes
no store that is there. Keys stay required when there ever was one: oneiros keys add makes a new one.`,
		Example: "  oneiros store new\n  oneiros store import backup.oneiros",
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, absent, err := app.Backend.StoreAbsent(cmd.Context())
			if err != nil {
				return err
			}
			if absent {
				err = app.Confirm(yes,
					path+
						" begins empty: agents, memories, the ledger and keys are not in it (oneiros store import restores an archive)")
			}
			if absent && err == nil {
				err = app.Backend.NewStore(cmd.Context())
			}
			if err != nil {
				return err
			}
			if app.Json {
				return app.Answer(map[string]any{"store": path, "made": absent})
			}
			if absent {
				app.Say("%s is made, and empty.", path)
			} else {
				app.Say("%s is there already; nothing was changed.", path)
			}
			return nil
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}
