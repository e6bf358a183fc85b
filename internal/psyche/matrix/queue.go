package matrix

import (
	"context"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/room"
)

// connectedWithin is how long ago a homeserver may have answered an account that counts as connected.
const connectedWithin = 2 * time.Minute

// Queue is how a bridge is doing.
type Queue struct {
	Accounts, Connected int
	Unsent              int64         // events of native rooms that were not handled
	Oldest              time.Duration // age of the oldest of them; 0: there is none
}

// QueueOf asks a bridge how many of its accounts are connected and what it has yet to send.
func QueueOf(ctx context.Context, b *Bridge) (q Queue, err error) {
	now := b.Now()
	for _, a := range b.accounts {
		q.Accounts++
		a.mu.Lock()
		if !a.dead && now.Sub(a.answered) <= connectedWithin {
			q.Connected++
		}
		a.mu.Unlock()
	}
	after := map[string]int64{}
	b.state.read(func() {
		for _, r := range b.state.Rooms {
			if r.Native != "" && !r.Refused && len(r.Members) > 0 {
				after[r.Native] = r.After
			}
		}
	})
	for native, offset := range after {
		unsent, oldest, err := room.Behind(ctx, b.Store, native, offset, now)
		if err != nil {
			return q, err
		}
		q.Unsent, q.Oldest = q.Unsent+unsent, max(q.Oldest, oldest)
	}
	return q, nil
}
