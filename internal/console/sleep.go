package console

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/presence"
)

func (app *App) sleep() *cobra.Command {
	var client string
	var force bool
	cmd := &cobra.Command{
		Use: "sleep", Short: "Let an agent sleep that is held awake", GroupID: nights,
		Long: `Sleep ends what holds an agent awake: the operator's wake, alarms and the wake lock. It is refused
while a client is connected, unless --force ends its lease too; with --client only that client goes, and
the wake lock begins anew, as after every departure.

Exit codes: 0 done, 3 no such agent, 4 a client is connected, 5 the store does not answer.`,
	}
	app.addAgentFlag(cmd)
	cmd.Flags().StringVar(&client, "client", "", "only the client of this `name` goes")
	cmd.Flags().BoolVar(&force, "force", false, "end the leases of connected clients too")
	app.completes(cmd, "client", app.connected)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.Flags().Changed("client") && client == "" {
			return exit(Usage,
				`--client "" is empty; leave it out to end the operator's lease, alarms and the lock`)
		}
		h, a, err := app.promptly(cmd)
		if err != nil {
			return err
		}
		before, err := app.status(cmd.Context(), h, a)
		if err != nil {
			return asUnreachable(err)
		}
		if client != "" {
			return app.leave(cmd.Context(), h, a, before, client)
		}
		if connected := clientsOf(before); len(connected) > 0 && !force {
			return exit(Refused, "%s is held awake by %s; --force ends that too", a.Handle,
				strings.Join(holders(connected, app.Now(), a.Zone), ", "))
		}
		return app.letSleep(cmd.Context(), h, a, before, func(w Waker) error { return w.Sleep(cmd.Context(), a.ID) })
	}
	return cmd
}

// clientsOf returns the leases of clients.
func clientsOf(s presence.Status) []presence.Lease {
	var list []presence.Lease
	for _, l := range s.Leases {
		if l.Cause == presence.Connect && l.Client != operator {
			list = append(list, l)
		}
	}
	return list
}

func (app *App) leave(ctx context.Context, h *Deployment, a dream.Agent, before presence.Status, client string) error {
	for _, l := range before.Leases {
		if l.Client == client {
			return app.letSleep(ctx, h, a, before, func(w Waker) error { return w.Leave(ctx, a.ID, client) })
		}
	}
	return exit(NotFound, "no client %q holds %s awake; oneiros agents show %s names who does", client, a.Handle,
		a.Handle)
}

// letSleep ends leases and says what holds from now on.
func (app *App) letSleep(ctx context.Context, h *Deployment, a dream.Agent, before presence.Status,
	do func(Waker) error,
) error {
	if len(before.Leases) > 0 || before.Awake(app.Now()) {
		w, err := app.waker(ctx, h)
		if err != nil {
			return err
		}
		if err := errors.Join(do(w), w.Stop()); err != nil {
			return asUnreachable(fmt.Errorf("let %s sleep: %w", a.Handle, err))
		}
	}
	after, err := app.status(ctx, h, a)
	if err != nil {
		return asUnreachable(err)
	}
	if app.json {
		return app.answer(
			map[string]any{"agent": a.Handle, "awake": after.Awake(app.Now()), "presence": publicStatusOf(after, h.hidesDreams())})
	}
	switch {
	case len(after.Leases) > 0:
		app.say("%s stays awake, held by %s.", a.Handle, strings.Join(holders(after.Leases, app.Now(), a.Zone), ", "))
	case after.Lock.After(app.Now()):
		app.say("Nobody holds %s awake. The wake lock lasts: no dream begins before %s.", a.Handle,
			clock(after.Lock, app.Now(), a.Zone))
	case !before.Awake(app.Now()):
		app.say("Nobody held %s awake.", a.Handle)
	default:
		app.say("%s may sleep: nobody holds it awake, and no wake lock keeps a dream from beginning.", a.Handle)
	}
	return app.waiting(ctx, h, a)
}

// waiting mentions an interrupted dream that may be resumed now.
func (app *App) waiting(ctx context.Context, h *Deployment, a dream.Agent) error {
	n, err := app.resumable(ctx, h, a)
	if err != nil || n == nil {
		return err
	}
	when, err := app.resumeText(ctx, h, a, n)
	if err != nil {
		return err
	}
	app.note("Dream %s was interrupted and goes on %s; at once with oneiros dreams resume %s%s", n.ID, when, n.ID,
		h.option())
	return nil
}

// resumeText says when an interrupted dream is resumed by itself: according to the agent's workflow, which adds a random
// delay to its settings, else according to the settings.
func (app *App) resumeText(ctx context.Context, h *Deployment, a dream.Agent, n *dream.Record) (string, error) {
	short, cancel := context.WithTimeout(ctx, notifyWithin)
	defer cancel()
	agentState, err := app.queryAgentState(short, h, a)
	if err != nil {
		text := "after " + span(h.Settings.ResumeAfter) + " of quiet"
		if h.Settings.Jitter > 0 {
			text += ", up to " + span(h.Settings.Jitter) + " later (agent.jitter)"
		}
		return text, nil
	}
	interrupted := app.public(n)
	l := agentView{Source: "temporal", State: agentState.State, AgentState: &agentState, Interrupted: &interrupted}
	l.Status, err = app.status(ctx, h, a)
	if err != nil {
		return "", err
	}
	next, err := app.next(ctx, h, a, l)
	if err != nil || next.At == nil {
		return "after " + span(agentState.Settings.ResumeAfter) + " of quiet", err
	}
	return "at " + clock(*next.At, app.Now(), a.Zone) + " or later, if nobody comes until then", nil
}
