package view

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

// Listing is a list command over one kind of item.
type Listing struct {
	Kind    dream.Kind
	Also    []dream.Kind // further kinds that are listed
	Short   string
	Nothing string
	Sort    memory.SortOrder
	States  []dream.State // shown unless --state says otherwise
	Columns []cli.Column
	Row     func(item dream.Item, a dream.Agent) []string
	Public  func(item dream.Item) any // converts an item for --json; nil: the item itself

	// All lists the items of every agent, for the flag --all; nil: there is no such flag.
	All func(ctx context.Context, q memory.Query, after string) error
}

// List builds the command.
func List(app *cli.App, use string, l Listing) *cobra.Command {
	f := &ListFlags{}
	cmd := &cobra.Command{Use: use, Short: l.Short}
	AddListFlags(app, cmd, f, false)
	list := ForAgent(app, cmd, func(ctx context.Context, a dream.Agent, _ []string) error {
		f.Kinds = []string{l.Kind.String()}
		for _, kind := range l.Also {
			f.Kinds = append(f.Kinds, kind.String())
		}
		q, err := ListQuery(ctx, app, a, f)
		if err != nil {
			return err
		}
		q.Sort = l.Sort
		if len(q.States) == 0 {
			q.States = l.States
		}
		items, err := app.Store.Find(ctx, q)
		if err != nil {
			return err
		}
		if err := memory.ReadClaims(ctx, app.Store, a.ID, items); err != nil {
			return err
		}
		t := &cli.Table{Columns: l.Columns}
		for _, item := range items {
			t.Add(l.Row(item, a)...)
		}
		list := any(cli.OrEmpty(items))
		if l.Public != nil {
			list = publicItems(items, l.Public)
		}
		if err := app.Rows(list, t, "%s", cli.Without(cmd, a, l.Nothing)); err != nil {
			return err
		}
		return More(ctx, app, q, len(items))
	})
	if l.All != nil {
		addAll(app, list, f, l)
	}
	return list
}

// addAll adds the flags --all and --after to a list.
func addAll(app *cli.App, cmd *cobra.Command, f *ListFlags, l Listing) {
	all := cmd.Flags().Bool("all", false, "of every agent; cannot be combined with --agent or --dream")
	after := cmd.Flags().String("after", "", "with --all, only what comes after this `id`, the last one that was shown")
	ofOne := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case !*all && *after != "":
			return exit.Usagef("--after %s needs --all", *after)
		case !*all:
			return ofOne(cmd, args)
		case cmd.Flags().Changed("agent") || f.dream != "":
			return exit.Usagef("--all lists every agent's; leave --agent and --dream out")
		}
		if err := app.Within(cmd.Context()); err != nil {
			return err
		}
		f.Kinds = []string{l.Kind.String()}
		q, err := f.Query(dream.Agent{Zone: app.Zone}, app.Now())
		if err != nil {
			return err
		}
		if len(q.States) == 0 {
			q.States = l.States
		}
		return l.All(cmd.Context(), q, *after)
	}
}

// Show builds the command that shows one item of a kind.
func Show(app *cli.App, kind dream.Kind, short string) *cobra.Command {
	cmd := &cobra.Command{Use: "show ID", Short: short, Args: cobra.ExactArgs(1)}
	return ForItem(app, cmd, func(_ context.Context, a dream.Agent, item dream.Item) error {
		if app.Json {
			return app.Answer(item)
		}
		return ShowItem(app, a, item)
	}, kind)
}

// Journal builds the command oneiros journal.
func Journal(app *cli.App) *cobra.Command {
	f := &ListFlags{}
	cmd := &cobra.Command{Use: "journal", Short: "Read the dream journal, newest first", GroupID: cli.MemoryGroup}
	AddListFlags(app, cmd, f, false)
	return ForAgent(app, cmd, func(ctx context.Context, a dream.Agent, _ []string) error {
		q, err := ListQuery(ctx, app, a, f)
		if err != nil {
			return err
		}
		q.Kinds = []dream.Kind{dream.KindJournal}
		items, err := app.Store.Find(ctx, q)
		switch {
		case err != nil:
			return err
		case app.Json:
			return app.Answer(publicItems(items, PublicItem))
		case len(items) == 0:
			app.Note("%s", cli.Without(cmd, a, "The journal of %s is empty."))
			return nil
		}
		for i, j := range memory.As[*dream.Journal](items) {
			if i > 0 {
				app.Say("")
			}
			writeEntry(app, j, a)
		}
		return More(ctx, app, q, len(items))
	})
}

// writeEntry writes a journal entry as a page of text.
func writeEntry(app *cli.App, j *dream.Journal, a dream.Agent) {
	title := cli.When(j.At, a.Zone)
	if j.Dream != "" {
		title += ", " + j.Dream
	}
	if len(j.Topics) > 0 {
		title += ": " + strings.Join(j.Topics, ", ")
	}
	app.Say("%s", app.Bold(cli.Cut(cli.Flat(title), app.Width)))
	marks := "significance " + cli.Score(j.Significance)
	if j.Duration > 0 {
		marks += ", lasted " + cli.Lasted(j.Duration)
	}
	if j.Interrupted {
		marks += ", interrupted"
	}
	app.Say("%s\n%s", app.Dim(marks), cli.Wrap(j.Content, app.Width, "  "))
}
