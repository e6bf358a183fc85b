package deploy

import (
	"context"
	"log/slog"
	"time"

	tlog "go.temporal.io/sdk/log"

	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/workers"
)

// Active notifies the agent's workflow that the agent is used. Without a cluster nothing is lost: the workflow reads
// the store before it starts a dream by itself.
func (d *Process) Active(ctx context.Context, h *Deployment, handle string) {
	e := newEngine(h)
	e.log = tlog.NewStructuredLogger(slog.New(slog.DiscardHandler)) // the command prints its own messages
	if e.dial(ctx) == nil {
		_ = e.starter.Active(ctx, handle, time.Now())
	}
	_ = e.Stop()
}

// Abandon closes the record of a dream without Temporal.
func (d *Process) Abandon(ctx context.Context, h *Deployment, agent, dreamID string) error {
	return workers.Abandon(ctx, h.ports(), starter.Executions{}, agent, dreamID)
}
