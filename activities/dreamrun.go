package activities

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/mood"
)

// Executions tells which workflows still run.
type Executions interface {
	// Running is false when the run has closed or does not exist.
	Running(ctx context.Context, workflow, run string) (bool, error)
	// ClusterID is the cluster and namespace that it asks, empty when unknown. It cannot tell anything about workflows
	// elsewhere.
	ClusterID() string
}

// Planner prepares the spec of a dream that begins automatically.
type Planner interface {
	Embedders
	// Plan returns an empty spec and a reason when the agent should not dream now. It writes nothing.
	Plan(ctx context.Context, agent string, now time.Time) (Spec, string, error)
	// FleetDay is the deployment's cap for all agents together in one day.
	FleetDay() budget.Micros
}

// DreamRun begins and ends dreams: it keeps the slot, the budget accounts and the record.
type DreamRun struct {
	Ports
	Executions Executions
	Planner    Planner
}

func (b *DreamRun) remaining(ctx context.Context, spec Spec) (budget.Micros, error) {
	left := budget.Unlimited
	for _, account := range spec.Accounts {
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

// Running says whether a workflow still runs.
func (b *DreamRun) Running(ctx context.Context, r RunningRequest) (bool, error) {
	return b.Executions.Running(ctx, r.Workflow, r.Run)
}

// RunningRequest names a workflow run.
type RunningRequest struct {
	Workflow string `json:"workflow"`
	Run      string `json:"run"`
}

// MoodRequest is the input of DreamRun.Feel.
type MoodRequest struct {
	Agent string `json:"agent"`
}

// Feel reads the agent's affect, at every cycle boundary.
func (b *DreamRun) Feel(ctx context.Context, r MoodRequest) (mood.PAD, error) {
	affect, err := b.Memory.Affect(ctx, r.Agent)
	return affect.At(b.now(Stretch{})), toApplicationError(err)
}
