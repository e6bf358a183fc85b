package console

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/memory/erasure"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// forgetFlags say what is to be forgotten, and how.
type forgetFlags struct {
	memory.Selection
	since, until string
	texts        []string
	yes, dry     bool
}

func (app *App) memoryForget() *cobra.Command {
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
	app.addAgentFlag(cmd)
	fs := cmd.Flags()
	fs.StringVar(&f.User, "user", "", "what was said in talks with this `user`, whatever key they came with")
	fs.StringVar(&f.Owner, "owner", "", "what was said in talks of this `owner`, as in laptop/anna: principal and user")
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
		app.completes(cmd, flag, nothing)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		h, a, err := app.agentOf(cmd)
		if err != nil {
			return err
		}
		f.IDs, _, err = named(cmd.Context(), h, a, args)
		if err != nil {
			return err
		}
		if err := app.selects(&f, a); err != nil {
			return err
		}
		plan, err := memory.PlanErasure(cmd.Context(), h.Store, a.ID, f.Selection)
		if err != nil {
			return err
		}
		return app.forget(cmd.Context(), h, a, f, plan)
	}
	return cmd
}

// selects reads the flags that select memories.
func (app *App) selects(f *forgetFlags, a dream.Agent) error {
	if f.ItemsOnly && (f.Derived || len(f.texts) > 0) {
		return exit(Usage, "--only erases the named memories alone: it goes with neither --derived nor --text")
	}
	now := app.Now()
	var err error
	f.Since, err = readTime(f.since, a.Zone, now)
	if err != nil {
		return exit(Usage, "--since: %w", err)
	}
	f.Until, err = readTime(f.until, a.Zone, now)
	if err != nil {
		return exit(Usage, "--until: %w", err)
	}
	if !f.Since.IsZero() && !f.Until.IsZero() && !f.Since.Before(f.Until) {
		return exit(Usage, "--since %s is not before --until %s", f.since, f.until)
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
			return exit(Usage, "--text is empty; it must hold the words to forget")
		}
		f.Texts = append(f.Texts, text)
	}
	if f.Owner != "" {
		f.Owner, err = psyche.SelectedOwner(f.Owner)
		if err != nil {
			return exit(Usage, "--owner: %w", err)
		}
	}
	if f.Empty() {
		return exit(Usage, "name what to forget: ids, as memory list shows them, or "+
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
			parts = append(parts, fmt.Sprintf("%s (%s)", plural(len(items), one, more), kindsOf(items)))
		}
	}
	parts = append(parts, plural(len(by[erasure.Named]), "memory", "memories"))
	add(by[erasure.Derived], "item made from nothing else", "items made from nothing else")
	add(by[erasure.Copied], "item that says little but the same", "items that say little but the same")
	add(by[erasure.Traced], "text that dreams made from it in other words",
		"texts that dreams made from it in other words")
	text := fmt.Sprintf("This erases %s of %s for good", listOf(parts), a.Handle)
	if len(p.Absent) > 0 {
		text += fmt.Sprintf(", and what is left of %s gone already", plural(len(p.Absent), "memory", "memories"))
	}
	if len(p.Scrub) > 0 {
		items := make([]dream.Item, len(p.Scrub))
		for i, f := range p.Scrub {
			items[i] = f.Item
		}
		others := plural(len(items), "other", "others")
		text += fmt.Sprintf(", and takes copies of the words out of %s (%s)", others, kindsOf(items))
	}
	if len(p.Alike) > 0 {
		text += fmt.Sprintf("; %s a phrase with it and would stay",
			plural(len(p.Alike), "memory shares", "memories share"))
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
	return plural(len(p.Left), "text", "texts") + " that dreams made from " + from + " in other words"
}

func listOf(parts []string) string {
	if last := len(parts) - 1; last > 0 {
		return strings.Join(parts[:last], ", ") + " and " + parts[last]
	}
	return parts[0]
}

// kindsOf counts items by kind.
func kindsOf(items []dream.Item) string {
	var texts []string
	for _, kind := range dream.Kinds {
		n := 0
		for _, item := range items {
			if item.Header().Kind == kind {
				n++
			}
		}
		if n > 0 {
			texts = append(texts, fmt.Sprintf("%s %d", kind, n))
		}
	}
	return strings.Join(texts, ", ")
}

// erasureTable lists what an erasure affects.
func erasureTable(p erasure.Plan, a dream.Agent) *table {
	t := &table{columns: []column{
		idColumn(), {title: "WHEN", drop: 1}, {title: "KIND"}, {title: "WHAT"}, {title: "TEXT", flex: true},
	}}
	row := func(item dream.Item, what string) {
		h := item.Header()
		t.add(short(h.ID, a), when(h.At, a.Zone), string(h.Kind), what, item.Text())
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

func (app *App) forget(ctx context.Context, h *Deployment, a dream.Agent, f forgetFlags, plan erasure.Plan) error {
	public := psyche.ErasureView(plan)
	if f.dry {
		public.DryRun = true
		if app.json {
			return app.answer(public)
		}
		erasureTable(plan, a).draw(app.Out, app.Width, app.bold)
		app.say("%s. Nothing was changed.", question(plan, a))
		return nil
	}
	if !f.yes && !app.json && len(plan.Erase)+len(plan.Scrub)+len(plan.Alike) > 1 {
		erasureTable(plan, a).draw(app.Err, app.Width, app.bold)
	}
	if nothing := len(plan.Erase)+len(plan.Scrub)+len(plan.Absent) == 0; nothing {
		// This also finishes an earlier erasure that was cut off.
		app.note("%s has nothing that fits.", a.Handle)
	} else if err := app.confirm(f.yes, question(plan, a)); err != nil {
		return err
	}
	done, err := memory.ForgetAll(ctx, h.Store, a.ID, plan)
	if err != nil {
		return fmt.Errorf("forget: %w", err)
	}
	if app.json {
		public.Forgotten, public.Scrubbed = done.Items, done.Scrubbed
		return app.answer(public)
	}
	app.say("%s forgotten for good.", plural(done.Items, "memory", "memories"))
	if done.Scrubbed > 0 {
		app.say("Their words were taken out of %s.", plural(done.Scrubbed, "other", "others"))
	}
	if len(plan.Left) > 0 {
		shorts := make([]string, len(plan.Left))
		for i, item := range plan.Left {
			shorts[i] = short(item.Header().ID, a)
		}
		app.say(
			"%s may say the same, and nothing leads there any more. To erase that too:\noneiros memory forget -a %s %s%s",
			madeOf(plan), a.Handle, strings.Join(shorts, " "), h.option())
	}
	return nil
}
