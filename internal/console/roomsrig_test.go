package console_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/prompt"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/rooms"
)

// minds answer in rooms as a test says: by the agent that is called. An agent without an answer is silent.
type minds struct {
	mu      sync.Mutex
	answers map[string]string
	fails   error
	hangs   bool // until the caller gives up
	calls   int
	awake   bool // what agents are while a test looks
}

func (m *minds) Called(ctx context.Context, agent string, _ psyche.Call) (psyche.CallAnswer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	if m.hangs {
		<-ctx.Done()
		return psyche.CallAnswer{}, ctx.Err()
	}
	if m.fails != nil {
		return psyche.CallAnswer{}, m.fails
	}
	text, speaks := m.answers[agent]
	return psyche.CallAnswer{WakeAnswer: prompt.WakeAnswer{Response: text, Silent: !speaks}, Cost: 1200}, nil
}

func (m *minds) Hear(context.Context, string, psyche.Caller, string, []psyche.Statement) error {
	return nil
}

func (m *minds) Wake(context.Context, string, string, time.Duration) (psyche.WakeResult, error) {
	return psyche.WakeResult{}, nil
}
func (m *minds) Leave(context.Context, string, string) error { return nil }
func (m *minds) Status(context.Context, string) (presence.Status, error) {
	if !m.awake {
		return presence.Status{}, nil
	}
	return presence.Status{Leases: []presence.Lease{{Client: "mara", Until: now.Add(time.Hour)}}}, nil
}

// roomSession is the rooms of one command over the fixture's store.
func (d *fixture) roomSession(h *deploy.Deployment) *deploy.RoomSession {
	return &deploy.RoomSession{Service: rooms.New(rooms.Ports{
		Rooms:  h.Rooms,
		Agents: h.Store,
		Minds:  d.minds,
		Waker:  d.minds,
		Now:    func() time.Time { return now.Add(d.later) },
	}, "console", rooms.Options{})}
}

// parlour makes the room hall with the agents echo and iris: echo sees every post.
func (d *fixture) parlour() *fixture {
	d.Helper()
	d.minds = &minds{answers: map[string]string{}}
	for _, handle := range []string{"echo", "iris"} {
		require.NoError(d, d.store.PutAgent(d.Context(), dream.Agent{
			ID: handle, Handle: handle, Zone: "Europe/Berlin", Persona: handle + " keeps company.",
			Created: now.AddDate(0, -6, 0),
		}))
	}
	d.fits("rooms", "create", "hall", "--title", "The hall", "--with", "echo")
	d.fits("rooms", "join", "hall", "iris")
	return d
}

// fits runs a command that must succeed and fit 80 columns, and returns what it prints.
func (d *fixture) fits(args ...string) string {
	d.Helper()
	require.Equal(d, exit.OK, d.run(80, args...), "%v: %s", args, d.err.String())
	for _, line := range strings.Split(d.out.String(), "\n") {
		require.LessOrEqual(d, len([]rune(line)), 80, "%v: %q", args, line)
	}
	return d.out.String()
}

var errProvider = errors.New("the provider hangs up")
