package console

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
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

func (app *App) events() *cobra.Command {
	request := eventsQuery{}
	cmd := &cobra.Command{
		Use: "events", Short: "Read the log of events, live or from any point", GroupID: nights, Args: cobra.NoArgs,
		Long: `Events tells what was announced of an agent, or of all: ids and numbers, never a word of what was remembered or
dreamt. Each agent counts its own from 1 on, without gaps. With --follow it waits for what comes, until Ctrl-C; a store
that is away is waited for, and nothing is left out.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return app.reportEvents(cmd, request) },
	}
	app.addAgentFlag(cmd)
	f := cmd.Flags()
	f.BoolVarP(&request.follow, "follow", "f", false, "wait for what comes")
	f.Int64Var(&request.from, "from", 0, "the `number` of the first event to tell, of one agent")
	f.IntVar(&request.last, "last", usualLast, "without --from: how `many` of the newest to tell")
	f.StringSliceVar(&request.types, "type", nil, "only events of this `type`; may be given more than once")
	app.completes(cmd, "type", func(*cobra.Command) []string { return event.Types() })
	app.completes(cmd, "from", nothing)
	app.completes(cmd, "last", nothing)
	cmd.AddCommand(app.eventTypes(), app.eventSchema(), app.eventsArchive())
	return cmd
}

func (app *App) reportEvents(cmd *cobra.Command, request eventsQuery) error {
	var err error
	request.types, err = typesMeant(request.types)
	if err != nil {
		return err
	}
	if cmd.Flags().Changed("from") && request.from < 1 {
		return exit(Usage, "--from is %d; events are numbered from 1 on", request.from)
	}
	if request.last < 0 {
		return exit(Usage, "--last is %d; it must be 0 or more", request.last)
	}
	if request.from > 0 && cmd.Flags().Changed("last") {
		return exit(Usage, "--from and --last both say where to begin; keep one")
	}
	h, err := app.within(cmd.Context())
	if err != nil {
		return err
	}
	name, _ := cmd.Flags().GetString("agent")
	all, err := h.Store.Agents(cmd.Context())
	if err != nil {
		return err
	}
	if name == "" && len(all) != 1 && !(len(all) == 0 && request.from > 0) {
		if request.from > 0 {
			return exit(Usage, "--from counts the events of one agent; say which one with --agent (%s)",
				strings.Join(handlesOf(all), ", "))
		}
		return endOfFollowing(cmd.Context(), app.eventsOfAll(cmd.Context(), h, all, request))
	}
	h, a, err := app.agentOf(cmd)
	if err != nil {
		return err
	}
	return endOfFollowing(cmd.Context(), app.eventsOf(cmd.Context(), h, a, request))
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
		i := slices.IndexFunc(event.Types(), func(t string) bool { return strings.EqualFold(t, name) })
		if i < 0 {
			hint := ""
			if near := nearest(name, event.Types()); near != "" {
				hint = "did you mean " + near + "? "
			}
			return nil, exit(Usage, "--type is %q; %soneiros events types names what there is", name, hint)
		}
		found = append(found, event.Types()[i])
	}
	return found, nil
}

func (request eventsQuery) wants(e event.Event) bool {
	return len(request.types) == 0 || slices.Contains(request.types, e.Type)
}

// eventsOf prints one agent's events.
func (app *App) eventsOf(ctx context.Context, h *Deployment, a dream.Agent, request eventsQuery) error {
	t := app.eventPrinter(false, a)
	after, err := app.newestFirst(ctx, h, a, request, t)
	if err != nil {
		return err
	}
	if request.from > 0 {
		after = app.eventsFrom(a, request, after)
		if after < 0 {
			return nil
		}
	}
	wait := storeRetry{app: app}
	for {
		back := wait.away
		events, err := h.Events.Events(ctx, a.ID, after, page)
		err = wait.retry(ctx, err)
		if err != nil {
			return err
		}
		if back && !wait.away {
			newest, err := newestOf(ctx, h.Events, a.ID)
			if err == nil && newest < after {
				app.warnTruncated(a, newest)
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
		if len(events) == page || wait.away {
			continue
		}
		if !request.follow {
			return nil
		}
		if err := wait.retry(ctx, h.Events.Await(ctx, a.ID, after)); err != nil {
			return err
		}
	}
}

// newestFirst prints the newest events when no starting point was given, and returns the number of the newest event.
func (app *App) newestFirst(ctx context.Context, h *Deployment, a dream.Agent, request eventsQuery,
	t *eventPrinter,
) (newest int64, err error) {
	newest, err = newestOf(ctx, h.Events, a.ID)
	if err != nil || request.from > 0 {
		return newest, err
	}
	found, err := newestWanted(ctx, h, a, request)
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
		app.note("Nothing was announced of %s yet.", a.Handle)
	}
	return newest, nil
}

// newestWanted returns an agent's newest events of the wanted types, oldest first.
func newestWanted(ctx context.Context, h *Deployment, a dream.Agent, request eventsQuery) ([]event.Event, error) {
	var found []event.Event
	if request.last == 0 {
		return nil, nil
	}
	err := backwards(ctx, h.Events, a.ID, func(e event.Event) (bool, error) {
		if request.wants(e) {
			found = append(found, e)
		}
		return len(found) < request.last, nil
	})
	slices.Reverse(found)
	return found, err
}

// eventsFrom returns the event number to begin after; -1 when there is nothing to print and nothing to wait for.
func (app *App) eventsFrom(a dream.Agent, request eventsQuery, newest int64) int64 {
	switch {
	case request.from <= newest:
	case request.follow:
		app.note("%s has %s; waiting for number %d.", a.Handle, plural(int(newest), "event", "events"), request.from)
	default:
		app.note("%s has %s; there is no number %d yet. --follow waits for it.", a.Handle,
			plural(int(newest), "event", "events"), request.from)
		return -1
	}
	return request.from - 1
}

// eventsOfAll prints every agent's events: the newest by their time, then new ones as they come, each agent's in
// order.
func (app *App) eventsOfAll(ctx context.Context, h *Deployment, all []dream.Agent, request eventsQuery) error {
	t := app.eventPrinter(true, all...)
	after, err := h.Events.Heads(ctx)
	if err != nil {
		return err
	}
	var newest []event.Event
	for _, a := range all {
		found, err := newestWanted(ctx, h, a, request)
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
		app.note("Nothing was announced yet.")
	}
	if !request.follow {
		return nil
	}
	return app.followAll(ctx, h, maps.Clone(after), request, t)
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
