package serving_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/journal"
	"github.com/seed-56a03226/oneiros/testsuite/chaos"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/serving/talker"
)

// mark begins every word of the memories of this test. The scripted provider takes its nouns only from these words of
// its prompts, so that one is in every dreamt sentence, whichever insight is chosen.
const mark = "quorv"

var ofMark = regexp.MustCompile(mark + `[a-z]+`)

// marked writes a diary of marked words only.
func marked(t *testing.T) string {
	t.Helper()
	dice := rand.New(rand.NewPCG(7, 0))
	var text strings.Builder
	for day := range 30 {
		fmt.Fprintf(&text, "## 2026-02-%02d\n\n", day%28+1)
		for range 14 {
			text.WriteString(mark)
			for range 3 {
				text.WriteByte("aeiou"[dice.IntN(5)])
				text.WriteByte("lmnrst"[dice.IntN(6)])
			}
			text.WriteByte(' ')
		}
		text.WriteString(".\n\n")
	}
	path := filepath.Join(t.TempDir(), "marked.md")
	require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o600))
	return path
}

// collect collects traces; all returns everything that came.
func collect(t *testing.T) (url string, all func() []byte) {
	t.Helper()
	var mu sync.Mutex
	var came bytes.Buffer
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = io.Copy(&came, r.Body)
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(s.Close)
	return s.URL, func() []byte {
		mu.Lock()
		defer mu.Unlock()
		return bytes.Clone(came.Bytes())
	}
}

// clientView collects what a client can read. It talks on every wire, in turns that are dealt by the seed.
type clientView struct {
	*deployment
	all   map[string][]byte
	dice  *rand.Rand
	turns []turnOn // those of this deal that are left
	dealt map[turnOn]int
}

// turnOn is how a turn is taken.
type turnOn struct {
	wire   wire
	stream bool
}

// deal is how the next turn is taken: each way once, in any sequence, before one comes again.
func (e *clientView) deal() turnOn {
	if len(e.turns) == 0 {
		for _, wire := range wires {
			e.turns = append(e.turns, turnOn{wire, true}, turnOn{wire, false})
		}
		e.dice.Shuffle(len(e.turns), func(i, j int) { e.turns[i], e.turns[j] = e.turns[j], e.turns[i] })
	}
	next := e.turns[0]
	e.turns = e.turns[1:]
	return next
}

// request sends a request and records the answer, its headers too.
func (e *clientView) request(method, path, body string, header ...string) (status int, answer string) {
	e.Helper()
	status, result, answer := e.ask(method, path, body, header...)
	var lines bytes.Buffer
	_ = result.Write(&lines)
	e.all[fmt.Sprintf("%s %s %d (%d)", method, path, len(e.all), status)] = append(lines.Bytes(), answer...)
	return status, answer
}

// TestNoDreamtTextReachesATalkingClient wakes a dream in each of its phases by talking to it on any wire, and reads
// everything that a client of the role client can read: answers whole and streamed, their headers, kept responses,
// counts, models, status, dreams, events, tools, errors; and also the log at its most verbose level, the metrics and
// the traces. Significant insights are sent, marked as such, on each wire to an agent that has dreamt to the end: only
// they may contain a marked word. The wires beside chat completions are passed on, or translated.
func TestNoDreamtTextReachesATalkingClient(t *testing.T) {
	t.Parallel()
	for _, native := range []bool{false, true} {
		t.Run(fmt.Sprintf("native=%v", native), func(t *testing.T) {
			t.Parallel()
			readsNoDream(t, native)
		})
	}
}

func readsNoDream(t *testing.T, native bool) {
	t.Helper()
	asleep := provider.Options{Each: 3 * time.Millisecond, AtLeast: 40, Nouns: ofMark}
	h := build(t, talker.Options{}, asleep, quick+"\nlog: {level: debug, format: json}\ndream: {partial_tokens: 100}\n")
	h.native = native
	h.write()
	collector, traces := collect(t)
	h.env = append(h.env, "OTEL_EXPORTER_OTLP_ENDPOINT="+collector, "OTEL_BSP_SCHEDULE_DELAY=200")
	diary := marked(t)
	phases := []dream.Phase{dream.Onset, dream.NREM, dream.REM, dream.Integration, dream.Return}
	sleepers := []string{"iris", "fern", "moss"} // one for each wire
	for _, agent := range sleepers {
		h.must("agents", "add", agent)
		h.must("memory", "import", "--agent", agent, diary)
	}
	for _, phase := range phases {
		h.must("agents", "add", string(phase))
		h.must("memory", "import", "--agent", string(phase), diary)
	}
	secret := func(name, role string) []string {
		var made struct{ Secret string }
		require.NoError(t, json.Unmarshal([]byte(h.must("--json", "keys", "add", name, "--role", role)), &made))
		return []string{"Authorization", "Bearer " + made.Secret}
	}
	client, owner := secret("guest", "client"), secret("house", "owner")
	h.begin("up")
	e := &clientView{
		deployment: h, all: map[string][]byte{}, dice: rand.New(rand.NewPCG(seed, 0)), dealt: map[turnOn]int{},
	}
	dreams := func(agent string) {
		status, _, body := h.ask(http.MethodPost, "/v1/dreams", `{"agent":"`+agent+`","tier":"hardened"}`, owner...)
		require.Equal(t, 2, status/100, body)
	}
	dreamt := func(agent string) {
		require.Eventually(t, func() bool {
			_, _, body := h.ask(http.MethodGet, "/v1/dreams?agent="+agent, "", owner...)
			return strings.Contains(body, `"status":"completed"`)
		}, time.Minute, 50*time.Millisecond, "%s dreams to the end\n%s", agent, &h.err)
	}
	for _, agent := range sleepers {
		dreams(agent)
	}
	for _, phase := range phases {
		agent := string(phase)
		dreams(agent)
		h.underWay(phase)
		e.connect(agent, client)
	}
	for _, phase := range phases {
		e.look(string(phase), client)
	}
	last := string(dream.Return)
	dreamt(last)
	e.connect(last, client)
	require.Contains(t, h.must("journal", "--agent", last), mark, "the control: the journal holds what was dreamt")
	for i, at := range e.dice.Perm(len(wires)) {
		dreamt(sleepers[i])
		e.turn(sleepers[i], turnOn{wires[at], e.dice.IntN(2) == 0}, client)
		require.Contains(t, string(h.talker.Requests()[0].Body), mark, "%s: an insight is sent", wires[at].path)
		e.connect(sleepers[i], client)
	}
	_, _, figures := h.ask(http.MethodGet, "/metrics", "", owner...)
	for path, wire := range map[string]wire{"chat": wires[0], "responses": wires[1], "messages": wires[2]} {
		require.Contains(t, figures, fmt.Sprintf(`oneiros_turns_total{end="answered",path=%q} %d`, path,
			e.dealt[turnOn{wire, true}]+e.dealt[turnOn{wire, false}]))
	}
	e.all["the figures"] = []byte(figures)
	h.end()
	spans := traces()
	for _, part := range []string{
		"chat talk/talker", "chat night/script", "RunActivity:", "gen_ai.usage.output_tokens",
	} {
		require.Contains(t, string(spans), part, "the control: traced text is found")
	}
	e.all["the traces"] = spans
	e.all["the log"] = []byte(h.err.String())
	for _, wire := range wires {
		require.Contains(t, string(spans), "POST "+wire.path, "the control: traced text is found")
		require.Contains(t, h.err.String(), wire.path, "the control: the log has requests")
	}
	for where, body := range e.all {
		if at := bytes.Index(bytes.ToLower(body), []byte(mark)); at >= 0 {
			t.Errorf("%s contains dream text: %q", where, body[max(0, at-200):min(len(body), at+100)])
		}
	}
}

// underWay waits until a call of a phase streams, of the agent that is named after the phase.
func (h *deployment) underWay(phase dream.Phase) {
	h.Helper()
	require.Eventually(h, func() bool {
		for _, call := range h.dreamer.Billing.Calls() {
			key, ok := chaos.ReadKey(call.Key)
			if ok && key.Phase == phase && strings.HasPrefix(key.Dream, "dream/"+string(phase)+"/") &&
				call.Completion >= 5 {
				return true
			}
		}
		return false
	}, time.Minute, time.Millisecond, "%s is never dreamt\n%s", phase, &h.err)
}

// connect wakes an agent by talking, and reads on.
func (e *clientView) connect(agent string, key []string) {
	e.Helper()
	for range 2 {
		e.turn(agent, e.deal(), key)
	}
	e.look(agent, key)
}

// turn takes one turn, and requires that the model is sent dream text with its label alone.
func (e *clientView) turn(agent string, on turnOn, key []string) {
	e.Helper()
	const silent = "X-Oneiros-Recall" // recall of the agent's own memories is no part of this test
	e.dealt[on]++
	e.talker.Forget()
	status, answer := e.request(http.MethodPost, on.wire.path,
		on.wire.body(agent, on.stream, []message{{"user", "what did you dream?"}}, nil),
		append([]string{silent, "off"}, key...)...)
	require.Equal(e, http.StatusOK, status, answer)
	require.True(e, on.wire.ended(on.stream, answer), answer)
	sent := e.talker.Requests()
	require.Len(e, sent, 1)
	require.Equal(e, e.native || on.wire == wires[0], sent[0].Path == on.wire.path, "%s: it is passed on as it is",
		on.wire.path)
	for _, m := range sent[0].Messages {
		if strings.Contains(m.Text, mark) {
			require.Contains(e, m.Text, journal.Label, "%s: dream text in a prompt is labelled", on.wire.path)
		}
	}
	id := responseID.FindString(answer)
	require.Equal(e, on.wire.messages == "input", id != "", "the control: a response is kept: %s", answer)
	if id != "" {
		e.kept(id, key)
	}
}

// kept reads a response that is kept, and what it was made from.
func (e *clientView) kept(id string, key []string) {
	e.Helper()
	for _, path := range []string{"", "/input_items"} {
		status, answer := e.request(http.MethodGet, "/v1/responses/"+id+path, "", key...)
		require.Equal(e, http.StatusOK, status, answer)
		require.Contains(e, answer, "what did you dream?", "the control: it is that turn")
	}
}

// look requests everything that a client may read, and what it may not.
func (e *clientView) look(agent string, key []string) {
	e.Helper()
	for _, path := range []string{
		"/v1/models", "/v1/models/" + agent, "/v1/agents/" + agent + "/emotion",
		"/v1/dreams?agent=" + agent, "/v1/dreams/dream_" + agent + "_0001", "/v1/openapi.json",
	} {
		status, answer := e.request(http.MethodGet, path, "", key...)
		require.Equal(e, http.StatusOK, status, answer)
	}
	e.status(agent, key)
	for _, path := range []string{
		"/v1/dreams/dream_" + agent + "_0001/fragments", "/v1/dreams/dream_" + agent + "_0001/scenarios",
		"/v1/dreams/dream_" + agent + "_0001/journal", "/v1/agents/" + agent + "/journal",
		"/v1/agents/" + agent + "/playbook", "/metrics",
	} {
		status, answer := e.request(http.MethodGet, path, "", key...)
		require.Equal(e, http.StatusForbidden, status, answer)
	}
	for _, wire := range wires {
		for _, body := range []string{
			`{"model":"nobody","` + wire.messages + `":[]}`, `{"model":"` + agent + `","` + wire.messages + `":7}`,
			`{"model":"` + agent + `"`,
		} {
			status, answer := e.request(http.MethodPost, wire.path, body, key...)
			require.Equal(e, 4, status/100, answer)
		}
	}
	status, answer := e.request(http.MethodPost, "/v1/messages/count_tokens",
		wires[2].body(agent, false, []message{{"user", "what did you dream?"}}, nil), key...)
	require.Equal(e, http.StatusOK, status, answer)
	e.request(http.MethodPost, "/v1/dreams", `{"agent":"`+agent+`"}`, key...)
	e.request(http.MethodGet, "/v1/agents/"+agent+"/status", "")
	e.request(http.MethodPost, "/v1/embeddings", `{"model":"`+agent+`","input":"bees"}`, key...)
	e.events(agent, key)
	for _, tool := range []string{"status", "get_emotion", "journal"} {
		e.tool(agent, tool, key)
	}
}

// status records all of a status but the digest, which is sent on purpose, and labelled.
func (e *clientView) status(agent string, key []string) {
	e.Helper()
	status, _, answer := e.ask(http.MethodGet, "/v1/agents/"+agent+"/status", "", key...)
	require.Equal(e, http.StatusOK, status, answer)
	var values map[string]json.RawMessage
	require.NoError(e, json.Unmarshal([]byte(answer), &values))
	var digest []struct {
		Taint  string
		Dreamt bool
	}
	require.NoError(e, json.Unmarshal(values["digest"], &digest))
	for _, insight := range digest {
		require.True(e, insight.Dreamt, answer)
	}
	delete(values, "digest")
	rest, err := json.Marshal(values)
	require.NoError(e, err)
	e.all[fmt.Sprintf("status %s %d", agent, len(e.all))] = rest
}

// events reads the stream of events for a moment.
func (e *clientView) events(agent string, key []string) {
	e.Helper()
	r, err := http.NewRequestWithContext(e.Context(), http.MethodGet,
		strings.TrimSuffix(e.base, "/v1")+"/v1/events?agent="+agent, nil)
	require.NoError(e, err)
	r.Header.Set(key[0], key[1])
	r.Header.Set("Last-Event-ID", "0")
	res, err := http.DefaultClient.Do(r)
	require.NoError(e, err)
	time.AfterFunc(300*time.Millisecond, func() { _ = res.Body.Close() })
	body, err := io.ReadAll(res.Body)
	if err != nil && !errors.Is(err, http.ErrBodyReadAfterClose) && !strings.Contains(err.Error(), "closed") {
		require.NoError(e, err)
	}
	e.all[fmt.Sprintf("events %s %d", agent, len(e.all))] = body
}

// tool calls one over the Model Context Protocol, without a session.
func (e *clientView) tool(agent, name string, key []string) {
	e.Helper()
	call :=
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + name + `","arguments":{"agent":"` +
			agent + `"},` +
			`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"ears","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	status, _, answer := e.ask(http.MethodPost, "/mcp", call, append([]string{
		"Content-Type", "application/json", "Accept", "application/json, text/event-stream", "MCP-Protocol-Version",
		"2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", name,
	}, key...)...)
	if name == "status" {
		require.Contains(e, answer, `"state"`, "%d", status)
		// fields come in the order of their names: only what is before the digest is checked
		answer, _, _ = strings.Cut(answer, "digest")
	}
	e.all[fmt.Sprintf("tool %s %s %d", name, agent, len(e.all))] = []byte(answer)
}
