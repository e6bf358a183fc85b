package roomcmd

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
	service "github.com/seed-56a03226/oneiros/internal/psyche/rooms"
	"github.com/seed-56a03226/oneiros/internal/selfcommand"
)

func checkIn(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "checkin", Aliases: []string{"checkins"}, Short: "Call an agent at set times, once or again and again",
		Long: `A check-in calls an agent at a time to come. It looks at the room that the check-in names, if any, and mostly
says nothing. Every call is paid like any other, and oneiros rooms calls shows what became of it.

Calls of a check-in that repeats itself never pile up: while the agent sleeps they are skipped, and while one waits
for the end of a dream the next ones are, too.`,
	}
	cmd.AddCommand(setCheckIn(app), listCheckIns(app), cancelCheckIn(app))
	return cmd
}

// checkInFlags are the choices of a command line about a check-in.
type checkInFlags struct {
	service.CheckInRequest
	at, until string
}

func setCheckIn(app *cli.App) *cobra.Command {
	f := &checkInFlags{}
	cmd := &cobra.Command{
		Use: "set AGENT", Short: "Set when an agent is called", Args: cobra.ExactArgs(1),
		ValidArgsFunction: completes(app, agents),
		Long: `Set calls an agent --at a time, or --every so often. --every takes a duration from 1h on, as in 6h, or local
times, as in 09:00, "mon-fri 09:00" or the five fields of cron. Local times are those of the agent's time zone, or of
--zone. A time that clocks skip when they go forward is the moment of the change; one that they show twice counts once.

--at and --until take what a clock shows, as in 17:30 or 5pm, in the agent's time zone and the next time it shows it;
or a day with a time, as in 2026-11-20 17:30; or RFC 3339. With --every, --at is the first call.

An agent has at most 20 check-ins.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			return within(app, cmd, func(ctx context.Context, s *deploy.RoomSession) error {
				a, err := view.FindAgent(ctx, app.Deployment, cmp.Or(args[0], "@"))
				if err != nil {
					return err
				}
				return f.set(ctx, app, s, a)
			})
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.at, "at", "", "when, as in 17:30 or 2026-11-20T17:30:00Z (`time`)")
	fs.StringVar(&f.Every, "every", "", "how `often`, as in 6h, 09:00 or \"mon-fri 09:00\"")
	fs.StringVar(&f.Zone, "zone", "", "time `zone` of the times of --every, such as Europe/Berlin")
	fs.StringVar(&f.until, "until", "", "no call after this `time`")
	fs.StringVar(&f.Room, "room", "", "the `room` that it looks at and where it may say something")
	fs.StringVar(&f.Message, "message", "", "what it is called for (`text`)")
	fs.StringVar(&f.Name, "name", "", "the `name` by which it is cancelled; the same name again sets nothing more")
	view.Completes(app, cmd, "room", flagRooms(app))
	for _, flag := range []string{"at", "every", "zone", "until", "message", "name"} {
		view.Completes(app, cmd, flag, cli.Nothing)
	}
	return cmd
}

func (f *checkInFlags) check(cmd *cobra.Command) error {
	if strings.TrimSpace(f.at) == "" && strings.TrimSpace(f.Every) == "" {
		return exit.Usagef("when is missing: give --at a time such as 17:30, or --every such as 6h or 09:00")
	}
	for name, text := range map[string]string{
		"at": f.at, "every": f.Every, "zone": f.Zone, "until": f.until, "room": f.Room, "message": f.Message, "name": f.Name,
	} {
		if cmd.Flags().Changed(name) && strings.TrimSpace(text) == "" {
			return exit.Usagef("--%s is empty; leave it out, or give it a value", name)
		}
	}
	return cli.CheckUTF8("--message", f.Message)
}

func (f *checkInFlags) set(ctx context.Context, app *cli.App, s *deploy.RoomSession, a dream.Agent) error {
	now := app.Now().In(cli.Location(a.Zone))
	var err error
	if f.at != "" {
		f.At, err = clockTime("--at", f.at, now)
		if err != nil {
			return err
		}
	}
	if f.until != "" {
		f.Until, err = clockTime("--until", f.until, now)
		if err != nil {
			return err
		}
	}
	if f.Room != "" {
		if _, err := named(ctx, s, f.Room); err != nil {
			return err
		}
	}
	set, err := s.CheckIn(ctx, local, a.Handle, f.CheckInRequest)
	if err != nil || app.Json {
		return orAnswer(app, notIn(err, f.Room, a.Handle), set)
	}
	app.Say("%s is called %s (check-in %s).", a.Handle, whenText(app, a, set), set.Name)
	app.Note("It is called while oneiros up or a worker runs.")
	return nil
}

// clockTime reads a time of a flag.
func clockTime(flag, text string, now time.Time) (time.Time, error) {
	at, err := selfcommand.Until(text, now)
	if err != nil {
		return at, exit.Usagef("%s %s", flag, strings.TrimPrefix(err.Error(), "until "))
	}
	return at, nil
}

// whenText says when a check-in calls, in the agent's time zone.
func whenText(app *cli.App, a dream.Agent, c room.CheckIn) string {
	next := cli.Clock(c.Next, app.Now(), a.Zone)
	if c.Every == "" {
		return "at " + next
	}
	text := "every " + c.Every
	if c.Zone != "" {
		text = "at " + c.Every + " in " + c.Zone
	}
	return text + ", next at " + next
}

func listCheckIns(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "list AGENT", Short: "List when an agent is called", Args: cobra.ExactArgs(1),
		ValidArgsFunction: completes(app, agents),
		RunE: func(cmd *cobra.Command, args []string) error {
			return within(app, cmd, func(ctx context.Context, s *deploy.RoomSession) error {
				a, err := view.FindAgent(ctx, app.Deployment, cmp.Or(args[0], "@"))
				if err != nil {
					return err
				}
				all, err := s.CheckIns(ctx, local, a.Handle)
				if err != nil {
					return err
				}
				t := cli.NewTable("NAME,flex,least=12", "NEXT", "EVERY,flex,least=8", "ZONE,drop=3", "UNTIL,drop=2",
					"ROOM,flex,least=8", "MESSAGE,flex,under,drop=1")
				for _, c := range all {
					message := ""
					if c.Message != nil {
						message = cli.Flat(c.Message.Body)
					}
					t.Add(c.Name, cli.When(c.Next, a.Zone), cmp.Or(c.Every, "once"), cli.OrDash(c.Zone), cli.When(c.Until, a.Zone),
						cli.OrDash(c.Room), cli.OrDash(message))
				}
				return app.Rows(cli.OrEmpty(all), t, "%s has no check-ins. Set one: oneiros rooms checkin set %s --every 09:00",
					a.Handle, a.Handle)
			})
		},
	}
}

func cancelCheckIn(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "cancel AGENT NAME", Short: "Cancel a check-in", Args: cobra.ExactArgs(2),
		ValidArgsFunction: completes(app, agents),
		RunE: func(cmd *cobra.Command, args []string) error {
			return within(app, cmd, func(ctx context.Context, s *deploy.RoomSession) error {
				a, err := view.FindAgent(ctx, app.Deployment, cmp.Or(args[0], "@"))
				if err != nil {
					return err
				}
				ended, err := s.CancelCheckIn(ctx, local, a.Handle, args[1])
				if err != nil || app.Json {
					return orAnswer(app, err, ended)
				}
				app.Say("Canceled check-in %s of %s.", ended.Name, a.Handle)
				return nil
			})
		},
	}
}
