package console

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

func (app *App) memoryForget() *cobra.Command {
	var yes, derived bool
	cmd := &cobra.Command{
		Use: "forget ID...", Short: "Erase memories for good", Args: cobra.MinimumNArgs(1),
		Long: `Forget erases memories with their revisions and vectors, and scrubs them from whatever names them as a source.
It is the only thing that truly deletes, and nothing brings them back.

What dreams made from a memory has words of its own, and may repeat the memory's: fragments, scenarios,
hypotheses, journal entries. They stay, and forget names them, once: afterwards nothing leads back to
them. With --derived they are erased too, and so is what the same dreams wrote without naming a source.`,
	}
	app.whose(cmd)
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVar(&derived, "derived", false, "erase what dreams made from them, too")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		h, a, err := app.agentOf(cmd)
		if err != nil {
			return err
		}
		ids, items, err := named(cmd.Context(), h, a, args)
		if err != nil {
			return err
		}
		if len(items) < len(ids) {
			return exit(NotFound, "%s remembers %d of these %d; nothing was erased: give whole ids, as memory list shows them", a.Handle, len(items), len(ids))
		}
		texts, err := memory.Derived(cmd.Context(), h.Store, a.ID, ids...)
		if err != nil {
			return err
		}
		return app.forget(cmd.Context(), h, a, oblivion{ids: ids, texts: texts, all: derived}, yes)
	}
	return cmd
}

// oblivion is what is to be forgotten, and what dreams made from it.
type oblivion struct {
	ids   []string
	texts []dream.Item
	all   bool // the texts, too
}

func (o oblivion) question(a dream.Agent) string {
	erases := fmt.Sprintf("This erases %s of %s for good", plural(len(o.ids), "memory", "memories"), a.Handle)
	switch {
	case len(o.texts) == 0:
		return erases
	case o.all:
		return fmt.Sprintf("%s, and %s (%s)", erases, o.made(), kindsOf(o.texts))
	}
	return fmt.Sprintf("%s; %s (%s) would stay, and --derived erases these too", erases, o.made(), kindsOf(o.texts))
}

// made counts what dreams made from it.
func (o oblivion) made() string {
	from := "it"
	if len(o.ids) > 1 {
		from = "them"
	}
	return plural(len(o.texts), "text", "texts") + " that dreams made from " + from
}

// kindsOf counts items by their kind.
func kindsOf(items []dream.Item) string {
	var said []string
	for _, kind := range dream.Kinds {
		n := 0
		for _, item := range items {
			if item.Header().Kind == kind {
				n++
			}
		}
		if n > 0 {
			said = append(said, fmt.Sprintf("%s %d", kind, n))
		}
	}
	return strings.Join(said, ", ")
}

func (app *App) forget(ctx context.Context, h *House, a dream.Agent, o oblivion, yes bool) error {
	if err := app.confirm(yes, o.question(a)); err != nil {
		return err
	}
	names, shorts := []string{}, []string{}
	for _, text := range o.texts {
		names, shorts = append(names, text.Header().ID), append(shorts, short(text.Header().ID, a))
	}
	gone := o.ids
	if o.all {
		gone = append(append([]string{}, o.ids...), names...)
	}
	n, err := h.Store.Forget(ctx, a.ID, gone...)
	if err != nil {
		return fmt.Errorf("forget: %w", err)
	}
	if app.json {
		return app.answer(map[string]any{"forgotten": n, "derived": names, "derived_forgotten": o.all})
	}
	app.say("%s forgotten for good.", plural(n, "memory", "memories"))
	if len(names) > 0 && !o.all {
		app.say("%s may repeat it, and nothing leads there any more. To erase that too:\noneiros memory forget -a %s %s", o.made(), a.Handle, strings.Join(shorts, " "))
	}
	return nil
}
