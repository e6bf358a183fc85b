// Package plugin gives Hermes the tools of MCP servers that its user has chosen: programs on this machine, or servers
// at an address.
package plugin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-56a03226/oneiros/internal/hermes/message"
)

// Server is one MCP server: a program that is started, or an address.
type Server struct {
	Name    string // begins the names of its tools
	Command string
	Args    []string
	Env     map[string]string // beside what every program gets, such as PATH and HOME
	URL     string
	Headers map[string]string
	Limit   time.Duration // of one call; 0: DefaultLimit
}

// Limits of servers.
const (
	DefaultLimit = 2 * time.Minute

	startWithin   = 30 * time.Second // a program may have to be fetched first
	mostTools     = 128              // of one server
	longestSchema = 48 << 10         // bytes
	longestAbout  = 4 << 10          // bytes of a description
	longestName   = 64               // characters, as models accept them
	largestAnswer = 16 << 20         // bytes of one message of a server
)

// Set has the servers that were started. It is safe for concurrent use.
type Set struct {
	servers []*server
	tools   []message.Tool
	byName  map[string]place
}

// place is where a tool is found.
type place struct {
	server *server
	name   string // at the server
}

// server is one of them, and its connection.
type server struct {
	Server
	log *log

	mu      sync.Mutex
	session *mcp.ClientSession // nil: to be started again
	process *process           // nil: an address
	closed  bool
}

// Start starts all servers at once and lists their tools. A server that does not start, and a tool that cannot be
// offered, is an error that names it; the others serve. What programs write to standard error goes to stderr, line by
// line, after their name.
func Start(ctx context.Context, servers []Server, stderr io.Writer) (*Set, []error) {
	s := &Set{byName: map[string]place{}}
	var failed []error
	shared := &sharedWriter{to: stderr}
	all := slices.SortedFunc(slices.Values(servers), func(a, b Server) int { return cmp.Compare(a.Name, b.Name) })
	for i, each := range all {
		err := each.valid()
		if err == nil && i > 0 && all[i-1].Name == each.Name {
			err = errors.New("two servers have this name")
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("server %q: %w", each.Name, err))
			continue
		}
		s.servers = append(s.servers, &server{Server: each, log: &log{name: each.Name, to: shared}})
	}
	lists := make([][]*mcp.Tool, len(s.servers))
	errs := make([]error, len(s.servers))
	var starting sync.WaitGroup
	for i, each := range s.servers {
		starting.Go(func() { lists[i], errs[i] = each.begin(ctx) })
	}
	starting.Wait()
	for i, each := range s.servers {
		if errs[i] != nil {
			failed = append(failed, fmt.Errorf("server %q: %w", each.Name, errs[i]))
		}
		for _, t := range lists[i] {
			if err := s.offer(each, t); err != nil {
				failed = append(failed, fmt.Errorf("server %q: tool %q is left out: %w", each.Name, clip(t.Name, 80), err))
			}
		}
	}
	return s, failed
}

var nameOfServer = regexp.MustCompile(`^[A-Za-z0-9]([_-]?[A-Za-z0-9]){0,31}$`)

func (s *Server) valid() error {
	switch {
	case !nameOfServer.MatchString(s.Name):
		return errors.New("its name must be letters and digits, with single - and _ between them, such as files")
	case (s.Command == "") == (s.URL == ""):
		return errors.New("it must have either a command or a url")
	case s.Limit < 0:
		return fmt.Errorf("its limit is %v; it must be above 0", s.Limit)
	case s.URL == "":
		return nil
	}
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("its url is %q; it must begin with http:// or https://", s.URL)
	}
	return nil
}

// begin starts the server and lists its tools.
func (s *server) begin(ctx context.Context) ([]*mcp.Tool, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startWithin, fmt.Errorf("it did not answer within %v", startWithin))
	defer cancel()
	session, err := s.connected(ctx)
	if err != nil {
		return nil, err
	}
	var tools []*mcp.Tool
	for t, err := range session.Tools(ctx, nil) {
		switch {
		case err != nil:
			s.drop(session)
			return nil, fmt.Errorf("its tools could not be listed: %w", because(ctx, err))
		case len(tools) == mostTools:
			return tools, fmt.Errorf("it has more than %d tools; the others are left out", mostTools)
		}
		tools = append(tools, t)
	}
	return tools, nil
}

// because is the cause of a context that has ended, else the error.
func because(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// connected is the connection to the server, which is started if it is not there.
func (s *server) connected(ctx context.Context) (*mcp.ClientSession, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.New("it was ended")
	}
	if s.session != nil && (s.process == nil || s.process.running()) {
		return s.session, nil
	}
	s.end()
	transport := s.remote()
	if s.URL == "" {
		p, err := start(&s.Server, s.log)
		if err != nil {
			return nil, err
		}
		s.process, transport = p, p.transport()
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "hermes", Version: "1"},
		&mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}}) // nothing may be asked of us
	session, err := client.Connect(ctx, transport, nil)
	if err == nil {
		s.session = session
		return session, nil
	}
	err = because(ctx, err)
	if s.process != nil {
		err = s.process.why(err)
	}
	s.end()
	return nil, err
}

// drop ends a connection that is broken, and its program, so that the next call starts it again.
func (s *server) drop(session *mcp.ClientSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session == session {
		s.end()
	}
}

// end ends the connection and the program. Its caller holds the lock.
func (s *server) end() {
	if s.process != nil {
		s.process.end()
		s.process = nil
	}
	if s.session != nil {
		session := s.session
		s.session = nil
		go func() { _ = session.Close() }() // which may ask a server that is gone
	}
}

// offer adds a tool, unless no model could be offered it.
func (s *Set) offer(at *server, t *mcp.Tool) error {
	parameters, err := schemaOf(t)
	if err != nil {
		return err
	}
	name := nameOf(at.Name, t.Name)
	if _, taken := s.byName[name]; taken {
		return errors.New("another has the same name")
	}
	s.byName[name] = place{at, t.Name}
	s.tools = append(s.tools, message.Tool{
		Name:        name,
		Description: clip(strings.ToValidUTF8(t.Description, "\ufffd"), longestAbout),
		Parameters:  parameters,
		Effect:      message.Runs,
	})
	return nil
}

// Tools are the tools of all servers, by the name of the server, then in its order. What a tool claims of its effects
// is not relied on: each counts as one that runs a program.
func (s *Set) Tools() []message.Tool { return slices.Clone(s.tools) }

// Preview shows what a call asks of which server.
func (s *Set) Preview(call message.Call) (message.Preview, error) {
	at, arguments, err := s.find(call)
	if err != nil {
		return message.Preview{}, err
	}
	body, err := json.MarshalIndent(arguments, "", "  ")
	if err != nil {
		return message.Preview{}, err
	}
	p := message.Preview{
		Title:   fmt.Sprintf("ask %s: %s", at.server.Name, plainText(at.name)),
		Body:    string(body),
		Warning: fmt.Sprintf("%s is a program that runs with your rights and is not confined.", at.server.Name),
	}
	if at.server.URL != "" {
		p.Warning = fmt.Sprintf("What you see is sent to %s.", at.server.URL)
	}
	return p, nil
}

// find is where a call goes, with its arguments.
func (s *Set) find(call message.Call) (place, map[string]json.RawMessage, error) {
	at, found := s.byName[call.Name]
	if !found {
		return at, nil, fmt.Errorf("no server has a tool %q", clip(call.Name, 80))
	}
	arguments := map[string]json.RawMessage{}
	if strings.TrimSpace(call.Arguments) == "" {
		return at, arguments, nil
	}
	if err := json.Unmarshal([]byte(call.Arguments), &arguments); err != nil {
		return at, nil, fmt.Errorf("the arguments of %s must be a JSON object: %w", call.Name, err)
	}
	if arguments == nil {
		arguments = map[string]json.RawMessage{}
	}
	return at, arguments, nil
}

// Run calls a tool. A closed soft, or the end of the context, cancels the call at the server. A server that has died
// is started again before the call; a call in which it dies is not repeated.
func (s *Set) Run(ctx context.Context, soft <-chan struct{}, call message.Call) message.Result {
	at, arguments, err := s.find(call)
	if err != nil {
		return failure("%s", err)
	}
	server := at.server
	limit := cmp.Or(server.Limit, DefaultLimit)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errLate)
	defer cancel()
	ctx, interrupt := context.WithCancelCause(ctx)
	defer interrupt(nil)
	go func() {
		select {
		case <-soft:
			interrupt(errSoft)
		case <-ctx.Done():
		}
	}()
	starting, started := context.WithTimeoutCause(ctx, startWithin, fmt.Errorf("it did not answer within %v", startWithin))
	session, err := server.connected(starting)
	started()
	if err != nil && ctx.Err() == nil {
		return failure("the server %s could not be started again: %s", server.Name, err)
	}
	var result *mcp.CallToolResult
	if err == nil {
		result, err = session.CallTool(ctx, &mcp.CallToolParams{Name: at.name, Arguments: arguments})
	}
	switch {
	case err == nil:
		return resultOf(result)
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), errLate):
		return failure("%s did not answer within %v; the call was cancelled, and it may have done a part of it",
			server.Name, limit)
	case ctx.Err() != nil:
		stopped := failure("interrupted; %s was told to cancel the call, and may have done a part of it", server.Name)
		stopped.Interrupted = true
		return stopped
	}
	if refused, ok := errors.AsType[*jsonrpc.Error](err); ok && refused.Code != unsent && server.alive() {
		return failure("%s refuses the call: %s", server.Name, clip(plainText(refused.Message), 2000))
	}
	server.drop(session)
	return failure("%s broke off in the middle of the call (%s). What it had done by then is not known; it is started again at the next call",
		server.Name, clip(plainText(err.Error()), 500))
}

// unsent is the code by which the library marks a request that no server has answered.
const unsent = -32005

var (
	errLate = errors.New("it took too long")
	errSoft = errors.New("interrupted")
)

func (s *server) alive() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process == nil || s.process.running()
}

// Close ends all servers. No program that was started is left.
func (s *Set) Close() error {
	var ending sync.WaitGroup
	for _, each := range s.servers {
		ending.Go(func() {
			each.mu.Lock()
			defer each.mu.Unlock()
			each.closed = true
			each.end()
		})
	}
	ending.Wait()
	return nil
}
