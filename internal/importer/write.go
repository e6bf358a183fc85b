package importer

import (
	"fmt"
	"slices"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

// writer commits items in batches, each with its vectors in one transaction.
type writer struct {
	j     *job
	batch []dream.Item
	ids   map[string]bool // of the batch
	space string          // of the embedder, once it has answered
}

func newWriter(j *job) *writer { return &writer{j: j, ids: map[string]bool{}} }

func (w *writer) add(item dream.Item) error {
	id := item.Header().ID
	if w.ids[id] {
		w.j.report.Known++
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
	write := memory.Write{Agent: j.agent.ID, Cause: "import", Add: w.batch}
	var err error
	if j.opts.Embed != nil {
		if write.Vectors, err = w.vectorsOfNew(); err != nil {
			return err
		}
	}
	receipt, err := j.store.Commit(j.ctx, write)
	if err != nil {
		return fmt.Errorf("import %d items into the memory of %s: %w", len(w.batch), j.agent.Handle, err)
	}
	j.report.Added += receipt.Added
	j.report.Known += receipt.Known
	w.batch = nil
	clear(w.ids)
	return nil
}

// vectorsOfNew embeds what the memory does not hold yet, so that a second import costs nothing.
func (w *writer) vectorsOfNew() ([]memory.Vector, error) {
	ids := make([]string, len(w.batch))
	for i, item := range w.batch {
		ids[i] = item.Header().ID
	}
	have, err := w.j.store.Get(w.j.ctx, w.j.agent.ID, ids...)
	if err != nil {
		return nil, fmt.Errorf("look up %d items of %s: %w", len(ids), w.j.agent.Handle, err)
	}
	known := make(map[string]bool, len(have))
	for _, item := range have {
		known[item.Header().ID] = true
	}
	var fresh []dream.Item
	for _, item := range w.batch {
		if h := item.Header(); !known[h.ID] && h.State == dream.Live && slices.Contains(embedded, h.Kind) {
			fresh = append(fresh, item)
		}
	}
	return w.embed(fresh)
}

func (w *writer) embed(items []dream.Item) ([]memory.Vector, error) {
	var out []memory.Vector
	for some := range slices.Chunk(items, MaxEmbed) {
		vectors, err := place(w.j.ctx, w.j.opts.Embed, some)
		if err != nil {
			return nil, err
		}
		if err := w.settleSpace(vectors[0].Space); err != nil {
			return nil, err
		}
		out = append(out, vectors...)
	}
	return out, nil
}

// settleSpace refuses a mixture of two embedders before anything of the batch is written.
func (w *writer) settleSpace(space string) error {
	if space == w.space {
		return nil
	}
	have := w.space
	if have == "" {
		var err error
		if have, err = w.j.store.Space(w.j.ctx, w.j.agent.ID); err != nil {
			return fmt.Errorf("ask for the space of %s: %w", w.j.agent.Handle, err)
		}
	}
	if have != "" && have != space {
		return fmt.Errorf("the memory of %s lies in space %s and the embedder answers in %s; move the memory first with oneiros memory embed --agent %s, or import with --no-vectors: %w",
			w.j.agent.Handle, have, space, w.j.agent.Handle, memory.ErrSpace)
	}
	w.space = space
	return nil
}

// close writes what is left and gives vectors to known items that have none, which an import without an embedder leaves.
func (w *writer) close() error {
	if err := w.flush(); err != nil {
		return err
	}
	if w.j.opts.Embed == nil || w.j.report.Known == 0 {
		return nil
	}
	if w.space == "" {
		space, err := w.j.store.Space(w.j.ctx, w.j.agent.ID)
		if err != nil {
			return fmt.Errorf("ask for the space of %s: %w", w.j.agent.Handle, err)
		}
		if w.space = space; space == "" { // nothing was ever embedded: the embedder must say where it places things
			_, space, err := w.j.opts.Embed(w.j.ctx, []string{w.j.agent.Handle})
			if err != nil {
				return fmt.Errorf("ask the embedder for its space: %w", err)
			}
			if space == "" {
				return errNameless
			}
			if err := w.settleSpace(space); err != nil {
				return err
			}
		}
	}
	return w.fillBare()
}

func (w *writer) fillBare() error {
	j := w.j
	for {
		bare, err := j.store.Bare(j.ctx, j.agent.ID, w.space, embedded, j.opts.BatchSize)
		if err != nil {
			return fmt.Errorf("look for items of %s without vectors: %w", j.agent.Handle, err)
		}
		if len(bare) == 0 {
			return nil
		}
		vectors, err := w.embed(bare)
		if err != nil {
			return err
		}
		if _, err := j.store.Commit(j.ctx, memory.Write{Agent: j.agent.ID, Cause: "import", Vectors: vectors}); err != nil {
			return fmt.Errorf("keep %d vectors of %s: %w", len(vectors), j.agent.Handle, err)
		}
	}
}
