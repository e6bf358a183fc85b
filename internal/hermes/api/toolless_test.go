package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/hermes/api"
	"github.com/seed-56a03226/oneiros/internal/hermes/message"
)

func TestARefusalOfToolsIsRecognised(t *testing.T) {
	t.Parallel()
	for _, e := range []api.Error{
		{Status: 400, Message: "this model has no tools"},
		{Status: 400, Message: "registry.ollama.ai/library/gemma:2b does not support tools"},
		{Status: 500, Message: "tools param requires --jinja flag"},
		{Status: 400, Message: `"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set`},
		{Status: 404, Message: "No endpoints found that support tool use."},
	} {
		require.ErrorIs(t, &e, message.ErrNoTools, e.Message)
	}
	for _, e := range []api.Error{
		{Status: 401, Message: "no key for these tools"},
		{Status: 400, Message: "the model's window is too small"},
		{Status: 503, Message: "the toolshed is not open"},
		{Status: 429, Message: "no more tools for now"},
	} {
		require.NotErrorIs(t, &e, message.ErrNoTools, e.Message)
	}
}
