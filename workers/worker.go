// Package workers builds the processes that do the deeds and carry the stories on.
package workers

import (
	"context"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/workflows"
)

// Options bound what one process takes on.
type Options struct {
	TaskQueue   string        // empty: workflows.TaskQueue
	Deeds       int           // paid calls at once; 0: 32
	StickyCache int           // workflows kept in memory; 0: 500, which is the agents awake or dreaming of a small fleet
	StopTimeout time.Duration // how long a stopping worker may finish its deeds; 0: 20 s
}

func (o Options) filled() Options {
	if o.TaskQueue == "" {
		o.TaskQueue = workflows.TaskQueue
	}
	if o.Deeds == 0 {
		o.Deeds = 32
	}
	if o.StickyCache == 0 {
		o.StickyCache = 500
	}
	if o.StopTimeout == 0 {
		o.StopTimeout = 20 * time.Second
	}
	return o
}

// Sizes and timeouts with a measured reason.
const (
	// A killed worker's sticky queue stalls the next task by this much; the default of 5 s would be a 5 s wake.
	stickyWait = 500 * time.Millisecond
	// Without worker commands a cancellation is learnt from a heartbeat's answer: this bounds how late.
	beatAtMost = time.Second
)

// New builds a worker; the caller starts and stops it. The sticky cache is the process's: the first worker sets it.
func New(c client.Client, p activities.Ports, lives activities.Lives, planner activities.Planner, o Options) worker.Worker {
	o = o.filled()
	worker.SetStickyWorkflowCacheSize(o.StickyCache)
	w := worker.New(c, o.TaskQueue, worker.Options{
		MaxConcurrentActivityExecutionSize: o.Deeds,
		MaxConcurrentWorkflowTaskPollers:   4,
		MaxConcurrentActivityTaskPollers:   4,
		StickyScheduleToStartTimeout:       stickyWait,
		MaxHeartbeatThrottleInterval:       beatAtMost,
		WorkerStopTimeout:                  o.StopTimeout,
		DisableRegistrationAliasing:        true,
	})
	workflows.Register(w)
	workflows.RegisterDeeds(w, p, lives, planner)
	return w
}

// Reconcile closes the books of dreams that died without doing so: their workflows were terminated or timed out.
func Reconcile(ctx context.Context, p activities.Ports, lives activities.Lives) (int, error) {
	return (&activities.Bed{Ports: p, Lives: lives}).Reconcile(ctx)
}

// Abandon closes a dream on a cluster that is gone, by the word of a person who knows that.
func Abandon(ctx context.Context, p activities.Ports, lives activities.Lives, agent, dreamID string) error {
	return (&activities.Bed{Ports: p, Lives: lives}).Abandon(ctx, agent, dreamID)
}
