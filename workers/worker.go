// Package workers builds the worker processes that run workflows and activities.
package workers

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/dreamrun"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/inflight"
	"github.com/seed-56a03226/oneiros/workflows"
)

// Options limit the work of one process.
type Options struct {
	TaskQueue  string // empty: workflows.TaskQueue
	Activities int    // concurrent paid calls; 0: 32
	// cached workflows; 0: 500, enough for the awake or dreaming agents of a small deployment
	StickyCache int
	StopTimeout time.Duration // time for running activities after a stop; 0: 20 s
	// the Worker Deployment and the build id of this worker; no deployment: tasks of all builds
	Deployment string
	BuildID    string

	// it does not listen to the wake bus: a wake reaches its activities only by Temporal's cancellation, for
	// comparison
	NoWakeBus bool

	Fetch  activities.Fetcher // reads feeds; nil: reading a feed is an error
	Alarms activities.Alarms  // wakes the agents that follow a feed with an alarm
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

// versioning are the options of Worker Versioning. Without a deployment it is off, and histories tell the build all the
// same. workflows.Register says how each workflow moves to another build.
func (o Options) versioning() worker.DeploymentOptions {
	return worker.DeploymentOptions{
		UseVersioning: o.Deployment != "",
		Version:       worker.WorkerDeploymentVersion{DeploymentName: o.Deployment, BuildID: o.BuildID},
	}
}

// Sizes and timeouts with a measured reason.
const (
	// The sticky queue of a killed worker delays the next workflow task by this time. The default is 5 s, which would
	// delay a wake by 5 s.
	stickyWait = 500 * time.Millisecond
	// Without worker commands an activity learns of its cancellation from a heartbeat; this is the longest interval.
	beatAtMost = time.Second
)

// Worker runs workflows and activities and listens to the wake bus.
type Worker struct {
	worker.Worker
	inflight      *inflight.Registry
	wakeBus       presence.WakeBus
	stopListening func()
}

// New builds a worker; the caller starts and stops it. The sticky cache belongs to the process: the first worker sets
// its size.
func New(c client.Client, p activities.Ports, agentStates activities.Executions, planner activities.Planner,
	o Options,
) *Worker {
	o = o.filled()
	worker.SetStickyWorkflowCacheSize(o.StickyCache)
	w := &Worker{inflight: inflight.NewRegistry(p.Presence), wakeBus: p.WakeBus}
	if o.NoWakeBus {
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
		DeploymentOptions:                  o.versioning(),
		Interceptors: []interceptor.WorkerInterceptor{
			&wakeInterceptor{inflight: w.inflight, memory: p.Memory},
		},
	})
	workflows.Register(w)
	p.StepsAtOnce = o.Activities
	RegisterActivities(w, p, agentStates, planner)
	RegisterFeeds(w, p, o.Fetch, o.Alarms)
	return w
}

// Start listens to the wake bus, then begins to work.
func (w *Worker) Start() error {
	if w.wakeBus != nil {
		stop, err := w.wakeBus.Listen(w.inflight.OnNotice)
		if err != nil {
			return fmt.Errorf("listen to the wake bus: %w", err)
		}
		w.stopListening = stop
	}
	return w.Worker.Start()
}

// Run starts the worker, waits for interrupt, and stops it.
func (w *Worker) Run(interrupt <-chan any) error {
	if err := w.Start(); err != nil {
		return err
	}
	<-interrupt
	w.Stop()
	return nil
}

// Stop lets running activities end at a token boundary, then stops listening.
func (w *Worker) Stop() {
	w.Worker.Stop()
	if w.stopListening != nil {
		w.stopListening()
	}
	w.inflight.Close()
}

// Reconcile closes dreams whose workflows were terminated or timed out without closing them.
func Reconcile(ctx context.Context, p activities.Ports, agentStates activities.Executions) (int, error) {
	return (&dreamrun.DreamRun{Ports: p, Executions: agentStates}).Reconcile(ctx)
}

// ResolveOverdue resolves the predictions whose horizon has passed and returns how many.
func ResolveOverdue(ctx context.Context, p activities.Ports) (int, error) {
	return p.Resolver().ResolveOverdue(ctx)
}

// ReconcileAgents is Reconcile that looks for records without an outcome among these agents alone.
func ReconcileAgents(ctx context.Context, p activities.Ports, e activities.Executions,
	agents []dream.Agent,
) (int, error) {
	return (&dreamrun.DreamRun{Ports: p, Executions: e}).ReconcileAgents(ctx, agents)
}

// ResolveOverdueOf is ResolveOverdue for these agents alone.
func ResolveOverdueOf(ctx context.Context, p activities.Ports, agents []dream.Agent) (int, error) {
	return p.Resolver().ResolveOverdueOf(ctx, agents)
}

// Abandon closes a dream of a cluster that is gone, on behalf of a person who knows that.
func Abandon(ctx context.Context, p activities.Ports, agentStates activities.Executions, agent, dreamID string) error {
	return (&dreamrun.DreamRun{Ports: p, Executions: agentStates}).Abandon(ctx, agent, dreamID)
}

// Outdated closes a dream that this build cannot go on with, as interrupted for good.
func Outdated(ctx context.Context, p activities.Ports, agentStates activities.Executions, agent, dreamID, reason string,
) error {
	run := dreamrun.DreamRun{Ports: p, Executions: agentStates}
	return run.Outdated(ctx, agent, dreamID, reason)
}
