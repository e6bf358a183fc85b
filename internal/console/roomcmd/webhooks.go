package roomcmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
	hooks "github.com/seed-56a03226/oneiros/internal/psyche/webhooks"
)

func webhooks(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "webhooks", Aliases: []string{"webhook"}, Short: "Connect a room with programs elsewhere by signed requests",
		Long: `A webhook sends what happens in a room to a URL, or takes posts into it. Requests are signed with a secret that is
shown once. Events are sent in order, again until they are accepted, while oneiros up or serve runs.`,
	}
	cmd.AddCommand(addWebhook(app), listWebhooks(app), removeWebhook(app))
	return cmd
}

// senders are how posts of a webhook may count.
var senders = []string{"person", "stranger", "agent"}

func addWebhook(app *cli.App) *cobra.Command {
	r, events := hooks.AddRequest{}, []string{}
	cmd := &cobra.Command{
		Use: "add ROOM NAME", Short: "Add a webhook, and print its secret", Args: cobra.ExactArgs(2),
		ValidArgsFunction: completes(app, rooms),
		Long: `Add makes a webhook. With --url what happens in the room is sent there. With --sender it takes posts, which count
as that sender's, whatever they say: a person that is named after the webhook, a stranger, or the --agent that it
speaks as.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, flag := range []string{"url", "sender", "agent"} {
				if cmd.Flags().Changed(flag) && cmd.Flag(flag).Value.String() == "" {
					return exit.Usagef("--%s is empty; leave it out, or give it a value", flag)
				}
			}
			if r.URL == "" && r.Sender == "" && r.Agent == "" {
				return exit.Usagef("give --url to send what happens in the room, or --sender (%s) to take posts",
					cli.Listed(senders))
			}
			if r.Sender != "" && !cli.OneOf(r.Sender, senders) {
				return exit.Usagef("--sender is %q; it must be %s", r.Sender, cli.Listed(senders))
			}
			r.Name, r.Agent = args[1], bare(r.Agent)
			for _, e := range events {
				r.Events = append(r.Events, room.EventType(strings.TrimSpace(e)))
			}
			return within(app, cmd, func(ctx context.Context, s *deploy.RoomSession) error {
				if _, err := named(ctx, s, args[0]); err != nil {
					return err
				}
				added, err := s.Webhooks.Add(ctx, local, args[0], r)
				if err != nil || app.Json {
					return orAnswer(app, notIn(err, args[0], r.Agent), added)
				}
				if added.URL != "" {
					app.Say("What happens in %s is sent to %s (webhook %s).", added.Room, added.URL, added.Name)
				} else {
					app.Say("Posts by %s come into %s at POST /v1/rooms/%s/webhooks/%s/posts.", newSpeaker(app).name(ctx, *added.Sender),
						added.Room, added.Room, added.Name)
				}
				app.Note("Its secret, which is shown once:")
				fmt.Fprintln(app.Out, added.Secret)
				return nil
			})
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&r.URL, "url", "", "the `address` to which what happens in the room is sent")
	fs.StringSliceVar(&events, "events", nil, "only these `events`, such as posted,edited; all when absent")
	fs.StringVar(&r.Sender, "sender", "", "how posts count that it takes: person, stranger or agent (`kind`)")
	fs.StringVar(&r.Agent, "agent", "", "the `agent` as which it speaks")
	view.Completes(app, cmd, "url", cli.Nothing)
	view.Completes(app, cmd, "events", cli.Nothing)
	view.Completes(app, cmd, "sender", view.Fixed(senders))
	view.Completes(app, cmd, "agent", flagAgents(app))
	return cmd
}

func listWebhooks(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "list ROOM", Short: "List the webhooks of a room, and how far they have come", Args: cobra.ExactArgs(1),
		ValidArgsFunction: completes(app, rooms),
		RunE: func(cmd *cobra.Command, args []string) error {
			return within(app, cmd, func(ctx context.Context, s *deploy.RoomSession) error {
				r, err := named(ctx, s, args[0])
				if err != nil {
					return err
				}
				all, err := s.Webhooks.List(ctx, local, args[0])
				if err != nil {
					return err
				}
				t := cli.NewTable("NAME,flex,least=12", "DOES,flex,least=12", "SENT,right", "SINCE,drop=2", "FAULT,flex,under,drop=1")
				for _, w := range all {
					does, sent := "sends to "+w.URL, fmt.Sprintf("%d of %d", w.After, r.Events)
					if w.Sender != nil {
						does, sent = "takes posts by "+newSpeaker(app).name(ctx, *w.Sender), "-"
					}
					fault := w.Fault
					if w.Tries > 0 {
						fault += fmt.Sprintf(" (%d tries)", w.Tries)
					}
					t.Add(w.Name, does, sent, cli.When(w.Created, app.Zone), cli.OrDash(fault))
				}
				return app.Rows(cli.OrEmpty(all), t, "%s has no webhooks. Add one: oneiros rooms webhooks add %s NAME --url URL",
					r.ID, r.ID)
			})
		},
	}
}

func removeWebhook(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "remove ROOM NAME", Short: "Remove a webhook; its secret is worth nothing any more", Args: cobra.ExactArgs(2),
		ValidArgsFunction: completes(app, rooms),
		RunE: func(cmd *cobra.Command, args []string) error {
			return within(app, cmd, func(ctx context.Context, s *deploy.RoomSession) error {
				if _, err := named(ctx, s, args[0]); err != nil {
					return err
				}
				removed, err := s.Webhooks.Remove(ctx, local, args[0], args[1])
				if err != nil || app.Json {
					return orAnswer(app, err, removed)
				}
				app.Say("Removed webhook %s of %s.", removed.Name, removed.Room)
				return nil
			})
		},
	}
}
