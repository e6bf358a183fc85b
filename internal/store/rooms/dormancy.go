package rooms

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// state returns how dormant an agent is in a room, or as a whole when there is none.
func (t *memberTx) state(agent, in string) dormancy.State {
	s, _ := get[keptState](t.recordTx, dormancyName(agent, in))
	return s.State
}

// states returns every state of an agent in which something is set.
func (t *memberTx) states(agent string) []room.Dormancy {
	prefix := dormancyName(agent, "")
	found := []room.Dormancy{}
	for _, record := range t.scan(Range{Prefix: prefix}) {
		in := record.Name[len(prefix):]
		if s := t.state(agent, in); s.Level != "" {
			found = append(found, room.Dormancy{Agent: agent, Room: in, State: s})
		}
	}
	return found
}

// Dormancy returns an agent's states.
func (s *Store) Dormancy(ctx context.Context, agent string) ([]room.Dormancy, error) {
	return read(ctx, s, "dormancy of "+agent, func(t *tx) []room.Dormancy { return t.states(agent) })
}

// Dormant lists every dormant state.
func (s *Store) Dormant(ctx context.Context) ([]room.Dormancy, error) {
	return read(ctx, s, "dormant agents", func(t *tx) []room.Dormancy {
		prefix := index("dormant") + "/"
		found := []room.Dormancy{}
		for _, record := range t.scan(Range{Prefix: prefix}) {
			agent, in, _ := strings.Cut(record.Name[len(prefix):], "/")
			agent = unescape(agent)
			if s := t.state(agent, in); s.Dormant() {
				found = append(found, room.Dormancy{Agent: agent, Room: in, State: s})
			}
		}
		return found
	})
}

// SetDormancy changes a state.
func (s *Store) SetDormancy(ctx context.Context, c room.Change) (room.Dormancy, error) {
	if err := c.Validate(); err != nil {
		return room.Dormancy{}, store.Wrap(err, "dormancy of ", c.Agent)
	}
	return update(ctx, s, "dormancy of "+c.Agent, func(t *tx) room.Dormancy { return t.change(c) })
}

func (t *memberTx) change(c room.Change) room.Dormancy {
	before, _ := get[keptState](t.recordTx, dormancyName(c.Agent, c.Room))
	out := room.Dormancy{Agent: c.Agent, Room: c.Room, State: before.State}
	switch {
	case c.Key != "" && before.Key == c.Key:
		return out
	case c.If != room.AnySequence && c.If != before.Sequence:
		t.fail(fmt.Errorf("its sequence is %d, and %d was read: %w", before.Sequence, c.If, room.ErrStale))
	case c.Level == "" && before.Level == "":
		return out // nothing is set, and nothing shall be
	case c.Room != "":
		t.member(c.Room, room.AgentID(c.Agent))
	}
	if c.Level == "" {
		out.State = before.Clear()
	} else {
		out.State = before.Set(dormancy.State{
			Level: c.Level, Reason: c.Reason, Until: utc(c.Until), SetAt: utc(c.Now),
		})
	}
	t.setState(out, c.Key, c.Now)
	return out
}

// setState writes a state, and tells the rooms concerned.
func (t *memberTx) setState(d room.Dormancy, key string, now time.Time) {
	t.agents[d.Agent] = true
	t.set(dormancyName(d.Agent, d.Room), keptState{State: d.State, Key: key})
	in := []string{d.Room}
	if d.Room == "" {
		in = t.roomsOf(room.AgentID(d.Agent))
	}
	state := d.State
	state.Reason = "" // an event is never changed, and a reason may have to be forgotten
	for _, id := range in {
		t.announce(room.Event{
			Room:     id,
			Type:     room.Reset,
			At:       now,
			Who:      room.AgentID(d.Agent),
			Dormancy: &state,
			InRoom:   d.Room != "",
		})
	}
}

// roomsOf returns the ids of a member's rooms.
func (t *memberTx) roomsOf(who room.Who) []string {
	prefix := index("member", escape(who.String())) + "/"
	return names(t.scan(Range{Prefix: prefix}), prefix, func(id string) string { return id })
}

// endSleep ends the sleep that holds in a room, and returns the states that it has ended.
func (t *memberTx) endSleep(agent, in string, now time.Time) []room.Dormancy {
	general, own := t.state(agent, ""), dormancy.State{}
	if in != "" {
		own = t.state(agent, in)
	}
	nextGeneral, nextOwn, ended := dormancy.EndSleep(general, own)
	if !ended {
		return nil
	}
	var before []room.Dormancy
	if nextGeneral != general {
		before = append(before, room.Dormancy{Agent: agent, State: general})
		t.setState(room.Dormancy{Agent: agent, State: nextGeneral}, "", now)
	}
	if nextOwn != own {
		before = append(before, room.Dormancy{Agent: agent, Room: in, State: own})
		t.setState(room.Dormancy{Agent: agent, Room: in, State: nextOwn}, "", now)
	}
	return before
}

// Awaken clears every state of an agent.
func (s *Store) Awaken(ctx context.Context, a room.Awakening) (room.Awakened, error) {
	err := store.CheckNames("agent", a.Agent)
	if err == nil && a.Message != nil {
		err = a.Message.Validate()
		if err == nil && a.Message.Agent != a.Agent {
			err = fmt.Errorf("the message is for %s", a.Message.Agent)
		}
	}
	if err != nil {
		return room.Awakened{}, store.Wrap(err, "awaken ", a.Agent)
	}
	return update(ctx, s, "awaken "+a.Agent, func(t *tx) room.Awakened {
		out := room.Awakened{Ended: t.states(a.Agent)}
		for _, d := range out.Ended {
			t.setState(room.Dormancy{Agent: a.Agent, Room: d.Room, State: d.Clear()}, "", a.Now)
		}
		if a.Message != nil {
			sent := t.send(*a.Message, nil)
			out.Delivered = &sent.Delivered
		}
		return out
	})
}
