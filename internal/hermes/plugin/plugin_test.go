package plugin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/hermes/message"
	"github.com/seed-56a03226/oneiros/internal/hermes/plugin"
)

// output collects what servers write to standard error.
type output struct {
	mu      sync.Mutex
	text    bytes.Buffer
	awaited map[string]chan struct{} // closed when the text has come
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := o.text.Write(p)
	for text, done := range o.awaited {
		if strings.Contains(o.text.String(), text) {
			close(done)
			delete(o.awaited, text)
		}
	}
	return n, err
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// await is closed when a text has been written.
func (o *output) await(text string) <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.awaited == nil {
		o.awaited = map[string]chan struct{}{}
	}
	o.awaited[text] = make(chan struct{})
	return o.awaited[text]
}

// program is this test's program as a server of a kind.
func program(t *testing.T, name, kind string) plugin.Server {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return plugin.Server{Name: name, Command: self, Env: map[string]string{as: kind}}
}

func started(t *testing.T, o *output, servers ...plugin.Server) (*plugin.Set, []error) {
	t.Helper()
	set, failed := plugin.Start(t.Context(), servers, o)
	t.Cleanup(func() { require.NoError(t, set.Close()) })
	return set, failed
}

func call(name string, arguments ...string) message.Call {
	return message.Call{ID: "c1", Name: name, Arguments: strings.Join(arguments, "")}
}

func run(t *testing.T, set *plugin.Set, c message.Call) message.Result {
	t.Helper()
	return set.Run(t.Context(), nil, c)
}

// pid is the process of a server.
func pid(t *testing.T, set *plugin.Set, server string) int {
	t.Helper()
	n, err := strconv.Atoi(run(t, set, call(server+"__pid", `{"text":""}`)).Text)
	require.NoError(t, err)
	return n
}

// runs reports whether there is a process that has not ended; one whose end nobody has asked for yet has.
func runs(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

// called finds the name by which a tool is offered.
func called(t *testing.T, set *plugin.Set, begins string) string {
	t.Helper()
	for _, name := range names(set) {
		if strings.HasPrefix(name, begins) {
			return name
		}
	}
	require.Fail(t, "no tool is called "+begins)
	return ""
}

func names(set *plugin.Set) (all []string) {
	for _, t := range set.Tools() {
		all = append(all, t.Name)
	}
	return all
}

func TestToolsOfAProgramAreOfferedAndCalled(t *testing.T) {
	t.Parallel()
	set, failed := started(t, &output{}, program(t, "clock", "clock"))
	require.Empty(t, failed)
	require.Contains(t, names(set), "clock__echo")
	for _, tool := range set.Tools() {
		require.Equal(t, message.Runs, tool.Effect, "what %s says of itself is not relied on", tool.Name)
		require.True(t, json.Valid(tool.Parameters), tool.Name)
		require.Contains(t, string(tool.Parameters), `"text"`)
		require.True(t, strings.HasPrefix(tool.Description, "does "), tool.Name)
	}
	hi := call("clock__echo", `{"text":"hi"}`)
	require.Equal(t, message.Result{Text: "hi\nand again: hi"}, run(t, set, hi))
	preview, err := set.Preview(hi)
	require.NoError(t, err)
	require.Equal(t, message.Preview{
		Title:   "ask clock: echo",
		Body:    "{\n  \"text\": \"hi\"\n}",
		Warning: "clock is a program that runs with your rights and is not confined.",
	}, preview)

	require.Equal(t, message.Result{Text: "the sundial needs sun", Failed: true},
		run(t, set, call("clock__fails", `{"text":""}`)))
	require.Equal(t, message.Result{Text: "(nothing)"}, run(t, set, call("clock__nothing", `{"text":""}`)))
	require.Equal(t,
		"Look:\n[a picture, image/png, 5 bytes, is not shown]\n[a sound, audio/wav, 3 bytes, is not played]\n"+
			"[a link to file:///a [2J]\n[the document note:1]\na note\n[the document note:2, x/y, 4 bytes, is not shown]",
		run(t, set, call("clock__pictures", `{"text":""}`)).Text)
	for arguments, says := range map[string]string{
		`{"text":`:   "the arguments of clock__echo must be a JSON object",
		`["text"]`:   "the arguments of clock__echo must be a JSON object",
		`{"text":3}`: "text",
		``:           "text",
	} {
		result := run(t, set, call("clock__echo", arguments))
		require.True(t, result.Failed, arguments)
		require.Contains(t, result.Text, says, arguments)
	}
	require.Contains(t, run(t, set, call("clock__fly")).Text, `no server has a tool "clock__fly"`)
	_, err = set.Preview(call("clock__echo", `[]`))
	require.ErrorContains(t, err, "must be a JSON object")
	require.Equal(t, "hi\nand again: hi", run(t, set, hi).Text, "control: the server still serves")
}

func TestLargeAnswersAreCutAndTooLargeOnesEndTheServer(t *testing.T) {
	t.Parallel()
	set, failed := started(t, &output{}, program(t, "clock", "clock"))
	require.Empty(t, failed)
	large := run(t, set, call("clock__large", `{"text":""}`))
	require.False(t, large.Failed)
	require.Less(t, len(large.Text), 66<<10)
	require.True(t, strings.HasPrefix(large.Text, "begin é"))
	require.True(t, strings.HasSuffix(large.Text, "é end"))
	require.Contains(t, large.Text, "bytes are left out here]")
	before := pid(t, set, "clock")
	endless := run(t, set, call("clock__endless", `{"text":""}`))
	require.True(t, endless.Failed)
	require.Contains(t, endless.Text, "broke off in the middle of the call")
	require.NotEqual(t, before, pid(t, set, "clock"), "it was started again")
	require.False(t, runs(before))
}

func TestAFloodOnStandardErrorIsCut(t *testing.T) {
	t.Parallel()
	o := &output{}
	set, failed := started(t, o, program(t, "clock", "clock"))
	require.Empty(t, failed)
	require.Equal(t, "flooded", run(t, set, call("clock__floods", `{"text":""}`)).Text)
	require.NoError(t, set.Close())
	require.Less(t, len(o.String()), 100<<10)
	require.Contains(t, o.String(), "clock: tick tick")
	require.Contains(t, o.String(), "clock: (it writes more, which is left out)")
}

func TestProgramsGetNoSecretOfOurEnvironment(t *testing.T) {
	for _, name := range []string{"ONEIROS_KEY", "HERMES_KEY", "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY"} {
		t.Setenv(name, "a-secret-of-ours")
	}
	t.Setenv("LC_TIME", "C")
	server := program(t, "clock", "clock")
	server.Env["CLOCK_KEY"] = "a-key-of-its-own"
	set, failed := started(t, &output{}, server)
	require.Empty(t, failed)
	environment := run(t, set, call("clock__environment", `{"text":""}`)).Text
	require.NotContains(t, environment, "a-secret-of-ours")
	require.Contains(t, environment, "CLOCK_KEY=a-key-of-its-own", "control")
	require.Contains(t, environment, "PATH=")
	require.Contains(t, environment, "LC_TIME=C")
}

func TestACallThatIsInterruptedIsCancelledAtTheServer(t *testing.T) {
	t.Parallel()
	for _, kill := range []bool{false, true} {
		o := &output{}
		set, failed := started(t, o, program(t, "clock", "clock"))
		require.Empty(t, failed)
		waiting, stopped := o.await("waiting"), o.await("told to stop")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		soft := make(chan struct{})
		go func() {
			<-waiting
			if kill {
				cancel()
			} else {
				close(soft)
			}
		}()
		result := set.Run(ctx, soft, call("clock__waits", `{"text":""}`))
		require.True(t, result.Interrupted)
		require.True(t, result.Failed)
		require.Contains(t, result.Text, "interrupted; clock was told to cancel the call")
		<-stopped
		require.Equal(t, "(nothing)", run(t, set, call("clock__nothing", `{"text":""}`)).Text, "it lives on")
	}
}

func TestACallThatHangsEndsAtItsLimit(t *testing.T) {
	t.Parallel()
	server := program(t, "clock", "clock")
	server.Limit = 50 * time.Millisecond
	set, failed := started(t, &output{}, server)
	require.Empty(t, failed)
	result := run(t, set, call("clock__waits", `{"text":""}`))
	require.True(t, result.Failed)
	require.False(t, result.Interrupted)
	require.Contains(t, result.Text, "clock did not answer within 50ms; the call was cancelled")
}

func TestAServerThatDiedIsStartedAgain(t *testing.T) {
	t.Parallel()
	set, failed := started(t, &output{}, program(t, "clock", "clock"))
	require.Empty(t, failed)
	first := pid(t, set, "clock")
	died := run(t, set, call("clock__dies", `{"text":""}`))
	require.True(t, died.Failed)
	require.Contains(t, died.Text, "clock broke off in the middle of the call")
	second := pid(t, set, "clock")
	require.NotEqual(t, first, second)
	require.NoError(t, syscall.Kill(second, syscall.SIGKILL))
	result := run(t, set, call("clock__echo", `{"text":"hi"}`))
	if result.Failed { // its end was not known yet when the call was sent
		require.Contains(t, result.Text, "broke off")
		result = run(t, set, call("clock__echo", `{"text":"hi"}`))
	}
	require.Equal(t, "hi\nand again: hi", result.Text)
	require.NoError(t, set.Close())
	require.Contains(t, run(t, set, call("clock__echo", `{"text":"hi"}`)).Text, "it was ended", "not after Close")
}

func TestCloseEndsProgramsThatIgnoreTheEndOfTheirInput(t *testing.T) {
	plugin.EndSoon()
	set, failed := plugin.Start(t.Context(), []plugin.Server{
		program(t, "clock", "clock"), program(t, "stubborn", "stubborn"),
	}, &output{})
	require.Empty(t, failed)
	polite, stubborn := pid(t, set, "clock"), pid(t, set, "stubborn")
	require.True(t, runs(polite))
	require.True(t, runs(stubborn))
	other, err := strconv.Atoi(run(t, set, call(called(t, set, "clock__starts_another"), `{"text":""}`)).Text)
	require.NoError(t, err)
	require.True(t, runs(other))
	require.NoError(t, set.Close())
	require.Eventually(t, func() bool { return !runs(other) }, 10*time.Second, time.Millisecond,
		"what a server has started ends with it")
	require.False(t, runs(polite))
	require.False(t, runs(stubborn))
	require.NoError(t, set.Close())
}

func TestServersThatDoNotStartAreNamedAndTheOthersServe(t *testing.T) {
	plugin.EndSoon()
	o := &output{}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	set, failed := plugin.Start(ctx, []plugin.Server{
		program(t, "clock", "clock"),
		program(t, "ends", "ends"),
		program(t, "noise", "noise"),
		program(t, "silent", "silent"),
		{Name: "nowhere", Command: "/does/not/exist"},
		{Name: "two__lines", Command: "x"},
		{Name: "both", Command: "x", URL: "http://localhost"},
		{Name: "neither"},
		{Name: "ftp", URL: "ftp://localhost"},
		{Name: "twice", URL: "http://127.0.0.1:1"},
		{Name: "twice", URL: "http://127.0.0.1:1"},
	}, o)
	defer func() { require.NoError(t, set.Close()) }()
	var text []string
	for _, err := range failed {
		text = append(text, err.Error())
	}
	all := strings.Join(text, "\n")
	for _, says := range []string{
		`server "ends": it ended: exit status 3; it says: no  [31mlicence [0m was found`,
		`server "noise": `,
		`server "silent": context deadline exceeded`,
		`server "nowhere": it does not start: fork/exec /does/not/exist: no such file or directory`,
		`server "two__lines": its name must be letters and digits`,
		`server "both": it must have either a command or a url`,
		`server "neither": it must have either a command or a url`,
		`server "ftp": its url is "ftp://localhost"; it must begin with http:// or https://`,
		`server "twice": two servers have this name`,
	} {
		require.Contains(t, all, says)
	}
	require.Len(t, failed, 10, all)
	require.Equal(t, "hi\nand again: hi", run(t, set, call("clock__echo", `{"text":"hi"}`)).Text)
	require.NotContains(t, o.String(), "\x1b")
	_, after, found := strings.Cut(o.String(), "silent: pid ")
	require.True(t, found)
	number, _, _ := strings.Cut(after, "\n")
	silent, err := strconv.Atoi(number)
	require.NoError(t, err)
	require.False(t, runs(silent), "a server that did not answer is ended")
}

func TestToolsThatNoModelCouldBeOfferedAreLeftOutAndNamed(t *testing.T) {
	t.Parallel()
	set, failed := started(t, &output{}, program(t, "raw", "bad"))
	var text []string
	for _, err := range failed {
		text = append(text, err.Error())
	}
	all := strings.Join(text, "\n")
	for _, says := range []string{
		`server "raw": tool "text" is left out: its schema is "anything"; it must be an object`,
		`server "raw": tool "list" is left out: its schema has the type "array"; it must be object`,
		`server "raw": tool "numbers" is left out: its schema is wrong`,
		`server "raw": tool "word" is left out: its argument "a" has the type "objekt", which JSON does not have`,
		`server "raw": tool "deep" is left out: its argument "items" has the type "tree"`,
		`server "raw": tool "far" is left out: its schema is wrong`,
		`server "raw": tool "good" is left out: another has the same name`,
		`server "raw": tool "large" is left out: its schema has 51`,
	} {
		require.Contains(t, all, says)
	}
	require.Len(t, failed, 8, all)
	offered := names(set)
	require.Len(t, offered, 5)
	require.Equal(t, []string{"raw__good", "raw__none"}, offered[:2])
	for _, name := range offered {
		require.Regexp(t, `^[a-zA-Z0-9_-]{1,64}$`, name)
	}
	require.Regexp(t, `^raw__a_very_strange_name_[0-9a-f]{8}$`, offered[2])
	require.Regexp(t, `^raw__a_very_strange_name_[0-9a-f]{8}$`, offered[3])
	require.Regexp(t, `^raw__long_x+_[0-9a-f]{8}$`, offered[4])
	require.NotEqual(t, offered[2], offered[3])
	require.Contains(t, string(set.Tools()[0].Parameters), "draft-07", "passed on as it came")
	result := run(t, set, call("raw__good"))
	require.True(t, result.Failed)
	require.Contains(t, result.Text, "raw refuses the call: ")
}

func TestAServerAtAnAddressGetsItsHeadersAndTheyGoNowhereElse(t *testing.T) {
	t.Parallel()
	s := mcp.NewServer(&mcp.Implementation{Name: "far", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "echo"},
		func(_ context.Context, _ *mcp.CallToolRequest, in word) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
		})
	inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer far" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	defer served.Close()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s came here", r.Header.Get("Authorization"))
	}))
	defer elsewhere.Close()
	moved := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer moved.Close()
	header := map[string]string{"Authorization": "Bearer far"}
	set, failed := started(t, &output{},
		plugin.Server{Name: "far", URL: served.URL, Headers: header},
		plugin.Server{Name: "locked", URL: served.URL},
		plugin.Server{Name: "moved", URL: moved.URL, Headers: header})
	require.Len(t, failed, 2)
	require.ErrorContains(t, failed[0], `server "locked": `)
	require.ErrorContains(t, failed[1], `server "moved": `)
	require.Equal(t, "hi", run(t, set, call("far__echo", `{"text":"hi"}`)).Text)
	preview, err := set.Preview(call("far__echo", `{"text":"hi"}`))
	require.NoError(t, err)
	require.Equal(t, "What you see is sent to "+served.URL+".", preview.Warning)
	served.CloseClientConnections()
	result := run(t, set, call("far__echo", `{"text":"hi"}`))
	if result.Failed { // whether the server had read the request cannot be known
		require.Contains(t, result.Text, "broke off")
		result = run(t, set, call("far__echo", `{"text":"hi"}`))
	}
	require.Equal(t, "hi", result.Text)
}
