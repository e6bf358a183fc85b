package console

import (
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/journal"
)

// publicItem converts an item for --json.
func publicItem(item dream.Item) any {
	if j, ok := item.(*dream.Journal); ok {
		return journal.PublicOf(j)
	}
	return item
}

func publicItems(items []dream.Item) []any {
	list := make([]any, len(items))
	for i, item := range items {
		list[i] = publicItem(item)
	}
	return list
}
