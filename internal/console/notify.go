package console

import (
	"context"
	"time"
)

// notifyGrace is how long a command that has done its work waits for the agent's workflow to be notified. Nothing
// depends on it, since the workflow reads the store before it starts a dream.
const notifyGrace = 200 * time.Millisecond

// using notifies the agent's workflow that a person uses the agent, in parallel with the command. The returned
// function is called at the command's end and waits for at most notifyGrace.
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
		late := time.AfterFunc(notifyGrace, cancel)
		<-result
		late.Stop()
		cancel()
	}
}
