package roomcmd

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
	service "github.com/seed-56a03226/oneiros/internal/psyche/rooms"
	"github.com/seed-56a03226/oneiros/internal/selfcommand"
)

// bare is a name without the sign of a mention.
func bare(name string) string { return strings.TrimPrefix(strings.TrimSpace(name), "@") }

// notIn words the error that an agent is no member of a room.
func notIn(err error, id, agent string) error {
	if errors.Is(err, room.ErrNotMember) {
		return exit.Refusedf("%s is no member of %s; let it in with oneiros rooms join %s %s", agent, id, id, agent)
	}
	return err
}

// dormantFlags are the choices of a command line about a level.
type dormantFlags struct {
	room, until, because string
	span                 time.Duration
}

// Dormant builds the command oneiros agents dormant.
func Dormant(app *cli.App) *cobra.Command {
	f := &dormantFlags{}
	cmd := &cobra.Command{
		Use: "dormant AGENT LEVEL", Short: "Set how much of what is said in rooms an agent answers",
		Args: cobra.ExactArgs(2), ValidArgsFunction: completes(app, agents, levels),
		Long: `Dormant sets the level of an agent, in general or with --room in one room. The rooms concerned are told.

  active        answers every post of the rooms that it is subscribed to
  mention-only  answers the posts that name it
  human-only    answers people, and the posts that name it
  sleep         answers nothing; what names it waits in its inbox

The level active ends the others; with --room it also holds where the agent is dormant in general. A person who
names a sleeping agent wakes it; mention-only and human-only stay until they are changed, or their time is over.

--until takes what a clock shows, as in 17:30 or 5pm, in the agent's time zone and the next time it shows it; or a
day with a time, as in 2026-11-20 17:30; or RFC 3339.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd, args[1]); err != nil {
				return err
			}
			return within(app, cmd, func(ctx context.Context, s *deploy.RoomSession) error {
				return setLevel(ctx, app, s, args, f)
			})
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.room, "room", "", "only in this `room`")
	cli.SpanVar(fs, &f.span, "for", "how long, as in 90m or 2h (`duration`)")
	fs.StringVar(&f.until, "until", "", "until when, as in 17:30 or 2026-11-20T17:30:00Z (`time`)")
	fs.StringVar(&f.because, "because", "", "why, in one line of at most 200 characters (`text`)")
	view.Completes(app, cmd, "room", flagRooms(app))
	view.Completes(app, cmd, "for", cli.Nothing)
	view.Completes(app, cmd, "until", cli.Nothing)
	view.Completes(app, cmd, "because", cli.Nothing)
	return cmd
}

func (f *dormantFlags) check(cmd *cobra.Command, level string) error {
	changed := cmd.Flags().Changed
	switch {
	case !dormancy.Level(level).Valid():
		return exit.Usagef("LEVEL is %q; levels are %s", level, cli.Listed(dormancy.Levels))
	case changed("for") && changed("until"):
		return exit.Usagef("--for and --until both say when it ends; keep one")
	case changed("for") && f.span <= 0:
		return exit.Usagef("--for is %s; it must be longer than zero, as in 90m or 2h", f.span)
	case changed("until") && strings.TrimSpace(f.until) == "":
		return exit.Usagef("--until is empty; it must be a time such as 17:30 or 2026-11-20T17:30:00Z")
	case changed("room") && f.room == "":
		return exit.Usagef("--room is empty; leave it out to set the level in general")
	case level == string(dormancy.Active) && (changed("for") || changed("until") || changed("because")):
		return exit.Usagef("the level active takes no --for, --until and --because")
	}
	return cli.CheckUTF8("--because", f.because)
}

func setLevel(ctx context.Context, app *cli.App, s *deploy.RoomSession, args []string, f *dormantFlags) error {
	a, err := view.FindAgent(ctx, app.Deployment, cmp.Or(args[0], "@"))
	if err != nil {
		return err
	}
	r := service.DormancyRequest{Level: dormancy.Level(args[1]), Room: f.room, Reason: f.because}
	if f.room != "" {
		if _, err := named(ctx, s, f.room); err != nil {
			return err
		}
	}
	switch {
	case f.span > 0:
		r.Until = app.Now().Add(f.span).UTC()
	case f.until != "":
		r.Until, err = selfcommand.Until(f.until, app.Now().In(cli.Location(a.Zone)))
		if err != nil {
			return exit.Usagef("--%w", err)
		}
	}
	set, err := s.SetDormancy(ctx, local, a.Handle, r)
	if err != nil {
		return notIn(err, f.room, a.Handle)
	}
	if app.Json {
		return app.Answer(set)
	}
	app.Say("%s %s.", a.Handle, levelSentence(app, a, set))
	return nil
}

// levelSentence says what level an agent has where, in the agent's time zone.
func levelSentence(app *cli.App, a dream.Agent, d room.Dormancy) string {
	place := "in general"
	if d.Room != "" {
		place = "in " + d.Room
	}
	if !d.Dormant() {
		return "is active " + place
	}
	text := "is dormant " + place + " (" + string(d.Level) + ")"
	if !d.Until.IsZero() {
		text += " until " + cli.Clock(d.Until, app.Now(), a.Zone)
	}
	if d.Reason != "" {
		text += ": " + strings.TrimRight(cli.Flat(d.Reason), ".")
	}
	return text
}

// Dormancy builds the command oneiros agents dormancy.
func Dormancy(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "dormancy AGENT", Short: "Show the levels of an agent, in general and by room", Args: cobra.ExactArgs(1),
		ValidArgsFunction: completes(app, agents),
		RunE: func(cmd *cobra.Command, args []string) error {
			return within(app, cmd, func(ctx context.Context, s *deploy.RoomSession) error {
				a, err := view.FindAgent(ctx, app.Deployment, cmp.Or(args[0], "@"))
				if err != nil {
					return err
				}
				all, err := s.Dormancy(ctx, local, a.Handle)
				if err != nil {
					return err
				}
				t := cli.NewTable("WHERE,flex,least=12", "LEVEL", "SINCE,drop=1", "UNTIL", "REASON,flex,under,drop=2")
				for _, d := range all {
					t.Add(cmp.Or(d.Room, "in general"), string(d.Level), cli.When(d.SetAt, a.Zone), cli.When(d.Until, a.Zone),
						cli.OrDash(d.Reason))
				}
				return app.Rows(cli.OrEmpty(all), t, "%s is active everywhere.", a.Handle)
			})
		},
	}
}
