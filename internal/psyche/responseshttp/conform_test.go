package responseshttp_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	sdk "github.com/openai/openai-go/v3/responses"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/testsuite/conform"
)

// TestEveryErrorIsOneOfThePublishedWire refuses in several ways, before and by the provider: OpenAI's library knows each
// member, and none that it calls required is missing.
func TestEveryErrorIsOneOfThePublishedWire(t *testing.T) {
	t.Parallel()
	const body = `{"model":"iris","input":"x"}`
	for name, c := range map[string]struct {
		status int
		reply  string
		body   string
	}{
		"no JSON":         {200, "", `{`},
		"no agent":        {200, "", strings.Replace(body, "iris", "nobody", 1)},
		"no such field":   {200, "", `{"model":"iris","input":"x","background":true}`},
		"refused":         {400, `{"error":{"message":"no field","code":"c","param":"p"}}`, body},
		"without members": {400, `{"error":{"message":"no"}}`, body},
		"limited":         {429, `{"error":"slow down"}`, body},
		"no JSON there":   {503, `<html>`, body},
		"broken off":      {200, `{"choices":[`, body},
	} {
		s := open(t, "application/json", c.reply)
		s.status = c.status
		answer, text := s.create(c.body)
		require.GreaterOrEqual(t, answer.StatusCode, 400, name)
		var outer struct{ Error json.RawMessage }
		require.NoError(t, json.Unmarshal([]byte(text), &outer), name)
		var e openai.Error
		require.NoError(t, json.Unmarshal(outer.Error, &e), name)
		require.Empty(t, conform.Faults(e), "%s: %s", name, text)
		require.NotEmpty(t, e.Message, name)
	}
	s := open(t, "text/event-stream", "data: {\"error\":{\"message\":\"overloaded\",\"code\":529}}\n\n")
	_, events := s.create(`{"model":"iris","input":"x","stream":true}`)
	for event := range strings.SplitSeq(strings.TrimSuffix(events, "\n\n"), "\n\n") {
		_, data, _ := strings.Cut(event, "\ndata: ")
		var e sdk.ResponseStreamEventUnion
		require.NoError(t, json.Unmarshal([]byte(data), &e))
		require.Empty(t, conform.Faults(e, "Response.store"), data)
	}
}
