package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// toolset answers the requests of one server.
type toolset struct {
	service Service
	dreams  Dreams // nil: no tools for dreams
	look    time.Duration
	server  *mcp.Server
	role    access.Role
	only    *psyche.Caller // the caller of all requests; nil: each request has its own
	report  func(error)
	takes   map[string]*jsonschema.Schema // the arguments of each tool
}

// checkArguments refuses arguments that a tool does not take, with a message of this package.
func (d *toolset) checkArguments(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		tool, ok := req.(*mcp.CallToolRequest)
		if !ok || tool.Params == nil || d.takes[tool.Params.Name] == nil {
			return next(ctx, method, req)
		}
		if text := argumentFaults(tool.Params.Name, d.takes[tool.Params.Name], tool.Params.Arguments); text != "" {
			result := &mcp.CallToolResult{}
			result.SetError(errors.New(text))
			return result, nil
		}
		return next(ctx, method, req)
	}
}

type callerKey struct{}

// recoverPanics keeps a panic of one request from ending the process, since requests run in the library's goroutines.
// It also replaces null arguments by the empty object, into which the library can put defaults.
func (d *toolset) recoverPanics(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (result mcp.Result, err error) {
		defer func() {
			if answer := recover(); answer != nil {
				d.report(fmt.Errorf("%s panicked: %v\n%s", method, answer, debug.Stack()))
				result, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: errUnknown.Error()}
			}
		}()
		if tool, ok := req.(*mcp.CallToolRequest); ok && tool.Params != nil &&
			string(bytes.TrimSpace(tool.Params.Arguments)) == "null" {
			tool.Params.Arguments = json.RawMessage("{}")
		}
		return next(ctx, method, req)
	}
}

// withCaller gives each request its caller and its client's context, and refuses one without a caller or of another
// version than its session's.
func (d *toolset) withCaller(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if d.only != nil {
			return next(context.WithValue(ctx, callerKey{}, *d.only), method, req)
		}
		v, ok := clientOf(req)
		if !ok {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "the sender of this request is not known"}
		}
		if fault := sameVersion(req); fault != nil {
			return nil, fault
		}
		// Nothing else lasts, and a notification's HTTP request ends before it is handled.
		if method == "tools/call" || method == "resources/read" {
			var removed context.CancelFunc
			ctx, removed = withRequest(ctx, v.ctx)
			defer removed()
		}
		return next(context.WithValue(ctx, callerKey{}, v.caller), method, req)
	}
}

func callerOf(ctx context.Context) psyche.Caller {
	c, _ := ctx.Value(callerKey{}).(psyche.Caller)
	return c
}

const versionHeader = "MCP-Protocol-Version"

// sameVersion refuses a request whose header names another version than its session's. Requests without a session
// carry their version themselves, and the library compares it.
func sameVersion(req mcp.Request) error {
	session, ok := req.GetSession().(*mcp.ServerSession)
	if !ok || session.ID() == "" || session.InitializeParams() == nil {
		return nil
	}
	text := req.GetExtra().Header.Get(versionHeader)
	agreed := session.InitializeParams().ProtocolVersion
	if text == "" || text == agreed || !slices.Contains(sessionVersions, agreed) {
		return nil
	}
	return &jsonrpc.Error{
		Code:    mcp.CodeHeaderMismatch,
		Message: fmt.Sprintf("%s is %q; this session speaks %q", versionHeader, text, agreed),
	}
}

// toolSpec is one tool: its description, the role it needs, and its function. The result is returned as data that
// fits the schema, and as text; with a nil text function the text is the data's JSON.
type toolSpec[In, Out any] struct {
	role  access.Role
	name  string
	title string
	about string
	hints *mcp.ToolAnnotations
	shape func(in *jsonschema.Schema)
	do    func(ctx context.Context, k toolCall, in In) (Out, error)
	text  func(Out) string
}

// toolCall is a call of a tool.
type toolCall struct {
	caller psyche.Caller
	req    *mcp.CallToolRequest
	agent  string // that the arguments name, or the only one that the caller reaches; empty where they take none
}

// add registers a tool at a server whose role may use it.
func add[In, Out any](d *toolset, e toolSpec[In, Out]) {
	if !d.role.Includes(e.role) {
		return
	}
	in := schema[In](e.shape)
	d.takes[e.name], e.hints.Title = in, e.title
	tool := &mcp.Tool{
		Name:         e.name,
		Title:        e.title,
		Description:  e.about,
		Annotations:  e.hints,
		InputSchema:  in,
		OutputSchema: schema[Out](nil),
	}
	mcp.AddTool(d.server, tool,
		func(ctx context.Context, req *mcp.CallToolRequest, in In) (_ *mcp.CallToolResult, out Out, err error) {
			k := toolCall{caller: callerOf(ctx), req: req}
			if role := k.caller.Key.Role; !role.Includes(e.role) { // the session began with a key of another role
				return nil, out, fmt.Errorf("%s needs a key of role %s; yours is of role %s", e.name, e.role, role)
			}
			if one, ok := any(in).(interface{ named() string }); ok {
				k.agent, err = d.agent(ctx, k.caller, one.named())
			}
			if err == nil {
				out, err = e.do(ctx, k, in)
			}
			if err != nil {
				if isInternal(err) {
					d.report(fmt.Errorf("%s: %w", e.name, err))
				}
				return nil, out, clientError(err)
			}
			result := &mcp.CallToolResult{}
			if e.text != nil {
				result.Content = []mcp.Content{&mcp.TextContent{Text: e.text(out)}}
			}
			return result, out, nil
		})
}

// schema is the schema of a type, with lists that are never null, after adjust.
func schema[T any](adjust func(*jsonschema.Schema)) *jsonschema.Schema {
	s, err := jsonschema.ForType(reflect.TypeFor[T](), &jsonschema.ForOptions{})
	if err != nil {
		panic(err) // an error in this package's types, which every test would find
	}
	neverNull(s)
	if adjust != nil {
		adjust(s)
	}
	return s
}

func neverNull(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Types) == 2 && slices.Contains(s.Types, "null") {
		s.Type, s.Types = s.Types[1-slices.Index(s.Types, "null")], nil
	}
	for _, p := range s.Properties {
		neverNull(p)
	}
	neverNull(s.Items)
}

// list returns s, but never nil, which JSON would write as null.
func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// isInternal reports whether a failure is the server's, not the caller's.
func isInternal(err error) bool {
	var fault *psyche.Fault
	if errors.As(err, &fault) {
		return fault.Status >= http.StatusInternalServerError
	}
	return !errors.Is(err, context.Canceled)
}

var errUnknown = errors.New("the server could not do this; its log says why")

// clientError is the error that a client is shown: a sentence without internals.
func clientError(err error) error {
	if trouble := psyche.StoreFault(err); trouble != nil {
		err = trouble
	}
	var fault *psyche.Fault
	switch {
	case errors.As(err, &fault):
		text := fault.Message
		if fault.Retry > 0 {
			text += fmt.Sprintf(" (try again in %d s)", int64(math.Ceil(fault.Retry.Seconds())))
		}
		return errors.New(text)
	case errors.Is(err, context.Canceled):
		return errors.New("the call was cancelled")
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("the call took longer than it may")
	default:
		return errUnknown
	}
}

// agent is the named agent, else the only one that the caller reaches.
func (d *toolset) agent(ctx context.Context, c psyche.Caller, named string) (string, error) {
	if named != "" {
		return named, nil
	}
	agents, err := d.service.Agents(ctx, c)
	if err != nil {
		return "", err
	}
	switch len(agents) {
	case 0:
		return "",
			psyche.Refuse(http.StatusNotFound, "agent_not_found", "", "there is no agent that this key reaches")
	case 1:
		return agents[0].Handle, nil
	}
	handles := make([]string, 0, mostNamed)
	for _, a := range agents[:min(len(agents), mostNamed)] {
		handles = append(handles, a.Handle)
	}
	if len(agents) > mostNamed {
		handles = append(handles, "...")
	}
	return "", psyche.Refuse(http.StatusBadRequest, "agent_missing", "agent",
		"%s", "agent is missing, and more than one can be reached: "+strings.Join(handles, ", "))
}

// mostNamed bounds the agents named in one sentence.
const mostNamed = 10
