package provider_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

func TestAStrictModelNamesTheFieldThatItRefuses(t *testing.T) {
	t.Parallel()
	s := start(t, provider.Options{})
	for _, field := range []string{"temperature", "top_p", "min_p", "top_k", "seed", "logprobs"} {
		status, raw := post(t, s, "/chat/completions",
			`{"model":"strict","messages":[{"role":"user","content":"x"}],"`+field+`":1}`)
		if field == "logprobs" {
			status, raw = post(t, s, "/chat/completions",
				`{"model":"strict","messages":[{"role":"user","content":"x"}],"logprobs":true}`)
		}
		require.Equal(t, http.StatusBadRequest, status, field)
		var refused struct {
			Error struct{ Param, Message string }
		}
		require.NoError(t, json.Unmarshal(raw, &refused))
		require.Equal(t, field, refused.Error.Param)
		require.Contains(t, refused.Error.Message, "'"+field+"'")
	}
}

func TestAModelOfOneAnswerGivesOthersOnlyWhenSeveralAreRequested(t *testing.T) {
	t.Parallel()
	s := start(t, provider.Options{Seed: 5})
	ask := func(around, more string) string {
		_, raw := post(t, s, "/chat/completions",
			`{"model":"typical","max_tokens":400,"messages":[{"role":"user","content":"`+memories+"\\n"+around+`"}]`+
				more+`}`)
		var a struct {
			Choices []struct{ Message struct{ Content string } }
		}
		require.NoError(t, json.Unmarshal(raw, &a))
		return a.Choices[0].Message.Content
	}
	require.Equal(t, ask("Words that drift by: lamp", ""), ask("Words that drift by: tide", ""))
	list := `,"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"object","properties":{"ideas":{"type":"array","minItems":4,"maxItems":4,"items":{"type":"object","properties":{"text":{"type":"string"}}}}}}}}`
	one, two := ask("lamp", list), ask("tide", list)
	require.NotEqual(t, one, two)
	var listed struct{ Ideas []struct{ Text string } }
	require.NoError(t, json.Unmarshal([]byte(one), &listed))
	require.Len(t, listed.Ideas, 4)
	require.NotEqual(t, listed.Ideas[0], listed.Ideas[1])
}

func TestHowSureAModelIsFallsWithTemperatureAndMinPHoldsIt(t *testing.T) {
	t.Parallel()
	s := start(t, provider.Options{})
	mean := func(fields string) float64 {
		_, raw := post(t, s, "/chat/completions",
			`{"model":"script","messages":[{"role":"user","content":"x"}],"logprobs":true`+fields+`}`)
		var a struct {
			Choices []struct {
				LogProbs struct {
					Content []struct{ LogProb float64 }
				}
			}
		}
		require.NoError(t, json.Unmarshal(raw, &a))
		sum := 0.0
		for _, token := range a.Choices[0].LogProbs.Content {
			sum += token.LogProb
		}
		require.NotEmpty(t, a.Choices[0].LogProbs.Content)
		return sum / float64(len(a.Choices[0].LogProbs.Content))
	}
	require.Greater(t, mean(`,"temperature":0.4`), mean(`,"temperature":1.5`))
	require.Greater(t, mean(`,"temperature":1.5,"min_p":0.1`), mean(`,"temperature":1.5`))
	_, raw := post(t, s, "/chat/completions", `{"model":"script","messages":[{"role":"user","content":"x"}]}`)
	require.False(t, strings.Contains(string(raw), "logprob"), "nobody asked")
}
