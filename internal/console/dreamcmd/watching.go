package dreamcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

// Watch builds the command oneiros watch.
func Watch(app *cli.App) *cobra.Command {
	return view.ForDream(app, &cobra.Command{
		Use: "watch [DREAM]", Short: "Follow a dream to its report", GroupID: cli.DreamGroup, Args: cobra.MaximumNArgs(1),
		Long: "Watch follows a dream that is going on, live, to its report. DREAM is an id, a number of the agent's, or last,\nwhich is the one watched when none is named. A dream that is woken and may be resumed is watched until it\nhas ended. Leaving off watching changes nothing: the dream goes on.",
	}, func(ctx context.Context, a dream.Agent, record *dream.Record) error {
		if record.Outcome != dream.Dreaming && !view.MayGoOn(app, record) {
			return finished(ctx, app, a, record.ID)
		}
		engine, err := app.Backend.Reach(ctx, app.Deployment)
		if err != nil {
			return fmt.Errorf("dream %s is on record as going on, but Temporal cannot be asked about it: %w",
				record.ID, err)
		}
		announce(app, a)
		return errors.Join(follow(ctx, app, a, engine, record.ID), engine.Stop())
	})
}

// usualPatience is how long the log may be silent before Temporal is asked whether the dream still runs.
const usualPatience = 5 * time.Second

// follow prints a dream's events as they come, and ends with its report and the exit code of its outcome.
func follow(ctx context.Context, app *cli.App, a dream.Agent, engine deploy.Engine, id string) error {
	v := &screenView{app: app, style: app.Style(a), phases: map[dream.Phase]dream.Tally{}}
	defer v.clear()
	var after int64
	for {
		events, err := app.Events.Events(ctx, a.ID, after, cli.Page)
		if err != nil {
			return stoppedWatching(ctx, app, id, err)
		}
		ended := false
		for _, e := range events {
			after = e.Seq
			if !v.concerns(e, id) {
				continue
			}
			if err := v.print(e); err != nil {
				return err
			}
			ended, err = dreamEnded(ctx, app, e, ended)
			if err != nil {
				return err
			}
		}
		if ended {
			v.clear()
			return finished(ctx, app, a, id)
		}
		if len(events) == cli.Page {
			continue
		}
		v.draw()
		if err := await(ctx, app, a, engine, id, after, v); err != nil {
			return stoppedWatching(ctx, app, id, err)
		}
	}
}

// await returns when there may be more events. After a long silence it checks that the dream still runs.
func await(
	ctx context.Context,
	app *cli.App,
	a dream.Agent,
	engine deploy.Engine,
	id string,
	after int64,
	v *screenView,
) error {
	patience := app.Patience
	if patience <= 0 {
		patience = usualPatience
	}
	quiet, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	received := make(chan error, 1)
	go func() { received <- app.Events.Await(quiet, a.ID, after) }()
	beat, still := v.pulses()
	defer still()
	for waiting := true; waiting; {
		select {
		case err := <-engine.Ended():
			cancel()
			<-received
			return temporalLost(app, id, err)
		case <-beat:
			v.beat++
			v.draw()
		case err := <-received:
			if err == nil || ctx.Err() != nil || quiet.Err() == nil {
				return errors.Join(err, ctx.Err())
			}
			waiting = false
		}
	}
	asking, stop := context.WithTimeout(ctx, patience)
	defer stop()
	alive, err := engine.Workflows().Running(asking, id)
	if err != nil && ctx.Err() == nil {
		return temporalLost(app, id, err)
	}
	if err != nil || alive {
		return errors.Join(err, ctx.Err())
	}
	record, err := memory.One[*dream.Record](ctx, app.Store, a.ID, id)
	if err == nil && (record.Outcome == dream.Dreaming || record.Resumable()) {
		return exit.Errorf(exit.Unfinished,
			"dream %s stopped without an end: its workflow was terminated or timed out", id)
	}
	return err
}

// dreamEnded reports whether a dream has ended for good with this event. An interruption ends it when nothing may
// resume it.
func dreamEnded(ctx context.Context, app *cli.App, e event.Event, before bool) (bool, error) {
	switch e.Type {
	case event.DreamEnded{}.EventType():
		record, err := memory.One[*dream.Record](ctx, app.Store, e.Agent, e.Dream)
		if err != nil {
			return false, err
		}
		return !view.MayGoOn(app, record), nil
	case event.DreamInterrupted{}.EventType():
		var p event.DreamInterrupted
		if err := json.Unmarshal(e.Data, &p); err != nil {
			return false, fmt.Errorf("event %s: %w", e.ID, err)
		}
		if p.Until.After(app.Now()) {
			return false, nil
		}
		record, err := memory.One[*dream.Record](ctx, app.Store, e.Agent, e.Dream)
		return err == nil && record.Outcome == dream.Interrupted && !view.MayGoOn(app, record), err
	case event.DreamResumed{}.EventType(), event.DreamStarted{}.EventType():
		return false, nil
	}
	return before, nil
}

// temporalLost reports that Temporal does not answer during a dream, and how the dream continues.
func temporalLost(app *cli.App, id string, err error) error {
	app.Note("Temporal is gone.")
	return exit.Errorf(
		exit.Unreachable,
		"Temporal is gone: %w.\nWhat %s has dreamt so far is kept, and it goes on when Temporal and a worker run again (%s); then watch it with oneiros watch %s%s",
		err,
		id,
		view.Onward(app),
		id,
		app.Option(),
	)
}

// stoppedWatching says what continues when the user stops watching.
func stoppedWatching(ctx context.Context, app *cli.App, id string, err error) error {
	if ctx.Err() != nil {
		o := app.Option()
		return exit.Errorf(
			exit.Failure,
			"left off watching; dream %s is not over and goes on wherever a worker runs (%s): watch it with oneiros watch %s%s, end it with oneiros dreams cancel %s%s",
			id,
			view.Onward(app),
			id,
			o,
			id,
			o,
		)
	}
	return err
}

// finished reports a dream that has ended and turns its outcome into an exit code.
func finished(ctx context.Context, app *cli.App, a dream.Agent, id string) error {
	record, err := memory.One[*dream.Record](ctx, app.Store, a.ID, id)
	if err != nil {
		return err
	}
	if app.Json { // the last line of the stream of events
		r, err := reportOf(ctx, app, a, record)
		if err == nil {
			err = app.Line(map[string]any{"report": reportJSON(app, r)})
		}
		if err != nil {
			return err
		}
	} else if err := report(ctx, app, a, record); err != nil {
		return err
	}
	if record.Outcome == dream.Completed {
		return nil
	}
	return exit.Errorf(exit.Unfinished, "the dream ended %s%s", cli.OutcomeOf(record), cli.ReasonOf(record))
}
