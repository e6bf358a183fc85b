package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"

	"github.com/seed-56a03226/oneiros/internal/memory"
)

var putNoteScript = script("memory", "putnote")

func (s *Store) notesKey(agent, dreamID string) string { return s.key(agent, "notes:"+dreamID) }

// PutNote stores a note, unless its key exists.
func (s *Store) PutNote(ctx context.Context, agent string, f memory.Fence, key string, value []byte) ([]byte, error) {
	kept, err := s.putNote(ctx, agent, f, key, value)
	if err != nil {
		return nil, fmt.Errorf("note %q of dream %q of %s: %w", key, f.Dream, agent, err)
	}
	return kept, nil
}

func (s *Store) putNote(ctx context.Context, agent string, f memory.Fence, key string, value []byte) ([]byte, error) {
	if key == "" || !utf8.ValidString(key) {
		return nil, errors.New("a note's key must be UTF-8 text and not empty")
	}
	plan := struct {
		Fence *holder `json:"fence,omitempty"`
		Read  *int64  `json:"read,omitempty"`
		Late  bool    `json:"late,omitempty"`
		Dream string  `json:"dream"`
		Key   string  `json:"key"`
	}{asHolder(f), forgettingsOf(f.Read), strings.HasPrefix(key, memory.LateNote), f.Dream, key}
	args, err := s.runMemory(ctx, putNoteScript, agent, plan, append([]byte{}, value...))
	if err == nil {
		err = refusal(args)
	}
	return []byte(text(args, 1)), err
}

// Note returns a note.
func (s *Store) Note(ctx context.Context, agent, dreamID, key string) ([]byte, error) {
	var value []byte
	err := s.exchange(ctx, again, func(ctx context.Context, _ bool) error {
		var err error
		value, err = s.client.HGet(ctx, s.notesKey(agent, dreamID), key).Bytes()
		return err
	})
	if errors.Is(err, redis.Nil) {
		err = memory.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("note %q of dream %q of %s: %w", key, dreamID, agent, err)
	}
	return value, nil
}

// Notes returns the notes with a key prefix.
func (s *Store) Notes(ctx context.Context, agent, dreamID, prefix string) (map[string][]byte, error) {
	notes := map[string][]byte{}
	err := s.exchange(ctx, again, func(ctx context.Context, _ bool) error {
		all, err := s.client.HGetAll(ctx, s.notesKey(agent, dreamID)).Result()
		for key, value := range all {
			if strings.HasPrefix(key, prefix) {
				notes[key] = []byte(value)
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("notes %q of dream %q of %s: %w", prefix, dreamID, agent, err)
	}
	return notes, nil
}

// DropNotes removes a dream's working data.
func (s *Store) DropNotes(ctx context.Context, agent, dreamID string, keys ...string) error {
	err := s.exchange(ctx, again, func(ctx context.Context, _ bool) error {
		if len(keys) == 0 {
			return s.client.Del(ctx, s.notesKey(agent, dreamID)).Err()
		}
		return s.client.HDel(ctx, s.notesKey(agent, dreamID), keys...).Err()
	})
	return wrap(err, "drop the notes of dream ", dreamID, " of ", agent)
}
