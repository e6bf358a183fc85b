package memorycmd

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/review"
)

func memoryRestore(app *cli.App) *cobra.Command {
	var of string
	cmd := &cobra.Command{
		Use: "restore [ID...]", Short: "Bring back what a dream has archived", Args: cobra.ArbitraryArgs,
		Long: `Restore makes memories count again that dreams have archived, as new revisions. Without ids it lists what there is to
restore; with --dream it restores all that this dream has archived. What a dream had put in the place of a memory is
archived instead. What was undone comes back by dreaming again, and what was forgotten does not come back.`,
		Example: "  oneiros memory restore --agent iris                  # what there is\n  oneiros memory restore --agent iris se_41c0\n  oneiros memory restore --agent iris --dream 0042",
	}
	cmd.Flags().StringVar(&of, "dream", "", "restore everything that this dream has archived (id, number or last)")
	return view.ForAgent(app, cmd, func(ctx context.Context, a dream.Agent, args []string) error {
		if of != "" && len(args) > 0 {
			return exit.Usagef("--dream restores all of one dream, and %s is named too; use one of them", args[0])
		}
		restoring := review.Restorer{Memory: app.Store, Now: app.Now}
		ids, listed := args, len(args) == 0 && of == ""
		var err error
		switch {
		case len(args) > 0:
			ids, err = named(ctx, app, a, args)
			if err != nil {
				return err
			}
		default:
			from := ""
			if of != "" {
				_, record, err := view.RecordOf(app, cmd, of)
				if err != nil {
					return err
				}
				from = record.ID
			}
			ids, err = restoring.Archived(ctx, a.ID, from)
			if err != nil {
				return err
			}
		}
		if listed || len(ids) == 0 {
			return toRestore(app, ids, a.Handle, of)
		}
		items, err := restoring.Restore(ctx, a.ID, ids...)
		if errors.Is(err, review.ErrNotArchived) {
			return exit.Usagef("%v; nothing was restored. oneiros memory restore -a %s lists what there is", err,
				a.Handle)
		}
		if err != nil {
			return err
		}
		if app.Json {
			return app.Answer(map[string]any{"restored": ids})
		}
		for _, item := range items {
			app.Say("%s  %s", item.Header().ID, cli.Flat(item.Text()))
		}
		app.Say("%s restored.", cli.Plural(len(items), "memory", "memories"))
		return nil
	})
}

// toRestore lists what a dream, or any dream, has archived.
func toRestore(app *cli.App, ids []string, handle, of string) error {
	if app.Json {
		return app.Answer(map[string]any{"archived": cli.OrEmpty(ids), "restored": []string{}})
	}
	switch {
	case len(ids) == 0 && of != "":
		app.Say("Dream %s has archived nothing of %s that is not live again.", of, handle)
	case len(ids) == 0:
		app.Say("No dream has archived anything of %s that is not live again.", handle)
	default:
		app.Say("Dreams have archived %s of %s:\n%s\noneiros memory restore -a %s ID... brings them back.",
			cli.Plural(len(ids), "memory", "memories"), handle, strings.Join(ids, "\n"), handle)
	}
	return nil
}
