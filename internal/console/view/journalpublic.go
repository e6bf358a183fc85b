package view

import (
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/journal"
)

// PublicItem converts an item for --json.
func PublicItem(item dream.Item) any {
	if j, ok := item.(*dream.Journal); ok {
		return journal.PublicOf(j)
	}
	return item
}

func publicItems(items []dream.Item, public func(dream.Item) any) []any {
	list := make([]any, len(items))
	for i, item := range items {
		list[i] = public(item)
	}
	return list
}
