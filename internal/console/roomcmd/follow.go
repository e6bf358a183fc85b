package roomcmd

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

// storeAgain is how often a store that is away is asked again.
const storeAgain = time.Second

func follow(app *cli.App) *cobra.Command {
	after := int64(-1)
	cmd := &cobra.Command{
		Use: "follow ROOM", Short: "Print what happens in a room as it comes, until Ctrl-C", Args: cobra.ExactArgs(1),
		ValidArgsFunction: completes(app, rooms),
		Long: `Follow prints what happens in a room from now on: posts, who comes and goes, and calls that are not answered.
With --json each event is one line, with the post that it is about; a stream that was cut off goes on with --after
and the offset of its last event. A store that is away is waited for.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("after") && after < 0 {
				return exit.Usagef("--after is %d; it must be 0 or more", after)
			}
			return within(app, cmd, func(ctx context.Context, s *deploy.RoomSession) error {
				place, err := named(ctx, s, args[0])
				if err != nil {
					return err
				}
				if after < 0 {
					after = place.Events
				}
				if after > place.Events {
					return exit.Usagef("--after is %d; %s has %s", after, place.ID,
						cli.Plural(int(place.Events), "event", "events"))
				}
				f := &follower{
					app:   app,
					s:     s,
					out:   newSpeaker(app),
					room:  place.ID,
					after: after,
				}
				if err := f.run(ctx); ctx.Err() == nil {
					return err
				}
				return nil
			})
		},
	}
	cmd.Flags().Int64Var(&after, "after", -1, "begin after the event with this `offset`; 0 for the whole feed")
	cmd.Flags().Lookup("after").DefValue = ""
	view.Completes(app, cmd, "after", cli.Nothing)
	return cmd
}

// follower prints the events of a room.
type follower struct {
	app   *cli.App
	s     *deploy.RoomSession
	out   *speaker
	room  string
	after int64
	away  bool
}

func (f *follower) run(ctx context.Context) error {
	for ctx.Err() == nil {
		err := f.once(ctx)
		switch {
		case errors.Is(err, memory.ErrAway):
			if !f.away {
				f.app.Note("The store is away; waiting for it.")
			}
			f.away = true
			if err := pause(ctx, storeAgain); err != nil {
				return err
			}
		case err != nil:
			return err
		case f.away:
			f.app.Note("The store is back.")
			f.away = false
		}
	}
	return ctx.Err()
}

// once waits for events and prints them.
func (f *follower) once(ctx context.Context) error {
	if err := f.s.Await(ctx, local, f.room, f.after); err != nil {
		return err
	}
	events, err := f.s.Events(ctx, local, f.room, f.after, 0)
	if err != nil {
		return err
	}
	for _, e := range events {
		if err := f.print(ctx, e); err != nil {
			return err
		}
		f.after = e.Offset
	}
	return nil
}

// line is an event with the post that it is about.
type line struct {
	room.Event
	Content *room.Post `json:"content,omitempty"`
}

func (f *follower) print(ctx context.Context, e room.Event) error {
	l := line{Event: e}
	if e.Type == room.Added || e.Type == room.Edited || e.Type == room.Deleted {
		p, err := f.s.Find(ctx, local, e.Post)
		if err != nil && !errors.Is(err, memory.ErrNotFound) {
			return err
		}
		if err == nil {
			l.Content = &p
		}
	}
	if f.app.Json {
		return f.app.Line(l)
	}
	name := f.out.name(ctx, e.Who)
	switch e.Type {
	case room.Added, room.Edited:
		if l.Content != nil {
			f.out.print(*l.Content)
		}
	case room.Deleted:
		f.out.remark("%s was deleted", e.Post)
	case room.Created:
		f.out.remark("%s made the room", name)
	case room.Joined:
		f.out.remark("%s comes in", name)
	case room.Left:
		f.out.remark("%s leaves", name)
	case room.Changed:
		f.out.remark("what %s may do or see here has changed", name)
	case room.Resolved:
		f.resolved(name, e)
	}
	return nil
}

// resolved prints the end of a call that no post tells.
func (f *follower) resolved(name string, e room.Event) {
	switch e.Outcome {
	case room.Silent:
		f.out.remark("%s has read %s and chooses to be silent", name, e.Post)
	case room.Failed:
		f.out.remark("%s could not answer %s; oneiros rooms calls %s says why", name, e.Post, name)
	}
}
