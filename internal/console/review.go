package console

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/mood"
)

func (app *App) review() *cobra.Command {
	cmd := &cobra.Command{
		Use: "review", Short: "What dreams made and a person has yet to accept", GroupID: minds,
		Long: `Of an agent whose review is "review", nothing that a dream leaves behind counts until a person accepts it: no later
dream, search, digest or client sees it. The queue also holds the fragments that a hook or the policy keeps from
being developed, whatever the review is. Set it with: oneiros agents edit HANDLE --review auto|review|journal-only`,
	}
	cmd.AddCommand(app.reviewList(), app.reviewShow(), app.reviewDecide(true), app.reviewDecide(false))
	return cmd
}

// waitingLine is one item that waits for review.
type waitingLine struct {
	ID    string     `json:"id"`
	Kind  dream.Kind `json:"kind"`
	Dream string     `json:"dream"`
	Why   string     `json:"why"`
	Lift  bool       `json:"can_be_accepted"`
	Text  string     `json:"text"`
}

func lineOfWaiting(item dream.Item) waitingLine {
	h := item.Header()
	l := waitingLine{
		ID:    h.ID,
		Kind:  h.Kind,
		Dream: h.Dream,
		Why:   "proposed",
		Lift:  true,
		Text:  item.Text(),
	}
	switch i := item.(type) {
	case *dream.Fragment:
		flag, _ := i.Barred()
		if bar, barred := activities.PolicyFlag(i); barred {
			flag, l.Lift = bar, false
		}
		l.Why = fmt.Sprintf("held by %s: %s", flag.By, flag.Reason)
	case *dream.Proposal:
		l.Text = proposalText(i)
	}
	return l
}

func proposalText(p *dream.Proposal) string {
	if p.Does != dream.ProposeMood || p.From == nil || p.To == nil {
		return "let go of " + p.Of + ", which has faded"
	}
	by := func(of func(mood.PAD) float64) float64 { return of(*p.To) - of(*p.From) }
	return fmt.Sprintf("move the mood by pleasure %s, arousal %s, dominance %s",
		signed(by(func(m mood.PAD) float64 { return m.Pleasure })),
		signed(by(func(m mood.PAD) float64 { return m.Arousal })),
		signed(by(func(m mood.PAD) float64 { return m.Dominance })))
}

func (app *App) reviewing(h *Deployment) activities.Reviewer {
	return activities.Reviewer{Memory: h.Store, Now: app.Now, MaxStaged: h.Knobs.MaxStaged}
}

func (app *App) reviewList() *cobra.Command {
	var of string
	cmd := &cobra.Command{Use: "list", Short: "List what waits, dream by dream", Args: cobra.NoArgs}
	app.addAgentFlag(cmd)
	cmd.Flags().StringVar(&of, "dream", "", "only what this `dream` made; last is the newest of which something waits")
	app.completes(cmd, "dream", app.waitingDreams)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		h, a, err := app.agentOf(cmd)
		if err != nil {
			return err
		}
		items, err := app.unreviewed(cmd.Context(), h, a, of)
		if err != nil {
			return err
		}
		list := []waitingLine{}
		t := &table{
			columns: []column{
				idColumn(),
				{title: "KIND"},
				{title: "DREAM", drop: 2},
				{title: "WHY", flex: true, least: 14, drop: 1},
				{title: "TEXT", flex: true, under: true, drop: 3},
			},
		}
		for _, item := range items {
			l := lineOfWaiting(item)
			list = append(list, l)
			t.add(short(l.ID, a), string(l.Kind), short(l.Dream, a), l.Why, l.Text)
		}
		return app.rows(list, t, "Nothing of %s waits for a review.", a.Handle)
	}
	return cmd
}

// unreviewed lists what waits of an agent, or of one of its dreams.
func (app *App) unreviewed(ctx context.Context, h *Deployment, a dream.Agent, of string) ([]dream.Item, error) {
	items, err := app.reviewing(h).Waiting(ctx, a.ID)
	if err != nil || of == "" {
		return items, err
	}
	var id string
	if of == "last" {
		id, err = lastOf(items)
	} else {
		id, err = dreamNamed(ctx, h, a, of)
	}
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(items, func(item dream.Item) bool { return item.Header().Dream != id }), nil
}

// lastOf is the newest dream with an item that waits.
func lastOf(items []dream.Item) (string, error) {
	var last *dream.Head
	for _, item := range items {
		if h := item.Header(); last == nil || h.At.After(last.At) || h.At.Equal(last.At) && h.Dream > last.Dream {
			last = h
		}
	}
	if last == nil {
		return "", exit(NotFound, "nothing waits for a review: there is no last dream of which something does")
	}
	return last.Dream, nil
}

func (app *App) reviewShow() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show one thing that waits whole, and what it was made from",
		Args: cobra.ExactArgs(1), ValidArgsFunction: app.completeWaiting,
	}
	app.addAgentFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		_, a, item, err := app.itemOf(cmd, args[0])
		if Code(err) == NotFound {
			return exit(NotFound, "there is no %q; oneiros review list names what waits", args[0])
		}
		if err != nil {
			return err
		}
		if !activities.IsWaiting(item) {
			return exit(NotFound, "%s %w; oneiros review list names what does", item.Header().ID,
				activities.ErrNotWaiting)
		}
		if app.json {
			return app.answer(map[string]any{"waiting": lineOfWaiting(item), "item": publicItem(item)})
		}
		l := lineOfWaiting(item)
		how := "oneiros review accept or reject " + l.ID
		if !l.Lift {
			how = "the policy bars it, which no review lifts; oneiros review reject takes it off the list"
		}
		app.say("%s", l.Why)
		app.say("%s", app.dim(how))
		app.say("")
		return app.showItem(app.Out, a, item)
	}
	return cmd
}

// reviewFlags choose what is decided.
type reviewFlags struct {
	dream    string
	all, yes bool
}

func (app *App) reviewDecide(accept bool) *cobra.Command {
	f := &reviewFlags{}
	use, short, long := "accept [ID...]", "Let what waits count",
		`Accept lets things count that a dream made: from now on later dreams and searches see them, insights go into the digest,
the mood moves, faded entries are archived. A fragment that a hook holds may be developed from then on, by another
dream over it (oneiros dreams redream); what the policy bars, no review lifts.`
	if !accept {
		use, short, long = "reject [ID...]", "Set aside what waits; it stays readable and never counts",
			`Reject archives what waits. It stays readable, with the dream that made it, and never counts.`
	}
	cmd := &cobra.Command{
		Use: use, Short: short, ValidArgsFunction: app.completeWaiting, Args: cobra.ArbitraryArgs,
		Long: long + `

Name the things, or take all of a dream with --dream, or all that wait with --all. What belongs to one dream is
decided together or not at all; oneiros memory undo DREAM takes it back with everything else the dream did.

Exit codes: 3 for what does not wait, 4 for what may not be decided so.`,
	}
	app.addAgentFlag(cmd)
	fs := cmd.Flags()
	fs.StringVar(&f.dream, "dream", "",
		"everything that waits of this `dream`; last is the newest of which something does")
	fs.BoolVar(&f.all, "all", false, "everything that waits")
	fs.BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	app.completes(cmd, "dream", app.waitingDreams)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ways := 0
		for _, chosen := range []bool{len(args) > 0, f.dream != "", f.all} {
			if chosen {
				ways++
			}
		}
		if ways != 1 {
			return exit(Usage, "name what is decided in one way: by ids, by --dream or by --all")
		}
		h, a, err := app.agentOf(cmd)
		if err != nil {
			return err
		}
		items, left, err := app.chosen(cmd.Context(), h, a, f, args, accept)
		if err != nil {
			return err
		}
		return app.decide(cmd.Context(), h, a, f, items, left, accept)
	}
	return cmd
}

// chosen returns the items that a command decides, and those it leaves because the policy bars them.
func (app *App) chosen(ctx context.Context, h *Deployment, a dream.Agent, f *reviewFlags, names []string,
	accept bool,
) (items, left []dream.Item, err error) {
	if len(names) > 0 {
		for _, name := range names {
			item, err := oneItem(ctx, h, a, name, nil)
			if err != nil {
				return nil, nil, err
			}
			if item == nil {
				return nil, nil, exit(NotFound, "there is no %q; oneiros review list names what waits", name)
			}
			if !slices.ContainsFunc(items,
				func(existing dream.Item) bool { return existing.Header().ID == item.Header().ID }) {
				items = append(items, item)
			}
		}
		return items, nil, nil
	}
	all, err := app.unreviewed(ctx, h, a, f.dream)
	for _, item := range all {
		if _, barred := activities.PolicyFlag(item); barred && accept {
			left = append(left, item)
			continue
		}
		items = append(items, item)
	}
	return items, left, err
}

// decide decides the items of one dream after another.
func (app *App) decide(ctx context.Context, h *Deployment, a dream.Agent, f *reviewFlags, items, left []dream.Item,
	accept bool,
) error {
	did, verb := "rejected", "rejects"
	if accept {
		did, verb = "accepted", "accepts"
	}
	if len(items) == 0 {
		if app.json {
			return app.answer(map[string]any{"decided": []activities.Decision{}, "left": idsOfItems(left)})
		}
		app.note("Nothing of %s waits that could be %s.", a.Handle, did)
		return nil
	}
	dreams, byDream := groupByDream(items)
	if len(items) > 1 {
		if err := app.confirm(f.yes,
			fmt.Sprintf("This %s %s of %s", verb, plural(len(items), "thing", "things"),
				plural(len(dreams), "dream", "dreams"))); err != nil {
			return err
		}
	}
	done := []activities.Decision{}
	for _, id := range dreams {
		d, err := app.reviewing(h).Decide(ctx, a.ID, id, byDream[id], accept)
		if err != nil {
			if len(done) > 0 {
				app.note("Before that, %s.", decidedWords(done, did))
			}
			return err
		}
		done = append(done, d)
	}
	if app.json {
		return app.answer(map[string]any{"decided": done, "left": idsOfItems(left)})
	}
	app.say("%s.", capital(decidedWords(done, did)))
	if len(left) > 0 {
		app.say("Left as they are, because the policy bars them: %s.", strings.Join(idsOfItems(left), ", "))
	}
	return nil
}

func decidedWords(done []activities.Decision, did string) string {
	parts := make([]string, len(done))
	for i, d := range done {
		parts[i] = fmt.Sprintf("%s of %s", plural(len(d.Items), "thing", "things"), d.Dream)
	}
	return strings.Join(parts, ", ") + " " + did
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func idsOfItems(items []dream.Item) []string {
	ids := make([]string, len(items))
	for i, item := range items {
		ids[i] = item.Header().ID
	}
	return ids
}

// groupByDream groups ids by dream, in the order in which dreams come up.
func groupByDream(items []dream.Item) (dreams []string, byDream map[string][]string) {
	byDream = map[string][]string{}
	for _, item := range items {
		h := item.Header()
		if byDream[h.Dream] == nil {
			dreams = append(dreams, h.Dream)
		}
		byDream[h.Dream] = append(byDream[h.Dream], h.ID)
	}
	return dreams, byDream
}

// completeWaiting completes the ids of waiting items.
func (app *App) completeWaiting(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return app.waitingNames(cmd, func(item dream.Item) string { return item.Header().ID }),
		cobra.ShellCompDirectiveNoFileComp
}

// waitingDreams completes the dreams with waiting items.
func (app *App) waitingDreams(cmd *cobra.Command) []string {
	return app.waitingNames(cmd, func(item dream.Item) string { return item.Header().Dream })
}

func (app *App) waitingNames(cmd *cobra.Command, name func(dream.Item) string) []string {
	cmd.SetContext(existing(cmd))
	var names []string
	err := app.each(cmd, func(h *Deployment, a dream.Agent) error {
		items, err := app.unreviewed(cmd.Context(), h, a, "")
		for _, item := range items {
			if n := name(item); !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
		return err
	})
	if err != nil { // no completion when the store cannot be read
		return nil
	}
	return names
}

// refusedByReview reports whether the review forbids a decision.
func refusedByReview(err error) bool {
	for _, refusal := range []error{
		activities.ErrGoesOn, activities.ErrPolicy, activities.ErrChanged, activities.ErrFull, activities.ErrProposed,
		activities.ErrNoRedream,
	} {
		if errors.Is(err, refusal) {
			return true
		}
	}
	return false
}
