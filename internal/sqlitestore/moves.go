package sqlitestore

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/store"
	"github.com/seed-56a03226/oneiros/internal/store/packed"
)

// Spaces counts the agent's vectors by space.
func (s vectors) Spaces(ctx context.Context, agent string) (map[string]int, error) {
	return in(ctx, s.readOnce, "spaces of "+agent, func(d *tx) map[string]int {
		return pairs[int](d, "SELECT space, count(*) FROM vectors WHERE agent = ? GROUP BY space", agent)
	})
}

// Collect stores vectors of another space beside those of the agent's own.
func (s vectors) Collect(ctx context.Context, agent string, vectors []memory.Vector) error {
	return store.Wrap(s.write(ctx, func(d *tx) {
		if agent == "" {
			d.fail(errNoAgent)
		}
		l := d.writable(agent)
		for _, v := range vectors {
			d.fail(v.Validate())
			d.doing("vector of "+v.Item, func() {
				if v.Space == l.space {
					d.fail(fmt.Errorf("%s is the agent's own space: %w", v.Space, memory.ErrSpace))
				}
				moving{d, agent}.collect(v)
			})
		}
		book{d}.dropEmbeddings(agent)
	}), "collect vectors of ", agent)
}

// moving is the collecting of vectors of another space, and the move to it, in a transaction.
type moving struct {
	*tx
	agent string
}

// collect stores one vector. No search reads it until the agent moves, when all search indexes start over.
func (m moving) collect(v memory.Vector) {
	var kind, state string
	if !m.one("SELECT kind, state FROM items WHERE agent = ? AND id = ?", []any{m.agent, v.Item}, &kind, &state) {
		return
	}
	switch dim := m.dimension(m.agent, v.Space); dim {
	case 0:
		m.exec("INSERT INTO moves (agent, space, dim) VALUES (?, ?, ?)", m.agent, v.Space, len(v.V))
	case int64(len(v.V)):
	default:
		m.fail(fmt.Errorf("it has %d numbers and those collected in %s have %d: %w", len(v.V), v.Space, dim,
			memory.ErrSpace))
	}
	m.exec(`INSERT INTO vectors (agent, id, space, kind, live, v) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (agent, id, space) DO UPDATE SET live = excluded.live, v = excluded.v, numbers = NULL`,
		m.agent, v.Item, v.Space, kind, state == string(dream.Live), packed.PlainVector(v.V))
}

// dimension is the dimension of a space that is being collected; 0 when there is none.
func (d *tx) dimension(agent, space string) int64 {
	return cell[int64](d, "SELECT dim FROM moves WHERE agent = ? AND space = ?", agent, space)
}

// Move makes a space the agent's own.
func (s vectors) Move(ctx context.Context, agent, space string) (int, error) {
	return in(ctx, s.write, "move "+agent+" to space "+space, func(d *tx) int {
		if agent == "" || space == "" {
			d.fail(errors.New("agent and space must not be empty"))
		}
		if held := d.slot(agent); held.Fence != (memory.Fence{}) {
			d.fail(fmt.Errorf("dream %q holds the slot and uses the old space: %w", held.Dream, memory.ErrTaken))
		}
		l := d.writable(agent)
		// live items that would be without a vector after the move
		missing := cell[int](d, `SELECT count(*) FROM vectors AS old WHERE agent = ? AND space = ? AND live = 1 AND NOT EXISTS
			(SELECT 1 FROM vectors AS new WHERE new.agent = old.agent AND new.id = old.id AND new.space = ?)`,
			agent, l.space, space)
		if missing == 0 {
			moving{d, agent}.move(l, space)
		}
		return missing
	})
}

// move deletes the vectors of all other spaces. Search indexes start over, as after an erasure.
func (m moving) move(l agentCounters, space string) {
	if space != l.space {
		l.space, l.dim = space, m.dimension(m.agent, space)
		if l.dim == 0 { // there are no vectors at all
			l.space = ""
		}
		l.scrubs++
	}
	m.exec("DELETE FROM vectors WHERE agent = ? AND space <> ?", m.agent, space)
	m.exec("DELETE FROM moves WHERE agent = ?", m.agent)
	const placed = "EXISTS (SELECT 1 FROM vectors AS v WHERE v.agent = items.agent AND v.id = items.id)"
	m.exec("UPDATE items SET bare = NOT "+placed+" WHERE agent = ? AND bare = "+placed, m.agent)
	m.setCounters(m.agent, l)
}
