package console

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

// openWithin bounds how long a knock waits for the store to be opened and to name the agent. With as much again for the
// wake itself, whoever knocks is answered in little more than a second, whatever is broken.
const openWithin = 600 * time.Millisecond

// errLate is why a store that opens too slowly is not waited for.
var errLate = fmt.Errorf("the store has not opened within %s; nobody was woken or let sleep, try again: %w",
	openWithin, context.DeadlineExceeded)

// opened is a house and the agent that a command is about.
type opened struct {
	deployment *Deployment
	agent      dream.Agent
	err        error
}

// promptly is agentOf for a command that may not wait for a slow store. One that opens later than that is left behind:
// the process ends. Every failure to reach the store is one to answer.
func (app *App) promptly(cmd *cobra.Command) (*Deployment, dream.Agent, error) {
	ctx, late := context.WithCancelCause(cmd.Context())
	timer := time.AfterFunc(openWithin, func() { late(errLate) })
	name, _ := cmd.Flags().GetString("agent")
	found := make(chan opened, 1)
	go func() { // a file that another process holds does not heed a context
		h, err := app.Open(ctx)
		if err != nil {
			found <- opened{err: err}
			return
		}
		a, err := findAgent(ctx, h, name)
		found <- opened{h, a, err}
	}()
	select {
	case o := <-found:
		timer.Stop()
		app.open.Do(func() { app.deployment = o.deployment })
		if o.err != nil && errors.Is(context.Cause(ctx), errLate) {
			o.err = fmt.Errorf("%w (%w)", errLate, o.err)
		}
		return o.deployment, o.agent, unanswered(o.err)
	case <-ctx.Done():
		return nil, dream.Agent{}, unanswered(context.Cause(ctx))
	}
}
