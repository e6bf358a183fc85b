package psyche

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/wire/responses"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

// overbilledAsResponse is a chat completion, said as a request for a response, for which a provider could charge more
// than a percentage of what is reserved; empty when there is none.
func overbilledAsResponse(raw []byte, percent budget.Micros) (how string, refused error) {
	for _, spec := range []inference.Spec{
		{Wire: "wire", Price: &listPrice},
		{Wire: "thinker", Price: &risingPrice, Reasoning: true},
	} {
		spec = spec.On(inference.ResponsesWire)
		spec.Context = window
		r, reserved, err := sentAndReserved(raw, spec)
		if err != nil {
			refused = err
			continue
		}
		q, err := responses.ReadChat(r.Body, responses.Model{Provider: "p", Reasons: spec.Reasoning})
		if err != nil {
			refused = err
			continue
		}
		for _, reading := range provider.Readings() {
			bill := reading.BillResponse(q.Body, billing, window)
			if cost := bill.Cost(); cost > reserved/100*percent+reserved%100*percent/100 {
				return fmt.Sprintf("%s, %s: %q as %q could cost %s (%+v), reserved was %s", spec.Wire, reading, raw,
					q.Body, cost, bill, reserved), nil
			}
		}
	}
	return "", refused
}

// saidAsResponses draws requests that Responses can mostly say.
func saidAsResponses() *rapid.Generator[string] {
	return rapid.Custom(func(r *rapid.T) string {
		body := plainBodies().Draw(r, "body")
		field := rapid.SampledFrom([]string{
			``, `"logprobs":true,"top_logprobs":20,`, `"verbosity":"high",`, `"tool_choice":"auto",`,
			`"tools":[{"type":"custom","custom":{"name":"p","format":{"type":"grammar","grammar":{"syntax":"lark",
				"definition":"start: X"}}}}],`,
		}).Draw(r, "field")
		return "{" + field + body[1:]
	})
}

func TestNoProviderOfResponsesCouldBillMoreThanWasReserved(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		how, _ := overbilledAsResponse([]byte(rapid.OneOf(saidAsResponses(), bodies()).Draw(r, "body")), 100)
		require.Empty(r, how)
	})
}

// The control: with half the reservation the generated requests would exceed it, and many of them are not refused.
func TestHalfOfAReservationWouldNotDoOverResponses(t *testing.T) {
	t.Parallel()
	all := saidAsResponses()
	taken, over := 0, 0
	for seed := range 500 {
		how, refused := overbilledAsResponse([]byte(all.Example(seed)), 50)
		if refused == nil {
			taken++
		}
		if how != "" {
			over++
		}
	}
	require.Greater(t, taken, 100, "enough requests are taken")
	require.Greater(t, over, 25, "half is not enough")
}
