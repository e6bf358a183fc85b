package redisstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/store"
)

var putNoteScript = script("memory", "putnote")

// notes keeps the working data of dreams.
type notes struct{ *server }

func (s *server) notesKey(agent, dreamID string) string { return s.key(agent, "notes:"+dreamID) }

func noteOf(agent, dreamID, key string) string {
	return fmt.Sprintf("note %q of dream %q of %s", key, dreamID, agent)
}

// PutNote stores a note, unless its key exists.
func (s notes) PutNote(ctx context.Context, agent string, f memory.Fence, key string, value []byte) ([]byte, error) {
	plan := struct {
		Fence *holder `json:"fence,omitempty"`
		Read  *int64  `json:"read,omitempty"`
		Late  bool    `json:"late,omitempty"`
		Dream string  `json:"dream"`
		Key   string  `json:"key"`
	}{asHolder(f), forgettingsOf(f.Read), strings.HasPrefix(key, memory.LateNote), f.Dream, key}
	var args []any
	err := store.CheckNames("a note's key", key)
	if err == nil {
		args, err = s.apply(ctx, putNoteScript, agent, plan, append([]byte{}, value...))
	}
	return store.Result([]byte(text(args, 1)), err, noteOf(agent, f.Dream, key))
}

// Note returns a note.
func (s notes) Note(ctx context.Context, agent, dreamID, key string) ([]byte, error) {
	value, err := s.field(ctx, s.notesKey(agent, dreamID), key)
	return store.Result([]byte(value), notFound(err), noteOf(agent, dreamID, key))
}

// Notes returns the notes with a key prefix.
func (s notes) Notes(ctx context.Context, agent, dreamID, prefix string) (map[string][]byte, error) {
	notes := map[string][]byte{}
	all, err := s.hash(ctx, s.notesKey(agent, dreamID))
	for key, value := range all {
		if strings.HasPrefix(key, prefix) {
			notes[key] = []byte(value)
		}
	}
	return store.Result(notes, err, noteOf(agent, dreamID, prefix+"…"))
}

// DropNotes removes notes by key.
func (s notes) DropNotes(ctx context.Context, agent, dreamID string, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	err := s.exchange(ctx, func(ctx context.Context) error {
		return s.client.HDel(ctx, s.notesKey(agent, dreamID), keys...).Err()
	})
	return store.Wrap(err, "drop notes of dream ", dreamID, " of ", agent)
}

// DropAllNotes removes all notes of a dream.
func (s notes) DropAllNotes(ctx context.Context, agent, dreamID string) error {
	err := s.exchange(ctx, func(ctx context.Context) error {
		return s.client.Del(ctx, s.notesKey(agent, dreamID)).Err()
	})
	return store.Wrap(err, "drop all notes of dream ", dreamID, " of ", agent)
}
