package console

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

func (app *App) memoryUndo() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "undo DREAM", Short: "Undo a whole dream: archive what it made, restore what it changed",
		Args: cobra.ExactArgs(1),
		Long: "Undo archives everything a dream made and restores what it changed, the mood included. Nothing is erased,\nand money spent stays spent.",
	}
	app.addAgentFlag(cmd)
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		h, a, record, err := app.recordOf(cmd, args[0])
		if err != nil {
			return err
		}
		if record.Outcome == dream.Dreaming {
			return exit(Failure, "dream %s is still going on; cancel it first with oneiros dreams cancel %s",
				record.ID, record.ID)
		}
		if record.Resumable() {
			return exit(Failure, "dream %s was woken and waits to go on; end it first with oneiros dreams cancel %s",
				record.ID, record.ID)
		}
		if err := app.confirm(yes,
			fmt.Sprintf("This undoes what dream %s did to the memory of %s", record.ID, a.Handle)); err != nil {
			return err
		}
		undone, err := h.Store.Undo(cmd.Context(), a.ID, record.ID)
		if err != nil {
			return fmt.Errorf("undo dream %s: %w", record.ID, err)
		}
		if app.json {
			return app.answer(
				map[string]any{
					"dream": record.ID, "archived": undone.Archived, "restored": undone.Restored,
					"kept": orEmpty(undone.Kept),
				})
		}
		app.say("Dream %s is undone: %s archived, %s restored.", record.ID, plural(undone.Archived, "item", "items"),
			plural(undone.Restored, "item", "items"))
		if len(undone.Kept) > 0 {
			app.say("Left as they are, because something changed them later: %s.", strings.Join(undone.Kept, ", "))
		}
		return nil
	}
	return cmd
}

// named finds memories by their ids, whole or as in lists, and also returns the whole ids.
func named(ctx context.Context, h *Deployment, a dream.Agent, names []string) ([]string, []dream.Item, error) {
	var ids []string
	var items []dream.Item
	for _, name := range names {
		found, err := h.Store.Get(ctx, a.ID, name)
		if full := whole(name, a); err == nil && len(found) == 0 && full != name {
			name = full
			found, err = h.Store.Get(ctx, a.ID, name)
		}
		if err != nil {
			return nil, nil, err
		}
		if slices.Contains(ids, name) {
			continue
		}
		ids, items = append(ids, name), append(items, found...)
	}
	return ids, items, nil
}
