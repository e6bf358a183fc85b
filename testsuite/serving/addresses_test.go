package serving_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

// TestWhatStandsElsewhereIsBilledWithinTheDayOnEveryWire sends pictures at web addresses to a provider that bills its
// whole window for them, on each wire by an agent of its own: the bill stays within the agent's day. Files and sound are
// refused, and nothing of them is sent.
func TestWhatStandsElsewhereIsBilledWithinTheDayOnEveryWire(t *testing.T) {
	t.Parallel()
	const day = 150_000 // micro-dollars: the window costs 128,000, and the answer 16,384
	h, upstream := billed(t, provider.ReadLast, "0.15", "", 0)
	for _, c := range []struct{ path, agent, picture, file string }{
		{
			"/v1/chat/completions", "iris",
			`"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://x.org/a.png"}}]}]`,
			`"messages":[{"role":"user","content":[{"type":"file","file":{"file_data":"AA"}}]}]`,
		},
		{
			"/v1/responses", "fern",
			`"input":[{"role":"user","content":[{"type":"input_image","image_url":"https://x.org/a.png"}]}]`,
			`"input":[{"role":"user","content":[{"type":"input_file","file_data":"AA"}]}]`,
		},
		{
			"/v1/messages", "moss",
			`"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://x.org/a.png"}}]}]`,
			`"messages":[{"role":"user","content":[{"type":"document",` +
				`"source":{"type":"base64","media_type":"application/pdf","data":"AA"}}]}]`,
		},
	} {
		if c.agent != "iris" {
			h.must("agents", "add", c.agent)
		}
		before, calls := upstream.Billing.Total(), len(upstream.Billing.Calls())
		status, _, answer := h.ask(http.MethodPost, c.path, `{"model":"`+c.agent+`",`+c.file+`}`)
		require.Equal(t, http.StatusBadRequest, status, answer)
		require.Contains(t, answer, "file is not passed on to a paid model")
		require.Contains(t, answer, "serve.allow_fields")
		require.Len(t, upstream.Billing.Calls(), calls, "nothing of it was sent")
		for i := range 3 {
			status, _, answer = h.ask(http.MethodPost, c.path, `{"model":"`+c.agent+`",`+c.picture+`}`)
			want := http.StatusOK
			if i > 0 {
				want = http.StatusTooManyRequests
			}
			require.Equal(t, want, status, "%s: %s", c.path, answer)
		}
		require.NoError(t, upstream.Billing.Quiet(t.Context()))
		bill := upstream.Billing.Total() - before
		require.Greater(t, bill, budget.Micros(128_000), "%s: the control: the window is billed", c.path)
		require.LessOrEqual(t, bill, budget.Micros(day), c.path)
	}
	h.end()
}
