package importer

import (
	"fmt"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// writer commits items in batches. Their vectors come later.
type writer struct {
	j     *job
	batch []dream.Item
	ids   map[string]bool // of the batch
}

func newWriter(j *job) *writer { return &writer{j: j, ids: map[string]bool{}} }

func (w *writer) add(item dream.Item) error {
	id := item.Header().ID
	if w.ids[id] {
		w.j.report.Existing++
		return nil
	}
	w.ids[id] = true
	w.batch = append(w.batch, item)
	if len(w.batch) >= w.j.opts.BatchSize {
		return w.flush()
	}
	return nil
}

func (w *writer) flush() error {
	if len(w.batch) == 0 {
		return nil
	}
	j := w.j
	if j.opts.Storing != nil {
		if err := j.opts.Storing(j.ctx); err != nil {
			return fmt.Errorf("import into the memory of %s: %w", j.agent.Handle, err)
		}
	}
	receipt, err := j.store.Commit(j.ctx, memory.Write{Agent: j.agent.ID, Cause: "import", Add: w.batch})
	if err != nil {
		return fmt.Errorf("import %d items into the memory of %s: %w", len(w.batch), j.agent.Handle, err)
	}
	j.report.Added += receipt.Added
	j.report.Existing += receipt.Existing
	w.batch = nil
	clear(w.ids)
	return nil
}
