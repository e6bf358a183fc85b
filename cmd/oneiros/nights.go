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

// behind finds the house behind what the console was shown.
func (d *app) behind(h *console.Deployment) (*deployment, error) {
	if found, ok := d.houses.Load(h); ok {
		return found.(*deployment), nil
	}
	return nil, errors.New("this house was not built by this door")
}

// nights is the console's view of the starter.
type nights struct {
	starter *starter.Starter
	asOf    time.Time // the night's now, when it is not ours: the demo's life ends on a day of its own
}

func (n nights) request(w console.DreamRequest) starter.DreamRequest {
	return starter.DreamRequest{
		Agent:  w.Agent,
		Tier:   w.Tier,
		Theme:  w.Theme,
		Budget: w.Budget,
		Seed:   w.Seed,
		AsOf:   n.asOf,
	}
}

func (n nights) again(w console.Again) starter.Again {
	return starter.Again{DreamRequest: n.request(w.DreamRequest), Dream: w.Dream, From: w.From}
}

// Redream begins one that goes on from another.
func (n nights) Redream(ctx context.Context, w console.Again) (string, error) {
	begun, err := n.starter.Redream(ctx, n.again(w))
	if errors.Is(err, starter.ErrUnreachable) {
		err = &console.Exit{
			Code: console.Unreachable,
			Err:  fmt.Errorf("%w (oneiros worker or oneiros up runs one)", err),
		}
	}
	return begun.Dream, asOwn(err)
}

// Begin starts a dream.
func (n nights) Begin(ctx context.Context, w console.DreamRequest) (string, error) {
	begun, err := n.starter.Begin(ctx, n.request(w))
	if errors.Is(err, starter.ErrUnreachable) {
		err = &console.Exit{
			Code: console.Unreachable,
			Err:  fmt.Errorf("%w (oneiros worker or oneiros up runs one)", err),
		}
	}
	return begun.Dream, asOwn(err)
}

// refusal is one that the console knows as its own, in the starter's words.
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

// Cancel ends one.
func (n nights) Cancel(ctx context.Context, dreamID string) error {
	err := n.starter.Cancel(ctx, dreamID)
	if errors.Is(err, memory.ErrNotFound) {
		return &console.Exit{Code: console.NotFound, Err: err}
	}
	return err
}

// Settle tells the agent's life what its record adds to the settings. One that neither lives nor dreams by itself needs
// none.
func (n nights) Settle(ctx context.Context, a dream.Agent) error {
	if !a.Auto {
		agentStates, err := n.starter.Executions().Running(ctx, workflows.AgentID(a.Handle), "")
		if err != nil || !agentStates {
			return err
		}
	}
	return n.starter.Live(ctx, a)
}

// Call tells the agent's life that a trigger calls for a dream.
func (n nights) Call(ctx context.Context, a dream.Agent, f activities.Fire) error {
	return n.starter.Call(ctx, a, f)
}

// Resume lets an interrupted dream go on, when it is the one that its agent's life would let go on.
func (n nights) Resume(ctx context.Context, agent, dreamID string) error {
	begun, err := n.starter.Resume(ctx, agent)
	switch {
	case errors.Is(err, starter.ErrNothing):
		return &console.Exit{Code: console.NotFound, Err: err}
	case errors.Is(err, starter.ErrUnreachable):
		return &console.Exit{Code: console.Unreachable, Err: err}
	case err == nil && begun.Dream != dreamID:
		return &console.Exit{
			Code: console.NotFound,
			Err:  fmt.Errorf("%s waits no longer; %s goes on", dreamID, begun.Dream),
		}
	}
	return asOwn(err)
}

// Running asks Temporal.
func (n nights) Running(ctx context.Context, dreamID string) (bool, error) {
	return n.starter.Executions().Running(ctx, dreamID, "")
}

// active tells an agent's life that the agent is used, where there is a cluster. A machine without one loses nothing:
// the life asks the store before it dreams by itself.
func (d *app) active(ctx context.Context, h *console.Deployment, handle string) {
	own, err := d.behind(h)
	if err != nil {
		return
	}
	e := newEngine(own)
	e.log = tlog.NewStructuredLogger(slog.New(slog.DiscardHandler)) // the command has its own to say
	if e.dial(ctx) == nil {
		_ = e.starter.Active(ctx, handle, time.Now())
	}
	_ = e.Stop()
}

// abandon closes a dream without asking Temporal.
func (d *app) abandon(ctx context.Context, h *console.Deployment, agent, dreamID string) error {
	own, err := d.behind(h)
	if err != nil {
		return err
	}
	return workers.Abandon(ctx, own.ports(), starter.Executions{}, agent, dreamID)
}

// estimate prices a dream without Temporal.
func (d *app) estimate(ctx context.Context, h *console.Deployment, w console.DreamRequest) (console.Estimate, error) {
	own, err := d.behind(h)
	if err != nil {
		return console.Estimate{}, err
	}
	e, err := own.starter().Estimate(ctx, nights{}.request(w))
	return priced(e), err
}

// estimateAgain prices a dream that goes on from another.
func (d *app) estimateAgain(ctx context.Context, h *console.Deployment, w console.Again) (console.Estimate, error) {
	own, err := d.behind(h)
	if err != nil {
		return console.Estimate{}, err
	}
	e, err := own.starter().EstimateRedream(ctx, nights{}.again(w))
	return priced(e), err
}

// rehearse tells a dream without dreaming it.
func (d *app) rehearse(ctx context.Context, h *console.Deployment, w console.DreamRequest) (console.Rehearsal, error) {
	own, err := d.behind(h)
	if err != nil {
		return console.Rehearsal{}, err
	}
	r, err := own.starter().Rehearse(ctx, nights{}.request(w))
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

var _ console.Dreams = nights{}
