package servecmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/deploy"
)

// Up builds the command oneiros up.
func Up(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "up",
		Short:   "Run everything on this machine: a Temporal server if none is configured, the store, a worker and the server for clients",
		GroupID: cli.DeploymentGroup,
		Long: `Up runs everything on this machine, until Ctrl-C: the store, a worker, the server that clients talk to and, when no
Temporal cluster is configured, a Temporal server of its own with its user interface. Dreams under way go on when it is started again.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serve(cmd.Context(), app,
				func(ctx context.Context, h *deploy.Deployment) (deploy.Engine, error) {
					return app.Backend.Up(ctx, h, app.Note)
				},
				goOn)
		},
	}
}

// Worker builds the command oneiros worker.
func Worker(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "worker", Short: "Run a worker against the configured Temporal cluster", GroupID: cli.DeploymentGroup,
		Long: "Worker runs one worker process, until Ctrl-C, against the configured cluster or the server of an oneiros up on the\nsame data_dir. Many may share the load; all of one host share one store.",
		RunE: func(cmd *cobra.Command, _ []string) error { return serve(cmd.Context(), app, app.Backend.Work, goOn) },
	}
}

// goOn says what becomes of dreams under way when their worker stops.
const goOn = "; dreams under way go on next time"

// serve runs an engine until a signal, or until a part of it ends by itself.
func serve(
	ctx context.Context,
	app *cli.App,
	start func(context.Context, *deploy.Deployment) (deploy.Engine, error),
	stopped string,
) error {
	err := app.Within(ctx)
	if err != nil {
		return err
	}
	engine, err := start(ctx, app.Deployment)
	if err != nil {
		return err
	}
	view.OfferEmbedder(ctx, app, "")
	if app.Json {
		if err := app.Answer(map[string]any{"running": true, "places": engine.Places()}); err != nil {
			return errors.Join(err, engine.Stop())
		}
	} else {
		var pairs []string
		for _, p := range engine.Places() {
			pairs = append(pairs, p.Name, p.Where)
		}
		app.Fields(app.Out, pairs...)
		app.Note("Running. Ctrl-C stops it%s.", stopped)
	}
	notify(app, daemon.SdNotifyReady)
	var ended error
	select {
	case <-ctx.Done():
		app.Note("Stopping.")
	case err := <-engine.Ended():
		ended = fmt.Errorf("stopped, because a part of it did: %w", err)
	}
	notify(app, daemon.SdNotifyStopping)
	return errors.Join(ended, engine.Stop())
}

// notify tells systemd the state of this process, where NOTIFY_SOCKET says that it started it (sd_notify(3)). Without
// that it does nothing. What runs goes on when systemd cannot be told.
func notify(app *cli.App, state string) {
	_, err := daemon.SdNotify(false, state)
	if err != nil {
		app.Note("Warning: systemd was not told %s: %v.", state, err)
	}
}
