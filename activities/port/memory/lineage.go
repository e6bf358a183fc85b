package memory

import (
	"context"
	"fmt"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory/past"
)

// Derived finds the texts that dreams made from memories, oldest first: items that name one of ids as an origin in any
// state or revision, items made from those in turn, and items without origins that the same dreams wrote. Items that a
// person wrote and dream records are not included. Call it before Store.Forget, which removes the ids from the
// references of the items that stay.
func Derived(ctx context.Context, s Items, agent string, ids ...string) ([]dream.Item, error) {
	items, err := s.Find(ctx, Query{Agent: agent, States: dream.States, Sort: Oldest})
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

// originsOf lists the origins of an item in all of its revisions.
func originsOf(ctx context.Context, s Items, agent string, item dream.Item) ([]string, error) {
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
