package psyche

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/access"
)

// knownOwners is whose talks an agent remembers. A dream reads all of them at once, so that role client may see
// nothing of it unless the caller is the only one it could quote.
type knownOwners struct {
	memory memory.Store
	now    func() time.Time

	mu   sync.Mutex
	read map[string]others
}

type others struct {
	names map[string]bool
	at    time.Time
}

// ownerNotes is the prefix of the notes that name owners; believed is how long they are not read again.
const (
	ownerNotes = "talker/"
	believed   = 2 * time.Second
	mostRead   = 4096
)

func newKnownOwners(s memory.Store, now func() time.Time) *knownOwners {
	return &knownOwners{memory: s, now: now, read: map[string]others{}}
}

// note records that an agent remembers a talk of an owner. It is called before the first words are stored, and again
// after: the note is dropped when all of the owner's words are transferred to another, and what was stored in between
// would belong to nobody.
func (t *knownOwners) note(ctx context.Context, agent, owner string) error {
	_, err := t.memory.Note(ctx, agent, "", ownerNotes+short(owner))
	if err == nil {
		return nil
	}
	if !errors.Is(err, memory.ErrNotFound) {
		return fmt.Errorf("read who talked: %w", err)
	}
	if err := putKnownOwner(ctx, t.memory, agent, owner); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.read, agent)
	return nil
}

// alone reports whether an agent remembers no talk but this owner's.
func (t *knownOwners) alone(ctx context.Context, agent, owner string) (bool, error) {
	t.mu.Lock()
	existing, ok := t.read[agent]
	t.mu.Unlock()
	if now := t.now(); !ok || now.Sub(existing.at) >= believed || now.Before(existing.at) {
		notes, err := readOnOwnStack(func() (map[string][]byte, error) {
			return t.memory.Notes(ctx, agent, "", ownerNotes)
		})
		if err != nil {
			return false, fmt.Errorf("read who talked: %w", err)
		}
		existing = others{names: map[string]bool{}, at: now}
		for name := range notes {
			existing.names[name] = true
		}
		t.mu.Lock()
		if len(t.read) >= mostRead {
			clear(t.read)
		}
		t.read[agent] = existing
		t.mu.Unlock()
	}
	own := ownerNotes + short(owner)
	return len(existing.names) == 0 || len(existing.names) == 1 && existing.names[own], nil
}

// maySeeDreams reports whether a caller may see what an agent dreamt: operators read its journal anyway, and a client
// may see it when every talk that the agent remembers is its own, or when the deployment shares dreams among all
// clients.
func (t *knownOwners) maySeeDreams(ctx context.Context, c Caller, agent, handle string, shared bool) (bool, error) {
	if shared || c.May(access.Operator, handle) {
		return true, nil
	}
	return t.alone(ctx, agent, c.Owner())
}
