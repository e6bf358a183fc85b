package roomcmd

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
	service "github.com/seed-56a03226/oneiros/internal/psyche/rooms"
)

// roles are what a member may do in a room, from the least to the most.
var roles = []room.Role{room.Reader, room.Writer, room.Owner}

func join(app *cli.App) *cobra.Command {
	r, role, stranger := service.JoinRequest{}, "", false
	cmd := &cobra.Command{
		Use: "join ROOM [AGENT]", Short: "Let an agent or a person into a room, or change a member",
		Args: cobra.RangeArgs(1, 2), ValidArgsFunction: completes(app, rooms, agents),
		Long: `Join lets an agent into a room, or with --person a person: the principal of a key, or local for clients without
one. Of a member that is there already, role, trust and subscription become what this command says.

An agent sees the posts that name it, and with --subscribe every post. What a stranger writes counts as little as a
page of the web: it is no evidence, and strangers together may call an agent only so often.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Room, r.Role, r.Trust = args[0], room.Role(role), dormancy.Own
			if stranger {
				r.Trust = dormancy.Stranger
			}
			if role != "" && !cli.OneOf(role, roles) {
				return exit.Usagef("--role is %q; roles are reader, writer and owner", role)
			}
			if (len(args) == 2) == cmd.Flags().Changed("person") {
				return exit.Usagef("rooms join needs either an agent or --person NAME")
			}
			if len(args) == 1 && r.Person == "" {
				return exit.Usagef("--person is empty; it must be the principal of a key, or local")
			}
			if len(args) == 1 && r.Subscribed {
				return exit.Usagef("--subscribe has no place beside --person; only agents subscribe")
			}
			return within(app, cmd, func(ctx context.Context, s *deploy.RoomSession) error {
				if _, err := named(ctx, s, r.Room); err != nil {
					return err
				}
				if len(args) == 2 {
					a, err := view.FindAgent(ctx, app.Deployment, args[1])
					if err != nil {
						return err
					}
					r.Agent = a.Handle
				}
				m, err := s.Join(ctx, local, r)
				if err != nil || app.Json {
					return orAnswer(app, err, m)
				}
				app.Say("%s is in %s as %s%s.", m.Name, m.Room, m.Role, memberText(m))
				return nil
			})
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&r.Person, "person", "", "the `name` of a person: the principal of a key, or local")
	fs.BoolVar(&r.Subscribed, "subscribe", false, "the agent sees every post, not only those that name it")
	fs.StringVar(&role, "role", "", "what it may do there: reader, writer or owner; writer when absent (`role`)")
	fs.BoolVar(&stranger, "stranger", false, "nobody vouches for it")
	view.Completes(app, cmd, "person", func(cmd *cobra.Command) []string { return view.Principals(app, cmd) })
	view.Completes(app, cmd, "role", view.Fixed(roles))
	return cmd
}

// memberText says what else is to be said of a member.
func memberText(m room.Member) string {
	text := ""
	switch {
	case m.Kind == dormancy.Agent && m.Subscribed:
		text = " and sees every post"
	case m.Kind == dormancy.Agent:
		text = " and sees the posts that name it"
	}
	if m.Trust == dormancy.Stranger {
		text += "; nobody vouches for it"
	}
	return text
}

func leave(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "leave ROOM MEMBER", Short: "Take a member out of a room", Args: cobra.ExactArgs(2),
		ValidArgsFunction: completes(app, rooms, members),
		Long: `Leave takes an agent or a person out of a room. What the member has said stays. What waits there for an agent
is dropped, and its level in that room ends.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return within(app, cmd, func(ctx context.Context, s *deploy.RoomSession) error {
				if _, err := named(ctx, s, args[0]); err != nil {
					return err
				}
				name := bare(args[1])
				if name == "" {
					return exit.Usagef("MEMBER is empty; it must be a handle or the name of a person")
				}
				if err := s.Leave(ctx, local, args[0], name); err != nil {
					return err
				}
				if app.Json {
					return app.Answer(map[string]string{"room": args[0], "left": name})
				}
				app.Say("%s is no longer in %s.", name, args[0])
				return nil
			})
		},
	}
}

func subscribe(app *cli.App) *cobra.Command {
	off := false
	cmd := &cobra.Command{
		Use: "subscribe ROOM AGENT", Short: "Let an agent see every post of a room, or only its mentions",
		Args: cobra.ExactArgs(2), ValidArgsFunction: completes(app, rooms, members),
		RunE: func(cmd *cobra.Command, args []string) error {
			return within(app, cmd, func(ctx context.Context, s *deploy.RoomSession) error {
				if _, err := named(ctx, s, args[0]); err != nil {
					return err
				}
				a, err := view.FindAgent(ctx, app.Deployment, cmp.Or(args[1], "@"))
				if err != nil {
					return err
				}
				m, err := s.Subscribe(ctx, local, args[0], a.Handle, !off)
				if err != nil || app.Json {
					return orAnswer(app, notIn(err, args[0], a.Handle), m)
				}
				app.Say("%s is in %s as %s%s.", m.Name, m.Room, m.Role, memberText(m))
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&off, "off", false, "only the posts that name it")
	return cmd
}
