package starter

import (
	"context"
	"time"

	"github.com/seed-56a03226/oneiros/internal/presence"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// ForPsyche is the starter as a being awake asks it for its nights. The starter must outlive it.
func (s *Starter) ForPsyche() psyche.Nights { return beings{s} }

type beings struct{ *Starter }

// What a client may know of a wake that was not whole. The causes name stores and addresses, which are not its business.
const (
	noStore = "the store does not answer: the wake is recorded when it is back"
	noBell  = "other processes could not be told at once"
)

// Wake lets a visitor in.
func (b beings) Wake(ctx context.Context, agent, client string, hold time.Duration) (psyche.Woken, error) {
	w, err := b.Starter.Wake(ctx, Knock{Agent: agent, Client: client, Cause: presence.Knock, For: hold})
	if err != nil {
		return psyche.Woken{}, err
	}
	woken := psyche.Woken{Wake: w.Wake, Raised: w.Raised}
	switch {
	case w.Degraded == "":
	case w.Epoch == 0:
		woken.Degraded = noStore
	default:
		woken.Degraded = noBell
	}
	return woken, nil
}
