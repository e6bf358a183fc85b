package psyche_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
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
	"github.com/seed-56a03226/oneiros/internal/localmodel"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/ratelimit/bucket"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

var dawn = time.Date(2026, 11, 20, 7, 0, 0, 0, time.UTC)

// clock stands until it is moved.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// nights wakes agents on a store, without a workflow.
type nights struct {
	store *sqlitestore.Store
	now   func() time.Time

	mu     sync.Mutex
	wakes  int
	fails  error // of Wake
	status error // of Standing
}

func (n *nights) Wake(ctx context.Context, agent, client string, hold time.Duration) (psyche.WakeResult, error) {
	n.mu.Lock()
	n.wakes++
	fails := n.fails
	n.mu.Unlock()
	if fails != nil {
		return psyche.WakeResult{}, fails
	}
	a, err := n.store.Arrive(ctx, presence.Visit{
		Agent:  agent,
		Client: client,
		Cause:  presence.Connect,
		Now:    n.now(),
		For:    hold,
		Lock:   time.Second,
	})
	return psyche.WakeResult{Wake: a.Wake, Raised: a.Raised}, err
}

func (n *nights) Leave(ctx context.Context, agent, client string) error {
	_, err := n.store.Depart(ctx, agent, client, n.now(), time.Second)
	return err
}

func (n *nights) statusFails(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.status = err
}

func (n *nights) Status(ctx context.Context, agent string) (presence.Status, error) {
	n.mu.Lock()
	fails := n.status
	n.mu.Unlock()
	if fails != nil {
		return presence.Status{}, fails
	}
	return n.store.Status(ctx, agent, n.now())
}

func (n *nights) woken() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.wakes
}

// provider returns given answers, and records its requests.
type provider struct {
	mu     sync.Mutex
	bodies [][]byte
	open   int            // answers not closed yet
	used   *budget.Tokens // that it reports; nil: it reports none
	answer func(r inference.RelayRequest) (status int, kind string, body io.ReadCloser)
}

func says(text string) func(inference.RelayRequest) (int, string, io.ReadCloser) {
	return func(r inference.RelayRequest) (int, string, io.ReadCloser) {
		quoted, _ := json.Marshal(text)
		if strings.Contains(string(r.Body), `"stream":true`) {
			return 200, "text/event-stream", io.NopCloser(strings.NewReader(fmt.Sprintf(
				"data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s}}]}\n\n"+
					"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
				quoted)))
		}
		return 200, "application/json", io.NopCloser(strings.NewReader(fmt.Sprintf(
			`{"choices":[{"index":0,"message":{"role":"assistant","content":%s},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":2}}`,
			quoted)))
	}
}

func (p *provider) Relay(ctx context.Context, r inference.RelayRequest) (*inference.RelayResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bodies = append(p.bodies, bytes.Clone(r.Body))
	p.open++
	status, kind, body := p.answer(r)
	seen := inference.RelayObserved{Ended: true, UsageFrom: inference.ByCount}
	if p.used != nil {
		seen.UsageFrom, seen.Tokens = inference.ByProvider, *p.used
	}
	return &inference.RelayResponse{
		Status: status, Header: http.Header{"Content-Type": {kind}, "Openai-Organization": {"ours"}},
		Body: &counting{body, p, sync.Once{}},
		Seen: func() inference.RelayObserved { return seen },
	}, nil
}

type counting struct {
	io.ReadCloser
	of   *provider
	once sync.Once
}

func (c *counting) Close() error {
	c.once.Do(func() {
		c.of.mu.Lock()
		defer c.of.mu.Unlock()
		c.of.open--
	})
	return c.ReadCloser.Close()
}

func (p *provider) last(t testing.TB) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	require.NotEmpty(t, p.bodies)
	return string(p.bodies[len(p.bodies)-1])
}

func (p *provider) unclosed() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open
}

var free, dear = budget.Price{}, budget.Price{In: 1_000_000, CachedIn: 1_000_000, Out: 2_000_000}

func catalogue() inference.Table {
	table := inference.Table{
		"p/free": {
			Name:     "p/free",
			Provider: "p",
			Wire:     "wire-model",
			Price:    &free,
			Context:  100_000,
		},
		"p/dear": {
			Name:     "p/dear",
			Provider: "p",
			Wire:     "dear-model",
			Price:    &dear,
			Context:  100_000,
		},
		"p/thinker": {
			Name:      "p/thinker",
			Provider:  "p",
			Wire:      "thinker",
			Price:     &dear,
			Context:   100_000,
			Reasoning: true,
		},
	}
	for _, spec := range localmodel.Specs() {
		table[spec.Name] = spec
	}
	return table
}

// rig is a service on a store in memory, with a fake provider.
type rig struct {
	*psyche.Service
	t        testing.TB
	store    *sqlitestore.Store
	nights   *nights
	provider *provider
	clock    *clock
	agent    dream.Agent
}

func setup(t testing.TB, change ...func(*psyche.Ports, *psyche.Options)) *rig {
	t.Helper()
	store, err := sqlitestore.Open(t.Context(), ":memory:")
	require.NoError(t, err)
	c := &clock{at: dawn}
	r := &rig{
		t:        t,
		store:    store,
		clock:    c,
		nights:   &nights{store: store, now: c.now},
		provider: &provider{answer: says("Yes.")},
	}
	r.agent = dream.Agent{
		ID:      "ag_echo",
		Handle:  "echo",
		Zone:    "UTC",
		Tier:    dream.Core,
		Caps:    dream.DefaultCaps,
		Created: dawn,
	}
	require.NoError(t, store.PutAgent(t.Context(), r.agent))
	table := catalogue()
	p := psyche.Ports{
		Memory: store,
		Talks:  store,
		Relay:  r.provider,
		Waker:  r.nights,
		Tokens: bucket.New(c.now),
		Guard:  &spend.Guard{Ledger: store.Ledger(), Model: localmodel.New(), Catalog: table, Now: c.now},
	}
	o := psyche.Options{
		Talker: "p/free",
		Models: map[dream.Role]string{dream.Embedder: localmodel.Lexical, dream.Generator: "p/free"},
		Within: time.Minute,
		// no test depends on how soon the store answers, save those that stop it
		AgentWithin: time.Minute, TalkWithin: time.Minute,
		FleetDay: budget.Unlimited, Persona: psyche.PersonaOff,
	}
	for _, f := range change {
		f(&p, &o)
	}
	r.Service = psyche.New(p, o)
	t.Cleanup(func() {
		require.NoError(t, r.Close(context.Background()))
		require.NoError(t, store.Close())
	})
	return r
}

func caller(key, user string) psyche.Caller {
	return psyche.Caller{Key: access.Key{ID: key, Role: access.Client}, User: user}
}

var ann = caller("key_a", "ann")

func turn(c psyche.Caller, body string) psyche.Turn {
	request, err := psyche.ReadBody([]byte(body))
	if err != nil {
		panic(err)
	}
	return psyche.Turn{
		Caller: c,
		Agent:  "echo",
		Path:   "/chat/completions",
		Body:   request,
		Header: http.Header{"Content-Type": {"application/json"}},
	}
}

// talk has a turn and reads all of its answer.
func (r *rig) talk(t psyche.Turn) (string, psyche.TurnReport) {
	r.t.Helper()
	reply, err := r.Chat(r.t.Context(), t)
	require.NoError(r.t, err)
	body, err := io.ReadAll(reply.Body)
	require.NoError(r.t, err)
	require.NoError(r.t, reply.Body.Close())
	return string(body), reply.Report
}

// Say is a turn of one message.
func (r *rig) Say(ctx context.Context, c psyche.Caller, agent, conversation, message string,
	token func(string),
) (string, psyche.TurnReport, error) {
	answer, report, err := r.Service.Say(ctx, psyche.Turn{Caller: c, Agent: agent, Conversation: conversation}, message,
		token)
	return answer.Text, report, err
}

func chat(text string) string {
	quoted, _ := json.Marshal(text)
	return fmt.Sprintf(`{"model":"echo","messages":[{"role":"user","content":%s}]}`, quoted)
}

// settle waits until everything said so far is stored.
func (r *rig) settle() {
	r.t.Helper()
	psyche.Drained(r.Service)
}
