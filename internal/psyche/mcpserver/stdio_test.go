package mcpserver_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche/mcpserver"
	"github.com/seed-56a03226/oneiros/internal/psyche/mcpserver/mcpservertest"
)

func TestOverStreamsTheOneCallerHasItsToolsInBothWaysOfTheProtocol(t *testing.T) {
	t.Parallel()
	being := &mcpservertest.Service{Handles: []string{"iris", "noor"}}
	for _, version := range []string{"", "2025-11-25", "2024-11-05"} {
		handler := mcpserver.New(being, nil, mcpserver.Options{})
		in, toServer := io.Pipe()
		fromServer, out := io.Pipe()
		done := make(chan error, 1)
		go func() { done <- handler.ServeStream(t.Context(), caller("", access.Client, "iris"), in, out) }()
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer},
			&mcp.ClientSessionOptions{ProtocolVersion: version})
		require.NoError(t, err)
		names := toolNames(t, session)
		require.Contains(t, names, "chat")
		require.NotContains(t, names, "journal")
		require.NotContains(t, names, "dreams_list", "nobody carries dreams")
		result, err := call(t.Context(), session, "chat", map[string]any{"message": "hello"})
		require.NoError(t, err)
		require.Equal(t, "You said: hello", text(result))
		require.Equal(t, "iris", result.StructuredContent.(map[string]any)["agent"])
		require.NoError(t, session.Close())
		require.NoError(t, <-done, "the end of the input is the end")
	}
}

// begun are the messages with which a client of an older version begins.
const begun = `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`

// says is a line with a call of chat.
func says(id, message string) string {
	return fmt.Sprintf(
		`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"chat","arguments":{"message":%q}}}`, id,
		message) + "\n"
}

// answered is a response as sent.
type answered struct {
	ID    any `json:"id"`
	Error *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
	Result *struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	} `json:"result"`
}

func (a answered) text() string {
	if a.Result == nil || len(a.Result.Content) == 0 {
		return ""
	}
	return a.Result.Content[0].Text
}

// over has one stream served to its end: the lines that were written, each with one response or several.
func over(t *testing.T, o mcpserver.Options, in io.Reader) (all [][]answered) {
	t.Helper()
	var out bytes.Buffer
	handler := mcpserver.New(&mcpservertest.Service{Handles: []string{"iris"}}, nil, o)
	require.NoError(t, handler.ServeStream(t.Context(), owner, in, &out))
	for line := range strings.Lines(out.String()) {
		require.Contains(t, line, `"id":`, "an answer has an id, if only null")
		var together []answered
		if json.Unmarshal([]byte(line), &together) != nil {
			var one answered
			require.NoError(t, json.Unmarshal([]byte(line), &one), line)
			together = []answered{one}
		}
		all = append(all, together)
	}
	return all
}

// of finds the response to a request among those that came alone.
func of(t *testing.T, all [][]answered, id any) answered {
	t.Helper()
	for _, a := range all {
		if len(a) == 1 && a[0].ID == id {
			return a[0]
		}
	}
	require.Failf(t, "not answered", "%v among %+v", id, all)
	return answered{}
}

func TestOverStreamsCallsAreAnsweredAfterTheInputHasEnded(t *testing.T) {
	t.Parallel()
	for range 20 { // the end comes while calls are under way, earlier or later
		all := over(t, mcpserver.Options{},
			strings.NewReader(begun+says("1", "one")+says("2", "two")+strings.TrimSpace(says("3", "three"))))
		require.Len(t, all, 4)
		for id, text := range map[float64]string{1: "one", 2: "two", 3: "three"} {
			require.Equal(t, "You said: "+text, of(t, all, id).text())
		}
	}
}

func TestOverStreamsWhatTakesLongerThanItMayAfterTheEndIsCut(t *testing.T) {
	t.Parallel()
	for _, drain := range []time.Duration{-1, time.Millisecond} {
		being := &mcpservertest.Service{Handles: []string{"iris"}, Messages: make(chan string, 1), Ended: make(chan error, 1)}
		handler := mcpserver.New(being, nil, mcpserver.Options{Drain: drain})
		in, toServer := io.Pipe()
		done := make(chan error, 1)
		go func() { done <- handler.ServeStream(t.Context(), owner, in, io.Discard) }()
		_, err := io.WriteString(toServer, begun+says("1", mcpservertest.Wait))
		require.NoError(t, err)
		require.Equal(t, mcpservertest.Wait, <-being.Messages)
		require.NoError(t, toServer.Close())
		require.Error(t, <-being.Ended)
		require.NoError(t, <-done)
	}
}

func TestOverStreamsBothEndsTogetherCutWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"input", "process"} {
		being := &mcpservertest.Service{Handles: []string{"iris"}, Messages: make(chan string, 1), Ended: make(chan error, 1)}
		handler := mcpserver.New(being, nil, mcpserver.Options{Drain: time.Hour})
		in, toServer := io.Pipe()
		ctx, end := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- handler.ServeStream(ctx, owner, in, io.Discard) }()
		_, err := io.WriteString(toServer, begun+says("1", mcpservertest.Wait))
		require.NoError(t, err)
		<-being.Messages
		if first == "input" {
			require.NoError(t, toServer.Close())
			end()
		} else {
			end()
			require.NoError(t, toServer.Close())
		}
		require.Error(t, <-being.Ended)
		require.NoError(t, <-done)
	}
}

func TestOverStreamsAStoppingProcessAnswersItsCalls(t *testing.T) {
	t.Parallel()
	being := &mcpservertest.Service{Handles: []string{"iris"}, Messages: make(chan string)}
	handler := mcpserver.New(being, nil, mcpserver.Options{})
	in, toServer := io.Pipe()
	ctx, end := context.WithCancel(t.Context())
	var out bytes.Buffer
	done := make(chan error, 1)
	go func() { done <- handler.ServeStream(ctx, owner, in, &out) }()
	_, err := io.WriteString(toServer, begun+says("1", "hello"))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return slices.Contains(being.Calls(), "Say") }, 10*time.Second,
		time.Millisecond)
	end()
	require.Equal(t, "hello", <-being.Messages, "it speaks when it was already told to end")
	require.NoError(t, <-done)
	require.Contains(t, out.String(), "You said: hello")
}

func TestOverStreamsALineThatIsNoMessageIsAnsweredAndEndsNothing(t *testing.T) {
	t.Parallel()
	for name, it := range map[string]struct {
		line string
		code int
		id   any
		says string
	}{
		"no JSON":             {"{\n", -32700, nil, "unexpected end of JSON input"},
		"words":               {"hello\n", -32700, nil, "invalid character 'h'"},
		"two in a line":       {`{"jsonrpc":"2.0","id":8,"method":"ping"} {}` + "\n", -32700, nil, "one line"},
		"too deep":            {strings.Repeat(`{"a":`, 10001) + "\n", -32700, nil, "depth"},
		"null":                {"null\n", -32600, nil, "jsonrpc"},
		"a number":            {"7\r\n", -32600, nil, "jsonrpc"},
		"nothing in it":       {"{}\n", -32600, nil, "jsonrpc"},
		"an empty batch":      {"[]\n", -32600, nil, "none"},
		"another version":     {`{"jsonrpc":"1.0","id":8,"method":"ping"}` + "\n", -32600, 8.0, "2.0"},
		"an id that is none":  {`{"jsonrpc":"2.0","id":{},"method":"ping"}` + "\n", -32600, nil, "string or a number"},
		"a method that is no": {`{"jsonrpc":"2.0","id":"x","method":7}` + "\n", -32600, "x", "method"},
		"too long":            {strings.Repeat("x", 1<<17) + "\n", -32600, nil, "65536 bytes"},
	} {
		all := over(t, mcpserver.Options{Body: 1 << 16},
			strings.NewReader(begun+it.line+"\n \n"+says("1", "still there?")))
		require.Len(t, all, 3, name)
		require.Equal(t, "You said: still there?", of(t, all, 1.0).text(), name)
		refused := of(t, all, it.id)
		require.NotNil(t, refused.Error, name)
		require.Equal(t, it.code, refused.Error.Code, name)
		require.Contains(t, refused.Error.Message, it.says, name)
	}
}

func TestOverStreamsNobodyRefusesARefusal(t *testing.T) {
	t.Parallel()
	all := over(t, mcpserver.Options{},
		strings.NewReader(
			begun+`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}`+"\n"+says("1", "hello")))
	require.Len(t, all, 2, "two that answer each other's errors never end")
}

func TestOverStreamsAnIdThatIsInUseIsNotTakenTwice(t *testing.T) {
	t.Parallel()
	being := &mcpservertest.Service{Handles: []string{"iris"}, Messages: make(chan string)}
	handler := mcpserver.New(being, nil, mcpserver.Options{})
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- handler.ServeStream(t.Context(), owner, in, out) }()
	lines := bufio.NewScanner(fromServer)
	next := func() (a answered) {
		require.True(t, lines.Scan())
		require.NoError(t, json.Unmarshal(lines.Bytes(), &a))
		return a
	}
	write := func(text string) {
		_, err := io.WriteString(toServer, text)
		require.NoError(t, err)
	}
	go write(begun)
	require.Equal(t, "i", next().ID)
	write(says("1", "one") + says("1", "two"))
	refused := next()
	require.Nil(t, refused.ID, "the answer is not taken for the first one's")
	require.Equal(t, -32600, refused.Error.Code)
	require.Equal(t, "one", <-being.Messages)
	require.Equal(t, "You said: one", next().text())
	write(says("1", "three"))
	require.Equal(t, "three", <-being.Messages)
	require.Equal(t, "You said: three", next().text(), "it was answered, and is free again")
	require.NoError(t, toServer.Close())
	require.NoError(t, <-done)
}

func TestOverStreamsABatchIsAnsweredTogether(t *testing.T) {
	t.Parallel()
	line := func(messages ...string) string {
		for i := range messages {
			messages[i] = strings.TrimSpace(messages[i])
		}
		return "[" + strings.Join(messages, ",") + "]\n"
	}
	notice := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`
	all := over(t, mcpserver.Options{},
		strings.NewReader(
			begun+line(says("1", "one"), "7", notice, says("2", "two"))+line(notice)+line("{}", notice)+
				says("3", "three")))
	require.Len(t, all, 4, "%+v", all)
	require.Equal(t, "You said: three", of(t, all, 3.0).text())
	require.Equal(t, -32600, of(t, all, nil).Error.Code, "alone in its batch")
	for _, together := range all {
		if len(together) == 1 {
			continue
		}
		require.Len(t, together, 3)
		texts := map[any]string{}
		for _, a := range together {
			texts[a.ID] = a.text()
		}
		require.Equal(t, map[any]string{1.0: "You said: one", 2.0: "You said: two", nil: ""}, texts)
	}
}

func FuzzNoLineEndsAStreamAndEachOfItsCallsIsAnswered(f *testing.F) {
	for _, seed := range []string{
		"", "\n", "{\n", "null\n", "[]\n", `{"jsonrpc":"2.0","id":1}` + "\n",
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"chat","arguments":null}}` + "\n",
		strings.Repeat("x", 1<<17), strings.Repeat(`{"a":`, 10000) + "\n", says("1", "x") + says("1", "x"),
		"[" + strings.TrimSpace(says("1", "x")) + "]", "[1,{},null]",
		`{"jsonrpc":"2.0","id":5,"method":"subscriptions/listen","params":{}}` + "\n",
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"last"}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, lines string) {
		// it may cancel the call in question
		if strings.Contains(lines, "last") || strings.Contains(lines, "\\u") || strings.Contains(lines, `"i"`) {
			return
		}
		var out bytes.Buffer
		handler := mcpserver.New(&mcpservertest.Service{Handles: []string{"iris"}}, nil, mcpserver.Options{Body: 1 << 16})
		require.NoError(t,
			handler.ServeStream(t.Context(), owner, strings.NewReader(begun+lines+"\n"+says(`"last"`, "hello")), &out))
		for line := range strings.Lines(out.String()) {
			require.True(t, json.Valid([]byte(line)), line)
		}
		require.Contains(t, out.String(), "You said: hello")
	})
}

// The error for each invalid message is a hundred times as long as the message.
func TestOverStreamsABatchOfVeryManyMessagesIsRefusedAsOne(t *testing.T) {
	t.Parallel()
	for many, answers := range map[int]int{1000: 1000, 1001: 1} {
		all := over(t, mcpserver.Options{},
			strings.NewReader("["+strings.Repeat("1,", many-1)+"1]\n"+begun+says("1", "one")))
		require.Len(t, all, 3)
		require.Len(t, all[0], answers)
		require.Nil(t, all[0][0].ID)
		require.Equal(t, -32600, all[0][0].Error.Code)
		if many > 1000 {
			require.Equal(t, "a batch holds at most 1000 messages, and this one holds 1001", all[0][0].Error.Message)
		}
		require.Equal(t, "You said: one", of(t, all, 1.0).text())
	}
}
