package console

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

func (app *App) up() *cobra.Command {
	return &cobra.Command{
		Use:     "up",
		Short:   "Run everything on this machine: a Temporal server if none is configured, the store, a worker and the server for clients",
		GroupID: deployment,
		Long: `Up runs everything on this machine, until Ctrl-C: the store, a worker, the server that clients talk to and, when no
Temporal cluster is configured, a Temporal server of its own with its user interface. Dreams under way go on when it is started again.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return app.serve(cmd.Context(),
				func(ctx context.Context, h *Deployment) (Engine, error) { return app.Dream.Up(ctx, h, app.note) },
				goOn)
		},
	}
}

func (app *App) worker() *cobra.Command {
	return &cobra.Command{
		Use: "worker", Short: "Run a worker against the configured Temporal cluster", GroupID: deployment,
		Long: "Worker runs one worker process, until Ctrl-C, against the configured cluster or the server of an oneiros up on the\nsame data_dir. Many may share the load; all of one host share one store.",
		RunE: func(cmd *cobra.Command, _ []string) error { return app.serve(cmd.Context(), app.Dream.Work, goOn) },
	}
}

// goOn says what becomes of dreams under way when their worker stops.
const goOn = "; dreams under way go on next time"

// serve runs an engine until a signal, or until a part of it ends by itself.
func (app *App) serve(ctx context.Context, start func(context.Context, *Deployment) (Engine, error),
	stopped string,
) error {
	h, err := app.within(ctx)
	if err != nil {
		return err
	}
	engine, err := start(ctx, h)
	if err != nil {
		return err
	}
	app.offerEmbedder(ctx, h, "")
	if app.json {
		if err := app.answer(map[string]any{"running": true, "places": engine.Places()}); err != nil {
			return errors.Join(err, engine.Stop())
		}
	} else {
		var pairs []string
		for _, p := range engine.Places() {
			pairs = append(pairs, p.Name, p.Where)
		}
		app.fields(app.Out, pairs...)
		app.note("Running. Ctrl-C stops it%s.", stopped)
	}
	var ended error
	select {
	case <-ctx.Done():
		app.note("Stopping.")
	case err := <-engine.Ended():
		ended = fmt.Errorf("stopped, because a part of it did: %w", err)
	}
	return errors.Join(ended, engine.Stop())
}

func (app *App) dreamsCancel() *cobra.Command {
	var abandon, yes bool
	cmd := &cobra.Command{
		Use: "cancel DREAM", Short: "End a dream with what it has", Args: cobra.ExactArgs(1),
		Long: `Cancel ends a dream that is going on, at a token boundary; what it has made so far is kept. One that was woken and waits to be resumed ends for good.
DREAM is an id, a number of the agent's, or last: the newest that goes on or waits.

A dream holds its agent until the Temporal cluster it was begun on says that it is over. When that cluster
is gone for good, --abandon closes the dream without asking that cluster.`,
	}
	app.addAgentFlag(cmd)
	cmd.ValidArgsFunction = app.completeDreams([]string{string(dream.Dreaming), dream.RecordWaits})
	cmd.Flags().BoolVar(&abandon, "abandon", false,
		"the Temporal cluster of this dream is gone for good: close it without asking it")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask before a dream is abandoned")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		h, record, err := app.dreamToCancel(cmd, args[0])
		if err != nil {
			return err
		}
		if record.Outcome != dream.Dreaming && !record.Resumable() {
			return exit(NotFound, "dream %s does not go on: it ended %s%s; its report is in oneiros dreams show %s",
				record.ID, outcomeOf(record), reasonOf(record), record.ID)
		}
		if abandon {
			question := fmt.Sprintf(
				"This closes dream %s without asking the cluster that carries it; should that one still run, the dream can write nothing more",
				record.ID)
			if err := app.confirm(yes, question); err != nil {
				return err
			}
			return app.abandon(cmd.Context(), h, record)
		}
		engine, err := app.Dream.Reach(cmd.Context(), h)
		if err != nil {
			return err
		}
		if err := errors.Join(engine.Dreams().Cancel(cmd.Context(), record.ID), engine.Stop()); err != nil {
			return err
		}
		if app.json {
			return app.answer(map[string]string{"dream": record.ID, "requested": "cancel"})
		}
		app.say("Dream %s was asked to end. Its report will be in: oneiros dreams show %s", record.ID, record.ID)
		return nil
	}
	return cmd
}

// dreamToCancel finds the record of a dream by its name; last is the newest one that can still be ended.
func (app *App) dreamToCancel(cmd *cobra.Command, name string) (*Deployment, *dream.Record, error) {
	if name != "last" {
		h, _, record, err := app.recordOf(cmd, name)
		return h, record, err
	}
	h, a, err := app.agentOf(cmd)
	if err != nil {
		return h, nil, err
	}
	items, err := h.Store.Find(cmd.Context(), memory.Query{
		Agent: a.ID, Kinds: []dream.Kind{dream.KindRecord},
		Statuses: []string{string(dream.Dreaming), dream.RecordWaits},
	})
	if err != nil {
		return h, nil, err
	}
	var pending *dream.Record
	for _, record := range memory.As[*dream.Record](items) {
		if record.Run != "" {
			return h, record, nil
		}
		if pending == nil {
			pending = record
		}
	}
	if pending == nil {
		return h, nil,
			exit(NotFound, "no dream of %s goes on or waits to; oneiros dreams list -a %s names them", a.Handle,
				a.Handle)
	}
	return h, pending, nil
}

// abandon closes the record of a dream at the user's request.
func (app *App) abandon(ctx context.Context, h *Deployment, record *dream.Record) error {
	if err := app.Dream.Abandon(ctx, h, record.Agent, record.ID); errors.Is(err, memory.ErrNotFound) {
		return exit(NotFound, "%w", err)
	} else if err != nil {
		return err
	}
	if app.json {
		return app.answer(map[string]string{"dream": record.ID, "requested": "abandon"})
	}
	app.say("Dream %s is closed, and its agent may dream again.", record.ID)
	return nil
}
