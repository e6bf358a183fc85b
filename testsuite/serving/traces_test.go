package serving_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	collected "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/serving/talker"
)

// collector receives spans over OTLP.
type collector struct {
	testing.TB
	url   string
	mu    sync.Mutex
	spans map[string]*trace.Span // by id
	fault error
}

func startCollector(t testing.TB) *collector {
	t.Helper()
	c := &collector{TB: t, spans: map[string]*trace.Span{}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := c.take(r); err != nil {
			c.mu.Lock()
			c.fault = err
			c.mu.Unlock()
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(s.Close)
	c.url = s.URL
	return c
}

func (c *collector) take(r *http.Request) error {
	var body io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(body)
		if err != nil {
			return err
		}
		body = unzipped
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	var came collected.ExportTraceServiceRequest
	if err := proto.Unmarshal(text, &came); err != nil {
		return fmt.Errorf("%s %s: %w", r.Method, r.URL.Path, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, of := range came.ResourceSpans {
		for _, scope := range of.ScopeSpans {
			for _, s := range scope.Spans {
				c.spans[hex.EncodeToString(s.SpanId)] = s
			}
		}
	}
	return nil
}

// all are the received spans, in the order of their beginning.
func (c *collector) all() []*trace.Span {
	c.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	require.NoError(c, c.fault)
	var all []*trace.Span
	for _, s := range c.spans {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *trace.Span) int { return cmp.Compare(a.StartTimeUnixNano, b.StartTimeUnixNano) })
	return all
}

// forest is a set of spans by id, to be walked from a span to its root.
type forest map[string]*trace.Span

func (f forest) path(s *trace.Span) string {
	names := []string{s.Name}
	for range f {
		above := f[hex.EncodeToString(s.ParentSpanId)]
		if above == nil {
			break
		}
		s = above
		names = append(names, s.Name)
	}
	slices.Reverse(names)
	return strings.Join(names, " > ")
}

// allowedAttributes are all attributes that a span may have, with the form of their values: none of them can hold
// text of conversations or dreams.
var allowedAttributes = map[string]*regexp.Regexp{
	"http.request.method":       regexp.MustCompile(`^(GET|POST|DELETE)$`),
	"http.route":                regexp.MustCompile(`^(/[a-z_.{}0-9]+)+$`),
	"http.response.status_code": regexp.MustCompile(`^\d{3}$`),
	"oneiros.key":               regexp.MustCompile(`^$`), "oneiros.request": regexp.MustCompile(`^req_[a-z0-9]{26}$`),
	"oneiros.texts":                  regexp.MustCompile(`^\d+$`),
	"oneiros.recalled":               regexp.MustCompile(`^\d+$`),
	"oneiros.recall_skipped":         regexp.MustCompile(`^(off|budget|busy|failed|nothing)$`),
	"oneiros.recall_words_only":      regexp.MustCompile(`^(budget|failed|space)$`),
	"oneiros.woke":                   regexp.MustCompile(`^true$`),
	"gen_ai.operation.name":          regexp.MustCompile(`^(chat|embeddings)$`),
	"gen_ai.provider.name":           regexp.MustCompile(`^(talk|night|builtin)$`),
	"gen_ai.agent.name":              regexp.MustCompile(`^iris$`),
	"gen_ai.request.model":           regexp.MustCompile(`^(talk/talker|night/script|builtin/(lexical|static))$`),
	"gen_ai.request.max_tokens":      regexp.MustCompile(`^\d+$`),
	"gen_ai.usage.input_tokens":      regexp.MustCompile(`^\d+$`),
	"gen_ai.usage.output_tokens":     regexp.MustCompile(`^\d+$`),
	"gen_ai.response.finish_reasons": regexp.MustCompile(`^\[(stop|length)\]$`),
	"error.type":                     regexp.MustCompile(`^[*\w.]{1,60}$`),
	"temporalWorkflowID":             regexp.MustCompile(`^$|^(agent/iris|dream/iris/\d{4})$`),
	"temporalRunID":                  regexp.MustCompile(`^[0-9a-f-]{36}$`),
	"temporalActivityID":             regexp.MustCompile(`^\d+$`),
	"temporalUpdateID":               regexp.MustCompile(`^$|^wake-\d+-\d+$|^[0-9a-f-]{36}$|^dream/iris/\d{4}/\w{26}$`),
}

func attribute(s *trace.Span, key string) (value string, there bool) {
	for _, a := range s.Attributes {
		if a.Key == key {
			return valueOf(a.Value), true
		}
	}
	return "", false
}

func valueOf(v *common.AnyValue) string {
	switch v := v.GetValue().(type) {
	case *common.AnyValue_StringValue:
		return v.StringValue
	case *common.AnyValue_IntValue:
		return strconv.FormatInt(v.IntValue, 10)
	case *common.AnyValue_ArrayValue:
		var all []string
		for _, each := range v.ArrayValue.Values {
			all = append(all, valueOf(each))
		}
		return "[" + strings.Join(all, " ") + "]"
	}
	return "?" + v.String()
}

// through are the allowed paths from a caller to a call of a provider.
var through = map[string]*regexp.Regexp{
	"chat talk/talker": regexp.MustCompile(`^(POST /v1/chat/completions|POST /mcp) > chat talk/talker$`),
	"embeddings builtin/static": regexp.MustCompile(
		`^(POST /v1/chat/completions|POST /mcp|` + dreaming + `) > embeddings builtin/static$`),
	"chat night/script": regexp.MustCompile(`^` + dreaming + ` > chat night/script$`),
	"HandleUpdate:wake": regexp.MustCompile(
		`^POST /v1/chat/completions > Update(WithStart)?Workflow:wake > HandleUpdate:wake$`),
	"HandleSignal:wake": regexp.MustCompile(
		`^POST /v1/chat/completions > SignalWorkflow:wake > HandleSignal:wake$`),
	"RunActivity:Agent.AnnounceWake": regexp.MustCompile(
		`^POST /v1/chat/completions > Update(WithStart)?Workflow:wake > HandleUpdate:wake > StartActivity:Agent.AnnounceWake > RunActivity:Agent.AnnounceWake$`,
	),
	"RunActivity:Dream.Interrupt": regexp.MustCompile(
		`^` + night + ` > StartActivity:Dream.Interrupt > RunActivity:Dream.Interrupt$`),
}

const (
	night    = `POST /v1/dreams > UpdateWithStartWorkflow:dream > HandleUpdate:dream > StartChildWorkflow:Dream > RunWorkflow:Dream`
	dreaming = night + ` > StartActivity:[A-Z]\w+\.[A-Z]\w+ > RunActivity:[A-Z]\w+\.[A-Z]\w+`
)

// flaws are the faults of the traces. A client's own span is not among them; of its trace others may be.
func flaws(all []*trace.Span, client string) (found []string) {
	f := forest{}
	for _, s := range all {
		f[hex.EncodeToString(s.SpanId)] = s
	}
	for _, s := range all {
		flaw := func(format string, args ...any) {
			found = append(found, fmt.Sprintf("%s: ", f.path(s))+fmt.Sprintf(format, args...))
		}
		parent := hex.EncodeToString(s.ParentSpanId)
		above := f[parent]
		switch {
		case above != nil && !bytes.Equal(above.TraceId, s.TraceId):
			flaw("it is of another trace than its parent")
		case above == nil && s.Name == "SignalWithStartWorkflow:Agent": // the process brings its workflow up to date
		case above == nil && s.Kind != trace.Span_SPAN_KIND_SERVER, above == nil && strings.Contains(s.Name, ":"):
			flaw("nobody asked for it")
		case above == nil && parent != "" && parent != client:
			flaw("its parent is not there")
		}
		if way := through[s.Name]; way != nil && !way.MatchString(f.path(s)) {
			flaw("it is not on the way %s", way)
		}
		for _, a := range s.Attributes {
			if like := allowedAttributes[a.Key]; like == nil || !like.MatchString(valueOf(a.Value)) {
				flaw("attribute %s is %q", a.Key, valueOf(a.Value))
			}
		}
		if failed, _ := attribute(s, "error.type"); len(s.Events) > 0 ||
			s.Status.GetMessage() != "" && s.Status.GetMessage() != failed {
			flaw("it says more than the kind of its failure: %v %v", s.Events, s.Status)
		}
		conventional(s, flaw)
	}
	return found
}

// conventional checks a span against OpenTelemetry's conventions for HTTP servers and for calls of generative models.
func conventional(s *trace.Span, flaw func(string, ...any)) {
	must := func(keys ...string) {
		for _, key := range keys {
			if _, there := attribute(s, key); !there {
				flaw("it lacks %s", key)
			}
		}
	}
	value := func(key string) string { v, _ := attribute(s, key); return v }
	operation, asks := attribute(s, "gen_ai.operation.name")
	_, failed := attribute(s, "error.type")
	switch {
	case asks:
		must("gen_ai.request.model", "gen_ai.provider.name")
		if s.Kind != trace.Span_SPAN_KIND_CLIENT || s.Name != operation+" "+value("gen_ai.request.model") {
			flaw("it is a %s, and named otherwise than its operation and model", s.Kind)
		}
		if failed {
			break
		}
		must("gen_ai.usage.input_tokens")
		if operation == "chat" {
			must("gen_ai.usage.output_tokens", "gen_ai.response.finish_reasons")
		}
	case s.Kind == trace.Span_SPAN_KIND_SERVER && !strings.Contains(s.Name, ":"):
		must("http.request.method", "http.route", "http.response.status_code")
		if s.Name != value("http.request.method")+" "+value("http.route") {
			flaw("it is named otherwise than its method and route")
		}
	}
	if failed != (s.Status.GetCode() == trace.Status_STATUS_CODE_ERROR) {
		flaw("error.type %q, status %s", value("error.type"), s.Status.GetCode())
	}
}

// countNames says how many spans have each name.
func countNames(all []*trace.Span) map[string]int {
	count := map[string]int{}
	for _, s := range all {
		count[s.Name]++
	}
	return count
}

// named are the spans of a name.
func named(all []*trace.Span, name string) (found []*trace.Span) {
	for _, s := range all {
		if s.Name == name {
			found = append(found, s)
		}
	}
	return found
}

// TestOneTraceLeadsFromARequestThroughTemporalToTheProvider talks to an agent, lets it dream, wakes it by talking and
// by a tool, with a collector of traces: everything that a request caused, however much later and in whichever way,
// is below its span.
func TestOneTraceLeadsFromARequestThroughTemporalToTheProvider(t *testing.T) {
	t.Parallel()
	c := startCollector(t)
	refuse := func(a talker.Request) int {
		if strings.HasSuffix(a.Last().Text, "be refused") {
			return http.StatusServiceUnavailable
		}
		return 0
	}
	h := build(t, talker.Options{Fail: refuse}, provider.Options{Each: 3 * time.Millisecond, AtLeast: 40},
		`serve: {listen: "127.0.0.1:0", model: talk/talker, rate: 0}
agent: {client_timeout: 1s, wake_lock: 1s, resume_after: 6h, jitter: 0s}`)
	h.must("agents", "add", "iris")
	h.must("memory", "import", "--agent", "iris", marked(t))
	h.env = append(h.env, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.url, "OTEL_BSP_SCHEDULE_DELAY=100",
		"OTEL_EXPORTER_OTLP_COMPRESSION=gzip")
	h.begin("up")
	const trunk, client = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	chat := func(text string, header ...string) {
		t.Helper()
		body, err := json.Marshal(
			map[string]any{
				"model": "iris", "user": mark + "ada",
				"messages": []any{map[string]any{"role": "user", "content": text}},
			})
		require.NoError(t, err)
		_, _, _ = h.ask(http.MethodPost, "/v1/chat/completions", string(body),
			append(header, "X-Oneiros-Conversation", mark+"talk")...)
	}
	secret :=
		"My boat is called " + mark + "ine; she is blue, and I promised to paint her before the regatta of " + mark +
			"."
	chat(secret, "Traceparent", "00-"+trunk+"-"+client+"-01")
	chat(mark + " be refused")
	h.until("iris", "sleeping")
	require.Eventually(t, func() bool { // its workflow knows that all clients have left
		status, _, _ := h.ask(http.MethodPost, "/v1/dreams",
			`{"agent":"iris","tier":"hardened","instructions":"`+mark+`"}`)
		return status == http.StatusCreated
	}, 3*time.Minute, 200*time.Millisecond)
	require.Eventually(t, func() bool { return h.dreamer.Billing.Streamed() > 200 }, 3*time.Minute, time.Millisecond)
	chat("Wake up, " + mark)
	_, _, answer := h.ask(http.MethodPost, "/mcp",
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"chat","arguments":{"agent":"iris","message":"`+
			mark+
			`"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"ears","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`,
		"Content-Type", "application/json", "Accept", "application/json, text/event-stream", "MCP-Protocol-Version",
		"2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "chat")
	require.Contains(t, answer, "I heard: ")
	require.Eventually(t, func() bool {
		all := c.all()
		return len(named(all, "RunActivity:Agent.AnnounceWake")) >= 2 &&
			len(named(all, "RunActivity:Dream.Interrupt")) > 0
	}, 3*time.Minute, 50*time.Millisecond, "both wakes are recorded and the stretch is closed\n%s\n%s", &h.err,
		later(func() string { return fmt.Sprint(countNames(c.all())) }))
	h.end()

	all := c.all()
	require.Empty(t, flaws(all, client))
	for name := range through {
		if name == "HandleSignal:wake" { // a dream whose end is recorded soon is not signalled
			continue
		}
		require.NotEmpty(t, named(all, name), "%s is never traced", name)
	}
	require.GreaterOrEqual(t, len(named(all, "HandleUpdate:wake")), 2)
	first := named(all, "POST /v1/chat/completions")[0]
	require.Equal(t, client, hex.EncodeToString(first.ParentSpanId), "a client's own trace is continued")
	for _, s := range all {
		require.NotContains(t, strings.ToLower(s.String()), mark)
		if below := hex.EncodeToString(s.TraceId) == trunk; strings.HasPrefix(s.Name, "GET /v1/agents/") {
			require.False(t, below)
		}
	}
	request := h.talker.Requests()
	calls := named(all, "chat talk/talker")
	require.Len(t, calls, len(request))
	for i, s := range calls {
		want := "00-" + hex.EncodeToString(s.TraceId) + "-" + hex.EncodeToString(s.SpanId) + "-01"
		require.Equal(t, want, request[i].Header.Get("Traceparent"), "the provider's span is below the call")
	}
	refused, _ := attribute(calls[1], "error.type")
	require.Equal(t, "503", refused)
	spoilTraces(t, all, client)
}

// spoilTraces is the control: each of these differs in one thing from what was traced.
func spoilTraces(t *testing.T, all []*trace.Span, client string) {
	t.Helper()
	other := bytes.Repeat([]byte{7}, 16)
	for name, spoil := range map[string]struct {
		span string
		how  func(*trace.Span)
	}{
		"a wake that is told on its own": {
			"UpdateWorkflow:wake",
			func(s *trace.Span) { s.ParentSpanId, s.TraceId = nil, other },
		},
		"a parent that is not there": {
			"RunWorkflow:Dream",
			func(s *trace.Span) { s.ParentSpanId = other[:8] },
		},
		"a call of nobody":        {"chat night/script", func(s *trace.Span) { s.ParentSpanId = nil }},
		"a call of another trace": {"chat talk/talker", func(s *trace.Span) { s.TraceId = other }},
		"a call below what did not ask it": {
			"chat night/script",
			func(s *trace.Span) { s.ParentSpanId = named(all, "POST /v1/dreams")[0].SpanId },
		},
		"a call without its model": {
			"chat talk/talker",
			func(s *trace.Span) { s.Attributes = without(s, "gen_ai.request.model") },
		},
		"a call that does not count": {
			"chat talk/talker",
			func(s *trace.Span) { s.Attributes = without(s, "gen_ai.usage.output_tokens") },
		},
		"a request without its route": {
			"POST /v1/dreams",
			func(s *trace.Span) { s.Attributes = without(s, "http.route") },
		},
		"what was said": {
			"chat talk/talker",
			func(s *trace.Span) { s.Attributes = append(s.Attributes, text("gen_ai.input.messages", "hello")) },
		},
		"what was said, under a name we know": {
			"chat talk/talker",
			func(s *trace.Span) { s.Attributes = append(s.Attributes, text("error.type", "no model hello")) },
		},
		"the words of an error": {
			"RunActivity:Agent.AnnounceWake",
			func(s *trace.Span) { s.Events = []*trace.Span_Event{{Name: "exception"}} },
		},
		"the words of a status": {"RunActivity:Agent.AnnounceWake", func(s *trace.Span) {
			s.Status = &trace.Status{Code: trace.Status_STATUS_CODE_ERROR, Message: "no hello"}
		}},
	} {
		worse := make([]*trace.Span, len(all))
		spoilt := false
		for i, s := range all {
			worse[i] = s
			if !spoilt && s.Name == spoil.span {
				worse[i], spoilt = proto.CloneOf(s), true
				spoil.how(worse[i])
			}
		}
		require.True(t, spoilt, name)
		require.NotEmpty(t, flaws(worse, client), name)
	}
}

func without(s *trace.Span, key string) (left []*common.KeyValue) {
	for _, a := range s.Attributes {
		if a.Key != key {
			left = append(left, a)
		}
	}
	return left
}

func text(key, value string) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: value}}}
}
