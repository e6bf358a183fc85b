package deploy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/feedhttp"
	"github.com/seed-56a03226/oneiros/internal/review"
	"github.com/seed-56a03226/oneiros/internal/triggers"
	"github.com/seed-56a03226/oneiros/workers"
)

// buildID is the build id of this process under Worker Versioning.
func (e *engine) buildID() string { return cmp.Or(e.deployment.config.Worker.BuildID, Version) }

// checkDeployment refuses a cluster without Worker Deployments when this worker should be part of one: such a cluster
// gives it no work and says nothing about it.
func (e *engine) checkDeployment(ctx context.Context) error {
	name := e.deployment.config.Worker.Deployment
	if name == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	current, err := workers.CurrentBuild(ctx, e.client, name)
	switch {
	case errors.Is(err, workers.ErrNoDeployments):
		return exit.Errorf(exit.Unreachable, "worker.deployment is %q, and %w; %s", name, err,
			withoutDeployments)
	case err != nil:
		return &exit.Error{Code: exit.Unreachable, Err: err}
	case current == e.buildID():
		e.currentBuild = true
	}
	return nil
}

// withoutDeployments is the advice about a cluster that offers no Worker Deployments.
const withoutDeployments = "set system.enableDeploymentVersions on the cluster, or leave worker.deployment empty and " +
	"stop the workers of the old build before those of the new start"

// startWorker starts a worker in this process and maintains the agents' workflows.
func (e *engine) startWorker(ctx context.Context) error {
	c := e.deployment.config
	if err := e.checkDeployment(ctx); err != nil {
		return err
	}
	ports := e.deployment.ports()
	ports.World = e.starter.ForFeeds()
	e.attendant = e.deployment.service(e.starter)
	e.attending = e.deployment.rooms("worker", e.starter, e.attendant)
	ports.Rooms = e.attending
	e.worker = workers.New(e.client, ports, e.starter.Executions(), e.starter, workers.Options{
		TaskQueue: c.Temporal.TaskQueue, Activities: c.Worker.Concurrent, StickyCache: c.Worker.Cache,
		StopTimeout: c.Worker.StopWithin,
		Deployment:  c.Worker.Deployment, BuildID: e.buildID(),
		Fetch: feedhttp.NewClient("oneiros/"+Version, 0), Alarms: e.starter,
	})
	if e.unsearchable != "" {
		e.log.Warn("dreams cannot be searched on this cluster; oneiros doctor says what to do", "reason",
			e.unsearchable)
	}
	e.takeOver(ctx)
	if err := e.worker.Start(); err != nil {
		e.worker = nil
		return exit.Errorf(exit.Unreachable, "start the worker: %w", err)
	}
	e.place("worker", fmt.Sprintf("task queue %s, %d activities at once", c.Temporal.TaskQueue, c.Worker.Concurrent))
	if c.Worker.Deployment != "" {
		when := "it gets work once it is the current version"
		if e.currentBuild {
			when = "the current version"
		}
		e.place("build", fmt.Sprintf("%s of the Worker Deployment %s; %s", e.buildID(), c.Worker.Deployment, when))
	}
	e.place("store", e.deployment.store.name)
	if e.listens {
		if err := e.listen(ctx); err != nil {
			return err
		}
	}
	e.placeArchive()
	if err := e.serveMetrics(ctx, readyToWork(e)); err != nil {
		return err
	}
	e.maintained = make(chan struct{})
	go e.maintain(context.WithoutCancel(ctx))
	return nil
}

// maintainEvery is how often maintain looks for dead dreams and new agents.
const maintainEvery = time.Minute

// maintain closes the ledgers of dreams that died without doing so, resolves predictions, starts or updates the
// workflows of agents and feeds, and checks triggers, until the engine stops.
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
	recording.Go(func() { sweep(ctx, e) })
	recording.Go(func() { watchStore(ctx, e) })
	recording.Go(func() { e.deployment.embedJobs(ctx, e.plainLog) })
	recording.Go(func() { e.deployment.webhooks("webhooks", nil).Deliver(ctx) })
	defer recording.Wait()
	defer cancel()
	tick := time.NewTicker(maintainEvery)
	defer tick.Stop()
	probed := map[string]string{} // by feed, the settings its probe last got
	runs, nextAgents := newAgentRuns(e.starter, e.starter.Executions()), round{}
	judge := &review.JudgeQueue{Judge: e.deployment.Judge(), Report: e.reportJudged}
	recording.Go(func() { e.judge(ctx, judge) })
	checker := &review.Checker{Resolver: e.deployment.ports().Resolver(), Changed: judge.Changed}
	listener := &triggers.Listener{
		Memory: e.deployment.store, Events: e.deployment.store, Calls: e.starter,
		Now: time.Now,
	}
	var agents []dream.Agent
	for pass := 0; ; pass++ {
		if pass%passesBetweenReads(len(agents)) == 0 {
			all, err := e.deployment.store.Agents(ctx)
			if err == nil {
				agents = all
			}
			e.warn(ctx, err, "the agents could not be read")
		}
		some := nextAgents.next(agents)
		_, err := workers.ReconcileAgents(ctx, e.deployment.ports(), e.starter.Executions(), some)
		e.warn(ctx, err, "the ledgers of ended dreams could not be closed")
		e.warn(ctx, compareLosses(ctx, e), "what the store has lost could not be compared with Temporal's dreams")
		_, err = workers.ResolveOverdueOf(ctx, e.deployment.ports(), some)
		e.warn(ctx, err, "predictions that are due could not be resolved")
		_, err = checker.Pass(ctx, some)
		e.warn(ctx, err, "what was lived could not be compared with the open predictions")
		e.probe(ctx, probed)
		err = runs.pass(ctx, agents, func(a dream.Agent, err error) {
			e.warn(ctx, err, "the settings of an agent could not be sent to its workflow", "agent", a.Handle)
		})
		e.warn(ctx, err, "the running workflows of agents are not known")
		_, err = listener.ListenTo(ctx, agents)
		e.warn(ctx, err, "triggers could not be checked")
		e.warn(ctx, e.attending.Sweep(ctx, 2*maintainEvery), "what is due in rooms could not be looked up")
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// judge asks models about predictions in prose until ctx ends, beside everything else that is maintained: a model may
// take minutes.
func (e *engine) judge(ctx context.Context, queue *review.JudgeQueue) {
	tick := time.NewTicker(maintainEvery)
	defer tick.Stop()
	queue.Run(ctx, tick.C, func(err error) { e.warn(ctx, err, "predictions could not be judged") })
}

// warn logs an error, unless the engine stops.
func (e *engine) warn(ctx context.Context, err error, text string, fields ...any) {
	if err != nil && ctx.Err() == nil {
		e.log.Warn(text, append(fields, "error", err)...)
	}
}

// reportJudged logs what a model was asked about an agent's predictions.
func (e *engine) reportJudged(agent dream.Agent, done review.Judgement) {
	if done.Calls > 0 {
		e.log.Info("predictions were judged", "agent", agent.Handle, "model", done.Model, "compared", done.Compared,
			"decided", len(done.Decided), "ignored", len(done.Ignored), "cost", done.Cost)
	}
	if done.Reason != "" {
		e.log.Warn("not every prediction could be judged", "agent", agent.Handle, "left", done.Left, "reason",
			done.Reason)
	}
}

// readAtOnce is how many agents' open dreams and due predictions one pass reads, so that a pass costs no more however
// many agents there are. Of 10,000 agents each is read every twenty minutes.
const readAtOnce = 500

// readEachPass is up to how many agents are read by every pass. Of 10,000, which take 0.1 s, a new one is noticed
// within five minutes instead of one.
const readEachPass = 2000

// passesBetweenReads is how many passes work with the agents that were read once.
func passesBetweenReads(agents int) int { return max(1, agents/readEachPass) }

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
