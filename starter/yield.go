package starter

import (
	"context"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/review"
)

// mostBranches is the most scenarios that a dream may imagine or keep at once (dream.Knobs).
const mostBranches = 16

// followYield lets an automatic dream imagine more while many predictions of the agent's dreams come true. The caps
// stay as they are, and so does a dream that the agent's vitality limits.
func (s drafter) followYield(ctx context.Context, spec *activities.Spec) error {
	if spec.Tier == dream.Core || spec.Behaviour.Worse(dream.Stable) {
		return nil
	}
	resolver := review.Resolver{Memory: s.Memory, Now: s.Now, Rules: s.Options.Predictions}
	yields, err := resolver.Consequence(ctx, spec.Agent)
	if err != nil {
		return err
	}
	spec.Knobs.Branches = min(mostBranches, spec.Knobs.Branches+yields.Scenarios)
	spec.Knobs.Keep = min(spec.Knobs.Branches, spec.Knobs.Keep+yields.Scenarios)
	return nil
}
