package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/console"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/feedhttp"
	"github.com/seed-56a03226/oneiros/workers"
	"github.com/seed-56a03226/oneiros/workflows"
)

// startWorker starts a worker in this process and maintains the agents' workflows.
func (e *engine) startWorker(ctx context.Context) error {
	c := e.deployment.config
	ports := e.deployment.ports()
	ports.World = e.starter
	e.worker = workers.New(e.client, ports, e.starter.Executions(), e.starter, workers.Options{
		TaskQueue: c.Temporal.TaskQueue, Activities: c.Worker.Concurrent, StickyCache: c.Worker.Cache,
		StopTimeout: c.Worker.StopWithin,
		Fetch:       feedhttp.NewClient("oneiros/"+version, 0), Alarms: e.starter,
	})
	if e.unsearchable != "" {
		e.log.Warn("dreams cannot be searched on this cluster; oneiros doctor says what to do", "reason",
			e.unsearchable)
	}
	e.takeOver(ctx)
	if err := e.worker.Start(); err != nil {
		e.worker = nil
		return &console.Exit{Code: console.Unreachable, Err: fmt.Errorf("start the worker: %w", err)}
	}
	e.place("worker", fmt.Sprintf("task queue %s, %d activities at once", c.Temporal.TaskQueue, c.Worker.Concurrent))
	e.place("store", e.deployment.store.name)
	if e.listens {
		if err := e.listen(ctx); err != nil {
			return err
		}
	}
	if err := e.serveMetrics(ctx); err != nil {
		return err
	}
	e.maintained = make(chan struct{})
	go e.maintain(context.WithoutCancel(ctx))
	return nil
}

// maintainEvery is how often maintain looks for dead dreams and new agents.
const maintainEvery = time.Minute

// maintain closes the ledgers of dreams that died without doing so, resolves predictions that are due, starts or
// updates the workflows of agents and feeds, and checks triggers, until the engine stops.
func (e *engine) maintain(ctx context.Context) {
	defer close(e.maintained)
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		<-e.stopping
		cancel()
	}()
	var recording sync.WaitGroup
	recording.Go(func() { e.starter.Record(ctx) })
	recording.Go(func() { e.archiveEvents(ctx) })
	recording.Go(func() { e.deployment.embedJobs(ctx, e.plainLog) })
	defer recording.Wait()
	defer cancel()
	tick := time.NewTicker(maintainEvery)
	defer tick.Stop()
	probed := map[string]string{} // by feed, the settings its probe last got
	// By agent, the settings of its record that its workflow last got. It gets the others with them.
	values := map[string]string{}
	listener := &activities.Listener{
		Memory: e.deployment.store, Events: e.deployment.store, Calls: e.starter,
		Now: time.Now,
	}
	for {
		if _, err := workers.Reconcile(ctx, e.deployment.ports(), e.starter.Executions()); err != nil &&
			ctx.Err() == nil {
			e.log.Warn("the ledgers of ended dreams could not be closed", "error", err)
		}
		if _, err := workers.Lapse(ctx, e.deployment.ports()); err != nil && ctx.Err() == nil {
			e.log.Warn("predictions that are due could not be resolved", "error", err)
		}
		agents, err := e.deployment.store.Agents(ctx)
		if err != nil && ctx.Err() == nil {
			e.log.Warn("the agents could not be read", "error", err)
		}
		e.probe(ctx, probed)
		for _, a := range agents {
			if upToDate(ctx, e.starter.Executions(), a, values) {
				continue
			}
			if err := e.ensureAgentRun(ctx, a); err != nil {
				if ctx.Err() == nil {
					e.log.Warn("the settings of an agent could not be sent to its workflow", "agent",
						a.Handle, "error", err)
				}
				continue
			}
			values[a.ID] = recordSettings(a)
		}
		if _, err := listener.Listen(ctx); err != nil && ctx.Err() == nil {
			e.log.Warn("triggers could not be checked", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// upToDate reports whether an agent's workflow has its present settings. The workflow of an agent that dreams by
// itself is looked up each time, since it may have been terminated.
func upToDate(ctx context.Context, executions activities.Executions, a dream.Agent, values map[string]string) bool {
	if values[a.ID] != recordSettings(a) {
		return false
	}
	if !a.Auto {
		return true
	}
	goesOn, err := executions.Running(ctx, workflows.AgentID(a.Handle), "")
	return err != nil || goesOn
}

// ensureAgentRun starts the workflow of an agent that dreams by itself, or sends the present settings to a workflow
// that runs. An agent that does neither needs no workflow yet.
func (e *engine) ensureAgentRun(ctx context.Context, a dream.Agent) error {
	if !a.Auto {
		executions, err := e.starter.Executions().Running(ctx, workflows.AgentID(a.Handle), "")
		if err != nil || !executions {
			return err
		}
	}
	return e.starter.Live(ctx, a)
}

// recordSettings is the part of an agent's record that its workflow's settings depend on.
func recordSettings(a dream.Agent) string {
	return fmt.Sprintf("%t %s %+v", a.Auto, a.Zone, a.Triggered())
}
