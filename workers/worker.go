// Package workers builds the processes that do the deeds and carry the stories on.
package workers

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
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

// Cluster is what a Temporal server can do for us.
type Cluster struct {
	Server         string   // its version
	WorkerCommands bool     // cancellations reach running deeds without waiting for a heartbeat
	Searchable     bool     // it has our search attributes
	Missing        []string // the attributes it lacks
}

// attributes are the search attributes that a cluster should have, with the type that temporald registers them as.
var attributes = []string{
	workflows.AttrAgent.GetName(), workflows.AttrPhase.GetName(), workflows.AttrDepth.GetName(),
	workflows.AttrOutcome.GetName(), workflows.AttrSpend.GetName(), workflows.AttrLife.GetName(),
}

// Look asks a cluster what it can do.
func Look(ctx context.Context, c client.Client, namespace string) (Cluster, error) {
	var found Cluster
	info, err := c.WorkflowService().GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{})
	if err != nil {
		return found, fmt.Errorf("ask the Temporal server for its version: %w", err)
	}
	found.Server = info.GetServerVersion()
	described, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	if err != nil {
		return found, fmt.Errorf("describe namespace %q: %w", namespace, err)
	}
	found.WorkerCommands = described.GetNamespaceInfo().GetCapabilities().GetWorkerCommands()
	known, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return found, fmt.Errorf("list search attributes of namespace %q: %w", namespace, err)
	}
	for _, name := range attributes {
		if _, ok := known.GetCustomAttributes()[name]; !ok {
			found.Missing = append(found.Missing, name)
		}
	}
	found.Searchable = len(found.Missing) == 0
	return found, nil
}
