package rooms

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// SetCheckIn keeps a check-in.
func (s *Store) SetCheckIn(ctx context.Context, c room.CheckIn) (room.CheckIn, error) {
	c.First, c.Until = utc(c.First), utc(c.Until)
	c.Next, c.Created = utc(c.Next), utc(c.Created)
	what := "check-in " + c.Name + " of " + c.Agent
	if err := c.Validate(); err != nil {
		return room.CheckIn{}, store.Wrap(err, what)
	}
	return update(ctx, s, what, func(t *tx) room.CheckIn { return t.setCheckIn(c) })
}

func (t *memberTx) setCheckIn(c room.CheckIn) room.CheckIn {
	if before, ok := get[room.CheckIn](t.recordTx, checkInName(c.Agent, c.Name)); ok {
		same := c
		same.First, same.Next, same.Created = before.First, before.Next, before.Created
		if before.Every == "" {
			same.First = c.First
		}
		if !reflect.DeepEqual(same, before) {
			t.fail(fmt.Errorf("name %q belongs to another check-in: %w", c.Name, room.ErrTaken))
		}
		return before
	}
	if c.Room != "" {
		t.member(c.Room, room.AgentID(c.Agent))
	}
	if len(t.checkIns(c.Agent)) >= room.MaxCheckIns {
		t.fail(fmt.Errorf("%d are allowed: %w", room.MaxCheckIns, room.ErrTooMany))
	}
	t.agents[c.Agent] = true
	t.set(checkInName(c.Agent, c.Name), c)
	return c
}

func (t *memberTx) checkIns(agent string) []room.CheckIn {
	return all[room.CheckIn](t.recordTx, Range{Prefix: ofAgent(agent, "checkin") + "/"})
}

// CheckIns lists the check-ins of an agent.
func (s *Store) CheckIns(ctx context.Context, agent string) ([]room.CheckIn, error) {
	return read(ctx, s, "check-ins of "+agent, func(t *tx) []room.CheckIn { return t.checkIns(agent) })
}

// MoveCheckIn sets when a check-in calls next.
func (s *Store) MoveCheckIn(ctx context.Context, agent, name string, from, next time.Time) error {
	_, err := update(ctx, s, "move check-in "+name+" of "+agent, func(t *tx) struct{} {
		c, ok := get[room.CheckIn](t.recordTx, checkInName(agent, name))
		switch {
		case !ok || !c.Next.Equal(from):
			t.fail(fmt.Errorf("it is not due at %s any more: %w", from.UTC().Format(time.RFC3339), room.ErrStale))
		case next.IsZero():
			t.drop(checkInName(agent, name))
		default:
			c.Next = utc(next)
			t.set(checkInName(agent, name), c)
		}
		return struct{}{}
	})
	return err
}

// CancelCheckIn ends a check-in.
func (s *Store) CancelCheckIn(ctx context.Context, agent, name string) (room.CheckIn, error) {
	return update(ctx, s, "cancel check-in "+name+" of "+agent, func(t *tx) room.CheckIn {
		c, ok := get[room.CheckIn](t.recordTx, checkInName(agent, name))
		if !ok {
			t.fail(room.ErrNotFound)
			return c
		}
		t.drop(checkInName(agent, name))
		return c
	})
}

// Expecting lists the agents that have check-ins.
func (s *Store) Expecting(ctx context.Context) ([]string, error) {
	return read(ctx, s, "agents with check-ins", func(t *tx) []string {
		prefix := index("expecting") + "/"
		return slices.Compact(names(t.scan(Range{Prefix: prefix}), prefix, func(rest string) string {
			agent, _, _ := strings.Cut(rest, "/")
			return unescape(agent)
		}))
	})
}
