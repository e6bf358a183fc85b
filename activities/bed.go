package activities

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/mood"
)

// Executions says which workflows still run.
type Executions interface {
	// Running is false when the run has closed or was never known.
	Running(ctx context.Context, workflow, run string) (bool, error)
	// Here names the cluster and namespace that it looks at; empty when that is not known. Of workflows that run
	// elsewhere it knows nothing.
	Here() string
}

// Planner freezes an order for a dream that nobody asked for by hand.
type Planner interface {
	Embedders
	// Plan answers with an empty order and a reason when the agent should not dream now. It writes no record.
	Plan(ctx context.Context, agent string, now time.Time) (Spec, string, error)
	// FleetDay is the deployment's cap of all agents together in one day.
	FleetDay() budget.Micros
}

// DreamRun is where a dream begins and ends: slot, allowance, record.
type DreamRun struct {
	Ports
	Executions Executions
	Planner    Planner
}

func (b *DreamRun) remaining(ctx context.Context, o Spec) (budget.Micros, error) {
	left := budget.Unlimited
	for _, account := range o.Accounts {
		if account.Limit == budget.Unlimited {
			continue
		}
		balance, err := b.Guard.Ledger.Balance(ctx, account.Scope)
		if err != nil {
			return 0, fmt.Errorf("read account %s: %w", account.Scope, err)
		}
		left = min(left, max(0, account.Limit-balance.Reserved-balance.Spent))
	}
	return left, nil
}

// Running asks whether a workflow still runs.
func (b *DreamRun) Running(ctx context.Context, r RunningRequest) (bool, error) {
	return b.Executions.Running(ctx, r.Workflow, r.Run)
}

// RunningRequest names a workflow run.
type RunningRequest struct {
	Workflow string `json:"workflow"`
	Run      string `json:"run"`
}

// MoodRequest asks how the agent feels.
type MoodRequest struct {
	Agent string `json:"agent"`
}

// Feel re-reads the agent's affect (H5: at every cycle boundary).
func (b *DreamRun) Feel(ctx context.Context, r MoodRequest) (mood.PAD, error) {
	affect, err := b.Memory.Affect(ctx, r.Agent)
	return affect.At(b.now(Stretch{})), toApplicationError(err)
}
