package memory

import (
	"context"
	"fmt"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// ReadClaims fills in the claim of each prediction that has none of its own, from the fragment that it names. The
// result is for display and must not be written back. The claim stays empty when the fragment was forgotten.
func ReadClaims(ctx context.Context, s Getter, agent string, items []dream.Item) error {
	open := map[string][]*dream.Prediction{}
	var ids []string
	for _, p := range As[*dream.Prediction](items) {
		if p.Claim != "" || p.Fragment == "" {
			continue
		}
		if open[p.Fragment] == nil {
			ids = append(ids, p.Fragment)
		}
		open[p.Fragment] = append(open[p.Fragment], p)
	}
	if len(ids) == 0 {
		return nil
	}
	fragments, err := s.Get(ctx, agent, ids...)
	if err != nil {
		return fmt.Errorf("read the fragments that predictions name: %w", err)
	}
	for _, f := range As[*dream.Fragment](fragments) {
		for _, p := range open[f.ID] {
			p.Claim = f.Content
		}
	}
	return nil
}
