// Package roomtest tests the contract of room.Store. Every store runs these suites.
package roomtest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/room"
)

type clause struct {
	name string
	run  func(*testing.T, room.Store)
}

// Run tests a store against the whole contract. open returns new, empty rooms for each test and closes them at its end.
func Run(t *testing.T, open func(t *testing.T) room.Store) {
	t.Helper()
	for _, part := range [][]clause{places, posts, deliveries, inboxes, states, actions, checkIns, webhooks} {
		for _, c := range part {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				c.run(t, open(t))
			})
		}
	}
}

// RunShared tests what the stores of two processes of one deployment promise.
func RunShared(t *testing.T, open func(t *testing.T) (one, other room.Store)) {
	t.Helper()
	for _, c := range shared {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			one, other := open(t)
			c.run(t, one, other)
		})
	}
}

var (
	noon  = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ada   = room.PersonID("ada@example.org")
	bob   = room.PersonID("matrix/@bob:elsewhere")
	echo  = room.AgentID("agent/echo %1")
	iris  = room.AgentID("iris")
	users = map[room.Who]string{ada: "Ada", bob: "bob", echo: "echo", iris: "iris"}
)

const hall = "hall"

func after(d time.Duration) time.Time { return noon.Add(d) }

// member is an ordinary member of the hall; agents are subscribed.
func member(who room.Who) room.Member {
	m := room.Member{
		Room:   hall,
		Who:    who,
		Name:   users[who],
		Role:   room.Writer,
		Trust:  dormancy.Own,
		Joined: noon,

		Subscribed: who.Kind == dormancy.Agent,
	}
	if who == bob {
		m.Trust = dormancy.Stranger
	}
	return m
}

// furnish makes the hall, whose owner is Ada, with these members.
func furnish(t testing.TB, s room.Store, members ...room.Who) {
	t.Helper()
	_, err := s.Create(t.Context(), room.Room{ID: hall, Title: "The hall", By: ada, Created: noon}, member(ada))
	require.NoError(t, err)
	for _, who := range members {
		_, err := s.Join(t.Context(), member(who))
		require.NoError(t, err)
	}
}

func draft(author room.Who, key, body string, mentions ...room.Who) room.Draft {
	d := room.Draft{
		Room:   hall,
		Author: author,
		Key:    key,
		Body:   body,
		Now:    noon,
	}
	for _, who := range mentions {
		d.Mentions = append(d.Mentions, room.Mention{Who: who, Name: users[who]})
	}
	return d
}

// post posts with a rule that queues everything for every listener.
func post(t testing.TB, s room.Store, d room.Draft) room.Posted {
	t.Helper()
	p, err := s.Post(t.Context(), d, everybody)
	require.NoError(t, err)
	return p
}

// everybody is the rule that queues a post for every listener.
func everybody(m room.Situation) room.Decision {
	var d room.Decision
	for _, l := range m.Listeners {
		d.Deliveries = append(d.Deliveries, room.Delivery{Agent: l.ID, Outcome: room.Queued})
	}
	return d
}

func take(t testing.TB, s room.Store, agent room.Who, holder string) []room.Item {
	t.Helper()
	items, err := s.Take(t.Context(), taking(agent, holder))
	require.NoError(t, err)
	return items
}

func taking(agent room.Who, holder string) room.Take {
	return room.Take{Agent: agent.ID, Holder: holder, For: time.Minute, Now: noon}
}

func answer(i room.Item, body string) room.Finish {
	return room.Finish{
		Agent:  i.Agent,
		Number: i.Number,
		Fence:  i.Fence,
		State:  room.Answered,
		Cost:   7,
		Now:    after(time.Second),

		Reply: &room.Draft{Body: body, Form: room.Notice},
	}
}

func events(t testing.TB, s room.Store) []room.Event {
	t.Helper()
	found, err := s.Events(t.Context(), ada, hall, 0, 0)
	require.NoError(t, err)
	for i, e := range found {
		require.EqualValues(t, i+1, e.Offset)
		require.Equal(t, hall, e.Room)
	}
	return found
}

func typesOf(found []room.Event) []room.EventType {
	var types []room.EventType
	for _, e := range found {
		types = append(types, e.Type)
	}
	return types
}

func bodies(posts []room.Post) []string {
	var out []string
	for _, p := range posts {
		out = append(out, p.Body)
	}
	return out
}

func numbered(n int) string { return fmt.Sprint("post ", n) }

func wakes(t testing.TB, s room.Store, agent room.Who) []room.Wake {
	t.Helper()
	found, err := s.Wakes(t.Context(), agent.ID, 0, 0)
	require.NoError(t, err)
	return found
}

func inbox(t testing.TB, s room.Store, agent room.Who, open bool) []room.Item {
	t.Helper()
	found, err := s.Inbox(t.Context(), agent.ID, 0, open, 0)
	require.NoError(t, err)
	return found
}

// ended is a context that has ended.
func ended(t testing.TB) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
