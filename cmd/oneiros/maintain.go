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
	runs, nextAgents := newAgentRuns(e.starter), round{}
	listener := &activities.Listener{
		Memory: e.deployment.store, Events: e.deployment.store, Calls: e.starter,
		Now: time.Now,
	}
	for {
		agents, err := e.deployment.store.Agents(ctx)
		if err != nil && ctx.Err() == nil {
			e.log.Warn("the agents could not be read", "error", err)
		}
		some := nextAgents.next(agents)
		if _, err := workers.ReconcileAgents(ctx, e.deployment.ports(), e.starter.Executions(), some); err != nil &&
			ctx.Err() == nil {
			e.log.Warn("the ledgers of ended dreams could not be closed", "error", err)
		}
		if _, err := workers.LapseOf(ctx, e.deployment.ports(), some); err != nil && ctx.Err() == nil {
			e.log.Warn("predictions that are due could not be resolved", "error", err)
		}
		e.probe(ctx, probed)
		err = runs.pass(ctx, agents, func(a dream.Agent, err error) {
			if ctx.Err() == nil {
				e.log.Warn("the settings of an agent could not be sent to its workflow", "agent", a.Handle,
					"error", err)
			}
		})
		if err != nil && ctx.Err() == nil {
			e.log.Warn("the running workflows of agents are not known", "error", err)
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

// readAtOnce is how many agents' open dreams and due predictions one pass reads: 10,000 agents are read through in ten
// minutes, at a third of a percent of a core.
const readAtOnce = 1000

// round goes through the agents, so many at a time.
type round struct{ from int }

func (r *round) next(agents []dream.Agent) []dream.Agent {
	if r.from >= len(agents) {
		r.from = 0
	}
	some := agents[r.from:min(r.from+readAtOnce, len(agents))]
	r.from += readAtOnce
	return some
}
