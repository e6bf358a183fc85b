package view

import (
	"context"
	"time"

	"github.com/seed-56a03226/oneiros/internal/console/cli"
)

// notifyGrace is how long a command that has done its work waits for the agent's workflow to be notified. Nothing
// depends on it, since the workflow reads the store before it starts a dream.
const notifyGrace = 200 * time.Millisecond

// Using notifies the agent's workflow that a person uses the agent, in parallel with the command. The returned
// function is called at the command's end and waits for at most notifyGrace.
func Using(ctx context.Context, app *cli.App, handle string) func() {
	ctx, cancel := context.WithCancel(ctx)
	result := make(chan struct{})
	go func() {
		defer close(result)
		app.Backend.Active(ctx, app.Deployment, handle)
	}()
	return func() {
		late := time.AfterFunc(notifyGrace, cancel)
		<-result
		late.Stop()
		cancel()
	}
}
