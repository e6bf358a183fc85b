package agentcmd

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

func putAgent(app *cli.App, cmd *cobra.Command, flags *agentFlags, a dream.Agent, did string) error {
	ctx := cmd.Context()
	name := a.Handle
	if err := flags.apply(cmd, &a); err != nil {
		return exit.AsUsage(err)
	}
	if err := a.Validate(); err != nil {
		return exit.AsUsage(fmt.Errorf("agent %s: %w", a.Handle, err))
	}
	for role, model := range a.Models {
		spec, err := app.Catalog.Lookup(model)
		if err == nil {
			err = spec.Fit(role == dream.Embedder)
		}
		if err != nil {
			return exit.AsUsage(fmt.Errorf("model of %s: %w", role, err))
		}
	}
	if err := app.Store.PutAgent(ctx, a); err != nil {
		if errors.Is(err, memory.ErrDreamt) {
			return exit.Usagef(
				"agent %s keeps its name: it has dreamt or was woken, and its workflow, its dreams and their costs carry the name",
				name)
		}
		return fmt.Errorf("agent %s was not %s: %w", name, did, err)
	}
	if app.Json {
		return app.Answer(a)
	}
	app.Say("Agent %s %s.", a.Handle, did)
	if cmd.Flags().Changed("feed") && a.Feed != "" {
		if _, err := app.Feeds.Feed(ctx, a.Feed); errors.Is(err, memory.ErrNotFound) {
			app.Note(`There is no feed %s yet. Add it, for example: oneiros feed add %s --rule "above level 4"%s`,
				a.Feed, a.Feed, app.Option())
		} else if err != nil {
			return err
		}
	}
	if cmd.Flags().Changed("model") {
		return view.NoteOtherEmbedder(ctx, app, a)
	}
	return nil
}

func completeHandles(app *cli.App) cobra.CompletionFunc {
	return cli.FirstArgument(view.With(app, view.Handles))
}
