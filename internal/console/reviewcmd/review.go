// Package reviewcmd has the commands on review, policy and hooks.
package reviewcmd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/review"
)

// Review builds the command oneiros review.
func Review(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "review", Short: "What dreams made and a person has yet to accept", GroupID: cli.MemoryGroup,
		Long: `Of an agent whose review is "review", nothing that a dream leaves behind counts until a person accepts it: no later
dream, search, digest or client sees it. The queue also holds the fragments that a hook or the policy keeps from
being developed, whatever the review is. Set it with: oneiros agents edit HANDLE --review auto|review|journal-only`,
	}
	cmd.AddCommand(reviewList(app), reviewShow(app), reviewDecide(app, true), reviewDecide(app, false))
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
		if bar, barred := review.PolicyFlag(i); barred {
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
		cli.Signed(by(func(m mood.PAD) float64 { return m.Pleasure })),
		cli.Signed(by(func(m mood.PAD) float64 { return m.Arousal })),
		cli.Signed(by(func(m mood.PAD) float64 { return m.Dominance })))
}

func reviewList(app *cli.App) *cobra.Command {
	var of string
	cmd := &cobra.Command{Use: "list", Short: "List what waits, dream by dream"}
	cmd.Flags().
		StringVar(&of, "dream", "", "only what this `dream` made; last is the newest of which something waits")
	view.Completes(app, cmd, "dream", view.With(app, waitingDreams))
	return view.ForAgent(app, cmd, func(ctx context.Context, a dream.Agent, _ []string) error {
		items, err := unreviewed(ctx, app, a, of)
		if err != nil {
			return err
		}
		list := []waitingLine{}
		t := cli.NewTable("ID,flex,least=30", "KIND", "DREAM,drop=2", "WHY,flex,least=14,drop=1",
			"TEXT,flex,under,drop=3")
		for _, item := range items {
			l := lineOfWaiting(item)
			list = append(list, l)
			t.Add(cli.Short(l.ID, a), l.Kind.String(), cli.Short(l.Dream, a), l.Why, l.Text)
		}
		return app.Rows(list, t, "Nothing of %s waits for a review.", a.Handle)
	})
}

// unreviewed lists what waits of an agent, or of one of its dreams.
func unreviewed(ctx context.Context, app *cli.App, a dream.Agent, of string) ([]dream.Item, error) {
	items, err := view.Reviewing(app).Waiting(ctx, a.ID)
	if err != nil || of == "" {
		return items, err
	}
	var id string
	if of == "last" {
		id, err = lastOf(items)
	} else {
		id, err = view.DreamNamed(ctx, app, a, of)
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
		return "", exit.NotFoundf("nothing waits for a review: there is no last dream of which something does")
	}
	return last.Dream, nil
}

func reviewShow(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show one thing that waits whole, and what it was made from",
		Args: cobra.ExactArgs(1), ValidArgsFunction: completeWaiting(app),
	}
	view.AddAgentFlag(app, cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		a, item, err := view.ItemOf(app, cmd, args[0])
		if cli.Code(err) == exit.NotFound {
			return exit.NotFoundf("there is no %q; oneiros review list names what waits", args[0])
		}
		if err != nil {
			return err
		}
		if !review.IsWaiting(item) {
			return exit.NotFoundf("%s %w; oneiros review list names what does", item.Header().ID,
				review.ErrNotWaiting)
		}
		if app.Json {
			return app.Answer(map[string]any{"waiting": lineOfWaiting(item), "item": view.PublicItem(item)})
		}
		l := lineOfWaiting(item)
		how := "oneiros review accept or reject " + l.ID
		if !l.Lift {
			how = "the policy bars it, which no review lifts; oneiros review reject takes it off the list"
		}
		app.Say("%s", l.Why)
		app.Say("%s", app.Dim(how))
		app.Say("")
		return view.ShowItem(app, a, item)
	}
	return cmd
}

// reviewFlags choose what is decided.
type reviewFlags struct {
	dream    string
	all, yes bool
}

func reviewDecide(app *cli.App, accept bool) *cobra.Command {
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
		Use: use, Short: short, ValidArgsFunction: completeWaiting(app), Args: cobra.ArbitraryArgs,
		Long: long + `

Name the things, or take all of a dream with --dream, or all that wait with --all. What belongs to one dream is
decided together or not at all; oneiros memory undo DREAM takes it back with everything else the dream did.

Exit codes: 3 for what does not wait, 4 for what may not be decided so.`,
	}
	view.AddAgentFlag(app, cmd)
	fs := cmd.Flags()
	fs.StringVar(&f.dream, "dream", "",
		"everything that waits of this `dream`; last is the newest of which something does")
	fs.BoolVar(&f.all, "all", false, "everything that waits")
	fs.BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	view.Completes(app, cmd, "dream", view.With(app, waitingDreams))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ways := 0
		for _, chosen := range []bool{len(args) > 0, f.dream != "", f.all} {
			if chosen {
				ways++
			}
		}
		if ways != 1 {
			return exit.Usagef("name what is decided in one way: by ids, by --dream or by --all")
		}
		a, err := view.AgentOf(app, cmd)
		if err != nil {
			return err
		}
		items, left, err := chooseItems(cmd.Context(), app, a, f, args, accept)
		if err != nil {
			return err
		}
		return decide(cmd.Context(), app, a, f, items, left, accept)
	}
	return cmd
}

// chooseItems returns the items that a command decides, and those it leaves because the policy bars them.
func chooseItems(ctx context.Context, app *cli.App, a dream.Agent, f *reviewFlags, names []string,
	accept bool,
) (items, left []dream.Item, err error) {
	if len(names) > 0 {
		for _, name := range names {
			item, err := view.OneItem(ctx, app, a, name, nil)
			if err != nil {
				return nil, nil, err
			}
			if item == nil {
				return nil, nil, exit.NotFoundf("there is no %q; oneiros review list names what waits", name)
			}
			if !slices.ContainsFunc(items,
				func(existing dream.Item) bool { return existing.Header().ID == item.Header().ID }) {
				items = append(items, item)
			}
		}
		return items, nil, nil
	}
	all, err := unreviewed(ctx, app, a, f.dream)
	for _, item := range all {
		if _, barred := review.PolicyFlag(item); barred && accept {
			left = append(left, item)
			continue
		}
		items = append(items, item)
	}
	return items, left, err
}

// decide decides the items of one dream after another.
func decide(
	ctx context.Context,
	app *cli.App,
	a dream.Agent,
	f *reviewFlags,
	items, left []dream.Item,
	accept bool,
) error {
	did, verb := "rejected", "rejects"
	if accept {
		did, verb = "accepted", "accepts"
	}
	if len(items) == 0 {
		if app.Json {
			return app.Answer(map[string]any{"decided": []review.Decision{}, "left": idsOfItems(left)})
		}
		app.Note("Nothing of %s waits that could be %s.", a.Handle, did)
		return nil
	}
	dreams, byDream := groupByDream(items)
	if len(items) > 1 {
		if err := app.Confirm(f.yes,
			fmt.Sprintf("This %s %s of %s", verb, cli.Count(len(items), "thing"),
				cli.Count(len(dreams), "dream"))); err != nil {
			return err
		}
	}
	done := []review.Decision{}
	for _, id := range dreams {
		d, err := view.Reviewing(app).Decide(ctx, a.ID, id, byDream[id], accept)
		if err != nil {
			if len(done) > 0 {
				app.Note("Before that, %s.", decidedWords(done, did))
			}
			return err
		}
		done = append(done, d)
	}
	if app.Json {
		return app.Answer(map[string]any{"decided": done, "left": idsOfItems(left)})
	}
	app.Say("%s.", capital(decidedWords(done, did)))
	if len(left) > 0 {
		app.Say("Left as they are, because the policy bars them: %s.", strings.Join(idsOfItems(left), ", "))
	}
	return nil
}

func decidedWords(done []review.Decision, did string) string {
	parts := make([]string, len(done))
	for i, d := range done {
		parts[i] = fmt.Sprintf("%s of %s", cli.Count(len(d.Items), "thing"), d.Dream)
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
func completeWaiting(app *cli.App) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return waitingNames(app, cmd, func(item dream.Item) string { return item.Header().ID }),
			cobra.ShellCompDirectiveNoFileComp
	}
}

// waitingDreams completes the dreams with waiting items.
func waitingDreams(app *cli.App, cmd *cobra.Command) []string {
	return waitingNames(app, cmd, func(item dream.Item) string { return item.Header().Dream })
}

func waitingNames(app *cli.App, cmd *cobra.Command, name func(dream.Item) string) []string {
	cmd.SetContext(cli.Existing(cmd))
	var names []string
	err := view.Each(app, cmd, func(a dream.Agent) error {
		items, err := unreviewed(cmd.Context(), app, a, "")
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
