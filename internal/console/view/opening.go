package view

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/deploy"
)

// openWithin bounds how long `oneiros wake` waits for the store to open and find the agent. With as much again for
// the wake itself, a client is answered in little more than a second, whatever is broken.
const openWithin = 600 * time.Millisecond

// errLate is returned when the store opens too slowly.
var errLate = fmt.Errorf("the store has not opened within %s; nobody was woken or let sleep, try again: %w",
	openWithin, context.DeadlineExceeded)

// opened is a deployment and the agent of a command.
type opened struct {
	deployment *deploy.Deployment
	agent      dream.Agent
	err        error
}

// Promptly is agentOf with a time limit. A store that opens later is abandoned, since the process ends. Every failure
// to reach the store is reported as such.
func Promptly(app *cli.App, cmd *cobra.Command) (dream.Agent, error) {
	ctx, late := context.WithCancelCause(cmd.Context())
	timer := time.AfterFunc(openWithin, func() { late(errLate) })
	name, _ := cmd.Flags().GetString("agent")
	found := make(chan opened, 1)
	go func() { // opening a file that another process has locked does not heed a context
		h, err := app.Backend.Open(ctx)
		if err != nil {
			found <- opened{err: err}
			return
		}
		a, err := FindAgent(ctx, h, name)
		found <- opened{h, a, err}
	}()
	select {
	case o := <-found:
		timer.Stop()
		app.Open.Do(func() { app.Deployment = o.deployment })
		if o.err != nil && errors.Is(context.Cause(ctx), errLate) {
			o.err = fmt.Errorf("%w (%w)", errLate, o.err)
		}
		return o.agent, AsUnreachable(o.err)
	case <-ctx.Done():
		return dream.Agent{}, AsUnreachable(context.Cause(ctx))
	}
}
