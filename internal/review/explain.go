package review

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/claims"
)

// SourceText is what an item behind a claim says.
type SourceText struct {
	ID   string `json:"id"`
	Text string `json:"text"` // empty: it was forgotten
}

// Explanation is what a claim rests on, in words.
type Explanation struct {
	SaidBy   []SourceText `json:"said_by"`  // the predictions that make the claim
	Evidence []SourceText `json:"evidence"` // of the episodes that its outcomes name, the sentences with its names
}

// Explain reads what a claim rests on.
func Explain(ctx context.Context, s memory.DreamStore, c *dream.Claim) (Explanation, error) {
	var evidence []string
	for _, o := range c.Outcomes {
		evidence = append(evidence, o.Evidence...)
	}
	evidence = dream.DistinctIDs(evidence)
	items, err := s.Get(ctx, c.Agent, slices.Concat(c.Sources, evidence)...)
	if err == nil {
		err = memory.ReadClaims(ctx, s, c.Agent, items)
	}
	if err != nil {
		return Explanation{}, fmt.Errorf("read what %s rests on: %w", c.ID, err)
	}
	texts := textsOf(items)
	e := Explanation{SaidBy: []SourceText{}, Evidence: []SourceText{}}
	for _, id := range c.Sources {
		e.SaidBy = append(e.SaidBy, SourceText{id, texts[id]})
	}
	names := slices.DeleteFunc([]string{c.Check.When, c.Check.Then}, func(n string) bool { return n == "" })
	for _, id := range evidence {
		e.Evidence = append(e.Evidence, SourceText{id, strings.Join(claims.Sentences(texts[id], names...), " … ")})
	}
	return e, nil
}
