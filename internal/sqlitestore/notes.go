package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// notes keeps the working data of dreams.
type notes struct{ *file }

// PutNote stores a note, unless its key exists.
func (s notes) PutNote(ctx context.Context, agent string, f memory.Fence, key string, value []byte) ([]byte, error) {
	late := strings.HasPrefix(key, memory.LateNote)
	write := s.write
	if late {
		write = s.writeUrgent
	}
	return in(ctx, write, noteOf(agent, f.Dream, key), func(d *tx) []byte {
		if agent == "" || key == "" {
			d.fail(errors.New("agent and key must not be empty"))
		}
		l := d.writable(agent)
		d.checkFence(agent, f, late)
		d.fail(f.Read.Check(l.scrubs))
		d.exec("INSERT INTO notes (agent, dream, name, value) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", agent,
			f.Dream, key, append([]byte{}, value...))
		return d.note(agent, f.Dream, key)
	})
}

func noteOf(agent, dreamID, key string) string {
	return fmt.Sprintf("note %q of dream %q of %s", key, dreamID, agent)
}

// note fails with memory.ErrNotFound when there is none.
func (d *tx) note(agent, dreamID, key string) []byte {
	value := []byte{}
	if !d.one("SELECT value FROM notes WHERE agent = ? AND dream = ? AND name = ?", []any{agent, dreamID, key}, &value) {
		d.fail(memory.ErrNotFound)
	}
	return value
}

// Note returns a note.
func (s notes) Note(ctx context.Context, agent, dreamID, key string) ([]byte, error) {
	return in(ctx, s.readOnce, noteOf(agent, dreamID, key),
		func(d *tx) []byte { return d.note(agent, dreamID, key) })
}

// Notes returns the notes with a key prefix.
func (s notes) Notes(ctx context.Context, agent, dreamID, prefix string) (map[string][]byte, error) {
	return in(ctx, s.readOnce, noteOf(agent, dreamID, prefix+"…"), func(d *tx) map[string][]byte {
		return pairs[[]byte](d,
			"SELECT name, value FROM notes WHERE agent = ? AND dream = ? AND substr(name, 1, length(?)) = ?",
			agent, dreamID, prefix, prefix)
	})
}

// DropNotes removes notes by key. It is part of the last writes of a stretch that was woken, so it is urgent.
func (s notes) DropNotes(ctx context.Context, agent, dreamID string, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	return store.Wrap(s.writeUrgent(ctx, func(d *tx) {
		for _, key := range keys {
			d.exec("DELETE FROM notes WHERE agent = ? AND dream = ? AND name = ?", agent, dreamID, key)
		}
	}), "drop notes of dream ", dreamID, " of ", agent)
}

// DropAllNotes removes all notes of a dream.
func (s notes) DropAllNotes(ctx context.Context, agent, dreamID string) error {
	return store.Wrap(s.write(ctx, func(d *tx) {
		d.exec("DELETE FROM notes WHERE agent = ? AND dream = ?", agent, dreamID)
	}), "drop all notes of dream ", dreamID, " of ", agent)
}
