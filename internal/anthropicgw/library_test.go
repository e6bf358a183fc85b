package anthropicgw_test

import (
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

// Anthropic's library reads in a stream of the scripted provider what the gateway reads, so that the provider speaks
// the wire as Anthropic does.
func TestTheLibraryReadsWhatTheGatewayReads(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"script", "thinker"} {
		s, g := stage(t, provider.Options{Key: secret})
		r := request("p/" + model)
		r.MaxTokens = 400
		if model == "script" {
			r.Sampling.Temperature = new(0.0)
		}
		answer, err := g.Generate(t.Context(), r, nil)
		require.NoError(t, err)

		client := anthropic.NewClient(option.WithBaseURL(strings.TrimSuffix(s.URL, "/v1")), option.WithAPIKey(secret),
			option.WithMaxRetries(0))
		params := anthropic.MessageNewParams{
			Model:     anthropic.Model(model),
			MaxTokens: 400,
			System:    []anthropic.TextBlockParam{{Text: r.Messages[0].Content}},
			Messages:  []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(r.Messages[1].Content))},
		}
		if model == "script" {
			params.Temperature = anthropic.Float(0)
		} else {
			params.MaxTokens += int64(r.Reasoning)
		}
		stream := client.Messages.NewStreaming(t.Context(), params)
		var m anthropic.Message
		for stream.Next() {
			require.NoError(t, m.Accumulate(stream.Current()))
		}
		require.NoError(t, stream.Err())
		var text strings.Builder
		for _, block := range m.Content {
			text.WriteString(block.Text)
		}
		require.Equal(t, text.String(), answer.Text)
		require.Equal(t, m.Usage.OutputTokens, answer.Tokens.Out)
		require.Equal(t, m.Usage.InputTokens, answer.Tokens.In)
	}
}
