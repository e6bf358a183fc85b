// Package workers builds the processes that do the deeds and carry the stories on.
package workers

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/presence"
	"github.com/seed-56a03226/oneiros/workflows"
)

// Options bound what one process takes on.
type Options struct {
	TaskQueue  string // empty: workflows.TaskQueue
	Activities int    // paid calls at once; 0: 32
	// workflows kept in memory; 0: 500, which is the agents awake or dreaming of a small fleet
	StickyCache int
	StopTimeout time.Duration // how long a stopping worker may finish its deeds; 0: 20 s
	// it does not listen to the bell: a wake reaches its deeds by Temporal's cancellation alone, for comparison
	Deaf bool

	Fetch  activities.Fetcher // pulls feeds; nil: it cannot, and says so
	Alarms activities.Alarms  // wakes the agents whose feed raised an alarm
}

func (o Options) filled() Options {
	if o.TaskQueue == "" {
		o.TaskQueue = workflows.TaskQueue
	}
	if o.Activities == 0 {
		o.Activities = 32
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

// Worker carries stories on and does deeds, and listens to the bell while it does.
type Worker struct {
	worker.Worker
	inflight *activities.InflightRegistry
	wakeBus  presence.WakeBus
	hush     func()
}

// New builds a worker; the caller starts and stops it. The sticky cache is the process's: the first worker sets it.
func New(c client.Client, p activities.Ports, agentStates activities.Executions, planner activities.Planner,
	o Options,
) *Worker {
	o = o.filled()
	worker.SetStickyWorkflowCacheSize(o.StickyCache)
	w := &Worker{inflight: activities.NewInflightRegistry(p.Presence), wakeBus: p.WakeBus}
	if o.Deaf {
		w.wakeBus = nil
	}
	w.Worker = worker.New(c, o.TaskQueue, worker.Options{
		MaxConcurrentActivityExecutionSize: o.Activities,
		MaxConcurrentWorkflowTaskPollers:   4,
		MaxConcurrentActivityTaskPollers:   4,
		StickyScheduleToStartTimeout:       stickyWait,
		MaxHeartbeatThrottleInterval:       beatAtMost,
		WorkerStopTimeout:                  o.StopTimeout,
		DisableRegistrationAliasing:        true,
		Interceptors: []interceptor.WorkerInterceptor{
			&rousing{inflight: w.inflight, memory: p.Memory},
		},
	})
	workflows.Register(w)
	workflows.RegisterActivities(w, p, agentStates, planner)
	workflows.RegisterFeeds(w, p, o.Fetch, o.Alarms)
	return w
}

// Start listens to the bell, then begins to work.
func (w *Worker) Start() error {
	if w.wakeBus != nil {
		hush, err := w.wakeBus.Listen(w.inflight.Hear)
		if err != nil {
			return fmt.Errorf("listen to the bell: %w", err)
		}
		w.hush = hush
	}
	return w.Worker.Start()
}

// Run starts, works until interrupt gives something, and stops.
func (w *Worker) Run(interrupt <-chan any) error {
	if err := w.Start(); err != nil {
		return err
	}
	<-interrupt
	w.Stop()
	return nil
}

// Stop lets running deeds reach a token boundary, then stops listening.
func (w *Worker) Stop() {
	w.Worker.Stop()
	if w.hush != nil {
		w.hush()
	}
	w.inflight.Close()
}

// Reconcile closes the books of dreams that died without doing so: their workflows were terminated or timed out.
func Reconcile(ctx context.Context, p activities.Ports, agentStates activities.Executions) (int, error) {
	return (&activities.DreamRun{Ports: p, Executions: agentStates}).Reconcile(ctx)
}

// Lapse resolves the predictions whose horizon has passed, and answers how many.
func Lapse(ctx context.Context, p activities.Ports) (int, error) {
	return activities.Reckon(p).Lapse(ctx)
}

// Abandon closes a dream on a cluster that is gone, by the word of a person who knows that.
func Abandon(ctx context.Context, p activities.Ports, agentStates activities.Executions, agent, dreamID string) error {
	return (&activities.DreamRun{Ports: p, Executions: agentStates}).Abandon(ctx, agent, dreamID)
}

// Outdated closes a dream that this build cannot go on with, as interrupted for good.
func Outdated(ctx context.Context, p activities.Ports, agentStates activities.Executions, agent, dreamID, reason string,
) error {
	run := activities.DreamRun{Ports: p, Executions: agentStates}
	return run.Outdated(ctx, agent, dreamID, reason)
}
