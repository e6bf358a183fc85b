package serving_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/serving/talker"
)

// The prices of the provider that bills: so high that one answer costs a fortieth of a day's cap.
var billedPrice = budget.Price{In: 1_000_000, CachedIn: 1_000_000, Out: 2_000_000}

// billed is a deployment that talks by a paid provider of one reading, with a cap of so much a day.
func billed(t *testing.T, how provider.Reading, day, more string, each time.Duration) (*deployment, *provider.Server) {
	t.Helper()
	upstream, err := provider.Start(provider.Options{
		Reading: how, Thinking: 24_576, Each: each,
		Models: []provider.Model{
			{Name: "dear", Price: &billedPrice},
			{Name: "thinker", Price: &billedPrice, Thinks: 1},
		},
	})
	require.NoError(t, err)
	t.Cleanup(upstream.Close)
	h := build(t, talker.Options{}, provider.Options{}, "")
	h.settings = fmt.Sprintf(`serve: {listen: "127.0.0.1:0", model: paid/dear, rate: 0, recall: false%s}
money: {dream: "0.10", day: "%s"}`, more, day)
	h.paid = fmt.Sprintf(`  paid:
    profile: generic
    base_url: %s
    pass_headers: X-Team
    models:
      - {name: dear, price: {in: "1", out: "2"}, context: 128000}
      - {name: thinker, price: {in: "1", out: "2"}, context: 128000, reasoning: true}
`, upstream.URL)
	h.write()
	h.must("agents", "add", "iris")
	h.begin("up")
	return h, upstream
}

// counted is what the ledger counts for an agent.
func (h *deployment) counted() budget.Micros {
	h.Helper()
	var spent struct {
		Total struct {
			Micros budget.Micros `json:"total_micros"`
		} `json:"total"`
	}
	text := h.must("--json", "spend", "--agent", "iris")
	require.NoError(h, json.Unmarshal([]byte(text), &spent), text)
	return spent.Total.Micros
}

func asking(fields string) string {
	return `{"model":"iris","messages":[{"role":"user","content":"Hi"}],` + fields + `}`
}

// TestNoBodyIsBilledBeyondTheDay sends bodies that could make a provider bill more than was reserved: each many
// times, to providers of each reading. The provider's bill stays within the day's cap, and within what the ledger
// counts.
func TestNoBodyIsBilledBeyondTheDay(t *testing.T) {
	t.Parallel()
	const day = 200_000 // micro-dollars
	for _, how := range provider.Readings() {
		t.Run(string(how), func(t *testing.T) {
			t.Parallel()
			h, upstream := billed(t, how, "0.20", "", 0)
			for _, c := range []struct {
				body, code, param string
			}{
				{asking(`"n":2048,"max_tokens":9007199254740992`), "invalid_value", "n"},
				{asking(`"n":128,"max_tokens":9007199254740992`), "invalid_value", "max_tokens"},
				{asking(`"n":2048`), "invalid_value", "n"},
				{asking(`"max_tokens":200000`), "invalid_value", "max_tokens"},
				{asking(`"max_tokens":-1`), "invalid_value", "max_tokens"},
				{asking(`"max_tokens":0`), "invalid_value", "max_tokens"},
				{asking(`"max_completion_tokens":"100000"`), "invalid_value", "max_completion_tokens"},
				{asking(`"n":true`), "invalid_value", "n"},
				{asking(`"stream_options":[]`), "invalid_value", "stream_options"},
				{asking(`"Model":"thinker"`), "duplicate_field", "model"},
				{asking(`"mod\u0065l":"thinker"`), "duplicate_field", "model"},
				{asking(`"max_tokens":5,"Max_Tokens":100000`), "duplicate_field", "max_tokens"},
				{asking(`"max_tokenſ":100000`), "duplicate_field", "max_tokens"},
				{asking(`"service_tier":"priority"`), "field_not_allowed", "service_tier"},
				{
					asking(`"web_search_options":{"search_context_size":"high"}`), "field_not_allowed",
					"web_search_options",
				},
				{asking(`"models":["thinker"]`), "field_not_allowed", "models"},
				{asking(`"plugins":[{"id":"web"}]`), "field_not_allowed", "plugins"},
				{asking(`"tools":[{"type":"web_search"}]`), "field_not_allowed", "tools"},
				{
					`{"model":"iris","messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"f"}}]}]}`,
					"field_not_allowed", "file",
				},
				{
					`{"model":"iris","messages":[{"role":"user","content":[{"type":"video_url","video_url":{"url":"https://x"}}]}]}`,
					"field_not_allowed", "video_url",
				},
				{
					`{"model":"iris","messages":[{"role":"user","content":"a","Content":"b"}]}`, "duplicate_field",
					"messages[].content",
				},
			} {
				status, _, answer := h.ask(http.MethodPost, "/v1/chat/completions", c.body)
				require.Equal(t, http.StatusBadRequest, status, "%s: %s", c.body, answer)
				var failure struct {
					Error struct{ Code, Param string }
				}
				require.NoError(t, json.Unmarshal([]byte(answer), &failure))
				require.Equal(t, c.code, failure.Error.Code, c.body)
				require.Equal(t, c.param, failure.Error.Param, c.body)
			}
			require.Empty(t, upstream.Billing.Calls(), "nothing of it was sent")
			passed := 0
			for _, body := range []string{
				asking(`"max_tokens":null`), asking(`"max_tokens":null,"n":null,"stream_options":null,"stream":true`),
				asking(`"max_tokens":500`),
				asking(`"max_completion_tokens":null,"reasoning_effort":"high"`), asking(`"n":3,"max_tokens":700`),
				asking(`"max_output_tokens":9000`),
				`{"model":"iris","max_tokens":100,"messages":[{"role":"user","content":[{"type":"hologram"}]}]}`,
			} {
				for range 6 {
					status, _, answer := h.ask(http.MethodPost, "/v1/chat/completions", body)
					require.Contains(t, []int{http.StatusOK, http.StatusTooManyRequests}, status, "%s: %s", body,
						answer)
					if status == http.StatusOK {
						passed++
					}
					require.LessOrEqual(t, upstream.Billing.Total(), budget.Micros(day))
				}
			}
			require.Greater(t, passed, 5)
			require.NoError(t, upstream.Billing.Quiet(t.Context()))
			require.LessOrEqual(t, upstream.Billing.Total(), h.counted(), "the ledger counts no less than the provider")
		})
	}
}

// TestAStreamThatAClientCutsCountsForAllThatItsProviderMayBill ends the connection after the first words of answers
// of a reasoning model: the provider bills what it was allowed to think and say.
func TestAStreamThatAClientCutsCountsForAllThatItsProviderMayBill(t *testing.T) {
	t.Parallel()
	h, upstream := billed(t, provider.ReadLast, "2.00", "", 50*time.Millisecond)
	h.end()
	h.settings = strings.Replace(h.settings, "paid/dear", "paid/thinker", 1)
	h.out, h.err = output{}, output{}
	h.write()
	h.begin("up")
	for _, fields := range []string{
		`"stream":true,"max_tokens":50`, `"stream":true`,
		`"stream":true,"max_completion_tokens":90`,
	} {
		ctx, hangUp := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.base+"/chat/completions",
			strings.NewReader(asking(fields)))
		require.NoError(t, err)
		res, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, res.StatusCode)
		_, err = bufio.NewReader(res.Body).ReadString('\n')
		require.NoError(t, err)
		hangUp()
		_ = res.Body.Close()
	}
	require.NoError(t, upstream.Billing.Quiet(t.Context()))
	require.Eventually(t, func() bool { return h.counted() >= upstream.Billing.Total() }, 20*time.Second,
		100*time.Millisecond)
	calls := upstream.Billing.Calls()
	require.Len(t, calls, 3)
	require.GreaterOrEqual(t, calls[0].Completion, int64(50+24_576), "the provider bills what was thought")
	require.Eventually(t, func() bool {
		_, _, figures := h.ask(http.MethodGet, "/metrics", "")
		return strings.Contains(figures, `oneiros_turns_total{end="dropped",path="chat"} 3`) &&
			strings.Contains(figures, `oneiros_turns_total{end="broken",path="chat"} 0`)
	}, 20*time.Second, 100*time.Millisecond, "a hang-up is not the provider's fault")
}

// TestAllowedFieldsArePassedOnAndPersonalHeadersAreNot checks what the provider is sent.
func TestAllowedFieldsArePassedOnAndPersonalHeadersAreNot(t *testing.T) {
	t.Parallel()
	h, upstream := billed(t, provider.ReadFirst, "2.00", `, allow_fields: "service_tier"`, 0)
	kept := []string{
		"X-Auth-Request-Email", "X-Auth-Request-Access-Token", "Cf-Access-Jwt-Assertion", "Tailscale-User-Login",
		"X-Amzn-Oidc-Data",
		"X-Portkey-Config", "Helicone-Auth", "Cf-Aig-Authorization", "X-Litellm-Tags", "Cookie", "X-Custom",
		"Openai-Organization", "Baggage",
		"X-Goog-Iap-Jwt-Assertion", "Remote-User", "X-Stainless-Os",
	}
	var key struct{ Secret string }
	require.NoError(t, json.Unmarshal([]byte(h.must("--json", "keys", "add", "guest", "--role", "client")), &key))
	header := []string{
		"Authorization", "Bearer " + key.Secret, "User-Agent", "ours/1", "OpenAI-Beta", "x=1",
		"X-Team", "night", "Accept", "application/json",
	}
	for _, name := range kept {
		header = append(header, name, "secret-of-somebody")
	}
	status, _, answer := h.ask(http.MethodPost, "/v1/chat/completions",
		asking(`"service_tier":"priority","max_tokens":9`), header...)
	require.Equal(t, http.StatusOK, status, answer)
	calls := upstream.Billing.Calls()
	require.Len(t, calls, 1)
	sent := calls[0].Header
	for _, name := range kept {
		require.Empty(t, sent.Get(name), name)
	}
	require.Equal(t, "ours/1", sent.Get("User-Agent"))
	require.Equal(t, "x=1", sent.Get("Openai-Beta"))
	require.Equal(t, "night", sent.Get("X-Team"))
	require.NotContains(t, fmt.Sprint(sent), "secret-of-somebody")
	require.NotContains(t, fmt.Sprint(sent), key.Secret)
}

// TestAStreamThatEndsTooSoonIsReportedAsBroken has a provider whose connection ends regularly in the middle of an
// answer.
func TestAStreamThatEndsTooSoonIsReportedAsBroken(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	short := &http.Server{
		ReadHeaderTimeout: time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprint(
				w,
				"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"half an ans\"},\"finish_reason\":null}]}\n\n",
			)
		}),
	}
	go func() { _ = short.Serve(l) }()
	t.Cleanup(func() { _ = short.Close() })
	h := build(t, talker.Options{}, provider.Options{}, `serve: {listen: "127.0.0.1:0", model: paid/short, rate: 0}
log: {level: info, format: json}`)
	h.paid = fmt.Sprintf("  paid: {profile: generic, base_url: \"http://%s/v1\", local: true, models: [short]}\n",
		l.Addr())
	h.write()
	h.must("agents", "add", "iris")
	h.begin("up")
	status, _, answer := h.ask(http.MethodPost, "/v1/chat/completions", asking(`"stream":true`))
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, answer, "half an ans")
	require.Contains(t, answer, `"code":"upstream_broken"`)
	require.Eventually(t, func() bool {
		_, _, figures := h.ask(http.MethodGet, "/metrics", "")
		return strings.Contains(figures, `oneiros_turns_total{end="broken",path="chat"} 1`)
	}, 20*time.Second, 50*time.Millisecond)
	require.Eventually(t, func() bool { return strings.Contains(h.err.String(), `"code":"upstream_broken"`) },
		20*time.Second, 50*time.Millisecond)
}
