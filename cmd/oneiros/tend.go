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

// hire starts a worker in this process and tends the agents' lives.
func (e *engine) hire(ctx context.Context) error {
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
	e.place("worker", fmt.Sprintf("task queue %s, %d deeds at once", c.Temporal.TaskQueue, c.Worker.Concurrent))
	e.place("store", e.deployment.store.name)
	if e.listens {
		if err := e.listen(ctx); err != nil {
			return err
		}
	}
	if err := e.announces(ctx); err != nil {
		return err
	}
	e.tending = make(chan struct{})
	go e.tend(context.WithoutCancel(ctx))
	return nil
}

// tendEvery is how often the books of dead dreams are closed and new agents are given their lives.
const tendEvery = time.Minute

// tend closes the books of dreams that died without doing so, and tells the lives of agents whether they dream by
// themselves.
func (e *engine) tend(ctx context.Context) {
	defer close(e.tending)
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		<-e.stopping
		cancel()
	}()
	var recording sync.WaitGroup
	recording.Go(func() { e.starter.Record(ctx) })
	recording.Go(func() { e.archives(ctx) })
	recording.Go(func() { e.deployment.embedJobs(ctx, e.plainLog) })
	defer recording.Wait()
	defer cancel()
	tick := time.NewTicker(tendEvery)
	defer tick.Stop()
	probed := map[string]string{} // by feed, what its probe was told
	// by agent, what its record adds to the settings: its life has heard the rest of them too
	values := map[string]string{}
	listener := &activities.Listener{
		Memory: e.deployment.store, Events: e.deployment.store, Calls: e.starter,
		Now: time.Now,
	}
	for {
		if _, err := workers.Reconcile(ctx, e.deployment.ports(), e.starter.Executions()); err != nil &&
			ctx.Err() == nil {
			e.log.Warn("the books of ended dreams could not be closed", "error", err)
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
			if settled(ctx, e.starter.Executions(), a, values) {
				continue
			}
			if err := e.enliven(ctx, a); err != nil {
				if ctx.Err() == nil {
					e.log.Warn("the life of an agent could not be told whether it dreams by itself", "agent",
						a.Handle, "error", err)
				}
				continue
			}
			values[a.ID] = adds(a)
		}
		if _, err := listener.Listen(ctx); err != nil && ctx.Err() == nil {
			e.log.Warn("triggers could not be listened for", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// settled says whether an agent's life has heard what holds now. The life of one that dreams by itself is looked for
// again: it may have been terminated.
func settled(ctx context.Context, agentStates activities.Executions, a dream.Agent, values map[string]string) bool {
	if values[a.ID] != adds(a) {
		return false
	}
	if !a.Auto {
		return true
	}
	goesOn, err := agentStates.Running(ctx, workflows.AgentID(a.Handle), "")
	return err != nil || goesOn
}

// enliven starts the life of an agent that dreams by itself, and tells a life that already goes on what holds now. An
// agent that neither dreams by itself nor has a life needs none yet.
func (e *engine) enliven(ctx context.Context, a dream.Agent) error {
	if !a.Auto {
		agentStates, err := e.starter.Executions().Running(ctx, workflows.AgentID(a.Handle), "")
		if err != nil || !agentStates {
			return err
		}
	}
	return e.starter.Live(ctx, a)
}

// adds names what an agent's record adds to the settings of its life.
func adds(a dream.Agent) string { return fmt.Sprintf("%t %s %+v", a.Auto, a.Zone, a.Triggered()) }
