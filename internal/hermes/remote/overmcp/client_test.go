package overmcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/hermes/message"
	"github.com/seed-56a03226/oneiros/internal/hermes/remote/overmcp"
)

const answer = `data: {"choices":[{"index":0,"delta":{"content":"I "}}]}` + "\n\n" +
	`data: {"choices":[{"index":0,"delta":{"content":"look."}}]}` + "\n\n" +
	`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c2","function":{"name":"read","arguments":"{\"path\":"}}]}}]}` + "\n\n" +
	`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"a\"}"}}]},"finish_reason":"tool_calls"}]}` + "\n\n" +
	`data: {"choices":[],"usage":{"prompt_tokens":50,"completion_tokens":7,"total_tokens":57,"prompt_tokens_details":{"cached_tokens":20}}}` + "\n\ndata: [DONE]\n\n"

func whole(text string) func(context.Context) io.ReadCloser {
	return func(context.Context) io.ReadCloser { return io.NopCloser(strings.NewReader(text)) }
}

// request is a conversation with a tool and its result.
func request() message.Request {
	return message.Request{
		Messages: []message.Message{
			{Role: message.System, Content: "Be brief."},
			{Role: message.User, Content: "Please remember: my boat is called Vega."},
			{Role: message.Assistant, Calls: []message.Call{{ID: "c1", Name: "read", Arguments: `{"path":`}}},
			{Role: message.FromTool, CallID: "c1", Content: "no such file"},
			{Role: message.User, Content: "Please remember: my boat has seven sails."},
		},
		Tools: []message.Tool{
			{Name: "read", Description: "reads a file", Parameters: json.RawMessage(`{"type":"object","properties":{"path":{}}}`)},
			{Name: "list"},
		},
		MaxTokens: 99,
	}
}

func TestAChatWithToolsGoesOverMCP(t *testing.T) {
	t.Parallel()
	s := start(t, "iris")
	s.provider.answer = whole(answer)
	c := s.dial(overmcp.Settings{Conversation: "workshop"})
	require.Equal(t, "iris", c.Agent(), "the only one")
	require.Zero(t, s.leases("iris"), "who only looks wakes nobody")
	var pieces []string
	reply, err := c.Chat(t.Context(), request(), func(piece string) { pieces = append(pieces, piece) })
	require.NoError(t, err)
	require.Equal(t, message.Reply{
		Message: message.Message{
			Role:    message.Assistant,
			Content: "I look.",
			Calls:   []message.Call{{ID: "c2", Name: "read", Arguments: `{"path":"a"}`}},
		},
		Finish: "tool_calls",
		Usage:  message.Usage{Input: 50, Output: 7, Cached: 20},
		Notes:  message.Notes{Skipped: "nothing", Woke: true},
	}, reply)
	require.Equal(t, "I look.", strings.Join(pieces, ""))
	body := s.provider.last(t)
	require.Contains(t, body,
		`{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{\"path\":"}}]},`+
			`{"role":"tool","content":"no such file","tool_call_id":"c1"}`)
	require.Contains(t, body, `"max_tokens":99`)
	require.Contains(t, body, `"name":"list","parameters":{"type":"object","properties":{}}`)
	reply, err = c.Chat(t.Context(), request(), nil)
	require.NoError(t, err)
	require.False(t, reply.Notes.Woke, "it is awake")
}

func TestAQuietChatIsNotRemembered(t *testing.T) {
	t.Parallel()
	for _, quiet := range []bool{false, true} {
		s := start(t, "iris")
		s.provider.answer = whole(answer)
		c := s.dial(overmcp.Settings{Agent: "iris"})
		r := request()
		r.Quiet = quiet
		_, err := c.Chat(t.Context(), r, nil)
		require.NoError(t, err)
		require.NoError(t, s.service.Close(t.Context())) // waits for what is being remembered
		if quiet {
			require.Zero(t, s.service.Counts()["stored"])
		} else {
			require.Positive(t, s.service.Counts()["stored"])
		}
	}
}

// halted is an answer that stops after its first part until it is closed.
type halted struct {
	first  *strings.Reader
	closed chan struct{}
	once   sync.Once
}

func (h *halted) Read(p []byte) (int, error) {
	if h.first.Len() > 0 {
		return h.first.Read(p)
	}
	<-h.closed
	return 0, errors.New("closed")
}

func (h *halted) Close() error {
	h.once.Do(func() { close(h.closed) })
	return nil
}

func TestACanceledChatHasWhatHadComeAndStopsTheProvider(t *testing.T) {
	t.Parallel()
	s := start(t, "iris")
	body := &halted{
		first:  strings.NewReader(`data: {"choices":[{"index":0,"delta":{"content":"Half"}}]}` + "\n\n"),
		closed: make(chan struct{}),
	}
	s.provider.answer = func(ctx context.Context) io.ReadCloser {
		context.AfterFunc(ctx, func() { _ = body.Close() }) // as a provider's connection ends
		return body
	}
	c := s.dial(overmcp.Settings{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	reply, err := c.Chat(ctx, request(), func(string) { cancel() })
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, "Half", reply.Message.Content)
	require.Empty(t, reply.Finish)
	<-body.closed
	s.provider.answer = whole(answer)
	reply, err = c.Chat(t.Context(), request(), nil)
	require.NoError(t, err, "the connection lives on")
	require.Equal(t, "I look.", reply.Message.Content)
}

func TestDialSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	s := start(t, "iris", "noor")
	fails := func(o overmcp.Settings, says string) {
		t.Helper()
		if o.URL == "" {
			o.URL = s.url
		}
		_, err := overmcp.Dial(t.Context(), o)
		require.ErrorContains(t, err, says)
		if o.Key != "" {
			require.NotContains(t, err.Error(), o.Key)
		}
	}
	fails(overmcp.Settings{}, "agent is missing, and more than one can be reached: iris, noor")
	fails(overmcp.Settings{Agent: "zoe"}, `There is no agent "zoe"`)
	s = start(t, "iris", "noor")
	secret := s.key(access.Client, "iris")
	fails(overmcp.Settings{Agent: "noor", Key: secret}, `There is no agent "noor"`)
	fails(overmcp.Settings{Agent: "iris", Key: access.SecretPrefix + strings.Repeat("a", 52)}, "does not know this key")
	fails(overmcp.Settings{Agent: "iris"}, "needs a key; `oneiros keys add` makes one")
	for _, suffix := range []string{"", "/", "/v1", "/mcp/"} {
		c, err := overmcp.Dial(t.Context(), overmcp.Settings{URL: s.url + suffix, Key: secret})
		require.NoError(t, err, "control: a key that is known")
		require.Equal(t, "iris", c.Agent())
		require.NotContains(t, c.Tools(), "journal")
		require.NoError(t, c.Close())
	}

	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	fails(overmcp.Settings{URL: plain.URL}, "there is no MCP at "+plain.URL+"/mcp (HTTP 404)")
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	fails(overmcp.Settings{URL: closed.URL}, "nothing answers at "+closed.URL+"/mcp")
	fails(overmcp.Settings{URL: "iris"}, `url is "iris"; it must begin with http:// or https://`)
	moved := httptest.NewServer(http.RedirectHandler(s.url, http.StatusTemporaryRedirect))
	defer moved.Close()
	fails(overmcp.Settings{URL: moved.URL, Key: secret}, "HTTP 307")

	other := mcp.NewServer(&mcp.Implementation{Name: "clock", Version: "1"}, nil)
	served := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return other }, nil))
	defer served.Close()
	fails(overmcp.Settings{URL: served.URL}, "is no server of Oneiros but clock: it has no tool chat")
	mcp.AddTool(other, &mcp.Tool{Name: "chat"},
		func(context.Context, *mcp.CallToolRequest, struct {
			Message string `json:"message"`
		},
		) (*mcp.CallToolResult, any, error) {
			return nil, nil, nil
		})
	fails(overmcp.Settings{URL: served.URL}, "too old")
}

func TestOtherToolsAreCalledForTheAgent(t *testing.T) {
	t.Parallel()
	s := start(t, "iris", "noor")
	c := s.dial(overmcp.Settings{Agent: "iris", User: "ann"})
	require.Contains(t, c.Tools(), "recall_memory")
	remember := map[string]any{"content": "The boat in the north harbour is green."}
	require.NoError(t, c.Call(t.Context(), "store_memory", remember, nil))
	var found struct {
		Memories []struct{ Content string }
	}
	recall := map[string]any{"query": "boat in the harbour"}
	require.NoError(t, c.Call(t.Context(), "recall_memory", recall, &found))
	require.Len(t, found.Memories, 1)
	for _, other := range []*overmcp.Client{
		s.dial(overmcp.Settings{Agent: "noor", User: "ann"}), s.dial(overmcp.Settings{Agent: "iris", User: "bob"}),
	} {
		require.NoError(t, other.Call(t.Context(), "recall_memory", recall, &found))
		require.Empty(t, found.Memories, "another agent, or another user")
	}
	err := c.Call(t.Context(), "recall_memory", map[string]any{"query": "x", "n": 0}, nil)
	require.ErrorContains(t, err, "n is 0; it must be a whole number from 1 to 50")
	refused, ok := errors.AsType[*overmcp.Error](err)
	require.True(t, ok)
	require.Equal(t, "recall_memory", refused.Tool)
	require.ErrorContains(t, c.Call(t.Context(), "fly", nil, nil), `offers this key no tool "fly"`)
	require.ErrorContains(t, c.Call(t.Context(), "status", []int{1}, nil), "the arguments of status must be an object")
}

// unreliable fails the requests for one tool while it is set to.
type unreliable struct {
	fails    atomic.Bool
	failed   chan struct{} // gets each request that failed
	answered chan struct{}
}

func (u *unreliable) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Mcp-Name") != "connect" {
		return http.DefaultTransport.RoundTrip(r)
	}
	if u.fails.Load() {
		u.failed <- struct{}{}
		return nil, errors.New("the network is down")
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	u.answered <- struct{}{}
	return res, err
}

// set lets requests fail from now on, or not, and waits for the first for which that holds. One that had begun before
// may still end otherwise.
func (u *unreliable) set(fails bool) {
	u.fails.Store(fails)
	awaited, other := u.answered, u.failed
	if fails {
		awaited, other = other, awaited
	}
	for {
		select {
		case <-awaited:
			return
		case <-other:
		}
	}
}

func TestAHoldKeepsTheAgentAwakeAcrossALostConnectionAndLetsItGo(t *testing.T) {
	t.Parallel()
	s := start(t, "iris")
	network := &unreliable{failed: make(chan struct{}), answered: make(chan struct{})}
	c := s.dial(overmcp.Settings{HTTP: &http.Client{Transport: network}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	network.fails.Store(true)
	ended := make(chan error, 1)
	go func() {
		err := c.HoldRenewed(ctx, 10*time.Millisecond)
		if ctx.Err() == nil {
			t.Errorf("the hold ended by itself: %v", err)
			close(network.failed) // so that nobody waits for it
			close(network.answered)
		}
		ended <- err
	}()
	network.set(true)
	require.Zero(t, s.leases("iris"))
	network.set(false)
	require.Equal(t, 1, s.leases("iris"))
	network.set(true)
	network.set(true)
	network.set(false)
	require.Equal(t, 1, s.leases("iris"), "the same hold")
	cancel()
	for over := false; !over; {
		select {
		case <-network.answered: // a renewal under way
		case err := <-ended:
			require.NoError(t, err)
			over = true
		}
	}
	require.Zero(t, s.leases("iris"))
}

func TestAHoldThatIsRefusedSaysWhy(t *testing.T) {
	t.Parallel()
	s := start(t, "iris")
	c := s.dial(overmcp.Settings{Agent: "iris"})
	_, err := s.store.DropAgent(t.Context(), "ag_iris", time.Now())
	require.NoError(t, err)
	s.service.Reread(presence.WakeNotice{Agent: "ag_iris", Epoch: presence.EveryEpoch})
	require.ErrorContains(t, c.Hold(t.Context()), "There is no agent")
}

func TestAConversationThatMCPDoesNotCarryIsRefusedInWords(t *testing.T) {
	t.Parallel()
	s := start(t, "iris")
	s.provider.answer = whole(answer)
	c := s.dial(overmcp.Settings{})
	r := request()
	r.Messages[1].Content = strings.Repeat("x", 5<<20)
	_, err := c.Chat(t.Context(), r, nil)
	require.ErrorContains(t, err, "/compact")
	_, err = c.Chat(t.Context(), request(), nil)
	require.NoError(t, err, "the next call begins a connection of its own")
}
