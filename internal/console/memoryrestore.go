package console

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities"
)

func (app *App) memoryRestore() *cobra.Command {
	var of string
	cmd := &cobra.Command{
		Use: "restore [ID...]", Short: "Bring back what a dream has archived", Args: cobra.ArbitraryArgs,
		Long: `Restore makes memories count again that dreams have archived, as new revisions. Without ids it lists what there is to
restore; with --dream it restores all that this dream has archived. What a dream had put in the place of a memory is
archived instead. What was undone comes back by dreaming again, and what was forgotten does not come back.`,
		Example: "  oneiros memory restore --agent iris                  # what there is\n  oneiros memory restore --agent iris se_41c0\n  oneiros memory restore --agent iris --dream 0042",
	}
	app.addAgentFlag(cmd)
	cmd.Flags().StringVar(&of, "dream", "", "restore everything that this dream has archived (id, number or last)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		h, a, err := app.agentOf(cmd)
		if err != nil {
			return err
		}
		if of != "" && len(args) > 0 {
			return exit(Usage, "--dream restores all of one dream, and %s is named too; use one of them", args[0])
		}
		restoring := activities.Restorer{Memory: h.Store, Now: app.Now}
		ids, listed := args, len(args) == 0 && of == ""
		switch {
		case len(args) > 0:
			ids, _, err = named(cmd.Context(), h, a, args)
			if err != nil {
				return err
			}
		default:
			from := ""
			if of != "" {
				_, _, record, err := app.recordOf(cmd, of)
				if err != nil {
					return err
				}
				from = record.ID
			}
			ids, err = restoring.Archived(cmd.Context(), a.ID, from)
			if err != nil {
				return err
			}
		}
		if listed || len(ids) == 0 {
			return app.toRestore(ids, a.Handle, of)
		}
		items, err := restoring.Restore(cmd.Context(), a.ID, ids...)
		if errors.Is(err, activities.ErrNotArchived) {
			return exit(Usage, "%v; nothing was restored. oneiros memory restore -a %s lists what there is", err,
				a.Handle)
		}
		if err != nil {
			return err
		}
		if app.json {
			return app.answer(map[string]any{"restored": ids})
		}
		for _, item := range items {
			app.say("%s  %s", item.Header().ID, flat(item.Text()))
		}
		app.say("%s restored.", plural(len(items), "memory", "memories"))
		return nil
	}
	return cmd
}

// toRestore lists what a dream, or any dream, has archived.
func (app *App) toRestore(ids []string, handle, of string) error {
	if app.json {
		return app.answer(map[string]any{"archived": orEmpty(ids), "restored": []string{}})
	}
	switch {
	case len(ids) == 0 && of != "":
		app.say("Dream %s has archived nothing of %s that is not live again.", of, handle)
	case len(ids) == 0:
		app.say("No dream has archived anything of %s that is not live again.", handle)
	default:
		app.say("Dreams have archived %s of %s:\n%s\noneiros memory restore -a %s ID... brings them back.",
			plural(len(ids), "memory", "memories"), handle, strings.Join(ids, "\n"), handle)
	}
	return nil
}
