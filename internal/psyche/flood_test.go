package psyche_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	openairesponses "github.com/openai/openai-go/v3/responses"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/psyche/messageshttp"
	"github.com/seed-56a03226/oneiros/internal/psyche/openaihttp"
	"github.com/seed-56a03226/oneiros/internal/psyche/responseshttp"
	"github.com/seed-56a03226/oneiros/internal/psyche/turnhttp"
)

// floodedWires are the wires on which turns are begun, each by its official library.
var floodedWires = []struct {
	name   string
	ask    func(ctx context.Context, base string) error
	status func(err error) (status int, kind string, header http.Header)
}{
	{
		name: "chat completions",
		ask: func(ctx context.Context, base string) error {
			client := openai.NewClient(openaioption.WithBaseURL(base+"/v1"), openaioption.WithAPIKey("none"),
				openaioption.WithMaxRetries(0), openaioption.WithUnsafeAllowHTTP())
			_, err := client.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{
				Model: "echo", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hi")},
			})
			return err
		},
		status: openaiError,
	},
	{
		name: "responses",
		ask: func(ctx context.Context, base string) error {
			client := openai.NewClient(openaioption.WithBaseURL(base+"/v1"), openaioption.WithAPIKey("none"),
				openaioption.WithMaxRetries(0), openaioption.WithUnsafeAllowHTTP())
			_, err := client.Responses.New(ctx, openairesponses.ResponseNewParams{
				Model: "echo",
				Input: openairesponses.ResponseNewParamsInputUnion{OfString: openai.String("hi")},
			})
			return err
		},
		status: openaiError,
	},
	{
		name: "messages",
		ask: func(ctx context.Context, base string) error {
			client := anthropic.NewClient(anthropicoption.WithBaseURL(base), anthropicoption.WithAPIKey("none"),
				anthropicoption.WithMaxRetries(0))
			_, err := client.Messages.New(ctx, anthropic.MessageNewParams{
				Model: "echo", MaxTokens: 9,
				Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("hi"))},
			})
			return err
		},
		status: func(err error) (int, string, http.Header) {
			e, ok := errors.AsType[*anthropic.Error](err)
			if !ok {
				return 0, "", nil
			}
			return e.StatusCode, string(e.Type()), e.Response.Header
		},
	},
}

func openaiError(err error) (int, string, http.Header) {
	e, ok := errors.AsType[*openai.Error](err)
	if !ok {
		return 0, "", nil
	}
	return e.StatusCode, e.Type, e.Response.Header
}

// crowded serves every wire over a model that answers when it is told to.
func crowded(t *testing.T, limits front.Limits) (base string, begun chan struct{}, answer chan struct{}) {
	t.Helper()
	begun, answer = make(chan struct{}, 16), make(chan struct{})
	r := setup(t)
	yes := says("Yes.")
	r.provider.answer = func(q inference.RelayRequest) (int, string, io.ReadCloser) {
		begun <- struct{}{}
		<-answer
		return yes(q)
	}
	return r.wires(limits), begun, answer
}

// wires serves every wire.
func (r *rig) wires(limits front.Limits) (base string) {
	t := r.t
	t.Helper()
	turns := turnhttp.Turns{Talk: r.Service, Now: time.Now}
	routes := (&responseshttp.Handler{Turns: turns}).Routes()
	routes = append(routes, (&messageshttp.Handler{Turns: turns, Meter: r.Service}).Routes()...)
	routes = append(routes, (&openaihttp.Handler{Turns: turns}).Routes()...)
	served, err := front.New(front.Options{Routes: routes, Keys: keyless{}, Keyless: true, Limits: limits})
	require.NoError(t, err)
	s := httptest.NewServer(served)
	t.Cleanup(s.Close)
	return s.URL
}

// TestAFullServerIsToldOnEveryWire fills the only place by a turn, on each wire in turn, and asks again: each official
// library gets the error of its own that its clients wait and ask again for.
func TestAFullServerIsToldOnEveryWire(t *testing.T) {
	t.Parallel()
	for _, w := range floodedWires {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			base, begun, answer := crowded(t, front.Limits{All: 1})
			first := make(chan error, 1)
			go func() { first <- w.ask(t.Context(), base) }()
			select {
			case <-begun:
			case err := <-first:
				require.NoError(t, err)
			}
			free := sync.OnceFunc(func() { close(answer) })
			defer free()
			for _, other := range floodedWires {
				err := other.ask(t.Context(), base)
				status, kind, header := other.status(err)
				want, wanted := http.StatusServiceUnavailable, "server_error"
				if other.name == "messages" {
					want, wanted = 529, "overloaded_error"
				}
				require.Equal(t, want, status, "%s beside %s: %v", other.name, w.name, err)
				require.Equal(t, wanted, kind, other.name)
				seconds, err := strconv.Atoi(header.Get("Retry-After"))
				require.NoError(t, err, other.name)
				require.Positive(t, seconds, other.name)
			}
			free()
			require.NoError(t, <-first)
			require.NoError(t, w.ask(t.Context(), base), "and then there is a place again")
		})
	}
}

// TestARateIsToldOnEveryWire asks more often than a minute allows.
func TestARateIsToldOnEveryWire(t *testing.T) {
	t.Parallel()
	for _, w := range floodedWires {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			base, _, answer := crowded(t, front.Limits{All: 4, Rate: 1})
			close(answer)
			require.NoError(t, w.ask(t.Context(), base))
			err := w.ask(t.Context(), base)
			status, kind, header := w.status(err)
			require.Equal(t, http.StatusTooManyRequests, status, "%v", err)
			require.Equal(t, "rate_limit_error", kind)
			seconds, err := strconv.Atoi(header.Get("Retry-After"))
			require.NoError(t, err)
			require.Greater(t, seconds, 1)
			prefix := map[bool]string{true: "Anthropic-Ratelimit-Requests-", false: "X-Ratelimit-"}[w.name == "messages"]
			require.True(t, named(header, prefix), "%v", header)
		})
	}
}

func named(header http.Header, prefix string) bool {
	for name := range header {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
