package console

import (
	"context"
	"time"
)

// grace is how long a command that has done its work waits for the agent's life to hear of it: nothing depends on it,
// since the life asks the store before it dreams by itself.
const grace = 200 * time.Millisecond

// using tells the agent's life that a person uses the agent, beside whatever the command does. What it returns is
// called when the command is done, and waits no longer than grace.
func (app *App) using(ctx context.Context, h *Deployment, handle string) func() {
	if app.Dream.Active == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	result := make(chan struct{})
	go func() {
		defer close(result)
		app.Dream.Active(ctx, h, handle)
	}()
	return func() {
		late := time.AfterFunc(grace, cancel)
		<-result
		late.Stop()
		cancel()
	}
}
