package serving_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

// TestWhatStandsElsewhereIsBilledWithinTheDayOnEveryWire has a provider that bills its whole window for a picture at a
// web address, which is more than an agent has for a day: no wire sends it one, nor a file. The bytes of one pass.
func TestWhatStandsElsewhereIsBilledWithinTheDayOnEveryWire(t *testing.T) {
	t.Parallel()
	const day = 100_000 // micro-dollars: the window costs 128,000
	h, upstream := billed(t, provider.ReadLast, "0.10", "", 0)
	for _, c := range []struct{ path, agent, picture, file, refused string }{
		{
			"/v1/chat/completions", "iris",
			`"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"ADDRESS"}}]}]`,
			`"messages":[{"role":"user","content":[{"type":"file","file":{"file_data":"AA"}}]}]`,
			"file is not passed on",
		},
		{
			"/v1/responses", "fern",
			`"input":[{"role":"user","content":[{"type":"input_image","image_url":"ADDRESS"}]}]`,
			`"input":[{"role":"user","content":[{"type":"input_file","file_data":"AA"}]}]`,
			"input_file at input[0].content[0] is not passed on",
		},
		{
			"/v1/messages", "moss",
			`"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"ADDRESS"}}]}]`,
			`"messages":[{"role":"user","content":[{"type":"document",` +
				`"source":{"type":"base64","media_type":"application/pdf","data":"AA"}}]}]`,
			"document at messages.0.content.0 is not passed on",
		},
	} {
		if c.agent != "iris" {
			h.must("agents", "add", c.agent)
		}
		before, calls := upstream.Billing.Total(), len(upstream.Billing.Calls())
		status, _, answer := h.ask(http.MethodPost, c.path, `{"model":"`+c.agent+`",`+c.file+`}`)
		require.Equal(t, http.StatusBadRequest, status, answer)
		require.Contains(t, answer, c.refused+" to a paid model")
		require.Contains(t, answer, "serve.allow_fields")
		for address, want := range map[string]int{
			"https://x.org/a.png":      http.StatusTooManyRequests,
			"data:image/png;base64,AA": http.StatusOK,
		} {
			status, _, answer = h.ask(http.MethodPost, c.path,
				`{"model":"`+c.agent+`",`+strings.Replace(c.picture, "ADDRESS", address, 1)+`}`)
			require.Equal(t, want, status, "%s: %s", c.path, answer)
		}
		require.NoError(t, upstream.Billing.Quiet(t.Context()))
		require.Len(t, upstream.Billing.Calls(), calls+1, "only the bytes of a picture were sent")
		bill := upstream.Billing.Total() - before
		require.Greater(t, bill, budget.Micros(48_000), "%s: the control: the picture is billed", c.path)
		require.LessOrEqual(t, bill, budget.Micros(day), c.path)
	}
	h.end()
}
