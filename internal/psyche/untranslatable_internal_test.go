package psyche

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// What cannot be translated for a provider is named as the client sent it, whatever this server put in front.
func TestWhatCannotBeTranslatedIsNamedAsItWasSent(t *testing.T) {
	t.Parallel()
	const (
		persona, memory = `{"role":"system","content":"You are echo."},`, `{"role":"user","content":"[Background]"},`
		system, king    = `{"role":"system","content":"s"}`, `{"role":"king","content":"x"}`
	)
	of := func(messages string) []byte { return []byte(`{"model":"e","messages":[` + messages + `]}`) }
	responses := func(name string) SentAs {
		if name == "response_format" {
			return SentAs{Path: "text.format", Name: "text.format"}
		}
		return SentAs{Path: name, Name: name}
	}
	for _, c := range []struct {
		field, final string
		named        naming
		want         string // empty: as it was
	}{
		{"messages.3.role", persona + system + "," + memory + king, nil, "messages.1.role"},
		{"messages.1.content", persona + system + "," + memory + king, nil, "messages.0.content"},
		{"messages.2.role", persona + system + `,{"role":"king","content":"[Background] x"}`, nil, "messages.1.role"},
		{"messages.1.role", system + "," + king, nil, "messages.1.role"},
		{"messages.2", persona + system + "," + king, nil, "messages.1"},
		{"messages.0.role", persona + system + "," + king, nil, ""},
		{"messages.9.role", system + "," + king, nil, ""},
		{"stop", system + "," + king, nil, "stop"},
		{"tools.0.function.name", system + "," + king, nil, "tools.0.function.name"},
		{"response_format.json_schema.schema", system + "," + king, responses, "text.format"},
		{"logprobs", system + "," + king, responses, "logprobs"},
		{"messages.1.role", system + "," + king, responses, ""},
	} {
		b, err := ReadBody(of(system + "," + king))
		require.NoError(t, err)
		b.sent = c.named
		failure := &inference.Failure{Kind: inference.BadRequest, Message: c.field + ": it is wrong", Field: c.field}
		got, ok := errors.AsType[*Fault](asSent(b, relayFault(t.Context(), failure), of(c.final)))
		require.True(t, ok)
		if c.want == "" {
			require.Equal(t, c.field+": it is wrong", got.Message)
			require.Empty(t, got.Param, c.field)
			continue
		}
		require.Equal(t, c.want+": it is wrong", got.Message)
		require.Equal(t, c.want, got.Param)
		require.Equal(t, badValue, got.Code)
	}
}
