package dreamhttp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/fabric"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/journal"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/dreamhttp"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/internal/review"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

var dawn = time.Date(2026, 10, 20, 6, 0, 0, 0, time.UTC)

// store is all that the API needs of a store.
type store interface {
	memory.Store
	fabric.Log
	access.Store
}

// rig is a server with the API, over a real store.
type rig struct {
	t       *testing.T
	store   store
	fixture *fixture
	handler *dreamhttp.Handler
	server  *httptest.Server
	keys    map[string]string // secrets by name
	clock   *atomic.Int64
	faults  chan error
	narrow  bool // the server's connections buffer little
}

// The callers: one of each role, a client of another agent, and nobody.
const (
	owner, operator, client, stranger, nobody = "owner", "operator", "client", "stranger", ""
)

func newRig(t *testing.T, edit ...func(*rig, *front.Options)) *rig {
	t.Helper()
	s, err := sqlitestore.Open(context.Background(), filepath.Join(t.TempDir(), "memory.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return rigOver(t, s, edit...)
}

// onEachStore runs a test over SQLite and over a real Redis server.
func onEachStore(t *testing.T, prove func(t *testing.T, r *rig)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		prove(t, newRig(t))
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		s, err := redisstore.Open(t.Context(), redis.Shared(t).URL, redisstore.Prefix(redis.Prefix(t)), redisstore.Timeout(time.Minute))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		prove(t, rigOver(t, s))
	})
}

func rigOver(t *testing.T, s store, edit ...func(*rig, *front.Options)) *rig {
	t.Helper()
	r := &rig{
		t:      t,
		store:  s,
		keys:   map[string]string{},
		clock:  &atomic.Int64{},
		faults: make(chan error, 100),
	}
	r.clock.Store(dawn.UnixNano())
	for _, a := range []dream.Agent{
		{
			ID:     "id-iris",
			Handle: "iris",
			Zone:   "UTC",
			Tier:   dream.Hardened,
			Caps:   dream.DefaultCaps,
		},
		{
			ID:     "id-tally",
			Handle: "tally_0001",
			Zone:   "UTC",
			Tier:   dream.Core,
			Caps:   dream.DefaultCaps,
		},
	} {
		require.NoError(t, s.PutAgent(t.Context(), a))
	}
	for name, key := range map[string]struct {
		role   access.Role
		agents []string
	}{
		owner: {access.Owner, nil}, operator: {access.Operator, nil}, client: {access.Client, []string{"iris"}},
		stranger: {access.Client, []string{"tally_0001"}},
	} {
		k, secret := access.New(name, key.role, key.agents, dawn)
		require.NoError(t, s.PutKey(t.Context(), k))
		r.keys[name] = secret
	}
	r.fixture = &fixture{store: s, now: r.now}
	r.handler = &dreamhttp.Handler{Dreams: &psyche.Dreams{
		Memory:  s,
		Events:  s,
		Carries: r.fixture,
		Now:     r.now,
		Digest:  journal.DigestMessage,
		Judge: func() review.Judge {
			return review.Judge{Resolver: review.Resolver{Memory: s, Now: r.now}}
		},
	}}
	o := front.Options{Keys: s, Now: r.now, Report: func(err error) { r.faults <- err }}
	for _, e := range edit {
		e(r, &o)
	}
	o.Routes = r.handler.Routes()
	app, err := front.New(o)
	require.NoError(t, err)
	r.server = httptest.NewUnstartedServer(app)
	r.server.Config.ConnState = func(line net.Conn, state http.ConnState) {
		if tcp, ok := line.(*net.TCPConn); ok && state == http.StateNew && r.narrow {
			_ = tcp.SetWriteBuffer(64 << 10)
		}
	}
	r.server.Start()
	t.Cleanup(func() {
		r.server.CloseClientConnections()
		r.server.Close()
		select {
		case err := <-r.faults:
			t.Errorf("the server reported: %v", err)
		default:
		}
	})
	return r
}

func (r *rig) now() time.Time { return time.Unix(0, r.clock.Load()).UTC() }

func (r *rig) pass(d time.Duration) { r.clock.Add(int64(d)) }

// publicError is an answer.
type publicError struct {
	status int
	header http.Header
	body   []byte
}

func (r *rig) do(who, method, path, body string, header ...string) publicError {
	r.t.Helper()
	var content io.Reader
	if body != "" {
		content = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.server.URL+path, content)
	require.NoError(r.t, err)
	if who != nobody {
		req.Header.Set("Authorization", "Bearer "+r.keys[who])
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := r.server.Client().Do(req)
	require.NoError(r.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(r.t, err)
	a := publicError{resp.StatusCode, resp.Header, text}
	validate(r.t, method, req.URL.EscapedPath(), a)
	return a
}

func (r *rig) get(who, path string) publicError {
	r.t.Helper()
	return r.do(who, http.MethodGet, path, "")
}

func (r *rig) post(who, path, body string, header ...string) publicError {
	r.t.Helper()
	return r.do(who, http.MethodPost, path, body, header...)
}

// as parses a response with the expected status.
func as[T any](t *testing.T, a publicError, status int) T {
	t.Helper()
	var v T
	require.Equal(t, status, a.status, "%s", a.body)
	reader := json.NewDecoder(bytes.NewReader(a.body))
	reader.DisallowUnknownFields()
	require.NoError(t, reader.Decode(&v), "%s", a.body)
	return v
}

// refusal is the error of OpenAI's API.
type refusal struct {
	Error struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param" jsonschema:"nullable"`
		Code    *string `json:"code" jsonschema:"nullable"`
	} `json:"error"`
	Request string `json:"request_id,omitempty"`
}

func refused(t *testing.T, a publicError, status int, code, param, hint string) {
	t.Helper()
	f := as[refusal](t, a, status)
	require.NotNil(t, f.Error.Code, "%s", a.body)
	require.Equal(t, code, *f.Error.Code, "%s", a.body)
	if param != "" {
		require.NotNil(t, f.Error.Param, "%s", a.body)
		require.Equal(t, param, *f.Error.Param)
	}
	require.Contains(t, f.Error.Message, hint)
	require.NotEmpty(t, f.Request)
}

// fixture carries dreams on by hand: their records are real, and no workflow runs.
type fixture struct {
	store      store
	now        func() time.Time
	mu         sync.Mutex
	requests   []psyche.DreamRequest
	again      []psyche.RedreamRequest
	activities []string
	refuse     error
}

func (b *fixture) did(activity string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.activities = append(b.activities, activity)
	return b.refuse
}

func (b *fixture) done() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.activities)
}

func (b *fixture) Begin(ctx context.Context, w psyche.DreamRequest) (string, error) {
	if err := b.did("begin " + w.Agent); err != nil {
		return "", err
	}
	b.mu.Lock()
	b.requests = append(b.requests, w)
	b.mu.Unlock()
	a, err := b.store.Agent(ctx, w.Agent)
	if err != nil {
		return "", err
	}
	n, err := b.store.NextDream(ctx, a.ID)
	if err != nil {
		return "", err
	}
	record := nightOf(a, n, b.now())
	record.Theme, record.Run, record.Stretches = w.Theme, "", 0
	_, err = b.store.Commit(ctx, memory.Write{Agent: a.ID, Cause: record.ID, Add: []dream.Item{record}})
	return record.ID, err
}

func (b *fixture) Redream(ctx context.Context, w psyche.RedreamRequest) (string, error) {
	b.mu.Lock()
	b.again = append(b.again, w)
	b.mu.Unlock()
	return b.Begin(ctx, w.DreamRequest)
}

func (b *fixture) Cancel(_ context.Context, id string) error { return b.did("cancel " + id) }
func (b *fixture) Resume(_ context.Context, id string) error { return b.did("resume " + id) }

func (b *fixture) Archive(ctx context.Context, id string) error {
	if err := b.did("archive " + id); err != nil {
		return err
	}
	_, handle, _ := psyche.DreamID(id)
	a, err := b.store.Agent(ctx, handle)
	if err != nil {
		return err
	}
	n, err := memory.One[*dream.Record](ctx, b.store, a.ID, id)
	if err != nil {
		return err
	}
	n.Shelved = b.now()
	_, err = b.store.Commit(ctx, memory.Write{Agent: a.ID, Cause: id, Change: []dream.Item{n}})
	return err
}

func nightOf(a dream.Agent, n int64, at time.Time) *dream.Record {
	id := fmt.Sprintf("dream/%s/%04d", a.Handle, n)
	return &dream.Record{
		Head: dream.Head{
			ID:    id,
			Agent: a.ID,
			Kind:  dream.KindRecord,
			At:    at,
			State: dream.Live,
			Taint: dream.FromDream,
			Dream: id,
		},
		Run:       "run",
		Workflow:  id,
		Tier:      a.Tier,
		Seed:      7,
		AsOf:      at,
		Budget:    a.Caps.Dream,
		Stretches: 1,
	}
}

// lay puts a dream into the store.
func (r *rig) lay(handle string, n int64, edit func(*dream.Record)) *dream.Record {
	r.t.Helper()
	a, err := r.store.Agent(r.t.Context(), handle)
	require.NoError(r.t, err)
	record := nightOf(a, n, r.now().Add(time.Duration(n)*time.Minute))
	if edit != nil {
		edit(record)
	}
	_, err = r.store.Commit(r.t.Context(), memory.Write{Agent: a.ID, Cause: record.ID, Add: []dream.Item{record}})
	require.NoError(r.t, err)
	return record
}

func over(outcome dream.Outcome) func(*dream.Record) {
	return func(n *dream.Record) { n.Outcome, n.Ended = outcome, n.At.Add(time.Minute) }
}

// keep puts items into the store.
func (r *rig) keep(agent string, items ...dream.Item) {
	r.t.Helper()
	_, err := r.store.Commit(r.t.Context(), memory.Write{Agent: agent, Cause: "test", Add: items})
	require.NoError(r.t, err)
}

// announce appends events to iris's log.
func (r *rig) announce(events ...event.Event) {
	r.t.Helper()
	_, err := r.store.Commit(r.t.Context(), memory.Write{Agent: "id-iris", Cause: "test", Events: events})
	require.NoError(r.t, err)
}

func head(id string, kind dream.Kind, of string) dream.Head {
	return dream.Head{
		ID:    id,
		Agent: "id-iris",
		Kind:  kind,
		At:    dawn,
		State: dream.Live,
		Taint: dream.FromDream,
		Dream: of,
	}
}

var errSmall = errors.New("small")
