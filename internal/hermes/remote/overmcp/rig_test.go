package overmcp_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/hermes/remote/overmcp"
	"github.com/seed-56a03226/oneiros/internal/localmodel"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/psyche/mcpserver"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

// waker wakes agents on a store, without a workflow.
type waker struct{ store *sqlitestore.Store }

func (w waker) Wake(ctx context.Context, agent, client string, hold time.Duration) (psyche.WakeResult, error) {
	a, err := w.store.Arrive(ctx, presence.Visit{
		Agent:  agent,
		Client: client,
		Cause:  presence.Connect,
		Now:    time.Now(),
		For:    hold,
		Lock:   time.Second,
	})
	return psyche.WakeResult{Wake: a.Wake, Raised: a.Raised}, err
}

func (w waker) Leave(ctx context.Context, agent, client string) error {
	_, err := w.store.Depart(ctx, agent, client, time.Now(), time.Second)
	return err
}

func (w waker) Status(ctx context.Context, agent string) (presence.Status, error) {
	return w.store.Status(ctx, agent, time.Now())
}

// provider answers with what it was given, and keeps the bodies that it was asked with.
type provider struct {
	mu     sync.Mutex
	bodies []string
	answer func(ctx context.Context) io.ReadCloser
}

func (p *provider) Relay(ctx context.Context, r inference.RelayRequest) (*inference.RelayResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bodies = append(p.bodies, string(bytes.Clone(r.Body)))
	return &inference.RelayResponse{
		Status: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: p.answer(ctx),
		Seen: func() inference.RelayObserved {
			return inference.RelayObserved{Ended: true, UsageFrom: inference.ByCount}
		},
	}, nil
}

func (p *provider) last(t *testing.T) string {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	require.NotEmpty(t, p.bodies)
	return p.bodies[len(p.bodies)-1]
}

// server is the real one: store, service, and the front that checks keys.
type server struct {
	t        *testing.T
	url      string
	http     *httptest.Server
	service  *psyche.Service
	store    *sqlitestore.Store
	provider *provider
	agents   []dream.Agent
}

func start(t *testing.T, agents ...string) *server {
	t.Helper()
	store, err := sqlitestore.Open(t.Context(), ":memory:")
	require.NoError(t, err)
	s := &server{t: t, store: store, provider: &provider{}}
	for _, handle := range agents {
		a := dream.Agent{
			ID:      "ag_" + handle,
			Handle:  handle,
			Zone:    "UTC",
			Tier:    dream.Core,
			Caps:    dream.DefaultCaps,
			Created: time.Now(),
		}
		require.NoError(t, store.PutAgent(t.Context(), a))
		s.agents = append(s.agents, a)
	}
	free := budget.Price{}
	table := inference.Table{"p/free": {
		Name:     "p/free",
		Provider: "p",
		Wire:     "wire",
		Price:    &free,
		Context:  100_000,
	}}
	for _, spec := range localmodel.Specs() {
		table[spec.Name] = spec
	}
	s.service = psyche.New(psyche.Ports{
		Memory: store, Talks: store, Relay: s.provider, Waker: waker{store},
		Guard: &spend.Guard{Ledger: store.Ledger(), Model: localmodel.New(), Catalog: table, Now: time.Now},
	}, psyche.Options{
		Talker:   "p/free",
		Models:   map[dream.Role]string{dream.Embedder: localmodel.Lexical, dream.Generator: "p/free"},
		Within:   time.Minute,
		FleetDay: budget.Unlimited, Persona: psyche.PersonaOff,
	})
	handler := mcpserver.New(s.service, nil, mcpserver.Options{})
	routes, err := front.New(front.Options{Routes: handler.Routes(), Keys: store, Keyless: true})
	require.NoError(t, err)
	s.http = httptest.NewServer(routes)
	s.url = s.http.URL
	t.Cleanup(func() {
		handler.Close()
		s.http.CloseClientConnections()
		s.http.Close()
		require.NoError(t, s.service.Close(context.Background()))
		require.NoError(t, store.Close())
	})
	return s
}

// key makes a key and returns its secret.
func (s *server) key(role access.Role, agents ...string) string {
	s.t.Helper()
	key, secret := access.New("test", role, agents, time.Now())
	require.NoError(s.t, s.store.PutKey(s.t.Context(), key))
	return secret
}

func (s *server) dial(o overmcp.Settings) *overmcp.Client {
	s.t.Helper()
	o.URL = s.url
	c, err := overmcp.Dial(s.t.Context(), o)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}

// leases is how many hold an agent awake.
func (s *server) leases(agent string) int {
	s.t.Helper()
	status, err := s.store.Status(s.t.Context(), "ag_"+agent, time.Now())
	require.NoError(s.t, err)
	return len(status.Leases)
}
