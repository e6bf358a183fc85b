package starter

import (
	"context"
	"errors"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/review"
)

// ForPsyche is the starter as the server wakes agents for its clients. The starter must outlive it.
func (s *Starter) ForPsyche() psyche.Waker { return wakingAgents{s} }

// ForRestoring is the starter as an awake agent's tools restore archived items.
func (s *Starter) ForRestoring() psyche.Restorer {
	return restoring{review.Restorer{Memory: s.Memory, Now: s.Now}}
}

// restoring implements psyche.Restorer.
type restoring struct{ review.Restorer }

// Restore converts the error of an item that no dream archived for the server.
func (r restoring) Restore(ctx context.Context, agent string, ids ...string) ([]dream.Item, error) {
	items, err := r.Restorer.Restore(ctx, agent, ids...)
	if errors.Is(err, review.ErrNotArchived) {
		err = notArchived{err}
	}
	return items, err
}

// notArchived is an error that also is psyche.ErrNotArchived.
type notArchived struct{ error }

func (n notArchived) Unwrap() []error { return []error{n.error, psyche.ErrNotArchived} }

// wakingAgents implements psyche.Waker.
type wakingAgents struct{ *Starter }

// What a client may know of an incomplete wake. The causes name stores and addresses, which clients must not see.
const (
	noStore   = "the store does not answer: the wake is recorded when it is back"
	noWakeBus = "other processes could not be notified at once"
)

// Wake wakes an agent for a client.
func (b wakingAgents) Wake(ctx context.Context, agent, client string, hold time.Duration) (psyche.WakeResult, error) {
	w, err := b.Starter.Wake(ctx, Connection{Agent: agent, Client: client, Cause: presence.Connect, For: hold})
	if err != nil {
		return psyche.WakeResult{}, err
	}
	woken := psyche.WakeResult{Wake: w.Wake, Raised: w.Raised}
	switch {
	case w.Degraded == "":
	case w.Epoch == 0:
		woken.Degraded = noStore
	default:
		woken.Degraded = noWakeBus
	}
	return woken, nil
}
