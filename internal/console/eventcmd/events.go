// Package eventcmd has the commands on events.
package eventcmd

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

// eventsQuery are the choices of a command line about the log.
type eventsQuery struct {
	from   int64 // 0: the newest ones
	last   int
	follow bool
	types  []string
}

// usualLast is how many of the newest events are shown by default: about one dream.
const usualLast = 100

// Events builds the command oneiros events.
func Events(app *cli.App) *cobra.Command {
	request := eventsQuery{}
	cmd := &cobra.Command{
		Use: "events", Short: "Read the log of events, live or from any point", GroupID: cli.DreamGroup,
		Long: `Events tells what was announced of an agent, or of all: ids and numbers, never a word of what was remembered or
dreamt. Each agent counts its own from 1 on, without gaps. With --follow it waits for what comes, until Ctrl-C; a store
that is away is waited for, and nothing is left out.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return reportEvents(app, cmd, request) },
	}
	view.AddAgentFlag(app, cmd)
	f := cmd.Flags()
	f.BoolVarP(&request.follow, "follow", "f", false, "wait for what comes")
	f.Int64Var(&request.from, "from", 0, "the `number` of the first event to print, of one agent")
	f.IntVar(&request.last, "last", usualLast, "without --from: how `many` of the newest to print")
	f.StringSliceVar(&request.types, "type", nil, "only events of this `type`; may be given more than once")
	view.Completes(app, cmd, "type", func(*cobra.Command) []string { return event.Types() })
	view.Completes(app, cmd, "from", cli.Nothing)
	view.Completes(app, cmd, "last", cli.Nothing)
	cmd.AddCommand(eventTypes(app), eventSchema(app), eventsArchive(app))
	return cmd
}

func reportEvents(app *cli.App, cmd *cobra.Command, request eventsQuery) error {
	ctx := cmd.Context()
	var err error
	request.types, err = typesMeant(request.types)
	if err != nil {
		return err
	}
	if cmd.Flags().Changed("from") && request.from < 1 {
		return exit.Usagef("--from is %d; events are numbered from 1 on", request.from)
	}
	if request.last < 0 {
		return exit.Usagef("--last is %d; it must be 0 or more", request.last)
	}
	if request.from > 0 && cmd.Flags().Changed("last") {
		return exit.Usagef("--from and --last both say where to begin; keep one")
	}
	if err := app.Within(ctx); err != nil {
		return err
	}
	name, _ := cmd.Flags().GetString("agent")
	all, err := app.Store.Agents(ctx)
	if err != nil {
		return err
	}
	if name == "" && len(all) != 1 && !(len(all) == 0 && request.from > 0) {
		if request.from > 0 {
			return exit.Usagef("--from counts the events of one agent; say which one with --agent (%s)",
				strings.Join(view.HandlesOf(all), ", "))
		}
		return endOfFollowing(ctx, eventsOfAll(ctx, app, all, request))
	}
	a, err := view.AgentOf(app, cmd)
	if err != nil {
		return err
	}
	return endOfFollowing(ctx, eventsOf(ctx, app, a, request))
}

// endOfFollowing turns the interruption of --follow by the user into a normal end.
func endOfFollowing(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// typesMeant resolves the named types, in whatever spelling.
func typesMeant(names []string) ([]string, error) {
	var found []string
	for _, name := range names {
		current := event.CurrentType(name)
		i := slices.IndexFunc(event.Types(), func(t string) bool { return strings.EqualFold(t, current) })
		if i < 0 {
			hint := ""
			if near := cli.Nearest(name, event.Types()); near != "" {
				hint = "did you mean " + near + "? "
			}
			return nil, exit.Usagef("--type is %q; %soneiros events types names what there is", name, hint)
		}
		found = append(found, event.Types()[i])
	}
	return found, nil
}

func (request eventsQuery) wants(e event.Event) bool {
	return len(request.types) == 0 || slices.Contains(request.types, e.Type)
}

// eventsOf prints one agent's events.
func eventsOf(ctx context.Context, app *cli.App, a dream.Agent, request eventsQuery) error {
	t := newEventPrinter(app, false, a)
	after, err := newestFirst(ctx, app, a, request, t)
	if err != nil {
		return err
	}
	if request.from > 0 {
		after = eventsFrom(app, a, request, after)
		if after < 0 {
			return nil
		}
	}
	wait := storeRetry{app: app}
	for {
		back := wait.away
		events, err := app.Events.Events(ctx, a.ID, after, cli.Page)
		err = wait.retry(ctx, err)
		if err != nil {
			return err
		}
		if back && !wait.away {
			newest, err := view.NewestOf(ctx, app.Events, a.ID)
			if err == nil && newest < after {
				warnTruncated(app, a, newest)
				after = newest
				continue
			}
		}
		for _, e := range events {
			if request.wants(e) {
				if err := t.print(e); err != nil {
					return err
				}
			}
			after = e.Seq
		}
		if len(events) == cli.Page || wait.away {
			continue
		}
		if !request.follow {
			return nil
		}
		if err := wait.retry(ctx, app.Events.Await(ctx, a.ID, after)); err != nil {
			return err
		}
	}
}

// newestFirst prints the newest events when no starting point was given, and returns the number of the newest event.
func newestFirst(ctx context.Context, app *cli.App, a dream.Agent, request eventsQuery,
	t *eventPrinter,
) (newest int64, err error) {
	newest, err = view.NewestOf(ctx, app.Events, a.ID)
	if err != nil || request.from > 0 {
		return newest, err
	}
	found, err := newestWanted(ctx, app, a, request)
	if err != nil {
		return 0, err
	}
	for _, e := range found {
		if err := t.print(e); err != nil {
			return 0, err
		}
		newest = max(newest, e.Seq)
	}
	if newest == 0 {
		app.Note("Nothing was announced of %s yet.", a.Handle)
	}
	return newest, nil
}

// newestWanted returns an agent's newest events of the wanted types, oldest first.
func newestWanted(ctx context.Context, app *cli.App, a dream.Agent, request eventsQuery) ([]event.Event, error) {
	var found []event.Event
	if request.last == 0 {
		return nil, nil
	}
	err := view.Backwards(ctx, app.Events, a.ID, func(e event.Event) (bool, error) {
		if request.wants(e) {
			found = append(found, e)
		}
		return len(found) < request.last, nil
	})
	slices.Reverse(found)
	return found, err
}

// eventsFrom returns the event number to begin after; -1 when there is nothing to print and nothing to wait for.
func eventsFrom(app *cli.App, a dream.Agent, request eventsQuery, newest int64) int64 {
	switch {
	case request.from <= newest:
	case request.follow:
		app.Note("%s has %s; waiting for number %d.", a.Handle, cli.Count(int(newest), "event"),
			request.from)
	default:
		app.Note("%s has %s; there is no number %d yet. --follow waits for it.", a.Handle,
			cli.Count(int(newest), "event"), request.from)
		return -1
	}
	return request.from - 1
}

// eventsOfAll prints every agent's events: the newest by their time, then new ones as they come, each agent's in
// order.
func eventsOfAll(ctx context.Context, app *cli.App, all []dream.Agent, request eventsQuery) error {
	t := newEventPrinter(app, true, all...)
	after, err := app.Events.Heads(ctx)
	if err != nil {
		return err
	}
	var newest []event.Event
	for _, a := range all {
		found, err := newestWanted(ctx, app, a, request)
		if err != nil {
			return err
		}
		for _, e := range found {
			after[a.ID] = max(after[a.ID], e.Seq)
		}
		newest = append(newest, found...)
	}
	for _, e := range byTime(newest)[max(0, len(newest)-request.last):] {
		if err := t.print(e); err != nil {
			return err
		}
	}
	if len(after) == 0 {
		app.Note("Nothing was announced yet.")
	}
	if !request.follow {
		return nil
	}
	return followAll(ctx, app, maps.Clone(after), request, t)
}

// byTime merges the events of several agents by time, keeping each agent's order: an event with an earlier time than
// its predecessor follows it at once.
func byTime(events []event.Event) []event.Event {
	type placed struct {
		event.Event
		at time.Time
	}
	all, last := make([]placed, len(events)), map[string]time.Time{}
	for i, e := range events { // each agent's in order
		if e.At.After(last[e.Agent]) {
			last[e.Agent] = e.At
		}
		all[i] = placed{e, last[e.Agent]}
	}
	slices.SortStableFunc(all,
		func(x, y placed) int { return cmp.Or(x.at.Compare(y.at), cmp.Compare(x.Agent, y.Agent)) })
	ordered := make([]event.Event, len(all))
	for i, p := range all {
		ordered[i] = p.Event
	}
	return ordered
}
