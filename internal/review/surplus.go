package review

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/prediction"
)

// DropSurplus resolves as void the open predictions of an agent that are more than may be open, those that say least
// first, and returns how many it resolved.
func (k Resolver) DropSurplus(ctx context.Context, agent string) (int, error) {
	if k.Rules.MostOpen <= 0 {
		return 0, nil
	}
	wanted := memory.Query{
		Agent: agent, Kinds: []dream.Kind{dream.KindPrediction}, Statuses: []string{dream.PredictionOpen},
	}
	if n, err := k.Memory.Count(ctx, wanted); err != nil || n <= k.Rules.MostOpen {
		return 0, err
	}
	open, err := k.open(ctx, memory.Query{Agent: agent, Sort: memory.Oldest})
	if err != nil {
		return 0, err
	}
	dropped, now := 0, k.Now().UTC()
	var faults []error
	for _, p := range prediction.Surplus(open, k.Rules.MostOpen) {
		n, err := k.resolveIfOpen(ctx, p, prediction.Verdict{
			Status: dream.PredictionVoid,
			By:     dream.ByLimit,
			At:     now,
			Evidence: fmt.Sprintf("%d predictions were open, %d may be (predictions.most_open), and this one says least",
				len(open), k.Rules.MostOpen),
		})
		dropped, faults = dropped+n, append(faults, err)
	}
	return dropped, errors.Join(faults...)
}
