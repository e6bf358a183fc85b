package view

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

// Waker returns the commands that wake agents, without waiting for Temporal.
func Waker(ctx context.Context, app *cli.App) (deploy.Waker, error) {
	w, err := app.Backend.Waker(ctx, app.Deployment)
	if err != nil {
		return nil, AsUnreachable(err)
	}
	return w, nil
}

// AsUnreachable marks an error of a wake as: the store could not be reached. Errors with an exit code keep it.
func AsUnreachable(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || cli.Code(err) != exit.Failure {
		return err
	}
	return &exit.Error{Code: exit.Unreachable, Err: err}
}

// Status reads from the store who holds an agent awake.
func Status(ctx context.Context, app *cli.App, a dream.Agent) (presence.Status, error) {
	s, err := app.Wakes.Status(ctx, a.ID, app.Now().UTC())
	if err != nil {
		return s, fmt.Errorf("ask who holds %s awake: %w", a.Handle, err)
	}
	return s, nil
}

// Resumable finds the interrupted dream of an agent that may be resumed; nil when there is none.
func Resumable(ctx context.Context, app *cli.App, a dream.Agent) (*dream.Record, error) {
	found, err := app.Store.Find(ctx,
		memory.Query{Agent: a.ID, Kinds: []dream.Kind{dream.KindRecord}, Statuses: []string{dream.RecordWaits}})
	if err != nil {
		return nil, err
	}
	for _, n := range memory.As[*dream.Record](found) {
		if MayGoOn(app, n) {
			return n, nil
		}
	}
	return nil, nil
}

// MayGoOn reports whether a dream was interrupted and may still be resumed.
func MayGoOn(app *cli.App, n *dream.Record) bool { return n.MayGoOn(app.Now()) }

// Holders lists who holds an agent awake, and until when.
func Holders(leases []presence.Lease, now time.Time, zone string) []string {
	var names []string
	for _, l := range leases {
		names = append(names, Called(l.Client, l.Cause)+" until "+cli.Clock(l.Until, now, zone))
	}
	return names
}

// Called describes a client and the cause of its lease; operators and alarms need no cause.
func Called(client string, cause presence.Cause) string {
	if name, _, _ := strings.Cut(client, "/"); name == string(cause) {
		return client
	}
	return client + " (" + string(cause) + ")"
}
