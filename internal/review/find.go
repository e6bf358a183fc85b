package review

import (
	"context"
	"fmt"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// find reads an agent's items of one kind; what names them in errors.
func find[T dream.Item](ctx context.Context, s memory.DreamStore, what string, kind dream.Kind, q memory.Query) ([]T, error) {
	q.Kinds = []dream.Kind{kind}
	items, err := s.Find(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("read %s of %s: %w", what, q.Agent, err)
	}
	return memory.As[T](items), nil
}

// textsOf are the texts of items by id.
func textsOf(items []dream.Item) map[string]string {
	texts := map[string]string{}
	for _, item := range items {
		texts[item.Header().ID] = item.Text()
	}
	return texts
}

// putEntry adds to a write an entry of the playbook that rests on talks of owners, or changes the one of its id.
func putEntry(ctx context.Context, s memory.DreamStore, w *memory.Write, entry *dream.Playbook, owners []string) error {
	switch len(owners) {
	case 0:
	case 1:
		entry.Owner = owners[0]
	default: // as what a dream makes of the talks of several: dreams use it, nobody is told
		entry.Taint = dream.FromDream
	}
	found, err := s.Get(ctx, entry.Agent, entry.ID)
	switch {
	case err != nil:
		return fmt.Errorf("read the playbook entry %s: %w", entry.ID, err)
	case len(found) == 0:
		w.Add = append(w.Add, entry)
	default:
		entry.Revision = found[0].Header().Revision
		w.Change = append(w.Change, entry)
	}
	return nil
}
