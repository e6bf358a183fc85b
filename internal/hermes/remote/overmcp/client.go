// Package overmcp talks with an agent over the Model Context Protocol, at the address of an Oneiros server.
package overmcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-56a03226/oneiros/internal/hermes/remote"
)

// Settings say which server is asked, and as whom.
type Settings struct {
	URL          string       // of the server, with or without /v1 or /mcp
	Key          string       // empty where the server needs none
	Agent        string       // handle; empty: the only one that the key reaches
	Conversation string       // name of the conversation; empty: the server knows it by its first message
	User         string       // of several that use one key; empty: the key's only one
	HTTP         *http.Client // nil: one without a time limit for whole answers
}

// Client talks with one agent. It is safe for concurrent use.
type Client struct {
	s        Settings
	endpoint string
	http     *http.Client
	offered  map[string]tool // by name
	handle   string          // of the agent

	mu      sync.Mutex
	session *mcp.ClientSession // nil: to be connected anew
	answers map[string]func(string)
	count   int
}

// tool is what matters of a tool of the server.
type tool struct{ takesAgent, takesMessages bool }

// Error is the server's refusal of a call, in its own words.
type Error struct{ Tool, Text string }

func (e *Error) Error() string { return e.Text }

// largestEvent is how many bytes one answer may have.
const largestEvent = 32 << 20

// Dial connects to a server and finds the agent, without waking it.
func Dial(ctx context.Context, s Settings) (*Client, error) {
	base, err := baseOf(s.URL)
	if err != nil {
		return nil, err
	}
	c := &Client{s: s, endpoint: base + "/mcp", answers: map[string]func(string){}}
	c.http = client(s)
	if err := c.learn(ctx); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// learn lists the tools and finds the agent.
func (c *Client) learn(ctx context.Context) error {
	session, err := c.connected(ctx)
	if err != nil {
		return err
	}
	c.offered = map[string]tool{}
	for t, err := range session.Tools(ctx, nil) {
		if err != nil {
			return c.plain(ctx, err)
		}
		c.offered[t.Name] = tool{takes(t, "agent"), takes(t, "messages")}
	}
	chat, found := c.offered["chat"]
	name := "another program"
	if info := session.InitializeResult(); info != nil && info.ServerInfo != nil {
		name = info.ServerInfo.Name
	}
	switch {
	case !found:
		return fmt.Errorf("%s is no server of Oneiros but %s: it has no tool chat", c.endpoint, name)
	case !chat.takesMessages:
		return fmt.Errorf("the server at %s is too old to be reached over MCP: its tool chat takes no messages. Use HTTP", c.endpoint)
	}
	var status struct {
		Agent string `json:"agent"`
	}
	if err := c.Call(ctx, "status", nil, &status); err != nil {
		return err
	}
	c.handle = status.Agent
	return nil
}

func takes(t *mcp.Tool, argument string) bool {
	schema, _ := t.InputSchema.(map[string]any)
	properties, _ := schema["properties"].(map[string]any)
	return properties[argument] != nil
}

// baseOf is the address of the server, without what its APIs add.
func baseOf(text string) (string, error) {
	base, err := remote.BaseOf(text)
	return strings.TrimSuffix(strings.TrimSuffix(base, "/v1"), "/mcp"), err
}

// client sends the key and the user with each request, and follows no redirect, which could carry the key elsewhere.
func client(s Settings) *http.Client {
	c := http.Client{}
	if s.HTTP != nil {
		c = *s.HTTP
	}
	next := c.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	c.Transport = &identified{next, s.Key, s.User}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

type identified struct {
	next      http.RoundTripper
	key, user string
}

func (i *identified) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if i.key != "" {
		r.Header.Set("Authorization", "Bearer "+i.key)
	}
	if i.user != "" {
		r.Header.Set("X-Oneiros-User", i.user)
	}
	res, err := i.next.RoundTrip(r)
	if note, ok := r.Context().Value(refusalKey{}).(*refusal); ok {
		note.set(res, err)
	}
	return res, err
}

// refusal is how the server refused the newest request of a call. The library's own errors have no status.
type refusal struct {
	mu     sync.Mutex
	status int   // 0: the request was answered
	err    error // nil: the server was reached
}

type refusalKey struct{}

func (r *refusal) set(res *http.Response, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status, r.err = 0, err
	if err == nil && res.StatusCode/100 != 2 {
		r.status = res.StatusCode
	}
}

// plain says in words why a request failed.
func (c *Client) plain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	note, ok := ctx.Value(refusalKey{}).(*refusal)
	if !ok {
		return fmt.Errorf("%s: %w", c.endpoint, err)
	}
	note.mu.Lock()
	defer note.mu.Unlock()
	switch {
	case note.err != nil:
		return fmt.Errorf("nothing answers at %s: %w", c.endpoint, note.err)
	case note.status == http.StatusUnauthorized && c.s.Key == "":
		return fmt.Errorf("the server at %s needs a key; `oneiros keys add` makes one", c.endpoint)
	case note.status == http.StatusUnauthorized:
		return fmt.Errorf("the server at %s does not know this key; `oneiros keys add` makes one", c.endpoint)
	case note.status == http.StatusForbidden:
		return fmt.Errorf("the server at %s refuses this key or this address (HTTP 403)", c.endpoint)
	case note.status == http.StatusNotFound, note.status == http.StatusMethodNotAllowed:
		return fmt.Errorf("there is no MCP at %s (HTTP %d)", c.endpoint, note.status)
	case note.status == http.StatusRequestEntityTooLarge:
		return errors.New("the conversation is larger than one message of MCP may be; shorten it with /compact")
	case note.status != 0:
		return fmt.Errorf("the server at %s answers HTTP %d: %w", c.endpoint, note.status, err)
	}
	return fmt.Errorf("%s does not speak the Model Context Protocol as expected: %w", c.endpoint, err)
}

// noted is a context that knows how the server refuses what is asked in it.
func noted(ctx context.Context) context.Context {
	if _, ok := ctx.Value(refusalKey{}).(*refusal); ok {
		return ctx
	}
	return context.WithValue(ctx, refusalKey{}, &refusal{})
}

// connected is the session, begun anew if there is none.
func (c *Client) connected(ctx context.Context) (*mcp.ClientSession, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session != nil {
		return c.session, nil
	}
	ctx = noted(ctx)
	self := &mcp.Implementation{Name: "hermes", Version: version()}
	session, err := mcp.NewClient(self, &mcp.ClientOptions{
		Capabilities:                &mcp.ClientCapabilities{},
		ProgressNotificationHandler: c.progress,
	}).Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint:             c.endpoint,
		HTTPClient:           c.http,
		MaxRetries:           -1,
		MaxEventSize:         largestEvent,
		DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		return nil, c.plain(ctx, err)
	}
	c.session = session
	return session, nil
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "dev"
}

// drop forgets a session that is broken, so that the next call begins another.
func (c *Client) drop(session *mcp.ClientSession) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == session {
		c.session = nil
		go func() { _ = session.Close() }() // which may ask a server that is gone
	}
}

// Agent is the handle of the agent.
func (c *Client) Agent() string { return c.handle }

// Tools are the names of the tools that the server offers to this key.
func (c *Client) Tools() []string {
	names := make([]string, 0, len(c.offered))
	for name := range c.offered {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Call calls a tool and reads its result into a value, which may be nil. Where the tool takes an agent and the
// arguments name none, it is asked of the client's.
func (c *Client) Call(ctx context.Context, name string, arguments, into any) error {
	if _, found := c.offered[name]; !found {
		return &Error{Tool: name, Text: fmt.Sprintf("the server offers this key no tool %q", name)}
	}
	given, err := c.arguments(name, arguments)
	if err != nil {
		return err
	}
	return c.call(ctx, &mcp.CallToolParams{Name: name, Arguments: given}, into)
}

// arguments are the arguments as an object, with the agent.
func (c *Client) arguments(name string, arguments any) (map[string]json.RawMessage, error) {
	given := map[string]json.RawMessage{}
	if arguments != nil {
		text, err := json.Marshal(arguments)
		if err == nil {
			err = json.Unmarshal(text, &given)
		}
		if err != nil {
			return nil, fmt.Errorf("the arguments of %s must be an object: %w", name, err)
		}
	}
	if c.s.Agent != "" && c.offered[name].takesAgent && given["agent"] == nil {
		given["agent"], _ = json.Marshal(c.s.Agent) // a string
	}
	return given, nil
}

// unsent is the code by which the library marks a request that no server has answered.
const unsent = -32005

func (c *Client) call(ctx context.Context, params *mcp.CallToolParams, into any) error {
	ctx = noted(ctx)
	session, err := c.connected(ctx)
	if err != nil {
		return err
	}
	result, err := session.CallTool(ctx, params)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if refused, ok := errors.AsType[*jsonrpc.Error](err); ok && refused.Code != unsent {
			return &Error{Tool: params.Name, Text: refused.Message}
		}
		c.drop(session)
		return c.plain(ctx, err)
	}
	if result.IsError {
		return &Error{Tool: params.Name, Text: textOf(result.Content)}
	}
	if into == nil {
		return nil
	}
	text, err := json.Marshal(result.StructuredContent)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return fmt.Errorf("the result of %s is not as expected: %w", params.Name, err)
	}
	return nil
}

func textOf(content []mcp.Content) string {
	var all []string
	for _, c := range content {
		if text, ok := c.(*mcp.TextContent); ok {
			all = append(all, text.Text)
		}
	}
	return strings.Join(all, "\n")
}

// Close ends the connection.
func (c *Client) Close() error {
	c.mu.Lock()
	session := c.session
	c.session = nil
	c.mu.Unlock()
	if session == nil {
		return nil
	}
	return session.Close()
}
