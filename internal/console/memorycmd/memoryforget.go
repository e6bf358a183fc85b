package memorycmd

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/memory/erasure"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// forgetFlags say what is to be forgotten, and how.
type forgetFlags struct {
	memory.Selection
	since, until string
	texts        []string
	yes, dry     bool
}

func memoryForget(app *cli.App) *cobra.Command {
	var f forgetFlags
	cmd := &cobra.Command{
		Use: "forget [ID...]", Short: "Erase memories, and what repeats them, for good", Args: cobra.ArbitraryArgs,
		Long: `Forget erases memories with their revisions and vectors, and nothing brings them back; oneiros agents remove
erases a whole agent. Name them by id, or name whose or when they are: --user, --owner, --session,
--since and --until choose what people and agents said and what was imported; together they choose what
fits all of them.

What was made from nothing else goes with them: knowledge that import derived, texts of dreams. What repeats their
words loses these, in every revision: neighbours' context, answers, notes of dreams, playbook. What would say nothing
without them is erased. Forget lists all this, and asks; --dry-run only lists.

Texts that dreams made from them and from other things, in words of their own, stay and are named; --derived erases
them too. An id that names nothing any more is no mistake: what is left of it is erased.

Beyond its reach are copies: backups, exports, and what a provider keeps of the prompts it was sent.`,
		Example: "  oneiros memory forget -a echo ep_1f0c\n  oneiros memory forget -a echo --user anna --dry-run\n" +
			"  oneiros memory forget -a echo --session harbour --since 36h --yes\n  oneiros memory forget -a echo --text 'the code of the door is 4931'",
	}
	fs := cmd.Flags()
	fs.StringVar(&f.User, "user", "", "what was said in talks with this `user`, whatever key they came with")
	fs.StringVar(
		&f.Owner,
		"owner",
		"",
		"what was said in talks of this `owner`, as in laptop/anna: principal and user",
	)
	fs.StringVar(&f.Session, "session", "", "what was said in this `conversation`, or imported of it")
	fs.StringVar(&f.since, "since", "", "not before this `time`: 2026-11-20, 2026-11-20T06:00 or 36h (ago)")
	fs.StringVar(&f.until, "until", "", "before this `time`")
	fs.StringArrayVar(&f.texts, "text", nil,
		"what repeats these `words`, although no memory is named; - reads them from standard input")
	fs.BoolVar(&f.Derived, "derived", false, "erase what dreams made from them in words of their own, too")
	fs.BoolVar(&f.ItemsOnly, "only", false, "erase the named memories alone, and leave what repeats them")
	fs.BoolVar(&f.dry, "dry-run", false, "list what would be erased and scrubbed, and change nothing")
	fs.BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	for _, flag := range []string{"user", "owner", "session", "since", "until", "text"} {
		view.Completes(app, cmd, flag, cli.Nothing)
	}
	return view.ForAgent(app, cmd, func(ctx context.Context, a dream.Agent, args []string) error {
		var err error
		f.IDs, err = named(ctx, app, a, args)
		if err != nil {
			return err
		}
		if err := selects(app, &f, a); err != nil {
			return err
		}
		plan, err := memory.PlanErasure(ctx, app.Store, a.ID, f.Selection)
		if err != nil {
			return err
		}
		return forget(ctx, app, a, f, plan)
	})
}

// selects reads the flags that select memories.
func selects(app *cli.App, f *forgetFlags, a dream.Agent) error {
	if f.ItemsOnly && (f.Derived || len(f.texts) > 0) {
		return exit.Usagef("--only erases the named memories alone: it goes with neither --derived nor --text")
	}
	now := app.Now()
	var err error
	f.Since, err = cli.ReadTime(f.since, a.Zone, now)
	if err != nil {
		return exit.Usagef("--since: %w", err)
	}
	f.Until, err = cli.ReadTime(f.until, a.Zone, now)
	if err != nil {
		return exit.Usagef("--until: %w", err)
	}
	if !f.Since.IsZero() && !f.Until.IsZero() && !f.Since.Before(f.Until) {
		return exit.Usagef("--since %s is not before --until %s", f.since, f.until)
	}
	for _, text := range f.texts {
		if text == "-" {
			body, err := io.ReadAll(io.LimitReader(app.In, 1<<20))
			if err != nil {
				return fmt.Errorf("read what to forget from standard input: %w", err)
			}
			text = string(body)
		}
		if strings.TrimSpace(text) == "" {
			return exit.Usagef("--text is empty; it must hold the words to forget")
		}
		f.Texts = append(f.Texts, text)
	}
	if f.Owner != "" {
		f.Owner, err = psyche.SelectedOwner(f.Owner)
		if err != nil {
			return exit.Usagef("--owner: %w", err)
		}
	}
	if f.Empty() {
		return exit.Usagef("name what to forget: ids, as memory list shows them, or " +
			"--user, --owner, --session, --since, --until or --text")
	}
	return nil
}

// question says in one sentence what an erasure does.
func question(p erasure.Plan, a dream.Agent) string {
	by := map[erasure.Why][]dream.Item{}
	for _, f := range p.Erase {
		by[f.Why] = append(by[f.Why], f.Item)
	}
	var parts []string
	add := func(items []dream.Item, one, more string) {
		if len(items) > 0 {
			parts = append(parts, fmt.Sprintf("%s (%s)", cli.Plural(len(items), one, more), kindsOf(items)))
		}
	}
	parts = append(parts, cli.Plural(len(by[erasure.Named]), "memory", "memories"))
	add(by[erasure.Derived], "item made from nothing else", "items made from nothing else")
	add(by[erasure.Copied], "item that says little but the same", "items that say little but the same")
	add(by[erasure.Traced], "text that dreams made from it in other words",
		"texts that dreams made from it in other words")
	text := fmt.Sprintf("This erases %s of %s for good", listOf(parts), a.Handle)
	if len(p.Absent) > 0 {
		text += fmt.Sprintf(", and what is left of %s gone already", cli.Plural(len(p.Absent), "memory", "memories"))
	}
	if len(p.Scrub) > 0 {
		items := make([]dream.Item, len(p.Scrub))
		for i, f := range p.Scrub {
			items[i] = f.Item
		}
		others := cli.Count(len(items), "other")
		text += fmt.Sprintf(", and takes copies of the words out of %s (%s)", others, kindsOf(items))
	}
	if len(p.Alike) > 0 {
		text += fmt.Sprintf("; %s a phrase with it and would stay",
			cli.Plural(len(p.Alike), "memory shares", "memories share"))
	}
	if len(p.Left) > 0 {
		text += fmt.Sprintf("; %s (%s) would stay, and --derived erases these too", madeOf(p), kindsOf(p.Left))
	}
	return text
}

// madeOf counts what dreams derived from the erased items, which stays as it is.
func madeOf(p erasure.Plan) string {
	from := "it"
	if len(p.Erase) > 1 {
		from = "them"
	}
	return cli.Count(len(p.Left), "text") + " that dreams made from " + from + " in other words"
}

func listOf(parts []string) string {
	if last := len(parts) - 1; last > 0 {
		return strings.Join(parts[:last], ", ") + " and " + parts[last]
	}
	return parts[0]
}

// kindsOf counts items by kind.
func kindsOf(items []dream.Item) string {
	counts := dream.KindCounts{}
	for _, item := range items {
		counts[item.Header().Kind]++
	}
	return view.Kinds(counts)
}

// erasureTable lists what an erasure affects.
func erasureTable(p erasure.Plan, a dream.Agent) *cli.Table {
	t := cli.NewTable("ID,flex,least=30", "WHEN,drop=1", "KIND", "WHAT", "TEXT,flex")
	row := func(item dream.Item, what string) {
		h := item.Header()
		t.Add(cli.Short(h.ID, a), cli.When(h.At, a.Zone), h.Kind.String(), what, item.Text())
	}
	for _, f := range slices.Backward(p.Erase) { // the requested items first
		row(f.Item, "erase: "+string(f.Why))
	}
	for _, f := range p.Scrub {
		row(f.Item, "scrub: "+strings.Join(f.Fields, " "))
	}
	for _, item := range p.Left {
		row(item, "stays, in other words")
	}
	for _, item := range p.Alike {
		row(item, "stays, says it alike")
	}
	return t
}

func forget(ctx context.Context, app *cli.App, a dream.Agent, f forgetFlags, plan erasure.Plan) error {
	public := psyche.ErasureView(plan)
	if f.dry {
		public.DryRun = true
		if app.Json {
			return app.Answer(public)
		}
		app.Draw(erasureTable(plan, a))
		app.Say("%s. Nothing was changed.", question(plan, a))
		return nil
	}
	if !f.yes && !app.Json && len(plan.Erase)+len(plan.Scrub)+len(plan.Alike) > 1 {
		erasureTable(plan, a).Draw(app.Err, app.Width, app.Bold)
	}
	if nothing := len(plan.Erase)+len(plan.Scrub)+len(plan.Absent) == 0; nothing {
		// This also finishes an earlier erasure that was cut off.
		app.Note("%s has nothing that fits.", a.Handle)
	} else if err := app.Confirm(f.yes, question(plan, a)); err != nil {
		return err
	}
	done, err := memory.ForgetAll(ctx, app.Store, a.ID, plan)
	if err != nil {
		return fmt.Errorf("forget: %w", err)
	}
	if app.Json {
		public.Forgotten, public.Scrubbed = done.Items, done.Scrubbed
		return app.Answer(public)
	}
	app.Say("%s forgotten for good.", cli.Plural(done.Items, "memory", "memories"))
	if done.Scrubbed > 0 {
		app.Say("Their words were taken out of %s.", cli.Count(done.Scrubbed, "other"))
	}
	if len(plan.Left) > 0 {
		shorts := make([]string, len(plan.Left))
		for i, item := range plan.Left {
			shorts[i] = cli.Short(item.Header().ID, a)
		}
		app.Say(
			"%s may say the same, and nothing leads there any more. To erase that too:\noneiros memory forget -a %s %s%s",
			madeOf(plan), a.Handle, strings.Join(shorts, " "), app.Option())
	}
	return nil
}
