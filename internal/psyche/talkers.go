package psyche

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

// talkers knows whose talks an agent remembers. A dream reads all of them at once, so that no word of it may reach a caller of
// role client who is not the only one it could quote.
type talkers struct {
	memory memory.Store
	now    func() time.Time

	mu    sync.Mutex
	noted map[[2]string]bool // agent and owner
	read  map[string]others
}

type others struct {
	names map[string]bool
	at    time.Time
}

// byTalker begins the notes that name owners, of no dream; believed is how long they are not read again.
const (
	byTalker = "talker/"
	believed = 2 * time.Second
	mostRead = 4096
)

func newTalkers(s memory.Store, now func() time.Time) *talkers {
	return &talkers{memory: s, now: now, noted: map[[2]string]bool{}, read: map[string]others{}}
}

// note keeps that an agent remembers a talk of an owner. It comes before the first word that is kept.
func (t *talkers) note(ctx context.Context, agent, owner string) error {
	key := [2]string{agent, owner}
	t.mu.Lock()
	known := t.noted[key]
	t.mu.Unlock()
	if known {
		return nil
	}
	if _, err := t.memory.PutNote(ctx, agent, memory.Fence{}, byTalker+short(owner), nil); err != nil {
		return fmt.Errorf("note who talked: %w", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.noted) >= mostRead {
		clear(t.noted)
	}
	t.noted[key] = true
	delete(t.read, agent)
	return nil
}

// alone says whether an agent remembers no talk but this owner's.
func (t *talkers) alone(ctx context.Context, agent, owner string) (bool, error) {
	t.mu.Lock()
	known, ok := t.read[agent]
	t.mu.Unlock()
	if now := t.now(); !ok || now.Sub(known.at) >= believed || now.Before(known.at) {
		notes, err := t.memory.Notes(ctx, agent, "", byTalker)
		if err != nil {
			return false, fmt.Errorf("read who talked: %w", err)
		}
		known = others{names: map[string]bool{}, at: now}
		for name := range notes {
			known.names[name] = true
		}
		t.mu.Lock()
		if len(t.read) >= mostRead {
			clear(t.read)
		}
		t.read[agent] = known
		t.mu.Unlock()
	}
	own := byTalker + short(owner)
	return len(known.names) == 0 || len(known.names) == 1 && known.names[own], nil
}

// hears says whether what an agent dreamt may be told to a caller: operators read its journal anyway, and a client hears it where
// every talk that the agent remembers is its own, or where the deployment shares dreams among all who talk.
func (t *talkers) hears(ctx context.Context, c Caller, agent, handle string, shared bool) (bool, error) {
	if shared || c.May(access.Operator, handle) {
		return true, nil
	}
	return t.alone(ctx, agent, c.Owner())
}
