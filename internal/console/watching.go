package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

func (app *App) watch() *cobra.Command {
	cmd := &cobra.Command{
		Use: "watch [DREAM]", Short: "Follow a dream to its report", GroupID: nights, Args: cobra.MaximumNArgs(1),
		Long: "Watch follows a dream that is going on, live, to its report. DREAM is an id, a number of the agent's, or last,\nwhich is the one watched when none is named. A dream that is woken and may be resumed is watched on, across its\nsittings. Leaving off watching changes nothing: the dream goes on.",
	}
	app.addAgentFlag(cmd)
	cmd.ValidArgsFunction = app.completeDreams(nil)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name := "last"
		if len(args) == 1 {
			name = args[0]
		}
		h, a, record, err := app.recordOf(cmd, name)
		if err != nil {
			return err
		}
		if record.Outcome != dream.Dreaming && !app.mayGoOn(record) {
			return app.finished(cmd.Context(), h, a, record.ID)
		}
		engine, err := app.Dream.Reach(cmd.Context(), h)
		if err != nil {
			return fmt.Errorf("dream %s is on record as going on, but Temporal cannot be asked about it: %w",
				record.ID, err)
		}
		app.announce(h, a)
		return errors.Join(app.follow(cmd.Context(), h, a, engine, record.ID), engine.Stop())
	}
	return cmd
}

// usualPatience is how long the log may be silent before Temporal is asked whether the dream still runs.
const usualPatience = 5 * time.Second

// page is how many events are read at once.
const page = 500

// follow prints a dream's events as they come, and ends with its report and the exit code of its outcome.
func (app *App) follow(ctx context.Context, h *Deployment, a dream.Agent, engine Engine, id string) error {
	v := &view{app: app, style: app.style(a), phases: map[dream.Phase]dream.Tally{}}
	defer v.clear()
	var after int64
	for {
		events, err := h.Events.Events(ctx, a.ID, after, page)
		if err != nil {
			return app.left(ctx, h, id, err)
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
			ended, err = app.over(ctx, h, e, ended)
			if err != nil {
				return err
			}
		}
		if ended {
			v.clear()
			return app.finished(ctx, h, a, id)
		}
		if len(events) == page {
			continue
		}
		v.draw()
		if err := app.await(ctx, h, a, engine, id, after, v); err != nil {
			return app.left(ctx, h, id, err)
		}
	}
}

// await returns when there may be more events. After a long silence it checks that the dream still runs.
func (app *App) await(ctx context.Context, h *Deployment, a dream.Agent, engine Engine, id string, after int64,
	v *view,
) error {
	patience := app.Patience
	if patience <= 0 {
		patience = usualPatience
	}
	quiet, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	received := make(chan error, 1)
	go func() { received <- h.Events.Await(quiet, a.ID, after) }()
	beat, still := v.pulses()
	defer still()
	for waiting := true; waiting; {
		select {
		case err := <-engine.Ended():
			cancel()
			<-received
			return app.lost(h, id, err)
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
	alive, err := engine.Dreams().Running(asking, id)
	if err != nil && ctx.Err() == nil {
		return app.lost(h, id, err)
	}
	if err != nil || alive {
		return errors.Join(err, ctx.Err())
	}
	record, err := memory.One[*dream.Record](ctx, h.Store, a.ID, id)
	if err == nil && (record.Outcome == dream.Dreaming || record.Resumable()) {
		return exit(Unfinished, "dream %s stopped without an end: its workflow was terminated or timed out", id)
	}
	return err
}

// over reports whether a dream has ended for good with this event. An interruption ends it when nothing may resume
// it.
func (app *App) over(ctx context.Context, h *Deployment, e event.Event, before bool) (bool, error) {
	switch e.Type {
	case event.DreamEnded{}.EventType():
		record, err := memory.One[*dream.Record](ctx, h.Store, e.Agent, e.Dream)
		if err != nil {
			return false, err
		}
		return !app.mayGoOn(record), nil
	case event.DreamInterrupted{}.EventType():
		var p event.DreamInterrupted
		if err := json.Unmarshal(e.Data, &p); err != nil {
			return false, fmt.Errorf("event %s: %w", e.ID, err)
		}
		if p.Until.After(app.Now()) {
			return false, nil
		}
		record, err := memory.One[*dream.Record](ctx, h.Store, e.Agent, e.Dream)
		return err == nil && record.Outcome == dream.Interrupted && !app.mayGoOn(record), err
	case event.DreamResumed{}.EventType(), event.DreamStarted{}.EventType():
		return false, nil
	}
	return before, nil
}

// lost reports that Temporal does not answer during a dream, and how the dream continues.
func (app *App) lost(h *Deployment, id string, err error) error {
	app.note("Temporal is gone.")
	return exit(Unreachable,
		"Temporal is gone: %w.\nWhat %s has dreamt so far is kept, and it goes on when Temporal and a worker run again (%s); then watch it with oneiros watch %s%s",
		err, id, app.onward(h), id, h.option())
}

// left says what continues when the user stops watching.
func (app *App) left(ctx context.Context, h *Deployment, id string, err error) error {
	if ctx.Err() != nil {
		o := h.option()
		return exit(Failure,
			"left off watching; dream %s is not over and goes on wherever a worker runs (%s): watch it with oneiros watch %s%s, end it with oneiros dreams cancel %s%s",
			id, app.onward(h), id, o, id, o)
	}
	return err
}

// finished reports a dream that has ended and turns its outcome into an exit code.
func (app *App) finished(ctx context.Context, h *Deployment, a dream.Agent, id string) error {
	record, err := memory.One[*dream.Record](ctx, h.Store, a.ID, id)
	if err != nil {
		return err
	}
	if app.json { // the last line of the stream of events
		r, err := app.reportOf(ctx, h, a, record)
		if err == nil {
			err = app.line(map[string]any{"report": app.reportJSON(r)})
		}
		if err != nil {
			return err
		}
	} else if err := app.report(ctx, h, a, record); err != nil {
		return err
	}
	if record.Outcome == dream.Completed {
		return nil
	}
	return exit(Unfinished, "the dream ended %s%s", outcomeOf(record), reasonOf(record))
}

func reasonOf(n *dream.Record) string {
	if n.Reason == "" {
		return ""
	}
	return ": " + n.Reason
}
