package sqlitestore

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

// Spaces counts the agent's vectors by space.
func (s *Store) Spaces(ctx context.Context, agent string) (map[string]int, error) {
	spaces := map[string]int{}
	err := s.read(ctx, func(d tx) error {
		return d.each("SELECT space, count(*) FROM vectors WHERE agent = ? GROUP BY space", []any{agent},
			func(scan func(...any) error) error {
				var space string
				var n int
				err := scan(&space, &n)
				spaces[space] = n
				return err
			})
	})
	if err != nil {
		return nil, fmt.Errorf("spaces of %s: %w", agent, err)
	}
	return spaces, nil
}

// Collect stores vectors of another space beside those of the agent's own.
func (s *Store) Collect(ctx context.Context, agent string, vectors []memory.Vector) error {
	err := s.write(ctx, func(d tx) error {
		if agent == "" {
			return errors.New("the agent's id is empty")
		}
		l, err := d.writable(agent)
		if err != nil {
			return err
		}
		for _, v := range vectors {
			if err := checkVector(v.Space, v.V); err != nil {
				return fmt.Errorf("vector of %s: %w", v.Item, err)
			}
			if v.Space == l.space {
				return fmt.Errorf("vector of %s: %s is the agent's own space: %w", v.Item, v.Space, memory.ErrSpace)
			}
			if err := d.collect(agent, v); err != nil {
				return fmt.Errorf("vector of %s: %w", v.Item, err)
			}
		}
		return d.dropEmbeddings(agent)
	})
	if err != nil {
		return fmt.Errorf("collect vectors of %s: %w", agent, err)
	}
	return nil
}

// collect stores one vector. No search reads it until the agent moves, when all search indexes start over.
func (d tx) collect(agent string, v memory.Vector) error {
	var kind, state string
	found, err := d.one("SELECT kind, state FROM items WHERE agent = ? AND id = ?", []any{agent, v.Item}, &kind, &state)
	if err != nil || !found {
		return err
	}
	dim, err := d.dimension(agent, v.Space)
	if err != nil {
		return err
	}
	switch {
	case dim == 0:
		if _, err := d.exec("INSERT INTO moves (agent, space, dim) VALUES (?, ?, ?)", agent, v.Space,
			len(v.V)); err != nil {
			return err
		}
	case dim != int64(len(v.V)):
		return fmt.Errorf("it has %d numbers and those collected in %s have %d: %w", len(v.V), v.Space, dim,
			memory.ErrSpace)
	}
	_, err = d.exec(`INSERT INTO vectors (agent, id, space, kind, live, v) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (agent, id, space) DO UPDATE SET live = excluded.live, v = excluded.v, numbers = NULL`,
		agent, v.Item, v.Space, kind, state == string(dream.Live), packVector(v.V))
	return err
}

// dimension is the dimension of a space that is being collected; 0 when there is none.
func (d tx) dimension(agent, space string) (int64, error) {
	var dim int64
	_, err := d.one("SELECT dim FROM moves WHERE agent = ? AND space = ?", []any{agent, space}, &dim)
	return dim, err
}

// dropCollected removes an item's collected vectors, because its text has changed.
func (d tx) dropCollected(agent, id string) error {
	_, err := d.exec(
		"DELETE FROM vectors WHERE agent = ? AND id = ? AND space IN (SELECT space FROM moves WHERE agent = ?)",
		agent, id, agent)
	return err
}

// Move makes a space the agent's own.
func (s *Store) Move(ctx context.Context, agent, space string) (int, error) {
	missing := 0
	err := s.write(ctx, func(d tx) error {
		if agent == "" || space == "" {
			return errors.New("agent and space must not be empty")
		}
		held, err := d.slot(agent)
		if err != nil {
			return err
		}
		if held.Fence != (memory.Fence{}) {
			return fmt.Errorf("dream %q holds the slot and uses the old space: %w", held.Dream, memory.ErrTaken)
		}
		l, err := d.writable(agent)
		if err != nil {
			return err
		}
		missing, err = d.missing(agent, l.space, space)
		if err != nil || missing > 0 {
			return err
		}
		return d.move(agent, l, space)
	})
	if err != nil {
		return 0, fmt.Errorf("move %s to space %s: %w", agent, space, err)
	}
	return missing, nil
}

// missing counts the live items that would be without a vector after the move.
func (d tx) missing(agent, from, to string) (int, error) {
	n := 0
	_, err := d.one(`SELECT count(*) FROM vectors AS old WHERE agent = ? AND space = ? AND live = 1 AND NOT EXISTS
		(SELECT 1 FROM vectors AS new WHERE new.agent = old.agent AND new.id = old.id AND new.space = ?)`,
		[]any{agent, from, to}, &n)
	return n, err
}

// move deletes the vectors of all other spaces. Search indexes start over, as after an erasure.
func (d tx) move(agent string, l agentCounters, space string) error {
	if space != l.space {
		dim, err := d.dimension(agent, space)
		if err != nil {
			return err
		}
		l.space, l.dim = space, dim
		if dim == 0 { // there are no vectors at all
			l.space = ""
		}
		l.scrubs++
	}
	if _, err := d.exec("DELETE FROM vectors WHERE agent = ? AND space <> ?", agent, space); err != nil {
		return err
	}
	if _, err := d.exec("DELETE FROM moves WHERE agent = ?", agent); err != nil {
		return err
	}
	const placed = "EXISTS (SELECT 1 FROM vectors AS v WHERE v.agent = items.agent AND v.id = items.id)"
	if _, err := d.exec("UPDATE items SET bare = NOT "+placed+" WHERE agent = ? AND bare = "+placed,
		agent); err != nil {
		return err
	}
	return d.setCounters(agent, l)
}
