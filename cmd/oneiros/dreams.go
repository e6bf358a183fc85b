package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	tlog "go.temporal.io/sdk/log"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/console"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/workers"
	"github.com/seed-56a03226/oneiros/workflows"
)

// deploymentOf returns the deployment of a console's view.
func (d *app) deploymentOf(h *console.Deployment) (*deployment, error) {
	if found, ok := d.deployments.Load(h); ok {
		return found.(*deployment), nil
	}
	return nil, errors.New("this deployment was not opened by this program")
}

// dreamRuns carries out the console's commands on dreams through the starter.
type dreamRuns struct {
	starter *starter.Starter
	asOf    time.Time // when the dream runs; zero for now. The demo's diaries end on a day of their own
}

func (n dreamRuns) request(w console.DreamRequest) starter.DreamRequest {
	return starter.DreamRequest{
		Agent:  w.Agent,
		Tier:   w.Tier,
		Theme:  w.Theme,
		Budget: w.Budget,
		Seed:   w.Seed,
		AsOf:   n.asOf,
	}
}

func (n dreamRuns) due(w console.RedreamRequest) starter.Again {
	return starter.Again{DreamRequest: n.request(w.DreamRequest), Dream: w.Dream, From: w.From}
}

// Redream starts a dream that continues from another one.
func (n dreamRuns) Redream(ctx context.Context, w console.RedreamRequest) (string, error) {
	begun, err := n.starter.Redream(ctx, n.due(w))
	if errors.Is(err, starter.ErrUnreachable) {
		err = &console.Exit{
			Code: console.Unreachable,
			Err:  fmt.Errorf("%w (oneiros worker or oneiros up runs one)", err),
		}
	}
	return begun.Dream, asOwn(err)
}

// Begin starts a dream and returns its id.
func (n dreamRuns) Begin(ctx context.Context, w console.DreamRequest) (string, error) {
	begun, err := n.starter.Begin(ctx, n.request(w))
	if errors.Is(err, starter.ErrUnreachable) {
		err = &console.Exit{
			Code: console.Unreachable,
			Err:  fmt.Errorf("%w (oneiros worker or oneiros up runs one)", err),
		}
	}
	return begun.Dream, asOwn(err)
}

// refusal keeps the starter's message and matches the console's error of the same meaning.
type refusal struct {
	error
	own error
}

func (r refusal) Is(target error) bool { return target == r.own }
func (r refusal) Unwrap() error        { return r.error }

func asOwn(err error) error {
	switch {
	case errors.Is(err, starter.ErrDreaming):
		return refusal{err, console.ErrDreaming}
	case errors.Is(err, starter.ErrAwake):
		return refusal{err, console.ErrAwake}
	}
	return err
}

// Cancel cancels a dream.
func (n dreamRuns) Cancel(ctx context.Context, dreamID string) error {
	err := n.starter.Cancel(ctx, dreamID)
	if errors.Is(err, memory.ErrNotFound) {
		return &console.Exit{Code: console.NotFound, Err: err}
	}
	return err
}

// Settle sends the settings of the agent's record to its workflow. An agent that has no workflow and does not dream
// by itself needs none.
func (n dreamRuns) Settle(ctx context.Context, a dream.Agent) error {
	if !a.Auto {
		agentStates, err := n.starter.Executions().Running(ctx, workflows.AgentID(a.Handle), "")
		if err != nil || !agentStates {
			return err
		}
	}
	return n.starter.EnsureWorkflow(ctx, a)
}

// Call tells the agent's workflow that a trigger asks for a dream.
func (n dreamRuns) Call(ctx context.Context, a dream.Agent, f activities.Fire) error {
	return n.starter.Call(ctx, a, f)
}

// Resume continues an interrupted dream. It fails when the agent's workflow would continue another one.
func (n dreamRuns) Resume(ctx context.Context, agent, dreamID string) error {
	begun, err := n.starter.Resume(ctx, agent)
	switch {
	case errors.Is(err, starter.ErrNothing):
		return &console.Exit{Code: console.NotFound, Err: err}
	case errors.Is(err, starter.ErrUnreachable):
		return &console.Exit{Code: console.Unreachable, Err: err}
	case err == nil && begun.Dream != dreamID:
		return &console.Exit{
			Code: console.NotFound,
			Err:  fmt.Errorf("%s is no longer waiting; %s was resumed instead", dreamID, begun.Dream),
		}
	}
	return asOwn(err)
}

// Running reports whether a dream's workflow runs.
func (n dreamRuns) Running(ctx context.Context, dreamID string) (bool, error) {
	return n.starter.Executions().Running(ctx, dreamID, "")
}

// active notifies the agent's workflow that the agent is used. Without a cluster nothing is lost: the workflow reads
// the store before it starts a dream by itself.
func (d *app) active(ctx context.Context, h *console.Deployment, handle string) {
	own, err := d.deploymentOf(h)
	if err != nil {
		return
	}
	e := newEngine(own)
	e.log = tlog.NewStructuredLogger(slog.New(slog.DiscardHandler)) // the command prints its own messages
	if e.dial(ctx) == nil {
		_ = e.starter.Active(ctx, handle, time.Now())
	}
	_ = e.Stop()
}

// abandon closes the record of a dream without Temporal.
func (d *app) abandon(ctx context.Context, h *console.Deployment, agent, dreamID string) error {
	own, err := d.deploymentOf(h)
	if err != nil {
		return err
	}
	return workers.Abandon(ctx, own.ports(), starter.Executions{}, agent, dreamID)
}

// estimate prices a dream without Temporal.
func (d *app) estimate(ctx context.Context, h *console.Deployment, w console.DreamRequest) (console.Estimate, error) {
	own, err := d.deploymentOf(h)
	if err != nil {
		return console.Estimate{}, err
	}
	e, err := own.starter().Estimate(ctx, dreamRuns{}.request(w))
	return priced(e), err
}

// estimateAgain prices a dream that continues from another one.
func (d *app) estimateAgain(ctx context.Context, h *console.Deployment,
	w console.RedreamRequest,
) (console.Estimate, error) {
	own, err := d.deploymentOf(h)
	if err != nil {
		return console.Estimate{}, err
	}
	e, err := own.starter().EstimateRedream(ctx, dreamRuns{}.due(w))
	return priced(e), err
}

// rehearse describes the course of a dream without running it.
func (d *app) rehearse(ctx context.Context, h *console.Deployment, w console.DreamRequest) (console.Rehearsal, error) {
	own, err := d.deploymentOf(h)
	if err != nil {
		return console.Rehearsal{}, err
	}
	r, err := own.starter().Rehearse(ctx, dreamRuns{}.request(w))
	if err != nil {
		return console.Rehearsal{}, err
	}
	result := console.Rehearsal{
		Estimate:  priced(r.Estimate),
		Seed:      r.Seed,
		Gather:    r.Gather,
		Depth:     r.Depth,
		Skipped:   r.Skipped,
		Hooks:     r.Hooks,
		Review:    r.Review,
		Against:   r.Against,
		Loosening: string(r.Loosening.Way),
		Why:       r.Loosening.Why,
		Caps:      []console.Cap{},
		Policy:    r.Policy,
	}
	for _, c := range r.Caps {
		result.Caps = append(result.Caps, console.Cap(c))
	}
	return result, nil
}

func priced(e starter.Estimate) console.Estimate {
	result := console.Estimate{
		Agent:    e.Agent,
		Tier:     e.Tier,
		Models:   e.Models,
		Free:     e.Free,
		Calls:    e.Calls,
		Expected: e.Expected,
		Worst:    e.Worst,
		Cap:      e.Cap,
	}
	for _, p := range e.Phases {
		result.Phases = append(result.Phases, console.PhaseEstimate(p))
	}
	return result
}

var _ console.Dreams = dreamRuns{}
