package memory

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// useNote is the key prefix of notes that record the use of an item while the agent is awake, one per item and day.
// They are cheap to write during a conversation and add no revision. The next dream copies them into the items and
// drops them.
const useNote = "used/"

// Use is one use of an item.
type Use struct {
	Item string
	At   time.Time
	key  string
}

// NoteUse records that items were recalled or mentioned. Of several uses of an item in a day the first is kept.
func NoteUse(ctx context.Context, s Notes, agent string, at time.Time, ids ...string) error {
	at = at.UTC()
	for _, id := range ids {
		key := useNote + at.Format(time.DateOnly) + "/" + id
		if _, err := s.PutNote(ctx, agent, Fence{}, key, []byte(at.Format(time.RFC3339Nano))); err != nil {
			return fmt.Errorf("note that %s was used: %w", id, err)
		}
	}
	return nil
}

// Uses returns the uses that no dream has copied into the items yet.
func Uses(ctx context.Context, s Notes, agent string) ([]Use, error) {
	notes, err := s.Notes(ctx, agent, "", useNote)
	if err != nil {
		return nil, fmt.Errorf("read what was used: %w", err)
	}
	var uses []Use
	for key, body := range notes {
		_, id, _ := strings.Cut(strings.TrimPrefix(key, useNote), "/")
		at, err := time.Parse(time.RFC3339Nano, string(body))
		if err != nil {
			return nil, fmt.Errorf("read when %s was used: %w", id, err)
		}
		uses = append(uses, Use{id, at, key})
	}
	return uses, nil
}

// DropUses removes uses that were copied into the items.
func DropUses(ctx context.Context, s Notes, agent string, uses []Use) error {
	keys := make([]string, len(uses))
	for i, u := range uses {
		keys[i] = u.key
	}
	return s.DropNotes(ctx, agent, "", keys)
}
