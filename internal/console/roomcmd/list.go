package roomcmd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	service "github.com/seed-56a03226/oneiros/internal/psyche/rooms"
)

func list(app *cli.App) *cobra.Command {
	return &cobra.Command{Use: "list", Short: "List the rooms", RunE: func(cmd *cobra.Command, _ []string) error {
		return within(app, cmd, func(ctx context.Context, s *deploy.RoomSession) error {
			all, err := s.List(ctx, local)
			if err != nil {
				return err
			}
			t := cli.NewTable("ROOM,flex,least=12", "TITLE,flex,least=12", "POSTS,right",
				"MADE BY,flex,least=8,drop=1", "SINCE,drop=2")
			for _, r := range all {
				t.Add(r.ID, cli.OrDash(r.Title), fmt.Sprint(r.Posts), r.By.ID, cli.When(r.Created, app.Zone))
			}
			return app.Rows(cli.OrEmpty(all), t, "No rooms yet. Make one: oneiros rooms create ROOM --with AGENT")
		})
	}}
}

func create(app *cli.App) *cobra.Command {
	r := service.CreateRequest{}
	cmd := &cobra.Command{
		Use: "create ROOM", Short: "Make a room", Args: cobra.ExactArgs(1), ValidArgsFunction: completes(app),
		Long: `Create makes a room of which you are the owner. Its id has 1 to 64 of a to z, digits, hyphens and dots.

Agents named by --with join at once and see every post. To make the same room again changes nothing.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			r.ID = args[0]
			return within(app, cmd, func(ctx context.Context, s *deploy.RoomSession) error {
				for i, name := range r.Join {
					a, err := view.FindAgent(ctx, app.Deployment, strings.TrimSpace(name))
					if err != nil {
						return err
					}
					r.Join[i] = a.Handle
				}
				made, err := s.Create(ctx, local, r)
				if err != nil || app.Json {
					return orAnswer(app, err, made)
				}
				with := ""
				if len(r.Join) > 0 {
					with = " with " + strings.Join(r.Join, ", ") + ", subscribed to every post"
				}
				app.Say("Made room %s%s.", made.ID, with)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&r.Title, "title", "", "a `title` for people")
	cmd.Flags().StringSliceVar(&r.Join, "with", nil, "`agents` that join at once, such as echo,iris")
	view.Completes(app, cmd, "title", cli.Nothing)
	view.Completes(app, cmd, "with", flagAgents(app))
	return cmd
}

// orAnswer prints an answer in JSON, unless there was an error.
func orAnswer(app *cli.App, err error, answer any) error {
	if err != nil {
		return err
	}
	return app.Answer(answer)
}

func show(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "show ROOM", Short: "Show who is in a room, who is awake, and who answers what",
		Args: cobra.ExactArgs(1), ValidArgsFunction: completes(app, rooms),
		RunE: func(cmd *cobra.Command, args []string) error {
			return within(app, cmd, func(ctx context.Context, s *deploy.RoomSession) error {
				if _, err := named(ctx, s, args[0]); err != nil {
					return err
				}
				v, err := s.Show(ctx, local, args[0])
				if err != nil || app.Json {
					return orAnswer(app, err, v)
				}
				app.Fields(app.Out, "room", v.ID, "title", v.Title, "made by", v.By.ID, "since",
					cli.When(v.Created, app.Zone), "posts", fmt.Sprint(v.Posts))
				fmt.Fprintln(app.Out)
				t := cli.NewTable("MEMBER,flex,least=12", "KIND", "ROLE,drop=1", "STATE", "SEES,drop=2", "LEVEL", "UNTIL,drop=3",
					"REASON,flex,under,drop=4")
				for _, m := range v.Members {
					level, until, reason := levelText(m), "-", "-"
					if d := m.Dormancy; d != nil {
						until, reason = untilText(d.Until, app), cli.OrDash(d.Reason)
					}
					t.Add(m.Name, kindText(m.Member), string(m.Role), stateText(m), seesText(m.Member), level, until, reason)
				}
				return app.Rows(v.Members, t, "Nobody is in %s.", v.ID)
			})
		},
	}
}

// kindText is the kind of a member, with what it is worth.
func kindText(m room.Member) string {
	if m.Trust == dormancy.Stranger {
		return string(m.Kind) + ", stranger"
	}
	return string(m.Kind)
}

// stateText says whether an agent is awake; a dash for a person.
func stateText(m service.MemberView) string {
	switch {
	case m.Kind != dormancy.Agent:
		return "-"
	case m.Dreaming:
		return "dreaming"
	case m.Online:
		return "awake"
	}
	return "asleep"
}

// levelText is the level of an agent in a room.
func levelText(m service.MemberView) string {
	switch {
	case m.Kind != dormancy.Agent:
		return "-"
	case m.Dormancy != nil:
		return string(m.Dormancy.Level)
	}
	return string(dormancy.Active)
}

func seesText(m room.Member) string {
	switch {
	case m.Kind != dormancy.Agent:
		return "-"
	case m.Subscribed:
		return "all posts"
	}
	return "mentions"
}

// untilText is when something ends; a dash when nothing ends it.
func untilText(t time.Time, app *cli.App) string {
	if t.IsZero() {
		return "-"
	}
	return cli.When(t, app.Zone)
}
