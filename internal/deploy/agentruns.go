package deploy

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/workflows"
)

// agentWorkflows are the workflows of agents on a Temporal server.
type agentWorkflows interface {
	CountAgents(ctx context.Context) (int64, error)                     // those that run
	RunningAgentWorkflows(ctx context.Context) (map[string]bool, error) // by workflow id
	EnsureWorkflow(ctx context.Context, a dream.Agent) error            // starts it, or sends it the present settings
}

// agentRuns keeps the workflows of agents running and their settings current. Which ones run is asked in one call for
// all: a call for each agent each minute took 4.9 % of a core at 2,000 agents.
type agentRuns struct {
	server     agentWorkflows
	executions activities.Executions

	mu      sync.Mutex
	sent    map[string]string // by agent, the settings of its record that its workflow last got; it gets the others too
	running map[string]bool   // by workflow id, as listed last; nil: never listed
	listed  int64             // how many ran then
	passes  int
}

// listEvery is how many passes may rely on the number of running workflows alone: one that was terminated while another
// began is noticed after so many.
const listEvery = 30

// sendAtOnce is how many workflows are given their settings at the same time.
const sendAtOnce = 8

func newAgentRuns(server agentWorkflows, executions activities.Executions) *agentRuns {
	return &agentRuns{server: server, executions: executions, sent: map[string]string{}}
}

// pass looks which workflows run, and starts or updates those that lack their agent's present settings. It calls failed
// for each that could not be reached; they are tried again by the next pass.
func (r *agentRuns) pass(ctx context.Context, agents []dream.Agent, failed func(dream.Agent, error)) error {
	err := r.look(ctx)
	slots := make(chan struct{}, sendAtOnce)
	var sending sync.WaitGroup
	for _, a := range agents {
		if r.upToDate(a) {
			continue
		}
		slots <- struct{}{}
		sending.Go(func() {
			defer func() { <-slots }()
			if err := r.send(ctx, a); err != nil {
				failed(a, err)
			}
		})
	}
	sending.Wait()
	return err
}

// look lists the running workflows when their number has changed, and every listEvery passes. When the server does not
// answer, the list of before holds.
func (r *agentRuns) look(ctx context.Context) error {
	count, err := r.server.CountAgents(ctx)
	if err != nil {
		return fmt.Errorf("count the running workflows of agents: %w", err)
	}
	r.passes++
	if r.running != nil && count == r.listed && r.passes%listEvery != 0 {
		return nil
	}
	running, err := r.server.RunningAgentWorkflows(ctx)
	if err != nil {
		return fmt.Errorf("list the running workflows of agents: %w", err)
	}
	r.running, r.listed = running, int64(len(running))
	return nil
}

// upToDate reports whether an agent's workflow has its present settings. The workflow of an agent that dreams by
// itself must run; what is not known is left alone.
func (r *agentRuns) upToDate(a dream.Agent) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sent[a.ID] != recordSettings(a) {
		return false
	}
	return !a.Auto || r.running == nil || r.running[workflows.AgentID(a.Handle)]
}

// send starts the workflow of an agent that dreams by itself, or sends the present settings to a workflow that runs.
// An agent that does neither needs no workflow yet.
func (r *agentRuns) send(ctx context.Context, a dream.Agent) error {
	id := workflows.AgentID(a.Handle)
	needed := a.Auto
	if !needed {
		var err error
		needed, err = r.executions.Running(ctx, id, "") // the list may lag behind a workflow that has just begun
		if err != nil {
			return err
		}
	}
	if needed {
		if err := r.server.EnsureWorkflow(ctx, a); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent[a.ID] = recordSettings(a)
	if needed && r.running != nil {
		r.running[id] = true
	}
	return nil
}

// recordSettings is the part of an agent's record that its workflow's settings depend on. Every pass compares it for
// every agent, so that the usual agent, without triggers of its own, costs no formatting.
func recordSettings(a dream.Agent) string {
	text := strconv.FormatBool(a.Auto) + " " + a.Zone
	if a.Triggers != nil {
		text += fmt.Sprintf(" %+v", a.Triggers)
	}
	return text
}
