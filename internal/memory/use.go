package memory

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Uses of knowledge are notes made awake, one an item a day: cheap to write beside a turn, and without a revision. The
// next night takes them into the items and drops them.
const useNote = "used/"

// Use is one use of an item.
type Use struct {
	Item string
	At   time.Time
	key  string
}

// NoteUse notes that items were recalled or mentioned. Of several uses in a day the first is kept.
func NoteUse(ctx context.Context, s Store, agent string, at time.Time, ids ...string) error {
	at = at.UTC()
	for _, id := range ids {
		key := useNote + at.Format(time.DateOnly) + "/" + id
		if _, err := s.PutNote(ctx, agent, Fence{}, key, []byte(at.Format(time.RFC3339Nano))); err != nil {
			return fmt.Errorf("note that %s was used: %w", id, err)
		}
	}
	return nil
}

// Uses are the uses that no night has taken in yet.
func Uses(ctx context.Context, s Store, agent string) ([]Use, error) {
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

// DropUses removes uses that were taken in.
func DropUses(ctx context.Context, s Store, agent string, uses []Use) error {
	if len(uses) == 0 { // without a key everything would go
		return nil
	}
	keys := make([]string, len(uses))
	for i, u := range uses {
		keys[i] = u.key
	}
	return s.DropNotes(ctx, agent, "", keys...)
}
