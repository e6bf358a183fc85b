package importer

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// ExportOptions of an export.
type ExportOptions struct {
	Archived bool         // superseded and archived items too
	Kinds    []dream.Kind // empty: all
}

// exportPage is how many items are held at once.
const exportPage = 1000

// Export writes what the agent remembers as our JSONL, kind by kind, oldest first, and returns the number of items.
// Import restores every item as it is, under the same id. Vectors are left out: they are made again on import.
func Export(ctx context.Context, store memory.Store, agent dream.Agent, w io.Writer,
	opts ExportOptions,
) (n int, err error) {
	out := bufio.NewWriterSize(w, 64<<10)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	kinds := opts.Kinds
	if len(kinds) == 0 {
		kinds = dream.Kinds
	}
	for _, kind := range kinds {
		q := memory.Query{Agent: agent.ID, Kinds: []dream.Kind{kind}, Sort: memory.Oldest}
		if opts.Archived {
			q.States = dream.States
		}
		err := pages(ctx, store, q, func(item dream.Item) error {
			n++
			return enc.Encode(item)
		})
		if err != nil {
			return n, fmt.Errorf("export %s of %s: %w", kind, agent.Handle, err)
		}
	}
	return n, out.Flush()
}

// pages walks the result of a query by time. A page begins at the last one's latest moment, whose items may come
// again and are then skipped; a moment with more items than a page makes the page grow.
func pages(ctx context.Context, store memory.Store, q memory.Query, do func(dream.Item) error) error {
	seen := map[string]bool{} // at the moment where the page begins
	for q.Limit = exportPage; ; {
		items, err := store.Find(ctx, q)
		if err != nil {
			return err
		}
		fresh := 0
		for _, item := range items {
			h := item.Header()
			if seen[h.ID] {
				continue
			}
			if !h.At.Equal(q.Since) {
				clear(seen)
				q.Since = h.At
			}
			seen[h.ID] = true
			fresh++
			if err := do(item); err != nil {
				return err
			}
		}
		switch {
		case len(items) < q.Limit:
			return nil
		case fresh == 0:
			q.Limit *= 2
		default:
			q.Limit = exportPage + len(seen)
		}
	}
}
