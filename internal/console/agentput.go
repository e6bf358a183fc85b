package console

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

func (app *App) putAgent(cmd *cobra.Command, h *Deployment, flags *agentFlags, a dream.Agent, did string) error {
	name := a.Handle
	if err := flags.apply(cmd, &a); err != nil {
		return usage(err)
	}
	if err := a.Validate(); err != nil {
		return usage(fmt.Errorf("agent %s: %w", a.Handle, err))
	}
	for role, model := range a.Models {
		spec, err := h.Catalog.Lookup(model)
		if err == nil {
			err = spec.Fit(role == dream.Embedder)
		}
		if err != nil {
			return usage(fmt.Errorf("model of %s: %w", role, err))
		}
	}
	if err := h.Store.PutAgent(cmd.Context(), a); err != nil {
		if errors.Is(err, memory.ErrDreamt) {
			return exit(Usage,
				"agent %s keeps its name: it has dreamt or was woken, and its workflow, its dreams and their costs carry the name",
				name)
		}
		return fmt.Errorf("agent %s was not %s: %w", name, did, err)
	}
	if app.json {
		return app.answer(a)
	}
	app.say("Agent %s %s.", a.Handle, did)
	if cmd.Flags().Changed("feed") && a.Feed != "" {
		if _, err := h.Feeds.Feed(cmd.Context(), a.Feed); errors.Is(err, memory.ErrNotFound) {
			app.note(`There is no feed %s yet. Add it, for example: oneiros feed add %s --rule "above level 4"%s`,
				a.Feed, a.Feed, h.option())
		} else if err != nil {
			return err
		}
	}
	if cmd.Flags().Changed("model") {
		return app.noteOtherEmbedder(cmd.Context(), h, a)
	}
	return nil
}

func (app *App) completeHandles(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return app.handles(cmd), cobra.ShellCompDirectiveNoFileComp
}
