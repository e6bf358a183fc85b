package starter

import (
	"context"
	"errors"
	"time"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/presence"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// ForPsyche is the starter as a being awake asks it for its nights. The starter must outlive it.
func (s *Starter) ForPsyche() psyche.Nights { return beings{s} }

// ForRestoring is the starter as a being brings back what dreams have archived.
func (s *Starter) ForRestoring() psyche.Restoring {
	return restoring{activities.Restoring{Memory: s.Memory, Now: s.Now}}
}

type restoring struct{ activities.Restoring }

// Restore names what was not archived by a dream as the server's faces know it.
func (r restoring) Restore(ctx context.Context, agent string, ids ...string) ([]dream.Item, error) {
	items, err := r.Restoring.Restore(ctx, agent, ids...)
	if errors.Is(err, activities.ErrNotArchived) {
		err = notArchived{err}
	}
	return items, err
}

// notArchived is an error with its own words that is psyche.ErrNotArchived, too.
type notArchived struct{ error }

func (n notArchived) Unwrap() []error { return []error{n.error, psyche.ErrNotArchived} }

type beings struct{ *Starter }

// What a client may know of a wake that was not whole. The causes name stores and addresses, which are not its
// business.
const (
	noStore   = "the store does not answer: the wake is recorded when it is back"
	noWakeBus = "other processes could not be told at once"
)

// Wake lets a visitor in.
func (b beings) Wake(ctx context.Context, agent, client string, hold time.Duration) (psyche.Woken, error) {
	w, err := b.Starter.Wake(ctx, Connection{Agent: agent, Client: client, Cause: presence.Connect, For: hold})
	if err != nil {
		return psyche.Woken{}, err
	}
	woken := psyche.Woken{Wake: w.Wake, Raised: w.Raised}
	switch {
	case w.Degraded == "":
	case w.Epoch == 0:
		woken.Degraded = noStore
	default:
		woken.Degraded = noWakeBus
	}
	return woken, nil
}
