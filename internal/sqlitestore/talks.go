package sqlitestore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-56a03226/oneiros/internal/memory"
)

// PutBackground adds a background to a conversation, and deletes those older than memory.TalkFor.
func (s *Store) PutBackground(ctx context.Context, agent, talk string, b memory.Background) error {
	body, err := json.Marshal(b)
	if err == nil && (agent == "" || talk == "") {
		err = errors.New("agent and conversation must not be empty")
	}
	if err == nil {
		err = s.write(ctx, func(d tx) error {
			if _, err := d.writable(agent); err != nil {
				return err
			}
			if _, err := d.exec("DELETE FROM backgrounds WHERE at < ?", nanos(b.At.Add(-memory.TalkFor))); err != nil {
				return err
			}
			_, err := d.exec("INSERT INTO backgrounds (agent, talk, at, body) VALUES (?, ?, ?, ?)", agent, talk,
				nanos(b.At), string(body))
			return err
		})
	}
	return wrap(err, fmt.Sprintf("keep a background of talk %q of %s", talk, agent))
}

// Backgrounds lists the backgrounds of a conversation.
func (s *Store) Backgrounds(ctx context.Context, agent, talk string) ([]memory.Background, error) {
	var all []memory.Background
	err := s.read(ctx, func(d tx) error {
		return d.each("SELECT body FROM backgrounds WHERE agent = ? AND talk = ? ORDER BY key", []any{agent, talk},
			func(scan func(...any) error) error {
				var body []byte
				if err := scan(&body); err != nil {
					return err
				}
				var b memory.Background
				if err := json.Unmarshal(body, &b); err != nil {
					return err
				}
				all = append(all, b)
				return nil
			})
	})
	if err != nil {
		return nil, fmt.Errorf("backgrounds of conversation %q of %s: %w", talk, agent, err)
	}
	return all, nil
}
