package importer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/recall"
)

// Embedder makes the vectors of memories, and knows which spaces are its own.
type Embedder struct {
	Embed Embed
	Makes func(space string) bool // nil: unknown before it answers
	Stay  bool                    // the agent stays in its space: an answer in another space is refused
}

func (e Embedder) makes(space string) bool { return e.Makes != nil && e.Makes(space) }

// EmbeddingEstimate is the work that is left for an embedder.
type EmbeddingEstimate struct {
	From  string     // the space of the memory; empty when it has none
	To    string     // the embedder's space; empty while its name is unknown
	Calls [][]string // the texts, call by call
}

// Count of the memories.
func (u EmbeddingEstimate) Count() int {
	n := 0
	for _, texts := range u.Calls {
		n += len(texts)
	}
	return n
}

// Survey says what Reembed would do, without calling the embedder.
func Survey(ctx context.Context, store memory.Store, agent dream.Agent, e Embedder) (EmbeddingEstimate, error) {
	m := mover{store: store, agent: agent, embedder: e}
	if err := m.orient(ctx); err != nil {
		return EmbeddingEstimate{}, err
	}
	bare, err := m.bare(ctx, 0)
	u := EmbeddingEstimate{From: m.from, To: m.to}
	for some := range slices.Chunk(bare, MaxEmbed) {
		u.Calls = append(u.Calls, textsOf(some))
	}
	return u, err
}

// Pending counts the live memories of an agent that have no vector in its space, and all that have or need one. What
// dreams imagine is left out: recall finds it on request only, and dreams do not embed it.
func Pending(ctx context.Context, store memory.Store, agent string) (pending, of int, err error) {
	space, err := store.Space(ctx, agent)
	if err != nil {
		return 0, 0, err
	}
	of, err = store.Count(ctx, memory.Query{Agent: agent, Kinds: recall.Kinds})
	if err != nil || of == 0 {
		return 0, 0, err
	}
	bare, err := store.WithoutVector(ctx, agent, space, recall.Kinds, 1)
	if err == nil && len(bare) > 0 {
		bare, err = store.WithoutVector(ctx, agent, space, recall.Kinds, 0)
	}
	return len(bare), of, err
}

// ReembedResult says what Reembed did.
type ReembedResult struct {
	From   string `json:"from"`   // the space before; empty for none
	To     string `json:"to"`     // the space now
	Placed int    `json:"placed"` // memories embedded by this call
}

// Reembed gives every live memory a vector in the embedder's space and then moves the agent there. Until then, search
// and dreams use the old space. When it is interrupted, its vectors stay, and the next call continues from there;
// ReembedResult counts the work of this call alone. It returns memory.ErrTaken when all vectors are made and a running
// dream still uses the old space.
func Reembed(ctx context.Context, store memory.Store, agent dream.Agent, e Embedder,
	progress func(done, total int64),
) (ReembedResult, error) {
	m := mover{store: store, agent: agent, embedder: e, progress: progress}
	err := m.run(ctx)
	if err != nil {
		err = fmt.Errorf("place the memory of %s: %w", agent.Handle, err)
	}
	return ReembedResult{From: m.before, To: m.to, Placed: m.placed}, err
}

// mover moves one agent's memory to a space.
type mover struct {
	store    memory.Store
	agent    dream.Agent
	embedder Embedder
	progress func(done, total int64)
	from, to string
	before   string // the space when it began
	others   bool   // vectors of another space are stored, too
	placed   int
	total    int
}

// page is how many memories are read at a time: every reading skips those that have a vector already.
const page = 32 * MaxEmbed

func (m *mover) run(ctx context.Context) error {
	if err := m.orient(ctx); err != nil {
		return err
	}
	for before := -1; ; {
		bare, err := m.bare(ctx, page)
		if err != nil {
			return err
		}
		if len(bare) > 0 {
			if err := m.carry(ctx, bare); err != nil {
				return err
			}
			continue
		}
		missing, err := m.move(ctx)
		if err != nil || missing == 0 {
			return err
		}
		if m.placed == before {
			return fmt.Errorf("%d items have a place in %s and cannot be given one in %s: %w", missing, m.from, m.to,
				memory.ErrSpace)
		}
		before = m.placed // memories were added in the meantime
	}
}

// orient finds the memory's space and, if it is known without a call, the embedder's.
func (m *mover) orient(ctx context.Context) error {
	spaces, err := m.store.Spaces(ctx, m.agent.ID)
	if err == nil {
		m.from, err = m.store.Space(ctx, m.agent.ID)
	}
	if err != nil {
		return err
	}
	m.before = m.from
	for space, n := range spaces {
		m.others = m.others || space != m.from
		if m.embedder.makes(space) && (n > spaces[m.to] || n == spaces[m.to] && space < m.to) {
			m.to = space
		}
	}
	if m.from != "" && m.embedder.Stay && m.embedder.Makes != nil && !m.embedder.Makes(m.from) {
		return m.elsewhere("makes another")
	}
	if m.from != "" && (m.embedder.Stay || m.embedder.makes(m.from)) {
		m.to = m.from
	}
	all, err := m.store.Count(ctx, memory.Query{Agent: m.agent.ID, Kinds: embedded})
	m.total = all - spaces[m.to]
	return err
}

// elsewhere refuses a mixture of two embedders.
func (m *mover) elsewhere(does string) error {
	return fmt.Errorf(
		"the memory of %s lies in space %s and the embedder %s; move the memory with oneiros memory embed --agent %s: %w",
		m.agent.Handle, m.from, does, m.agent.Handle, memory.ErrSpace)
}

func (m *mover) bare(ctx context.Context, limit int) ([]dream.Item, error) {
	return m.store.WithoutVector(ctx, m.agent.ID, m.to, embedded, limit)
}

// carry embeds memories call by call. An answer in an unexpected space ends it: there other memories lack vectors.
func (m *mover) carry(ctx context.Context, items []dream.Item) error {
	for some := range slices.Chunk(items, MaxEmbed) {
		vectors, err := embedItems(ctx, m.embedder.Embed, some)
		if err != nil {
			return err
		}
		space := vectors[0].Space
		if space != m.to && m.placed > 0 {
			return fmt.Errorf("the embedder answered in %s and now in %s: %w", m.to, space, memory.ErrSpace)
		}
		if m.embedder.Stay && m.from != "" && space != m.from {
			return m.elsewhere("answers in " + space)
		}
		turned := space != m.to
		m.to = space
		if err := m.keep(ctx, vectors); err != nil {
			return err
		}
		m.placed += len(some)
		if m.progress != nil {
			m.progress(int64(m.placed), int64(max(m.placed, m.total)))
		}
		if turned {
			return nil
		}
	}
	return nil
}

// keepWithin bounds how long storing paid vectors may take after the caller is gone.
const keepWithin = 10 * time.Second

func (m *mover) keep(ctx context.Context, vectors []memory.Vector) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepWithin)
	defer cancel()
	if m.from != "" && m.to != m.from {
		return m.store.Collect(ctx, m.agent.ID, vectors)
	}
	_, err := m.store.Commit(ctx, memory.Write{Agent: m.agent.ID, Cause: "embed", Vectors: vectors})
	if err == nil {
		m.from = m.to // the first vectors define the agent's space
	}
	return err
}

// move makes the new space the agent's. In its own space it only drops vectors of others, which can wait.
func (m *mover) move(ctx context.Context) (int, error) {
	if m.to == "" || m.to == m.from && (m.embedder.Stay || !m.others) {
		return 0, nil
	}
	missing, err := m.store.Move(ctx, m.agent.ID, m.to)
	if m.to == m.from && errors.Is(err, memory.ErrTaken) {
		err = nil
	}
	return missing, err
}
