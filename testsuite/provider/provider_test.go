package provider_test

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

func start(t *testing.T, o provider.Options) *provider.Server {
	t.Helper()
	s, err := provider.Start(o)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

func post(t *testing.T, s *provider.Server, path, body string) (int, []byte) {
	t.Helper()
	res, err := http.Post(s.URL+path, "application/json", strings.NewReader(body))
	require.NoError(t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, raw
}

const memories = "- [r1] The harbour was closed all winter.\\n- [r2] Wages came late in March.\\n- [r3] A letter from the orchard."

func TestPiecesMakeTheText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "one", "  two words ", "a\n\nb", strings.Repeat("x", 40),
		"ünïcödé ünïcödéünïcödé", " ",
	} {
		require.Equal(t, text, strings.Join(provider.Pieces(text), ""))
	}
	require.Len(t, provider.Pieces("one two  three."), 3)
}

func TestTheSamePromptIsAnsweredTheSame(t *testing.T) {
	t.Parallel()
	ask := func(seed uint64, extra string) string {
		s := start(t, provider.Options{Seed: seed})
		_, raw := post(t, s, "/chat/completions",
			`{"model":"script","messages":[{"role":"user","content":"`+memories+`"}]`+extra+`}`)
		var a struct {
			Choices []struct{ Message struct{ Content string } }
		}
		require.NoError(t, json.Unmarshal(raw, &a))
		return a.Choices[0].Message.Content
	}
	first := ask(7, "")
	require.NotEmpty(t, first)
	require.Equal(t, first, ask(7, ""))
	require.NotEqual(t, first, ask(8, ""))
	require.NotEqual(t, ask(7, `,"seed":1`), ask(7, `,"seed":2`))
	require.Equal(t, ask(7, `,"seed":1,"temperature":0`), ask(7, `,"seed":2,"temperature":0`))
}

func TestASchemaIsFilledFromThePromptsReferences(t *testing.T) {
	t.Parallel()
	schema := `{"type":"object","additionalProperties":false,"required":["verdicts","sources","claim","score","n"],"properties":{
		"verdicts":{"type":"array","items":{"type":"object","properties":{"ref":{"type":"string"},"rating":{"enum":["promote","stage","discard"]},"based_on":{"type":"array","items":{"type":"string"}}}}},
		"sources":{"type":"array","items":{"type":"string"}},"claim":{"type":"string","maxLength":30},
		"score":{"type":"number","minimum":-1,"maximum":1},"n":{"type":"integer","minimum":3,"maximum":4}}}`
	s := start(t, provider.Options{Seed: 3})
	forms := map[string]string{
		"schema": `,"messages":[{"role":"user","content":"` + memories +
			`"}],"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":` + schema + `}}`,
	}
	request, err := json.Marshal(strings.ReplaceAll(memories, `\n`,
		"\n") + "\n\n" + inference.SchemaInstruction + schema)
	require.NoError(t, err)
	forms["prompt"] = `,"messages":[{"role":"user","content":` + string(request) + `}]`
	for name, form := range forms {
		_, raw := post(t, s, "/chat/completions", `{"model":"script","max_tokens":120`+form+`}`)
		var a struct {
			Choices []struct {
				Message      struct{ Content string }
				FinishReason string `json:"finish_reason"`
			}
		}
		require.NoError(t, json.Unmarshal(raw, &a))
		require.Equal(t, "stop", a.Choices[0].FinishReason, name)
		var v struct {
			Verdicts []struct {
				Ref, Rating string
				BasedOn     []string `json:"based_on"`
			}
			Sources []string
			Claim   string
			Score   float64
			N       int
		}
		d := json.NewDecoder(bytes.NewReader([]byte(a.Choices[0].Message.Content)))
		d.DisallowUnknownFields()
		require.NoError(t, d.Decode(&v), a.Choices[0].Message.Content)
		require.Len(t, v.Verdicts, 3)
		for i, verdict := range v.Verdicts {
			require.Equal(t, []string{"r1", "r2", "r3"}[i], verdict.Ref)
			require.Contains(t, []string{"promote", "stage", "discard"}, verdict.Rating)
			require.Subset(t, []string{"r1", "r2", "r3"}, verdict.BasedOn)
		}
		require.NotEmpty(t, v.Sources)
		require.Subset(t, []string{"r1", "r2", "r3"}, v.Sources)
		require.NotEmpty(t, v.Claim)
		require.LessOrEqual(t, len(v.Claim), 30)
		require.GreaterOrEqual(t, v.Score, -1.0)
		require.LessOrEqual(t, v.Score, 1.0)
		require.Contains(t, []int{3, 4}, v.N)
	}
}

func TestToolsFailTheRun(t *testing.T) {
	t.Parallel()
	s := start(t, provider.Options{})
	status, _ := post(t, s, "/chat/completions", `{"model":"script","messages":[],"tools":[{"type":"function"}]}`)
	require.Equal(t, 500, status)
	require.NotEmpty(t, s.Billing.Failed())
	require.True(t, s.Billing.Calls()[0].Tools)
}

func TestTheBillingIsServedOverHTTP(t *testing.T) {
	t.Parallel()
	s := start(t, provider.Options{})
	status, _ := post(t, s, "/chat/completions",
		`{"model":"script","max_tokens":10,"messages":[{"role":"user","content":"12345678"}]}`)
	require.Equal(t, 200, status)
	res, err := http.Get(strings.TrimSuffix(s.URL, "/v1") + "/till")
	require.NoError(t, err)
	defer res.Body.Close()
	var book provider.Book
	require.NoError(t, json.NewDecoder(res.Body).Decode(&book))
	require.Len(t, book.Calls, 1)
	c := book.Calls[0]
	require.Equal(t, 1, c.Number)
	require.EqualValues(t, 2, c.Prompt)
	require.EqualValues(t, 10, c.Completion)
	require.EqualValues(t, 7, c.Cost) // 2 × 0.15 + 10 × 0.60 micro-dollars, rounded up
	require.EqualValues(t, book.Total, c.Cost)
	require.Equal(t, s.Billing.Total(), book.Total)
}

func TestVectorsOfSharedWordsLieNear(t *testing.T) {
	t.Parallel()
	cos := func(a, b string) float64 {
		x, y := provider.Vector(a, 64), provider.Vector(b, 64)
		var xy, xx, yy float64
		for i := range x {
			xy, xx, yy = xy+float64(x[i]*y[i]), xx+float64(x[i]*x[i]), yy+float64(y[i]*y[i])
		}
		return xy / math.Sqrt(xx*yy)
	}
	require.Greater(t, cos("the harbour in winter", "Winter, the harbour"), .8)
	require.Less(t, cos("the harbour in winter", "wages came late"), .5)
}
