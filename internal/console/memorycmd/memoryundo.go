package memorycmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

func memoryUndo(app *cli.App) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "undo DREAM", Short: "Undo a whole dream: archive what it made, restore what it changed",
		Args: cobra.ExactArgs(1),
		Long: "Undo archives everything a dream made and restores what it changed, the mood included. Nothing is erased,\nand money spent stays spent. A dream older than retention.undo cannot be undone.",
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return view.ForDream(app, cmd, func(ctx context.Context, a dream.Agent, record *dream.Record) error {
		if record.Outcome == dream.Dreaming {
			return exit.Errorf(exit.Failure,
				"dream %s is still going on; cancel it first with oneiros dreams cancel %s", record.ID, record.ID)
		}
		if record.Resumable() {
			return exit.Errorf(exit.Failure,
				"dream %s was woken and waits to go on; end it first with oneiros dreams cancel %s", record.ID,
				record.ID)
		}
		if err := app.Confirm(yes,
			fmt.Sprintf("This undoes what dream %s did to the memory of %s", record.ID, a.Handle)); err != nil {
			return err
		}
		undone, err := app.Store.Undo(ctx, a.ID, record.ID)
		if errors.Is(err, memory.ErrPast) {
			return exit.Refusedf("%w; retention.undo says how long a dream can be undone", err)
		}
		if err != nil {
			return fmt.Errorf("undo dream %s: %w", record.ID, err)
		}
		if app.Json {
			return app.Answer(
				map[string]any{
					"dream": record.ID, "archived": undone.Archived, "restored": undone.Restored,
					"kept": cli.OrEmpty(undone.Kept),
				})
		}
		app.Say("Dream %s is undone: %s archived, %s restored.", record.ID,
			cli.Count(undone.Archived, "item"), cli.Count(undone.Restored, "item"))
		if len(undone.Kept) > 0 {
			app.Say("Left as they are, because something changed them later: %s.", strings.Join(undone.Kept, ", "))
		}
		return nil
	})
}

// named finds the ids of memories, which are given whole or as in lists.
func named(ctx context.Context, app *cli.App, a dream.Agent, names []string) ([]string, error) {
	var ids []string
	for _, name := range names {
		found, err := app.Store.Get(ctx, a.ID, name)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			name = cli.Whole(name, a)
		}
		if !slices.Contains(ids, name) {
			ids = append(ids, name)
		}
	}
	return ids, nil
}
