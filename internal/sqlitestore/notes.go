package sqlitestore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

// Affect returns the agent's newest affect.
func (s *Store) Affect(ctx context.Context, agent string) (dream.Affect, error) {
	var a dream.Affect
	err := s.readOnce(ctx, func(d tx) error {
		var err error
		a, err = d.affect(agent)
		return err
	})
	if err != nil {
		return dream.Affect{}, fmt.Errorf("affect of %s: %w", agent, err)
	}
	return a, nil
}

func (d tx) affect(agent string) (dream.Affect, error) {
	a := dream.Affect{Cause: "new"}
	var body []byte
	found, err := d.one("SELECT body FROM affects WHERE agent = ? ORDER BY number DESC LIMIT 1", []any{agent}, &body)
	if err != nil || !found {
		return a, err
	}
	return a, json.Unmarshal(body, &a)
}

// putAffect appends to the history of affects, so that a dream's part in it can be undone.
func (d tx) putAffect(agent, cause string, a dream.Affect) error {
	if err := a.PAD.Validate(); err != nil {
		return err
	}
	body, err := json.Marshal(a)
	if err != nil {
		return err
	}
	_, err = d.exec(`INSERT INTO affects (agent, number, cause, body)
		VALUES (?, 1 + coalesce((SELECT max(number) FROM affects WHERE agent = ?), 0), ?, ?)`, agent, agent, cause,
		string(body))
	return err
}

// NextDream counts an agent's dreams.
func (s *Store) NextDream(ctx context.Context, agent string) (int64, error) {
	var n int64
	err := s.write(ctx, func(d tx) error {
		l, err := d.writable(agent)
		if err != nil {
			return err
		}
		l.dreams++
		n = l.dreams
		return d.setCounters(agent, l)
	})
	if err != nil {
		return 0, fmt.Errorf("number the next dream of %s: %w", agent, err)
	}
	return n, nil
}

// PutNote stores a note, unless its key exists.
func (s *Store) PutNote(ctx context.Context, agent string, f memory.Fence, key string, value []byte) ([]byte, error) {
	kept := []byte{}
	late := strings.HasPrefix(key, memory.LateNote)
	write := s.write
	if late {
		write = s.writeUrgent
	}
	err := write(ctx, func(d tx) error {
		if agent == "" || key == "" {
			return errors.New("agent and key must not be empty")
		}
		l, err := d.writable(agent)
		if err != nil {
			return err
		}
		if err := d.checkFence(agent, f, late); err != nil {
			return err
		}
		if err := l.checkReading(f.Read); err != nil {
			return err
		}
		if _, err := d.exec("INSERT INTO notes (agent, dream, name, value) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
			agent, f.Dream, key, append([]byte{}, value...)); err != nil {
			return err
		}
		_, err = d.one("SELECT value FROM notes WHERE agent = ? AND dream = ? AND name = ?",
			[]any{agent, f.Dream, key}, &kept)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("note %q of dream %q of %s: %w", key, f.Dream, agent, err)
	}
	return kept, nil
}

// Note returns a note.
func (s *Store) Note(ctx context.Context, agent, dreamID, key string) ([]byte, error) {
	value := []byte{}
	err := s.readOnce(ctx, func(d tx) error {
		found, err := d.one("SELECT value FROM notes WHERE agent = ? AND dream = ? AND name = ?",
			[]any{agent, dreamID, key}, &value)
		if err == nil && !found {
			err = memory.ErrNotFound
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("note %q of dream %q of %s: %w", key, dreamID, agent, err)
	}
	return value, nil
}

// Notes returns the notes with a key prefix.
func (s *Store) Notes(ctx context.Context, agent, dreamID, prefix string) (map[string][]byte, error) {
	notes := map[string][]byte{}
	err := s.readOnce(ctx, func(d tx) error {
		return d.each("SELECT name, value FROM notes WHERE agent = ? AND dream = ? AND substr(name, 1, length(?)) = ?",
			[]any{agent, dreamID, prefix, prefix}, func(scan func(...any) error) error {
				var name string
				var value []byte
				err := scan(&name, &value)
				notes[name] = value
				return err
			})
	})
	if err != nil {
		return nil, fmt.Errorf("notes %q of dream %q of %s: %w", prefix, dreamID, agent, err)
	}
	return notes, nil
}

// DropNotes removes a dream's working data.
func (s *Store) DropNotes(ctx context.Context, agent, dreamID string, keys ...string) error {
	write := s.writeUrgent // with keys, this is part of the last writes of a woken stretch
	if len(keys) == 0 {
		write = s.write
	}
	err := write(ctx, func(d tx) error {
		if len(keys) == 0 {
			_, err := d.exec("DELETE FROM notes WHERE agent = ? AND dream = ?", agent, dreamID)
			return err
		}
		for _, key := range keys {
			if _, err := d.exec("DELETE FROM notes WHERE agent = ? AND dream = ? AND name = ?", agent, dreamID,
				key); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("drop the notes of dream %q of %s: %w", dreamID, agent, err)
	}
	return nil
}
