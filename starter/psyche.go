package starter

import (
	"context"
	"errors"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// ForPsyche is the starter as the server wakes agents for its clients. The starter must outlive it.
func (s *Starter) ForPsyche() psyche.Waker { return wakingAgents{s} }

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
	if errors.Is(w.Unstored, memory.ErrUnwritable) { // a client must not believe that what it says is remembered
		return psyche.WakeResult{}, w.Unstored
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
