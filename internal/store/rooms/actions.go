package rooms

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// Hold keeps an action of a sleeping agent.
func (s *Store) Hold(ctx context.Context, a room.Action) (room.Action, error) {
	if err := a.Validate(); err != nil {
		return room.Action{}, store.Wrap(err, "hold an action of ", a.Agent)
	}
	body, err := json.Marshal(a.Body) // in the form in which it is stored and compared
	if err != nil {
		return room.Action{}, store.Wrap(err, "hold an action of ", a.Agent)
	}
	a.Body, a.Created, a.State = body, utc(a.Created), room.Held
	return update(ctx, s, "hold an action of "+a.Agent, func(t *tx) room.Action { return t.hold(a) })
}

func (t *tx) hold(a room.Action) room.Action {
	if before, ok := t.action(a.Agent, a.Key); ok {
		if before.Name != a.Name || before.Room != a.Room || !bytes.Equal(before.Body, a.Body) {
			t.fail(fmt.Errorf("key %q belongs to another action, %s in room %q: %w", a.Key, before.Name, before.Room,
				room.ErrTaken))
		}
		return before
	}
	t.agents[a.Agent] = true
	if a.Room != "" {
		t.member(a.Room, room.AgentID(a.Agent))
	}
	counts, _ := get[agentAbout](t.recordTx, aboutName(a.Agent))
	counts.Actions++
	t.set(aboutName(a.Agent), counts)
	a.Number, a.Reason, a.Ended = counts.Actions, "", time.Time{}
	t.add(actionName(a.Agent, a.Number), a)
	return a
}

func (t *tx) action(agent, key string) (room.Action, bool) {
	n := t.last(index("action", escape(agent), escape(key)) + "/")
	if n == 0 {
		return room.Action{}, false
	}
	return get[room.Action](t.recordTx, actionName(agent, n))
}

// Held lists the held actions of an agent.
func (s *Store) Held(ctx context.Context, agent string, after int64, limit int) ([]room.Action, error) {
	return read(ctx, s, "held actions of "+agent, func(t *tx) []room.Action {
		prefix := index("held", escape(agent)) + "/"
		orders := t.numbers(Range{Prefix: prefix, After: prefix + number(max(after, 0)), Limit: page(limit, room.MaxPage)})
		actions := make([]string, len(orders))
		for i, n := range orders {
			actions[i] = actionName(agent, n)
		}
		return slices.DeleteFunc(named[room.Action](t.recordTx, actions), func(a room.Action) bool { return a.State != room.Held })
	})
}

// EndAction ends a held action.
func (s *Store) EndAction(
	ctx context.Context, agent, key string, state room.ActionState, reason string, now time.Time,
) (room.Action, error) {
	what := fmt.Sprintf("end action %q of %s", key, agent)
	if state != room.Done && state != room.Abandoned {
		return room.Action{}, fmt.Errorf("%s: state is %q; it is %s or %s", what, state, room.Done, room.Abandoned)
	}
	return update(ctx, s, what, func(t *tx) room.Action {
		a, ok := t.action(agent, key)
		if !ok {
			t.fail(room.ErrNotFound)
		}
		if t.err != nil || a.State != room.Held {
			return a
		}
		a.State, a.Reason, a.Ended = state, reason, utc(now)
		t.set(actionName(agent, a.Number), a)
		return a
	})
}
