package roomcmd

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
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
)

// Wake builds the command oneiros agents wake.
func Wake(app *cli.App) *cobra.Command {
	r, f := service.AwakenRequest{}, waitFlags{}
	cmd := &cobra.Command{
		Use: "wake [AGENT...]", Short: "End the sleep of agents in rooms, and interrupt their dreams",
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			return view.Handles(app, cmd), cobra.ShellCompDirectiveNoFileComp
		},
		Args: cobra.ArbitraryArgs,
		Long: `Wake ends every level of the named agents, in general and in rooms: mention-only, human-only and sleep. The
rooms are told, a dream that is running is interrupted, and the agents answer what has waited for them. --all wakes
those that are dormant, and no others.

The text of --message is answered before anything that waits. The answer is printed.

Another command is oneiros wake: it connects as a client and holds one agent awake, and leaves its levels in rooms
as they are.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if r.All == (len(args) > 0) {
				return exit.Usagef("Must specify an agent or --all")
			}
			if cmd.Flags().Changed("message") && strings.TrimSpace(r.Message) == "" {
				return exit.Usagef("--message is empty; leave it out to wake without a message")
			}
			if err := cli.CheckUTF8("--message", r.Message); err != nil {
				return err
			}
			if err := f.check(cmd); err != nil {
				return err
			}
			return within(app, cmd, func(ctx context.Context, s *deploy.RoomSession) error {
				return wake(ctx, app, s, args, r, f)
			})
		},
	}
	cmd.Flags().BoolVar(&r.All, "all", false, "every agent that is dormant")
	cmd.Flags().StringVar(&r.Message, "message", "", "`text` that each of them answers first")
	view.Completes(app, cmd, "message", cli.Nothing)
	f.add(app, cmd)
	return cmd
}

// awoken is what agents wake has done.
type awoken struct {
	service.Awoken
	Calls []room.Wake `json:"calls"` // what became of what waited, and of the message
}

func wake(ctx context.Context, app *cli.App, s *deploy.RoomSession, args []string, r service.AwakenRequest,
	f waitFlags,
) error {
	for _, name := range args {
		a, err := view.FindAgent(ctx, app.Deployment, name)
		if err != nil {
			return err
		}
		if !slices.Contains(r.Agents, a.Handle) {
			r.Agents = append(r.Agents, a.Handle)
		}
	}
	r.Key = strings.ToLower(rand.Text())
	if f.not {
		if err := s.Service.Close(ctx); err != nil {
			return err
		}
	}
	done, err := s.Awaken(ctx, local, r)
	if err != nil {
		return err
	}
	result := awoken{Awoken: done, Calls: []room.Wake{}}
	if !app.Json {
		reportWoken(app, done)
	}
	var fault error
	if !f.not {
		fault = answerWaiting(ctx, app, s, &result, r.Key, f)
	}
	if app.Json {
		if err := app.Answer(result); err != nil {
			return err
		}
	}
	if !done.Success {
		return exit.Errorf(exit.Failure, "%s", sentence(done.Error))
	}
	return fault
}

func reportWoken(app *cli.App, done service.Awoken) {
	if len(done.Woken) > 0 {
		app.Say("Woke %s.", strings.Join(done.Woken, ", "))
	} else if done.Success {
		app.Note("Nobody is dormant.")
	}
}

// answerWaiting lets the woken agents answer what waits for them, and reports it.
func answerWaiting(ctx context.Context, app *cli.App, s *deploy.RoomSession, result *awoken, key string,
	f waitFlags,
) error {
	waiting, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	var late []string
	keys := map[string][]string{} // of all, because they answer each other
	for _, handle := range result.Woken {
		waits, err := unanswered(ctx, s, handle, "wake/"+key+"/")
		if err != nil {
			return err
		}
		keys[handle] = waits
	}
	for _, handle := range result.Woken {
		a, err := view.FindAgent(ctx, app.Deployment, handle)
		if err != nil {
			return err
		}
		found, err := attend(ctx, waiting, app, s, a, keys[handle])
		if err != nil {
			return err
		}
		result.Calls = append(result.Calls, found...)
		for _, w := range found {
			if w.Outcome == room.Queued {
				late = append(late, fmt.Sprintf("%s has not answered %s", handle, subject(w.Post, w.Trigger)))
			}
			if !app.Json {
				reportEnd(app, a, w)
			}
		}
	}
	if len(late) > 0 {
		return exit.Errorf(exit.Unreachable, "%s; oneiros rooms inbox shows what waits", strings.Join(late, ", "))
	}
	return nil
}

// attend lets an agent answer what waits for it, until nothing does or waiting ends, and returns what became of the
// calls of these keys.
func attend(ctx, waiting context.Context, app *cli.App, s *deploy.RoomSession, a dream.Agent, keys []string) (
	[]room.Wake, error,
) {
	end, _ := waiting.Deadline()
	deadline := app.Now().Add(time.Until(end))
	for {
		next, err := s.Attend(waiting, a.ID)
		if err != nil && waiting.Err() == nil {
			return nil, err
		}
		_ = s.Wait(waiting) // it fails only when waiting ends, which is looked at
		found, err := endsOf(context.WithoutCancel(ctx), s, a, keys)
		if err != nil {
			return nil, err
		}
		open := slices.ContainsFunc(found, func(w room.Wake) bool { return w.Outcome == room.Queued })
		taken, err := elsewhere(context.WithoutCancel(ctx), s, a.Handle, keys)
		if err != nil {
			return nil, err
		}
		if !open || !taken && (next.IsZero() || next.After(deadline)) || pause(waiting, lookEvery) != nil {
			return found, nil
		}
	}
}

// elsewhere says whether another process answers one of these calls.
func elsewhere(ctx context.Context, s *deploy.RoomSession, agent string, keys []string) (bool, error) {
	items, err := itemsOf(ctx, s, agent)
	return slices.ContainsFunc(items, func(item room.Item) bool {
		return item.State == room.Taken && slices.Contains(keys, item.Key)
	}), err
}

// unanswered are the keys of the calls of an agent that have not come to an end, and of the message that woke it.
func unanswered(ctx context.Context, s *deploy.RoomSession, agent, message string) ([]string, error) {
	records, err := recordsOf(ctx, s, agent)
	var keys []string
	for _, w := range records {
		if w.Outcome == room.Queued || strings.HasPrefix(w.Key, message) {
			keys = append(keys, w.Key)
		}
	}
	return keys, err
}

// endsOf are the records of calls.
func endsOf(ctx context.Context, s *deploy.RoomSession, a dream.Agent, keys []string) ([]room.Wake, error) {
	records, err := recordsOf(ctx, s, a.Handle)
	return slices.DeleteFunc(records, func(w room.Wake) bool { return !slices.Contains(keys, w.Key) }), err
}

// reportEnd prints what became of a call that had waited.
func reportEnd(app *cli.App, a dream.Agent, w room.Wake) {
	out := newSpeaker(app)
	what := subject(w.Post, w.Trigger)
	switch {
	case w.Outcome == room.Replied && w.Post == "" && w.Reason != "":
		fmt.Fprintln(app.Out, app.Bold(a.Handle))
		fmt.Fprintln(app.Out, cli.Wrap(w.Reason, app.Width, "  "))
	case w.Outcome == room.Replied:
		out.remark("%s has answered %s", a.Handle, what)
	case w.Outcome == room.Silent:
		out.remark("%s has read %s and chooses to be silent", a.Handle, what)
	case w.Outcome == room.Failed:
		out.remark("%s could not answer %s: %s", a.Handle, what, w.Reason)
	}
}
