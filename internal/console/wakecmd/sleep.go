package wakecmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

// Sleep builds the command oneiros sleep.
func Sleep(app *cli.App) *cobra.Command {
	var client string
	var force bool
	cmd := &cobra.Command{
		Use: "sleep", Short: "Let an agent sleep that is held awake", GroupID: cli.DreamGroup,
		Long: `Sleep ends what holds an agent awake: the operator's wake, alarms and the wake lock. It is refused
while a client is connected, unless --force ends its lease too; with --client only that client goes, and
the wake lock begins anew, as after every departure.

Exit codes: 0 done, 3 no such agent, 4 a client is connected, 5 the store does not answer.`,
	}
	view.AddAgentFlag(app, cmd)
	cmd.Flags().StringVar(&client, "client", "", "only the client of this `name` goes")
	cmd.Flags().BoolVar(&force, "force", false, "end the leases of connected clients too")
	view.Completes(app, cmd, "client", view.With(app, view.Connected))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		ctx := cmd.Context()
		if cmd.Flags().Changed("client") && client == "" {
			return exit.Usagef(`--client "" is empty; leave it out to end the operator's lease, alarms and the lock`)
		}
		a, err := view.Promptly(app, cmd)
		if err != nil {
			return err
		}
		before, err := view.Status(ctx, app, a)
		if err != nil {
			return view.AsUnreachable(err)
		}
		if client != "" {
			return leave(ctx, app, a, before, client)
		}
		if connected := view.ClientsOf(before); len(connected) > 0 && !force {
			return exit.Refusedf("%s is held awake by %s; --force ends that too", a.Handle,
				strings.Join(view.Holders(connected, app.Now(), a.Zone), ", "))
		}
		return letSleep(ctx, app, a, before,
			func(w deploy.Waker) error { return w.Sleep(ctx, a.ID) })
	}
	return cmd
}

func leave(ctx context.Context, app *cli.App, a dream.Agent, before presence.Status, client string) error {
	for _, l := range before.Leases {
		if l.Client == client {
			return letSleep(ctx, app, a, before, func(w deploy.Waker) error { return w.Leave(ctx, a.ID, client) })
		}
	}
	return exit.NotFoundf("no client %q holds %s awake; oneiros agents show %s names who does", client, a.Handle,
		a.Handle)
}

// letSleep ends leases and says what holds from now on.
func letSleep(ctx context.Context, app *cli.App, a dream.Agent, before presence.Status,
	do func(deploy.Waker) error,
) error {
	if len(before.Leases) > 0 || before.Awake(app.Now()) {
		w, err := view.Waker(ctx, app)
		if err != nil {
			return err
		}
		if err := errors.Join(do(w), w.Stop()); err != nil {
			return view.AsUnreachable(fmt.Errorf("let %s sleep: %w", a.Handle, err))
		}
	}
	after, err := view.Status(ctx, app, a)
	if err != nil {
		return view.AsUnreachable(err)
	}
	if app.Json {
		return app.Answer(
			map[string]any{
				"agent":    a.Handle,
				"awake":    after.Awake(app.Now()),
				"presence": view.PublicStatusOf(after, app.HidesDreams()),
			},
		)
	}
	switch {
	case len(after.Leases) > 0:
		app.Say("%s stays awake, held by %s.", a.Handle,
			strings.Join(view.Holders(after.Leases, app.Now(), a.Zone), ", "))
	case after.Lock.After(app.Now()):
		app.Say("Nobody holds %s awake. The wake lock lasts: no dream begins before %s.", a.Handle,
			cli.Clock(after.Lock, app.Now(), a.Zone))
	case !before.Awake(app.Now()):
		app.Say("Nobody held %s awake.", a.Handle)
	default:
		app.Say("%s may sleep: nobody holds it awake, and no wake lock keeps a dream from beginning.", a.Handle)
	}
	return waiting(ctx, app, a)
}

// waiting mentions an interrupted dream that may be resumed now.
func waiting(ctx context.Context, app *cli.App, a dream.Agent) error {
	n, err := view.Resumable(ctx, app, a)
	if err != nil || n == nil {
		return err
	}
	when, err := resumeText(ctx, app, a, n)
	if err != nil {
		return err
	}
	app.Note("Dream %s was interrupted and goes on %s; at once with oneiros dreams resume %s%s", n.ID, when, n.ID,
		app.Option())
	return nil
}

// resumeText says when an interrupted dream is resumed by itself: according to the agent's workflow, which adds a
// random delay to its settings, else according to the settings.
func resumeText(ctx context.Context, app *cli.App, a dream.Agent, n *dream.Record) (string, error) {
	short, cancel := context.WithTimeout(ctx, notifyWithin)
	defer cancel()
	agentState, err := view.QueryAgentState(short, app, a)
	if err != nil {
		text := "after " + cli.Span(app.Settings.ResumeAfter) + " of quiet"
		if app.Settings.Jitter > 0 {
			text += ", up to " + cli.Span(app.Settings.Jitter) + " later (agent.jitter)"
		}
		return text, nil
	}
	interrupted := view.Public(app, n)
	l := view.AgentView{
		Source:      "temporal",
		State:       agentState.State,
		AgentState:  &agentState,
		Interrupted: &interrupted,
	}
	l.Status, err = view.Status(ctx, app, a)
	if err != nil {
		return "", err
	}
	next, err := view.Next(ctx, app, a, l)
	if err != nil || next.At == nil {
		return "after " + cli.Span(agentState.Settings.ResumeAfter) + " of quiet", err
	}
	return "at " + cli.Clock(*next.At, app.Now(), a.Zone) + " or later, if nobody comes until then", nil
}
