package psyche

import (
	"context"
	"time"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/morning"
	"github.com/seed-56a03226/oneiros/internal/review"
)

// Morning reports what an agent knows now that it did not know at a time, what it no longer believes, and what it waits
// to see. The zero time is a day ago. It needs role operator, since it quotes what was said to the agent.
func (d *Dreams) Morning(ctx context.Context, c Caller, agent string, since time.Time) (morning.Report, error) {
	a, err := d.agent(ctx, c, access.Operator, agent)
	if err != nil {
		return morning.Report{}, err
	}
	now := d.Now().UTC()
	if since.IsZero() {
		since = now.Add(-morning.Usual)
	}
	if since.After(now) {
		return morning.Report{},
			badParam("since", "since is %s, which is still to come; name a time before now, such as %s",
				since.UTC().Format(time.RFC3339), now.Add(-morning.Usual).Format(time.RFC3339))
	}
	r, err := review.Morning(ctx, d.Memory, a, since, now)
	if err != nil {
		return morning.Report{}, unreadStore(ctx, err)
	}
	return r, nil
}

// ReadSince reads a time in RFC 3339 from which on something is reported; empty is the zero time.
func ReadSince(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, badParam("since", "since is %q; it must be a time such as 2026-11-22T06:00:00Z", text)
	}
	return at, nil
}
