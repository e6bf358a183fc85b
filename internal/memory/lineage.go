package memory

import (
	"context"
	"fmt"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory/past"
)

// Derived finds the texts that dreams made from memories, oldest first: whatever names them as an origin, in any state
// and in any revision, what was made from that in turn, and what the same dreams wrote without naming anything. What a
// person wrote is that person's own, and the record of a night is no text of it. Forget takes the ids out of what
// stays, so that whoever wants these gone asks first.
func Derived(ctx context.Context, s Store, agent string, ids ...string) ([]dream.Item, error) {
	items, err := s.Find(ctx, Query{Agent: agent, States: dream.States, Order: Oldest})
	if err != nil {
		return nil, fmt.Errorf("find what was made from memories of %s: %w", agent, err)
	}
	var texts []past.Text
	for _, item := range items {
		h := item.Header()
		if h.Dream == "" || h.Kind == dream.KindRecord {
			continue
		}
		t := past.Text{ID: h.ID, Dream: h.Dream}
		t.Origins, err = originsOf(ctx, s, agent, item)
		if err != nil {
			return nil, err
		}
		texts = append(texts, t)
	}
	marked := past.Descend(texts, ids...)
	var derived []dream.Item
	for _, item := range items {
		if marked[item.Header().ID] {
			derived = append(derived, item)
		}
	}
	return derived, nil
}

// originsOf is what an item was made from in all of its revisions.
func originsOf(ctx context.Context, s Store, agent string, item dream.Item) ([]string, error) {
	origins, err := past.Origins(item)
	if err != nil || item.Header().Revision <= 1 {
		return origins, err
	}
	revisions, err := s.Revisions(ctx, agent, item.Header().ID)
	if err != nil {
		return nil, fmt.Errorf("read the revisions of %s: %w", item.Header().ID, err)
	}
	for _, r := range revisions {
		earlier, err := past.Origins(r.Item)
		if err != nil {
			return nil, err
		}
		origins = append(origins, earlier...)
	}
	return origins, nil
}
