package roomhttp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/prompt"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/psyche/roomhttp"
	"github.com/seed-56a03226/oneiros/internal/psyche/rooms"
	"github.com/seed-56a03226/oneiros/internal/psyche/webhooks"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
	"github.com/seed-56a03226/oneiros/testsuite/serving/described"
)

// The callers: an owner, an operator, a client, and a client of another agent alone.
const owner, ada, client, stranger = "owner", "ada", "client", "stranger"

// rig is a server with the API over a real store, and agents whose answers a test chooses.
type rig struct {
	*testing.T
	rooms  *rooms.Service
	store  *sqlitestore.Store
	minds  *minds
	server *httptest.Server
	keys   map[string]string // secrets by name
	leave  func()            // begins to stop the server
}

func newRig(t *testing.T) *rig {
	t.Helper()
	store, err := sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "rooms.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	r := &rig{T: t, store: store, minds: &minds{}, keys: map[string]string{}}
	for _, handle := range []string{"echo", "iris"} {
		require.NoError(t, store.PutAgent(t.Context(), dream.Agent{
			ID: "id-" + handle, Handle: handle, Zone: "UTC", Created: time.Now().UTC(),
		}))
	}
	for name, key := range map[string]access.Key{
		owner: {Role: access.Owner}, ada: {Role: access.Operator}, client: {Role: access.Client},
		stranger: {Role: access.Client, Agents: []string{"iris"}},
	} {
		k, secret := access.New(name, key.Role, key.Agents, time.Now())
		k.Principal = name
		require.NoError(t, store.PutKey(t.Context(), k))
		r.keys[name] = secret
	}
	r.rooms = rooms.New(rooms.Ports{
		Rooms:  store.Rooms(),
		Agents: store,
		Minds:  r.minds,
		Waker:  waker{},
		Now:    time.Now,
	}, "here", rooms.Options{})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(t, r.rooms.Close(ctx))
	})
	connected := webhooks.New(webhooks.Ports{
		Rooms:  store.Rooms(),
		Agents: store,
		Speak:  r.rooms,
		Key:    func() ([]byte, error) { return []byte("the key of this deployment, long enough"), nil },
		Now:    time.Now,
	}, "here")
	handler := &roomhttp.Handler{Rooms: r.rooms, Webhooks: connected, Heartbeat: 30 * time.Millisecond}
	app, err := front.New(front.Options{
		Keys: store, Routes: handler.Routes(), Report: func(err error) { t.Errorf("the server reported: %v", err) },
	})
	require.NoError(t, err)
	r.leave = func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(t, app.Shutdown(ctx))
	}
	r.server = httptest.NewServer(app)
	t.Cleanup(func() {
		r.server.CloseClientConnections()
		r.server.Close()
	})
	return r
}

// response is an answer.
type response struct {
	status int
	header http.Header
	body   []byte
}

// published is the description as served, read once.
var published = sync.OnceValues(func() (*described.Document, error) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "openapi.json"))
	if err != nil {
		return nil, err
	}
	return described.Read(text)
})

// ask sends a request, and compares the answer, and the body of one that was done, with the description.
func (r *rig) ask(who, method, path, body string, header ...string) response {
	r.Helper()
	req, err := http.NewRequestWithContext(r.Context(), method, r.server.URL+path, strings.NewReader(body))
	require.NoError(r, err)
	req.Header.Set("Authorization", "Bearer "+r.keys[who])
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := r.server.Client().Do(req)
	require.NoError(r, err)
	defer func() { require.NoError(r, res.Body.Close()) }()
	text, err := io.ReadAll(res.Body)
	require.NoError(r, err)
	doc, err := published()
	require.NoError(r, err)
	at := req.URL.EscapedPath()
	require.NoError(r, doc.Holds(described.Answer{
		Method: method,
		Path:   at,
		Status: res.StatusCode,
		Header: res.Header,
		Body:   text,
	}))
	if res.StatusCode < 300 && body != "" {
		require.NoError(r, doc.Takes(method, at, []byte(body)))
	}
	return response{res.StatusCode, res.Header, text}
}

// does expects a status, and reads the answer.
func does[T any](r *rig, status int, who, method, path, body string, header ...string) T {
	r.Helper()
	a := r.ask(who, method, path, body, header...)
	require.Equal(r, status, a.status, "%s %s: %s", method, path, a.body)
	var v T
	reader := json.NewDecoder(bytes.NewReader(a.body))
	reader.DisallowUnknownFields()
	require.NoError(r, reader.Decode(&v), "%s", a.body)
	return v
}

// refusal is an error as clients get it.
type refusal struct {
	Error struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	} `json:"error"`
	Request string `json:"request_id"`
}

// refused expects an error.
func (r *rig) refused(status int, code, param, hint, who, method, path, body string, header ...string) {
	r.Helper()
	f := does[refusal](r, status, who, method, path, body, header...)
	require.NotNil(r, f.Error.Code)
	require.Equal(r, code, *f.Error.Code, f.Error.Message)
	if param != "" {
		require.NotNil(r, f.Error.Param, f.Error.Message)
		require.Equal(r, param, *f.Error.Param)
	}
	require.Contains(r, f.Error.Message, hint)
	require.NotEmpty(r, f.Request)
}

// hall makes a room of ada's with echo, who answers posts that name it, and the client.
func (r *rig) hall() {
	r.Helper()
	require.Equal(r, 201, r.ask(ada, "POST", "/v1/rooms", `{"id":"hall","title":"The hall","join":["echo"]}`).status)
	require.Equal(r, 200, r.ask(ada, "PUT", "/v1/rooms/hall/subscriptions", `{"agent":"echo","on":false}`).status)
	require.Equal(r, 200, r.ask(ada, "POST", "/v1/rooms/hall/members", `{"person":"client"}`).status)
}

// settle waits until nobody answers any more.
func (r *rig) settle() {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), 20*time.Second)
	defer cancel()
	require.NoError(r, r.rooms.Wait(ctx))
}

// minds are the agents' minds.
type minds struct {
	mu     sync.Mutex
	calls  int
	answer func() (psyche.CallAnswer, error)
}

func (m *minds) Called(context.Context, string, psyche.Call) (psyche.CallAnswer, error) {
	m.mu.Lock()
	m.calls++
	answer := m.answer
	m.mu.Unlock()
	if answer == nil {
		words := prompt.WakeAnswer{Response: "I hear you.", Emotion: "curious"}
		return psyche.CallAnswer{WakeAnswer: words, Cost: 7}, nil
	}
	return answer()
}

func (m *minds) Hear(context.Context, string, psyche.Caller, string, []psyche.Statement) error {
	return nil
}

func (m *minds) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls
}

// waker wakes nobody.
type waker struct{}

func (waker) Wake(context.Context, string, string, time.Duration) (psyche.WakeResult, error) {
	return psyche.WakeResult{}, nil
}
func (waker) Leave(context.Context, string, string) error { return nil }
func (waker) Status(context.Context, string) (presence.Status, error) {
	return presence.Status{}, nil
}
