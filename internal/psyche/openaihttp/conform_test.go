package openaihttp_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/testsuite/conform"
)

// TestModelsAreOfBothPublishedWires has OpenAI's library and Anthropic's read agents as models, all and one: each
// member is known to them, and none that they call required is missing.
func TestModelsAreOfBothPublishedWires(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.models = map[string]inference.Spec{"iris": {Context: 8192, Price: &budget.Price{In: 1}}}
	added := []string{"Model.pricing", "Model.context_length"} // OpenRouter's
	ofOpenAI := openai.NewModelService(openaioption.WithBaseURL(h.url+"/v1/"), openaioption.WithAPIKey("none"),
		openaioption.WithUnsafeAllowHTTP())
	count := 0
	all := ofOpenAI.ListAutoPaging(t.Context())
	for ; all.Next(); count++ {
		require.Empty(t, conform.Faults(all.Current(), added...))
	}
	require.NoError(t, all.Err())
	require.Equal(t, 2, count)
	one, err := ofOpenAI.Get(t.Context(), "iris")
	require.NoError(t, err)
	require.Empty(t, conform.Faults(*one, added...))
	require.NotEmpty(t, conform.Faults(*one), "the control: what the library does not know is found")
	_, err = ofOpenAI.Get(t.Context(), "nobody")
	unknown, ok := errors.AsType[*openai.Error](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, http.StatusNotFound, unknown.StatusCode)
	require.Empty(t, conform.Faults(*unknown), unknown.RawJSON())

	ofAnthropic := anthropic.NewModelService(option.WithBaseURL(h.url), option.WithAPIKey("none"))
	pages, err := ofAnthropic.List(t.Context(), anthropic.ModelListParams{})
	require.NoError(t, err)
	require.Empty(t, conform.Faults(*pages), pages.RawJSON())
	require.Len(t, pages.Data, 2)
	each, err := ofAnthropic.Get(t.Context(), "iris", anthropic.ModelGetParams{})
	require.NoError(t, err)
	require.Empty(t, conform.Faults(*each), each.RawJSON())
	require.Equal(t, anthropic.ModelInfoLifecycleActive, each.Lifecycle)
}
