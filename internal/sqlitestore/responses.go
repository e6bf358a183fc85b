package sqlitestore

import (
	"context"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// responses keeps answers that later requests may go on from.
type responses struct{ *file }

// PutResponse keeps a response, and removes what has ended and what makes room.
func (s responses) PutResponse(ctx context.Context, r memory.KeptResponse, most int) error {
	err := r.Validate()
	if err == nil {
		err = s.write(ctx, func(d *tx) {
			d.writable(r.Agent)
			d.exec("DELETE FROM responses WHERE until <= ?", nanos(r.At))
			var until any
			if !r.Until.IsZero() {
				until = nanos(r.Until)
			}
			d.exec(`INSERT OR REPLACE INTO responses (scope, id, user, agent, previous, at, until, body)
				VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, r.Scope, r.ID, r.User, r.Agent, r.Previous, nanos(r.At), until,
				append([]byte{}, r.Body...))
			if most > 0 {
				d.exec(`DELETE FROM responses WHERE key IN (
					SELECT key FROM responses WHERE scope = ? ORDER BY at DESC, key DESC LIMIT -1 OFFSET ?)`, r.Scope, most)
			}
		})
	}
	return store.Wrap(err, "keep response ", r.ID, " of ", r.Scope)
}

// Response returns a response that has not ended.
func (s responses) Response(ctx context.Context, scope, id string, now time.Time) (memory.KeptResponse, error) {
	return in(ctx, s.readOnce, "response "+id+" of "+scope, func(d *tx) memory.KeptResponse {
		r := memory.KeptResponse{ID: id, Scope: scope}
		var at, until int64
		if !d.one(`SELECT user, agent, previous, at, coalesce(until, 0), body FROM responses
			WHERE scope = ? AND id = ? AND coalesce(until > ?, TRUE)`, []any{scope, id, nanos(now)},
			&r.User, &r.Agent, &r.Previous, &at, &until, &r.Body) {
			d.fail(memory.ErrNotFound)
			return r
		}
		r.At = fromNanos(at)
		if until != 0 {
			r.Until = fromNanos(until)
		}
		return r
	})
}

// DropResponse removes a response.
func (s responses) DropResponse(ctx context.Context, scope, id string) error {
	return store.Wrap(s.write(ctx, func(d *tx) {
		if d.exec("DELETE FROM responses WHERE scope = ? AND id = ?", scope, id) == 0 {
			d.fail(memory.ErrNotFound)
		}
	}), "remove response ", id, " of ", scope)
}
