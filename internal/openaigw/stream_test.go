package openaigw_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/openaigw"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

// Time limits for what must happen, and for what must not.
const (
	patience   = 20 * time.Second
	impatience = 500 * time.Millisecond
)

// under generates once while the provider fails in one way.
func under(t *testing.T, fault provider.Fault,
	o provider.Options,
) (inference.Answer, *inference.Failure, provider.Call) {
	t.Helper()
	usage, idle := patience, patience
	switch fault {
	case provider.HangFirst, provider.HangMiddle:
		idle = impatience
	case provider.Lingering:
		usage = impatience
	}
	s, g := stage(t, o, func(o *openaigw.Options) { o.UsageWait = usage })
	s.Next(fault)
	r := request("p/script")
	r.IdleToken = idle
	a, err := g.Generate(t.Context(), r, nil)
	var f *inference.Failure
	if err != nil {
		var ok bool
		f, ok = inference.AsFailure(err)
		require.True(t, ok, "%v", err)
	}
	calls := quiet(t, s)
	require.Len(t, calls, 1)
	return a, f, calls[0]
}

func TestAnHonestLimitEndsWithTheProvidersUsage(t *testing.T) {
	t.Parallel()
	s, g := stage(t, provider.Options{})
	r := request("p/script")
	r.MaxTokens = 20
	a, err := g.Generate(t.Context(), r, nil)
	require.NoError(t, err)
	require.Equal(t, inference.Length, a.Finish)
	require.Equal(t, 20, a.Visible)
	require.Equal(t, inference.ByProvider, a.UsageFrom)
	c := quiet(t, s)[0]
	require.True(t, c.Completed)
	require.Equal(t, c.Completion, a.Tokens.Out)
}

func TestAProviderThatIgnoresItsLimitIsCutOff(t *testing.T) {
	t.Parallel()
	a, f, c := under(t, provider.IgnoreMax, provider.Options{})
	require.Nil(t, f)
	require.Equal(t, inference.Length, a.Finish)
	require.Equal(t, 80, a.Visible)
	require.Equal(t, inference.ByCount, a.UsageFrom)
	require.False(t, c.Completed)
	require.GreaterOrEqual(t, c.Completion, int64(81))
	require.Less(t, c.Completion, int64(120))
}

func TestSilenceBreaksACall(t *testing.T) {
	t.Parallel()
	for fault, wants := range map[provider.Fault]bool{provider.HangFirst: false, provider.HangMiddle: true} {
		a, f, c := under(t, fault, provider.Options{})
		require.Equal(t, inference.Broken, f.Kind)
		require.True(t, f.Billed)
		require.True(t, f.Again())
		require.Contains(t, f.Message, "silent for 500ms")
		require.Equal(t, wants, a.Text != "")
		require.LessOrEqual(t, int64(a.Visible), c.Completion)
		require.True(t, c.Charged)
	}
}

func TestABreakInMidStreamKeepsWhatWasRead(t *testing.T) {
	t.Parallel()
	a, f, c := under(t, provider.CutMiddle, provider.Options{Each: time.Millisecond})
	require.Equal(t, inference.Broken, f.Kind)
	require.True(t, f.Billed)
	require.Positive(t, a.Visible)
	require.EqualValues(t, c.Completion, a.Visible)
	require.Empty(t, a.Finish)
}

func TestAChunkThatIsNoJSONIsMalformed(t *testing.T) {
	t.Parallel()
	a, f, _ := under(t, provider.BadChunk, provider.Options{})
	require.Equal(t, inference.Malformed, f.Kind)
	require.True(t, f.Billed)
	require.Positive(t, a.Visible)
}

func TestUsageThatIsMissingOrTooLowIsCounted(t *testing.T) {
	t.Parallel()
	a, f, c := under(t, provider.NoUsage, provider.Options{})
	require.Nil(t, f)
	require.Equal(t, inference.ByCount, a.UsageFrom)
	require.Equal(t, c.Completion, a.Tokens.Out)

	a, f, c = under(t, provider.LowUsage, provider.Options{})
	require.Nil(t, f)
	require.Equal(t, inference.ByProvider, a.UsageFrom)
	require.Equal(t, c.Completion, a.Tokens.Out, "never below what was seen")

	a, f, c = under(t, provider.HighUsage, provider.Options{})
	require.Nil(t, f)
	require.Equal(t, 2*c.Completion, a.Tokens.Out)

	a, f, c = under(t, provider.Lingering, provider.Options{})
	require.Nil(t, f)
	require.Equal(t, inference.ByCount, a.UsageFrom)
	require.Equal(t, c.Completion, a.Tokens.Out)
	require.NotEmpty(t, a.Finish)
}

func TestAPlainAnswerToAStreamIsRead(t *testing.T) {
	t.Parallel()
	a, f, c := under(t, provider.Plain, provider.Options{})
	require.Nil(t, f)
	require.Equal(t, 1, a.Visible)
	require.Equal(t, inference.ByProvider, a.UsageFrom)
	require.Equal(t, c.Completion, a.Tokens.Out)
	require.NotEmpty(t, a.Text)
}

func TestReasoningIsCountedAndNotShown(t *testing.T) {
	t.Parallel()
	s, g := stage(t, provider.Options{})
	r := request("p/thinker")
	r.Reasoning = 100
	a, err := g.Generate(t.Context(), r, nil)
	require.NoError(t, err)
	c := quiet(t, s)[0]
	require.Equal(t, c.Completion, a.Tokens.Out)
	require.EqualValues(t, 20, a.Tokens.Reasoning)
	require.EqualValues(t, a.Visible, c.Completion-20)
	require.NotContains(t, a.Text, "Let me look")
	require.JSONEq(t, "180", string(c.Sampling["max_completion_tokens"]))

	r.MaxTokens, r.Reasoning = 5, 10
	a, err = g.Generate(t.Context(), r, nil)
	require.NoError(t, err)
	require.Equal(t, inference.Length, a.Finish, "it thought until nothing was left")
	require.Empty(t, a.Text)
	require.EqualValues(t, 15, a.Tokens.Out)
}

func TestOneConnectionServesCallAfterCall(t *testing.T) {
	t.Parallel()
	remotes := map[string]bool{}
	g := answering(t, spec(), func(w http.ResponseWriter, r *http.Request) {
		remotes[r.RemoteAddr] = true
		_, _ = io.WriteString(w, short)
	})
	for range 5 {
		_, err := g.Generate(t.Context(), request("p/m"), nil)
		require.NoError(t, err)
	}
	require.Len(t, remotes, 1)
}

// saying is the answer for a body of any kind.
func saying(t *testing.T, body string, more ...func(*openaigw.Options)) (inference.Answer, error) {
	t.Helper()
	g := answering(t, spec(), func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }, more...)
	return g.Generate(t.Context(), request("p/m"), nil)
}

func TestStreamsOfEveryMannerAreRead(t *testing.T) {
	t.Parallel()
	chunk := func(content, finish string) string {
		return `data: {"choices":[{"delta":{"content":"` + content + `"},"finish_reason":` + finish + "}]}"
	}
	for name, body := range map[string]string{
		"CRLF and comments": ": waiting\r\n\r\n" + chunk("a", "null") + "\r\n\r\nevent: x\r\nid: 4\r\n" +
			chunk("b", `"stop"`) + "\r\n\r\ndata: [DONE]\r\n\r\n",
		"no blank lines": chunk("a", "null") + "\n" + chunk("b", `"stop"`) + "\ndata: [DONE]\n",
		"no space after the colon": strings.ReplaceAll(
			chunk("a", "null")+"\n\n"+chunk("b", `"stop"`)+"\n\ndata: [DONE]\n\n", "data: ", "data:"),
		"no end mark":                  chunk("a", "null") + "\n\n" + chunk("b", `"stop"`) + "\n\n",
		"no finish reason":             chunk("a", "null") + "\n\n" + chunk("b", "null") + "\n\ndata: [DONE]\n\n",
		"end mark without its newline": chunk("a", "null") + "\n\n" + chunk("b", "null") + "\n\ndata: [DONE]",
		"byte order mark":              "\xef\xbb\xbf" + chunk("a", "null") + "\n\n" + chunk("b", `"stop"`) + "\n\n",
		"one event in several lines":   "data: {\"choices\":[{\"delta\":\ndata: {\"content\":\"ab\"},\ndata: \"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
		"other choices": chunk("a", "null") + "\n\n" +
			`data: {"choices":[{"index":1,"delta":{"content":"x"}}]}` + "\n\n" + chunk("b", `"stop"`) + "\n\n",
		"plain, with white space": "\n  " + `{"choices":[{"message":{"content":"ab"},"finish_reason":"stop"}]}`,
	} {
		a, err := saying(t, body)
		require.NoError(t, err, name)
		require.Equal(t, "ab", a.Text, name)
		require.Equal(t, inference.Stopped, a.Finish, name)
	}
}

func TestStreamsThatAreNoAnswersFail(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body string
		kind inference.Kind
	}{
		"nothing":      {"", inference.Broken},
		"only the end": {"data: [DONE]\n\n", inference.Malformed},
		"a torn event": {
			`data: {"choices":[{"delta":{"content":"a"}}]}` + "\n\n" + `data: {"choi`,
			inference.Broken,
		},
		"a web page": {"<html>hello</html>", inference.Broken},
		"an error event": {
			`data: {"error":{"message":"overloaded","code":503}}` + "\n\n",
			inference.Unavailable,
		},
		"an error in words": {`data: {"error":{"message":"it went wrong"}}` + "\n\n", inference.Broken},
		"an empty account": {
			`data: {"error":{"message":"no","code":"insufficient_quota"}}` + "\n\n",
			inference.NoMoney,
		},
		"a plain error":         {`{"error":{"message":"rate limited","code":429}}`, inference.RateLimited},
		"an error that is text": {`{"error":"no such thing"}`, inference.Broken},
		"plain without choice":  {`{"id":"x"}`, inference.Malformed},
		"plain and torn":        {`{"choices":[{"message":`, inference.Malformed},
		"a line without end":    {"data: " + strings.Repeat("x", 3<<20), inference.Malformed},
	} {
		_, err := saying(t, c.body)
		f, ok := inference.AsFailure(err)
		require.True(t, ok, "%s: %v", name, err)
		require.Equal(t, c.kind, f.Kind, name)
		require.True(t, f.Billed, name)
	}
	_, err := saying(t, strings.Repeat(": nothing\n", 1000), func(o *openaigw.Options) { o.BodyLimit = 5000 })
	f, _ := inference.AsFailure(err)
	require.Equal(t, inference.Malformed, f.Kind)
	require.Contains(t, f.Message, "5000 bytes")
}

func TestAnEndedContextCutsAHangingCall(t *testing.T) {
	t.Parallel()
	s, g := stage(t, provider.Options{})
	s.Next(provider.HangMiddle)
	ctx, cancel := context.WithCancelCause(t.Context())
	late := errors.New("the wall of the dream is reached")
	var once sync.Once
	a, err := g.Generate(ctx, request("p/script"), func(string) bool {
		once.Do(func() { time.AfterFunc(20*time.Millisecond, func() { cancel(late) }) })
		return true
	})
	require.ErrorIs(t, err, late)
	require.Equal(t, inference.Cut, a.Finish)
	require.Positive(t, a.Visible)
	require.GreaterOrEqual(t, quiet(t, s)[0].Completion, int64(a.Visible))
}

func TestAContextThatEndsAfterTheAnswerChangesNothing(t *testing.T) {
	t.Parallel()
	s, g := stage(t, provider.Options{}, func(o *openaigw.Options) { o.UsageWait = patience })
	s.Next(provider.Lingering)
	ctx, cancel := context.WithCancel(t.Context())
	r := request("p/script")
	r.MaxTokens = 20
	n := 0
	a, err := g.Generate(ctx, r, func(string) bool {
		n++
		if n == r.MaxTokens {
			time.AfterFunc(20*time.Millisecond, cancel)
		}
		return true
	})
	require.NoError(t, err)
	require.Equal(t, inference.Length, a.Finish)
	require.Equal(t, inference.ByCount, a.UsageFrom)
}
