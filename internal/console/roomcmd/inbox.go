package roomcmd

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
	service "github.com/seed-56a03226/oneiros/internal/psyche/rooms"
)

func inbox(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "inbox AGENT", Short: "Show what waits for an agent, and what it asked for while it slept",
		Args: cobra.ExactArgs(1), ValidArgsFunction: completes(app, agents),
		Long: `Inbox shows the posts and messages that an agent has yet to answer, and why they wait. Posts of its own that it
asked for while it slept are held until it wakes.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return within(app, cmd, func(ctx context.Context, s *deploy.RoomSession) error {
				a, err := view.FindAgent(ctx, app.Deployment, cmp.Or(args[0], "@"))
				if err != nil {
					return err
				}
				items, err := itemsOf(ctx, s, a.Handle)
				if err != nil {
					return err
				}
				held, err := service.AllPages(func(after int64) ([]room.Action, error) {
					return s.Held(ctx, local, a.Handle, after, room.MaxPage)
				}, func(h room.Action) int64 { return h.Number })
				if err != nil {
					return err
				}
				if app.Json {
					return app.Answer(struct {
						Items []room.Item   `json:"items"`
						Held  []room.Action `json:"held"`
					}{cli.OrEmpty(items), cli.OrEmpty(held)})
				}
				if len(items) == 0 && len(held) == 0 {
					app.Note("Nothing waits for %s.", a.Handle)
					return nil
				}
				drawItems(ctx, app, items, a.Zone)
				for _, h := range held {
					app.Say("Held until %s wakes: a %s in %s, asked for %s.", a.Handle, h.Name, h.Room,
						cli.When(h.Created, a.Zone))
				}
				return nil
			})
		},
	}
}

func drawItems(ctx context.Context, app *cli.App, items []room.Item, zone string) {
	if len(items) == 0 {
		return
	}
	out := newSpeaker(app)
	t := cli.NewTable("WHAT,flex,least=12", "FROM,flex,least=8", "SINCE", "STATE", "UNTIL,drop=3", "EXPIRES,drop=2",
		"WHY,flex,under,drop=1")
	for _, item := range items {
		t.Add(subject(item.Post, item.Trigger), out.name(ctx, item.From), cli.When(item.Created, zone), string(item.State),
			cli.When(item.Until, zone), cli.When(item.Expires, zone), cli.OrDash(reasonText(item.Reason, dormancy.Sleep)))
	}
	t.Draw(app.Out, app.Width, app.Bold)
}

// subject is what an agent is called by.
func subject(post string, trigger room.Trigger) string {
	if post != "" {
		return post
	}
	if trigger == room.OnScheduled {
		return "a set time"
	}
	return "a message"
}

// outcomes are what may become of a call.
var outcomes = []room.Outcome{room.Queued, room.Replied, room.Silent, room.Failed, room.Skipped}

func calls(app *cli.App) *cobra.Command {
	limit, outcome := usualPosts, ""
	cmd := &cobra.Command{
		Use: "calls AGENT", Short: "Show what became of each call of an agent, and what it cost",
		Args: cobra.ExactArgs(1), ValidArgsFunction: completes(app, agents),
		Long: `Calls shows the newest calls of an agent, oldest first: whether it answered, chose to be silent or failed, and
of the posts that it saw and was not called by, why not and at which level it was.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 1 {
				return exit.Usagef("--limit is %d; it must be 1 or more", limit)
			}
			if outcome != "" && !cli.OneOf(outcome, outcomes) {
				return exit.Usagef("--outcome is %q; outcomes are %s", outcome, cli.Listed(outcomes))
			}
			return within(app, cmd, func(ctx context.Context, s *deploy.RoomSession) error {
				a, err := view.FindAgent(ctx, app.Deployment, cmp.Or(args[0], "@"))
				if err != nil {
					return err
				}
				all, err := recordsOf(ctx, s, a.Handle)
				if err != nil {
					return err
				}
				found := []room.Wake{}
				for _, w := range all {
					if outcome == "" || w.Outcome == room.Outcome(outcome) {
						found = append(found, w)
					}
				}
				found = found[max(0, len(found)-limit):]
				return drawCalls(app, found, a.Handle, a.Zone)
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", usualPosts, "how `many` of the newest to print")
	cmd.Flags().StringVar(&outcome, "outcome", "", "only calls with this `outcome`, such as skipped")
	view.Completes(app, cmd, "limit", cli.Nothing)
	view.Completes(app, cmd, "outcome", view.Fixed(outcomes))
	return cmd
}

func drawCalls(app *cli.App, found []room.Wake, agent, zone string) error {
	t := cli.NewTable("WHEN", "CALLED BY,flex,least=12", "OUTCOME", "LEVEL,drop=2", "COST,right", "TOOK,right,drop=3",
		"WHY,flex,under,drop=1")
	total := budget.Micros(0)
	for _, w := range found {
		took := "-"
		if !w.Ended.IsZero() {
			took = cli.Lasted(w.Ended.Sub(w.At))
		}
		total += w.Cost
		t.Add(cli.When(w.At, zone), subject(w.Post, w.Trigger), string(w.Outcome), cli.OrDash(string(w.Level)),
			cli.Money(w.Cost), took, cli.OrDash(reasonText(w.Reason, w.Level)))
	}
	if len(found) > 1 {
		t.Total = []string{fmt.Sprintf("%d calls", len(found)), "", "", "", cli.Money(total), "", ""}
	}
	return app.Rows(found, t, "%s was never called.", agent)
}
