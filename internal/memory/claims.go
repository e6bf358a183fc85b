package memory

import (
	"context"
	"fmt"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

// ReadClaims gives predictions the claim of the fragment that they name, where they keep none of their own. It is for
// those who show them: what is read so must not be written back. A claim whose fragment was forgotten stays empty.
func ReadClaims(ctx context.Context, s Store, agent string, items []dream.Item) error {
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
