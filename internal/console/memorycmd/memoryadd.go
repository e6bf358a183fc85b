package memorycmd

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

func memoryAdd(app *cli.App) *cobra.Command {
	var owner, at string
	cmd := &cobra.Command{
		Use: "add TEXT", Short: "Add a statement as a person's own words", Args: cobra.ExactArgs(1),
		Long: `Add keeps a text in an agent's memory as the words of a person, labelled human, as if that person had said it in a talk. It
is recalled for its owner alone, and takes the place of what the same owner said before where it gives the same thing another value:
the older memory becomes superseded.

The owner is a principal, or principal/user; memory owners lists who there is. Without --owner it is local, which is a client
to the server without a key.`,
		Example: "  oneiros memory add --agent iris \"Anna is allergic to penicillin.\"\n  oneiros memory add --agent iris --owner anna --at 2025-11-20 \\\n      \"The rent is 900 euros.\"",
	}
	view.AddAgentFlag(app, cmd)
	cmd.Flags().StringVar(&owner, "owner", access.Local,
		"whose words they are: a principal or principal/user (`owner`)")
	cmd.Flags().StringVar(&at, "at", "",
		"since when it is so: 2026-11-20, 2026-11-20T06:00 or 36h (ago); now when absent (`time`)")
	view.Completes(app, cmd, "owner", view.With(app, view.Principals))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		whose, err := psyche.ParseOwner(owner)
		if err != nil {
			return exit.Usagef("--owner: %w", err)
		}
		a, err := view.AgentOf(app, cmd)
		if err != nil {
			return err
		}
		since, err := cli.ReadTime(at, a.Zone, app.Now())
		if err != nil {
			return exit.Usagef("--at: %w", err)
		}
		if since.IsZero() {
			since = app.Now()
		}
		if since.After(app.Now()) {
			return exit.Usagef("--at is %s, which is in the future; a memory is of the past",
				since.Format(time.RFC3339))
		}
		place := app.Embed.For(a, "")
		added, err := psyche.Add(cmd.Context(), app.Store, place, a.ID,
			psyche.Addition{Owner: whose, Text: args[0], At: since})
		if err != nil {
			return fmt.Errorf("add to the memory of %s: %w", a.Handle, err)
		}
		if app.Json {
			return app.Answer(added.View(a.Handle, whose))
		}
		if added.Existing {
			app.Say("%s knows this of %s already.", a.Handle, whose)
			return nil
		}
		app.Say("%s remembers it as %s, said by %s.", a.Handle, added.Episode.ID, whose)
		if n := len(added.Replaced); n > 0 {
			app.Say("It takes the place of %s: %v.", cli.Plural(n, "memory", "memories"), added.Replaced)
		}
		return nil
	}
	return cmd
}
