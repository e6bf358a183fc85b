package core

import (
	"context"
	"fmt"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/prompt"
)

// Roots collects the lived memories that items go back to in at most depth steps.
func Roots(ctx context.Context, r *Run, ids []string, depth int, found map[string]bool) error {
	if depth == 0 || len(ids) == 0 {
		return nil
	}
	items, err := r.Made(ctx, ids...)
	if err != nil {
		return fmt.Errorf("follow sources: %w", err)
	}
	for _, item := range items {
		if h := item.Header(); h.Dream == "" {
			found[h.ID] = true
		} else if err := Roots(ctx, r, h.Sources, depth-1, found); err != nil {
			return err
		}
	}
	return nil
}

// Material are the texts to consolidate as prompt lines, with the id of the item behind each.
func Material(ctx context.Context, r *Run, in activities.ConsolidateRequest,
	room int,
) (prompt.ConsolidateInput, []string, error) {
	items, err := r.Made(ctx, in.Items...)
	if err != nil {
		return prompt.ConsolidateInput{}, nil, fmt.Errorf("read what the night has made: %w", err)
	}
	items, err = r.mayWeave(ctx, items)
	if err != nil {
		return prompt.ConsolidateInput{}, nil, err
	}
	self, _, err := r.Self(ctx)
	if err != nil {
		return prompt.ConsolidateInput{}, nil, err
	}
	existing, err := r.Playbook(ctx)
	if err != nil {
		return prompt.ConsolidateInput{}, nil, err
	}
	texts := make([]string, len(items))
	behind := make([]string, len(items))
	for i, item := range items {
		texts[i], behind[i] = item.Text(), item.Header().ID
	}
	return prompt.ConsolidateInput{Self: self, Lines: prompt.Lines("r", texts...), Playbook: existing, Most: room},
		behind, nil
}
