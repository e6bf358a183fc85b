// Scenarios are played against a homeserver of the
// tests' own always, and against a real one where ONEIROS_DENDRITE names the folder of its programs.
package matrix_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/prompt"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/matrix"
	"github.com/seed-56a03226/oneiros/internal/psyche/rooms"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
	"github.com/seed-56a03226/oneiros/testsuite/matrix/homeserver"
)

// sunday is when scenarios begin, at 1:45 PM in the zone of the agents.
var sunday = time.Date(2026, 3, 1, 12, 45, 0, 0, time.UTC)

// operator acts without a key.
var operator = psyche.Caller{Key: access.Key{Role: access.Owner, Principal: access.Local}}

// place is a homeserver of a test.
type place struct {
	address  string
	name     string                   // the server's part of user ids
	register func(user string) string // returns a token; user is the local part
	scripted *homeserver.Server       // nil: a real one
}

func scripted(t *testing.T) place {
	t.Helper()
	s := homeserver.New()
	t.Cleanup(s.Close)
	return place{s.URL, homeserver.Name, func(user string) string { return s.Token("@" + user + ":" + homeserver.Name) }, s}
}

// rig is a deployment with a bridge, and people in Matrix.
type rig struct {
	*testing.T
	place
	store   *sqlitestore.Store
	rooms   *rooms.Service
	minds   *minds
	bridged matrix.Rooms // what the bridge is given; rooms where a test does not stand between
	options matrix.Options
	log     *log
	waits   []time.Duration // that the bridge wanted between two tries

	changing sync.RWMutex // read-locked while the bridge changes the native rooms

	mu     sync.Mutex
	offset time.Duration

	running *matrix.Bridge
	bridge  sync.WaitGroup
	stop    context.CancelFunc
	ended   error
}

func newRig(t *testing.T, at place, handles ...string) *rig {
	t.Helper()
	dir := t.TempDir()
	store, err := sqlitestore.Open(t.Context(), filepath.Join(dir, "rooms.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	r := &rig{
		T:     t,
		place: at,
		store: store,
		minds: &minds{},
		log:   &log{},
	}
	r.options = matrix.Options{
		Homeserver: at.address,
		State:      filepath.Join(dir, "matrix.json"),
		Poll:       5 * time.Second,
		Subscribe:  true,
	}
	for _, handle := range handles {
		require.NoError(t, store.PutAgent(t.Context(), dream.Agent{
			ID: "id-" + handle, Handle: handle, Zone: "Europe/Berlin", Created: sunday,
		}))
		r.options.Accounts = append(r.options.Accounts, matrix.Account{
			Handle: handle, User: r.user(handle), Token: at.register(handle),
		})
	}
	r.rooms = rooms.New(rooms.Ports{
		Rooms:  store.Rooms(),
		Agents: store,
		Minds:  r.minds,
		Waker:  waker{},
		Now:    r.now,
	}, "here", rooms.Options{Gather: -1})
	r.bridged = &bringing{Rooms: r.rooms, mu: &r.changing}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(t, r.rooms.Close(ctx))
	})
	t.Cleanup(r.kill)
	return r
}

func (r *rig) user(name string) string { return "@" + name + ":" + r.name }

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

// start runs the bridge, as a new process does.
func (r *rig) start() {
	r.Helper()
	b, err := matrix.New(r.Context(), matrix.Ports{
		Rooms:  r.bridged,
		Store:  r.store.Rooms(),
		Agents: r.store,
		Now:    r.now,
		Log:    slog.New(slog.NewTextHandler(r.log, nil)),
		Pause: func(ctx context.Context, d time.Duration) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.waits = append(r.waits, d)
			return ctx.Err()
		},
	}, r.options)
	require.NoError(r, err)
	r.running = b
	ctx, cancel := context.WithCancel(r.Context())
	r.stop = cancel
	r.bridge.Go(func() { r.ended = b.Run(ctx) })
}

// kill ends the bridge.
func (r *rig) kill() {
	if r.stop != nil {
		r.stop()
	}
	r.bridge.Wait()
}

func (r *rig) restart() {
	r.Helper()
	r.kill()
	r.start()
}

// patience bounds how long a test waits for something that comes, where it fails otherwise.
const patience = 20 * time.Second

// native is the native room of a Matrix room.
func (r *rig) native(at id.RoomID) string {
	r.Helper()
	var native string
	r.until("the room is bridged", func() bool {
		all, err := r.store.Rooms().List(r.Context(), room.AsOperator)
		require.NoError(r, err)
		for _, one := range all {
			if one.Meta["matrix_room"] == string(at) {
				native = one.ID
			}
		}
		return native != ""
	})
	return native
}

// until waits until something holds.
func (r *rig) until(what string, holds func() bool) {
	r.Helper()
	require.Eventually(r, holds, patience, 2*time.Millisecond, what)
}

// posts are the posts of a native room, as "name: text" with what announcements say after a star.
func (r *rig) posts(native string) []string {
	r.Helper()
	page, err := r.store.Rooms().History(r.Context(), room.Query{Room: native, As: room.AsOperator, From: room.Oldest})
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

// comes waits until a post stands in a native room, and nobody answers any more.
func (r *rig) comes(native, line string) {
	r.Helper()
	r.until("the native room has "+line, func() bool { return slices.Contains(r.posts(native), line) })
	r.settle()
}

// settle waits until what the bridge has posted is answered.
func (r *rig) settle() {
	r.Helper()
	r.changing.Lock() // a post can be read before its answers have begun
	defer r.changing.Unlock()
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	require.NoError(r, r.rooms.Wait(ctx))
}

// level is how reachable an agent is in general.
func (r *rig) level(handle string) dormancy.Level {
	r.Helper()
	states, err := r.store.Rooms().Dormancy(r.Context(), "id-"+handle)
	require.NoError(r, err)
	for _, d := range states {
		if d.Room == "" {
			return d.Level
		}
	}
	return dormancy.Active
}

// last is what became of the last call of an agent.
func (r *rig) last(handle string) room.Wake {
	r.Helper()
	calls, err := r.store.Rooms().Wakes(r.Context(), "id-"+handle, 0, 0)
	require.NoError(r, err)
	require.NotEmpty(r, calls)
	return calls[len(calls)-1]
}

// bringing marks when the bridge posts or edits.
type bringing struct {
	matrix.Rooms
	mu *sync.RWMutex
}

func (b *bringing) Bring(ctx context.Context, who room.Who, r rooms.PostRequest) (rooms.PostResult, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.Rooms.Bring(ctx, who, r)
}

func (b *bringing) Edit(ctx context.Context, c psyche.Caller, r rooms.EditRequest) (rooms.PostResult, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.Rooms.Edit(ctx, c, r)
}

// person is somebody with a Matrix client.
type person struct {
	*rig
	client *mautrix.Client
	mu     sync.Mutex
	seen   []*event.Event
	came   chan struct{}
}

func (r *rig) person(name string) *person { return r.somebody(r.user(name), r.register(name)) }

// somebody follows its rooms until the test ends.
func (r *rig) somebody(user, token string) *person {
	r.Helper()
	at, err := url.Parse(r.address)
	require.NoError(r, err)
	p := &person{rig: r, came: make(chan struct{}), client: &mautrix.Client{
		HomeserverURL: at,
		UserID:        id.UserID(user),
		AccessToken:   token,
		Client:        &http.Client{},
		Log:           zerolog.Nop(),
	}}
	ctx, cancel := context.WithCancel(r.Context())
	var following sync.WaitGroup
	following.Go(func() { p.follow(ctx) })
	r.Cleanup(func() { cancel(); following.Wait() })
	return p
}

func (p *person) follow(ctx context.Context) {
	since := ""
	for ctx.Err() == nil {
		news, err := p.client.SyncRequest(ctx, 5000, since, "", false, event.PresenceOffline)
		if err != nil {
			continue
		}
		since = news.NextBatch
		p.mu.Lock()
		for at, joined := range news.Rooms.Join {
			for _, e := range joined.Timeline.Events {
				e.RoomID = at
				p.seen = append(p.seen, e)
			}
		}
		close(p.came)
		p.came = make(chan struct{})
		p.mu.Unlock()
	}
}

// opens makes a room, invites users and waits until they are there.
func (p *person) opens(invited ...string) id.RoomID {
	p.Helper()
	req := &mautrix.ReqCreateRoom{Name: "The hall", Preset: "private_chat"}
	for _, name := range invited {
		req.Invite = append(req.Invite, id.UserID(p.user(name)))
	}
	made, err := p.client.CreateRoom(p.Context(), req)
	require.NoError(p, err)
	for _, name := range invited {
		if slices.ContainsFunc(p.options.Accounts, func(a matrix.Account) bool { return a.Handle == name }) {
			p.awaits(made.RoomID, name+" joins", func(e *event.Event) bool {
				return e.GetStateKey() == p.user(name) && e.Content.Raw["membership"] == "join"
			})
		}
	}
	return made.RoomID
}

// says sends a message, in which @handle is typed as a client does it.
func (p *person) says(at id.RoomID, text string) id.EventID {
	p.Helper()
	return p.sends(at, event.MessageEventContent{MsgType: event.MsgText, Body: text})
}

func (p *person) sends(at id.RoomID, content event.MessageEventContent) id.EventID {
	p.Helper()
	if content.Mentions == nil {
		content.Mentions = &event.Mentions{}
		for _, a := range p.options.Accounts {
			if strings.Contains(content.Body, "@"+a.Handle) {
				content.Mentions.Add(id.UserID(a.User))
			}
		}
	}
	sent, err := p.client.SendMessageEvent(p.Context(), at, event.EventMessage, content)
	require.NoError(p, err)
	return sent.EventID
}

// awaits waits for an event of a room.
func (p *person) awaits(at id.RoomID, what string, is func(*event.Event) bool) *event.Event {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Context(), patience)
	defer cancel()
	for {
		p.mu.Lock()
		for _, e := range p.seen {
			if e.RoomID == at && is(e) {
				p.mu.Unlock()
				return e
			}
		}
		came := p.came
		p.mu.Unlock()
		select {
		case <-came:
		case <-ctx.Done():
			require.Fail(p, "it never came: "+what, "%s\n%s", strings.Join(p.messages(at), "\n"), p.log)
		}
	}
}

// receives waits until a user has said a text.
func (p *person) receives(at id.RoomID, name, text string) *event.Event {
	p.Helper()
	return p.awaits(at, name+": "+text, func(e *event.Event) bool {
		return e.Type.Type == "m.room.message" && string(e.Sender) == p.user(name) && e.Content.Raw["body"] == text
	})
}

// messages are the messages of a room as "name: text", oldest first.
func (p *person) messages(at id.RoomID) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var lines []string
	for _, e := range p.seen {
		if body, ok := e.Content.Raw["body"].(string); ok && e.RoomID == at {
			lines = append(lines, e.Sender.Localpart()+": "+body)
		}
	}
	return lines
}

// messageOf reads the content of a message.
func messageOf(t require.TestingT, e *event.Event) event.MessageEventContent {
	var content event.MessageEventContent
	require.NoError(t, json.Unmarshal(e.Content.VeryRaw, &content))
	return content
}

// minds are the agents' minds: each call gets what answer says.
type minds struct {
	mu     sync.Mutex
	calls  []psyche.Call
	of     []string
	answer func(agent string, c psyche.Call) psyche.CallAnswer
}

func (m *minds) Called(_ context.Context, agent string, c psyche.Call) (psyche.CallAnswer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls, m.of = append(m.calls, c), append(m.of, agent)
	if m.answer == nil {
		return psyche.CallAnswer{WakeAnswer: prompt.WakeAnswer{Silent: true}}, nil
	}
	return m.answer(strings.TrimPrefix(agent, "id-"), c), nil
}

func (m *minds) Hear(context.Context, string, psyche.Caller, string, []psyche.Statement) error {
	return nil
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

// will lets agents answer people with a text. They say nothing to agents, and the others say nothing at all.
func (r *rig) will(texts map[string]string) {
	r.minds.mu.Lock()
	defer r.minds.mu.Unlock()
	r.minds.answer = func(agent string, c psyche.Call) psyche.CallAnswer {
		text := texts[agent]
		silent := text == "" || c.Wake.Caller.Agent
		return psyche.CallAnswer{WakeAnswer: prompt.WakeAnswer{Response: text, Silent: silent}, Cost: 7}
	}
}

type waker struct{}

func (waker) Wake(context.Context, string, string, time.Duration) (psyche.WakeResult, error) {
	return psyche.WakeResult{}, nil
}
func (waker) Leave(context.Context, string, string) error { return nil }
func (waker) Status(context.Context, string) (presence.Status, error) {
	return presence.Status{}, nil
}

// log keeps what was logged.
type log struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
