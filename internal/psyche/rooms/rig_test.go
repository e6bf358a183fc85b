package rooms_test

import (
	"cmp"
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/prompt"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/rooms"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

// owner is a caller without a key; ada has a key of role operator, and guest one of role client.
var (
	owner  = psyche.Caller{Key: access.Key{Role: access.Owner, Principal: access.Local}}
	ada    = psyche.Caller{Key: access.Key{ID: "key_ada", Role: access.Operator, Principal: "ada"}}
	client = psyche.Caller{Key: access.Key{ID: "key_guest", Role: access.Client, Principal: "guest"}}
)

// sunday is when tests begin, at 1:45 PM in the zone of the agents.
var sunday = time.Date(2026, 3, 1, 12, 45, 0, 0, time.UTC)

// storeOfRig is what a rig needs of a store.
type storeOfRig interface {
	rooms.Agents
	Rooms() room.Store
	PutAgent(ctx context.Context, a dream.Agent) error
	Verify(ctx context.Context) (memory.Integrity, error)
	Close() error
}

// rig is a service over a store, with a clock that only the test moves and agents whose answers it chooses.
type rig struct {
	*testing.T
	*rooms.Service
	store   storeOfRig
	minds   *minds
	waker   *waker
	options rooms.Options
	ctx     context.Context

	mu       sync.Mutex
	offset   time.Duration
	looked   []string
	dreaming map[string]memory.Slot
}

func newRig(t *testing.T, handles ...string) *rig {
	t.Helper()
	return newRigAt(t, filepath.Join(t.TempDir(), "rooms.db"), handles...)
}

func newRigAt(t *testing.T, path string, handles ...string) *rig {
	t.Helper()
	store, err := sqlitestore.Open(t.Context(), path)
	require.NoError(t, err)
	return newRigOver(t, store, handles...)
}

func newRigOver(t *testing.T, store storeOfRig, handles ...string) *rig {
	t.Helper()
	r := &rig{
		T:       t,
		store:   store,
		minds:   &minds{},
		waker:   &waker{},
		ctx:     t.Context(),
		options: rooms.Options{Gather: -1}, // the clock stands still
	}
	r.Service = r.another("here")
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(t, r.Close(ctx))
	})
	for _, handle := range handles {
		require.NoError(t, store.PutAgent(t.Context(), dream.Agent{
			ID: "id-" + handle, Handle: handle, Zone: "Europe/Berlin", Created: sunday,
		}))
	}
	return r
}

// another is the service of another process over the same store.
func (r *rig) another(holder string) *rooms.Service {
	return rooms.New(rooms.Ports{
		Rooms:      r.store.Rooms(),
		Agents:     r,
		Minds:      r.minds,
		Waker:      r.waker,
		Attendants: r,
		Now:        r.now,
	}, holder, r.options)
}

// Agent, Agents and Slots are what a service reads of agents; the test says who dreams.
func (r *rig) Agent(ctx context.Context, name string) (dream.Agent, error) {
	return r.store.Agent(ctx, name)
}

func (r *rig) Agents(ctx context.Context) ([]dream.Agent, error) { return r.store.Agents(ctx) }

func (r *rig) Slots(context.Context) (map[string]memory.Slot, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.dreaming), nil
}

// dreams lets these agents dream, and no others.
func (r *rig) dreams(handles ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dreaming = map[string]memory.Slot{}
	for _, handle := range handles {
		r.dreaming["id-"+handle] = memory.Slot{}
	}
}

func (r *rig) now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return sunday.Add(r.offset)
}

// pass lets time pass.
func (r *rig) pass(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.offset += d
}

// Look notes for whom an attendant was asked.
func (r *rig) Look(a dream.Agent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.looked = append(r.looked, a.Handle)
}

// hall makes a room of ada's with these agents, who see every post, and the guest.
func (r *rig) hall(handles ...string) {
	r.Helper()
	_, err := r.Create(r.ctx, ada, rooms.CreateRequest{ID: "hall", Join: handles})
	require.NoError(r, err)
	_, err = r.Join(r.ctx, ada, rooms.JoinRequest{Room: "hall", Person: "guest"})
	require.NoError(r, err)
}

// say posts as a person, or as the agent as, and waits until nobody answers any more.
func (r *rig) say(c psyche.Caller, as, body string) rooms.PostResult {
	r.Helper()
	return r.post(c, rooms.PostRequest{As: as, Body: body})
}

// post posts in the hall and waits until nobody answers any more.
func (r *rig) post(c psyche.Caller, p rooms.PostRequest) rooms.PostResult {
	r.Helper()
	p.Room = cmp.Or(p.Room, "hall")
	done, err := r.Post(r.ctx, c, p)
	require.NoError(r, err)
	r.settle()
	return done
}

// attend does what is due for an agent, as the workflow does, until nothing is due now, and returns when it is.
func (r *rig) attend(handle string) time.Time {
	r.Helper()
	for range 100 {
		next, err := r.Attend(r.ctx, "id-"+handle)
		require.NoError(r, err)
		r.settle()
		if next.IsZero() || next.After(r.now()) {
			return next
		}
	}
	require.Fail(r, "something is due for ever", handle)
	return time.Time{}
}

// level is how reachable an agent is in general; active when nothing is set.
func (r *rig) level(handle string) dormancy.Level {
	r.Helper()
	states, err := r.Dormancy(r.ctx, ada, handle)
	require.NoError(r, err)
	if len(states) == 0 {
		return dormancy.Active
	}
	require.Empty(r, states[0].Room)
	return states[0].Level
}

// last is the last wake record of an agent.
func (r *rig) last(handle string) room.Wake {
	r.Helper()
	calls, err := r.Calls(r.ctx, ada, handle, 0, 0)
	require.NoError(r, err)
	require.NotEmpty(r, calls)
	return calls[len(calls)-1]
}

func (r *rig) settle() {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.ctx, 20*time.Second)
	defer cancel()
	require.NoError(r, r.Wait(ctx))
}

// transcript is what stands in the hall: "name: text", oldest first, and "* text" for announcements.
func (r *rig) transcript() []string {
	r.Helper()
	page, err := r.History(r.ctx, owner, room.Query{Room: "hall", From: room.Oldest})
	require.NoError(r, err)
	var lines []string
	for _, p := range page.Posts {
		line := p.Name + ": " + p.Body
		if p.Form == room.Announcement {
			line = "* " + p.Body
		}
		lines = append(lines, line)
	}
	return lines
}

// minds are the agents' minds: each call gets what answer says.
type minds struct {
	mu         sync.Mutex
	calls      []psyche.Call
	of         []string // the agent of each call
	statements []string
	answer     func(agent string, c psyche.Call) (psyche.CallAnswer, error)
	hearing    func(owner psyche.Caller, session string, statements []psyche.Statement) // may be nil
}

func (m *minds) Called(_ context.Context, agent string, c psyche.Call) (psyche.CallAnswer, error) {
	m.mu.Lock()
	m.calls, m.of = append(m.calls, c), append(m.of, agent)
	answer := m.answer
	m.mu.Unlock()
	if answer == nil {
		return psyche.CallAnswer{WakeAnswer: prompt.WakeAnswer{Response: "I hear you."}, Cost: 7}, nil
	}
	return answer(agent, c)
}

func (m *minds) Hear(_ context.Context, agent string, owner psyche.Caller, session string, statements []psyche.Statement) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.hearing != nil {
		m.hearing(owner, session, statements)
	}
	for _, h := range statements {
		m.statements = append(m.statements, agent+" heard "+h.Text)
	}
	return nil
}

// answers lets agents answer people with a text. They say nothing to agents, and the others say nothing at all.
func answers(texts map[string]string) func(string, psyche.Call) (psyche.CallAnswer, error) {
	return func(agent string, c psyche.Call) (psyche.CallAnswer, error) {
		text := texts[strings.TrimPrefix(agent, "id-")]
		silent := text == "" || c.Wake.Caller.Agent
		return psyche.CallAnswer{WakeAnswer: prompt.WakeAnswer{Response: text, Silent: silent}, Cost: 7}, nil
	}
}

// callsOf are the calls of an agent.
func (m *minds) callsOf(handle string) (calls []psyche.Call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, c := range m.calls {
		if m.of[i] == "id-"+handle {
			calls = append(calls, c)
		}
	}
	return calls
}

func (m *minds) agentsCalled() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.of)
}

// waker notes who is woken.
type waker struct {
	mu    sync.Mutex
	woken []string
}

func (w *waker) Wake(_ context.Context, agent, _ string, _ time.Duration) (psyche.WakeResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.woken = append(w.woken, agent)
	return psyche.WakeResult{}, nil
}
func (w *waker) Leave(context.Context, string, string) error { return nil }
func (w *waker) Status(context.Context, string) (presence.Status, error) {
	return presence.Status{}, nil
}

var _ rooms.Agents = memory.Store(nil)
