package psyche_test

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
)

// TestALimitOfTokensIsReportedOnEveryWire uses more tokens than a minute allows, on each wire by its official library.
func TestALimitOfTokensIsReportedOnEveryWire(t *testing.T) {
	t.Parallel()
	for _, w := range floodedWires {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			r := setup(t)
			r.provider.used = &budget.Tokens{In: 120, Out: 30}
			base := r.wires(front.Limits{Tokens: 100})
			require.NoError(t, w.ask(t.Context(), base))
			err := w.ask(t.Context(), base)
			status, kind, header := w.status(err)
			require.Equal(t, http.StatusTooManyRequests, status, "%v", err)
			require.Equal(t, "rate_limit_error", kind)
			require.Equal(t, "31", header.Get("Retry-After"))
			require.Len(t, r.provider.bodies, 1)
			require.Equal(t, 1, r.nights.woken(), "it wakes nobody")
			seconds, err := strconv.Atoi(header.Get("Retry-After"))
			require.NoError(t, err)
			r.clock.pass(time.Duration(seconds) * time.Second)
			require.NoError(t, w.ask(t.Context(), base))
		})
	}
}

// limited is a caller with so many tokens a minute.
func limited(principal string, tokens int) psyche.Caller {
	c := caller("key_"+principal, "")
	c.Key.Principal, c.Key.Tokens = principal, tokens
	return c
}

func TestAnswersSayWhatIsLeftOfTheTokens(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.provider.used = &budget.Tokens{In: 30, Out: 10}
	base := r.wires(front.Limits{Tokens: 100})
	for _, c := range []struct{ path, body, prefix string }{
		{"/v1/chat/completions", `{"model":"echo","messages":[{"role":"user","content":"hi"}]}`, "X-Ratelimit-"},
		{"/v1/responses", `{"model":"echo","input":"hi"}`, "X-Ratelimit-"},
		{
			"/v1/messages", `{"model":"echo","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`,
			"Anthropic-Ratelimit-Tokens-",
		},
	} {
		res, err := http.Post(base+c.path, "application/json", strings.NewReader(c.body))
		require.NoError(t, err)
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, 200, res.StatusCode, "%s", text)
		limit, remaining := "Limit-Tokens", "Remaining-Tokens"
		if c.path == "/v1/messages" {
			limit, remaining = "Limit", "Remaining"
		}
		require.Equal(t, "100", res.Header.Get(c.prefix+limit), "%v", res.Header)
		require.Equal(t, "100", res.Header.Get(c.prefix+remaining), "%v", res.Header)
		r.clock.pass(time.Minute)
	}
}

func TestTokensCountForThePrincipal(t *testing.T) {
	t.Parallel()
	const body = `{"messages":[{"role":"user","content":"hi"}]}`
	say := func(r *rig, c psyche.Caller) error {
		reply, err := r.Chat(t.Context(), turn(c, body))
		if err != nil {
			return err
		}
		_, err = io.ReadAll(reply.Body)
		require.NoError(t, err)
		return reply.Body.Close()
	}
	refused := func(t *testing.T, err error) {
		t.Helper()
		var f *psyche.Fault
		require.ErrorAs(t, err, &f)
		require.Equal(t, psyche.CodeRate, f.Code)
	}
	t.Run("and for nobody else", func(t *testing.T) {
		t.Parallel()
		r := setup(t)
		r.provider.used = &budget.Tokens{In: 100}
		require.NoError(t, say(r, limited("anna", 50)))
		refused(t, say(r, limited("anna", 50)))
		refused(t, say(r, limited("anna", 80)))
		require.NoError(t, say(r, limited("bob", 50)))
		require.NoError(t, say(r, limited("anna", 0)), "a key without a limit is not refused")
	})
	t.Run("as the bytes tell where no usage is reported", func(t *testing.T) {
		t.Parallel()
		r := setup(t)
		require.NoError(t, say(r, limited("anna", 1000)))
		reply, err := r.Chat(t.Context(), turn(limited("anna", 1000), body))
		require.NoError(t, err)
		require.NoError(t, reply.Body.Close())
		sent := (len(r.provider.last(t)) + 3) / 4
		require.Equal(t, 1000-sent, reply.Report.Tokens.Remaining)
	})
	t.Run("not of a refusal", func(t *testing.T) {
		t.Parallel()
		r := setup(t)
		r.provider.used = &budget.Tokens{In: 100}
		r.provider.answer = func(inference.RelayRequest) (int, string, io.ReadCloser) {
			return 400, "application/json", io.NopCloser(strings.NewReader(`{"error":{"message":"no"}}`))
		}
		for range 2 {
			require.NoError(t, say(r, limited("anna", 50)))
		}
	})
	t.Run("of a text that is completed, and of what is embedded", func(t *testing.T) {
		t.Parallel()
		r := setup(t, func(_ *psyche.Ports, o *psyche.Options) { o.Completions = "p/free" })
		r.provider.used = &budget.Tokens{In: 100}
		for name, ask := range map[string]func(c psyche.Caller) (*psyche.Reply, error){
			"completions": func(c psyche.Caller) (*psyche.Reply, error) {
				u := turn(c, `{"prompt":"Once"}`)
				u.Path = "/completions"
				return r.Completions(t.Context(), u)
			},
			"embeddings": func(c psyche.Caller) (*psyche.Reply, error) {
				u := turn(c, `{"input":"Once"}`)
				u.Path = "/embeddings"
				return r.Embeddings(t.Context(), u)
			},
		} {
			reply, err := ask(limited(name, 50))
			require.NoError(t, err, name)
			require.NoError(t, reply.Body.Close())
			psyche.Drained(r.Service)
			_, err = ask(limited(name, 50))
			refused(t, err)
		}
	})
}
