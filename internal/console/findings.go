package console

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

// listing is a list command over one kind of item.
type listing struct {
	kind    dream.Kind
	short   string
	nothing string
	sort    memory.SortOrder
	states  []dream.State // shown unless --state says otherwise
	columns []column
	row     func(item dream.Item, a dream.Agent) []string
	public  func(item dream.Item) any // converts an item for --json; nil: the item itself
}

// list builds the command.
func (app *App) list(use string, l listing) *cobra.Command {
	f := &listFlags{}
	cmd := &cobra.Command{Use: use, Short: l.short}
	app.addAgentFlag(cmd)
	app.addListFlags(cmd, f, false)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		h, a, err := app.agentOf(cmd)
		if err != nil {
			return err
		}
		f.kinds = []string{string(l.kind)}
		q, err := app.listQuery(cmd.Context(), h, a, f)
		if err != nil {
			return err
		}
		q.Sort = l.sort
		if len(q.States) == 0 {
			q.States = l.states
		}
		items, err := h.Store.Find(cmd.Context(), q)
		if err != nil {
			return err
		}
		if err := memory.ReadClaims(cmd.Context(), h.Store, a.ID, items); err != nil {
			return err
		}
		t := &table{columns: l.columns}
		for _, item := range items {
			t.add(l.row(item, a)...)
		}
		list := any(orEmpty(items))
		if l.public != nil {
			result := make([]any, len(items))
			for i, item := range items {
				result[i] = l.public(item)
			}
			list = result
		}
		if err := app.rows(list, t, "%s", without(cmd, a, l.nothing)); err != nil {
			return err
		}
		return app.more(cmd, h, q, len(items))
	}
	return cmd
}

// show builds the command that shows one item of a kind.
func (app *App) show(kind dream.Kind, short string) *cobra.Command {
	cmd := &cobra.Command{Use: "show ID", Short: short, Args: cobra.ExactArgs(1)}
	app.addAgentFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		_, a, item, err := app.itemOf(cmd, args[0], kind)
		switch {
		case err != nil:
			return err
		case app.json:
			return app.answer(item)
		}
		return app.showItem(app.Out, a, item)
	}
	return cmd
}

func (app *App) journal() *cobra.Command {
	f := &listFlags{}
	cmd := &cobra.Command{Use: "journal", Short: "Read the dream journal, newest first", GroupID: minds}
	app.addAgentFlag(cmd)
	app.addListFlags(cmd, f, false)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		h, a, err := app.agentOf(cmd)
		if err != nil {
			return err
		}
		q, err := app.listQuery(cmd.Context(), h, a, f)
		if err != nil {
			return err
		}
		q.Kinds = []dream.Kind{dream.KindJournal}
		items, err := h.Store.Find(cmd.Context(), q)
		switch {
		case err != nil:
			return err
		case app.json:
			return app.answer(publicItems(items))
		case len(items) == 0:
			app.note("%s", without(cmd, a, "The journal of %s is empty."))
			return nil
		}
		for i, j := range memory.As[*dream.Journal](items) {
			if i > 0 {
				app.say("")
			}
			app.writeEntry(j, a)
		}
		return app.more(cmd, h, q, len(items))
	}
	return cmd
}

// writeEntry writes a journal entry as a page of text.
func (app *App) writeEntry(j *dream.Journal, a dream.Agent) {
	title := when(j.At, a.Zone)
	if j.Dream != "" {
		title += ", " + j.Dream
	}
	if len(j.Topics) > 0 {
		title += ": " + strings.Join(j.Topics, ", ")
	}
	app.say("%s", app.bold(cut(flat(title), app.Width)))
	marks := "significance " + score(j.Significance)
	if j.Duration > 0 {
		marks += ", lasted " + lasted(j.Duration)
	}
	if j.Interrupted {
		marks += ", interrupted"
	}
	app.say("%s\n%s", app.dim(marks), wrap(j.Content, app.Width, "  "))
}
