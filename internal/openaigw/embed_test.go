package openaigw_test

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

// embedding is the result of one response to two texts.
func embedding(t *testing.T, body string) (inference.Vectors, error) {
	t.Helper()
	s := spec()
	s.Embeds, s.Wire = true, "mini/lm"
	g := answering(t, s, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
	return g.Embed(t.Context(), "p/m", []string{"12345", "678"}, "")
}

func packed(xs ...float32) string {
	var raw []byte
	for _, x := range xs {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(raw)
}

func TestVectorsComeAsNumbersOrAsBase64(t *testing.T) {
	t.Parallel()
	want := [][]float32{{.6, .8}, {1, 0}}
	for name, body := range map[string]string{
		"numbers": `{"data":[{"index":0,"embedding":[3,4]},{"index":1,"embedding":[2,0]}]}`,
		"base64": fmt.Sprintf(`{"data":[{"index":0,"embedding":%q},{"index":1,"embedding":%q}]}`, packed(3, 4),
			packed(9, 0)),
		"out of order": `{"data":[{"index":1,"embedding":[2,0]},{"index":0,"embedding":[3,4]}]}`,
		"no index":     `{"data":[{"embedding":[3,4]},{"embedding":[2,0]}]}`,
	} {
		v, err := embedding(t, body)
		require.NoError(t, err, name)
		require.Equal(t, want, v.V, name)
		require.Equal(t, "p/mini/lm/2", v.Space)
		require.Equal(t, inference.ByCount, v.UsageFrom)
		require.EqualValues(t, 2, v.Tokens.In)
	}
	v, err := embedding(t,
		`{"data":[{"embedding":[3,4]},{"embedding":[2,0]}],"usage":{"prompt_tokens":5,"total_tokens":5}}`)
	require.NoError(t, err)
	require.Equal(t, inference.ByProvider, v.UsageFrom)
	require.EqualValues(t, 5, v.Tokens.In)
}

func TestVectorsThatCannotBeTrustedAreMalformed(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"too few":   `{"data":[{"index":0,"embedding":[1]}]}`,
		"twice":     `{"data":[{"index":1,"embedding":[1]},{"index":1,"embedding":[1]}]}`,
		"beyond":    `{"data":[{"index":0,"embedding":[1]},{"index":2,"embedding":[1]}]}`,
		"no length": `{"data":[{"index":0,"embedding":[0,0]},{"index":1,"embedding":[1,0]}]}`,
		"empty":     `{"data":[{"index":0,"embedding":[]},{"index":1,"embedding":[1]}]}`,
		"uneven":    `{"data":[{"index":0,"embedding":[1,2]},{"index":1,"embedding":[1]}]}`,
		"infinite": fmt.Sprintf(`{"data":[{"index":0,"embedding":%q},{"index":1,"embedding":[1]}]}`,
			packed(float32(math.Inf(1)))),
		"torn base64": `{"data":[{"index":0,"embedding":"AAA="},{"index":1,"embedding":[1]}]}`,
		"a word":      `{"data":[{"index":0,"embedding":"hello there"},{"index":1,"embedding":[1]}]}`,
		"no JSON":     `<html>`,
	} {
		_, err := embedding(t, body)
		f, ok := inference.AsFailure(err)
		require.True(t, ok, name)
		require.Equal(t, inference.Malformed, f.Kind, name)
		require.True(t, f.Billed, name)
	}
}

func TestEmbeddingsAreCountedAsTheUpstreamCountsThem(t *testing.T) {
	t.Parallel()
	s, g := stage(t, provider.Options{})
	v, err := g.Embed(t.Context(), "p/vectors", []string{"the harbour", "in winter"}, "e#1")
	require.NoError(t, err)
	c := quiet(t, s)[0]
	require.Equal(t, "e#1", c.Key)
	require.Equal(t, c.Prompt, v.Tokens.In)
	require.Equal(t, s.Catalog("p")["p/vectors"].Price.Cost(v.Tokens), c.Cost)
	require.Equal(t, "p/vectors/64", v.Space)
}

func FuzzVector(f *testing.F) {
	for _, seed := range []string{`[1,2]`, `"AACAPw=="`, `"AA"`, `[]`, `null`, `[1e99]`, `{}`, `""`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		v, err := embedding(t, `{"data":[{"index":0,"embedding":`+raw+`},{"index":1,"embedding":`+raw+`}]}`)
		if err != nil {
			return
		}
		var sum float64
		for _, x := range v.V[0] {
			sum += float64(x) * float64(x)
		}
		require.InDelta(t, 1, sum, 1e-3)
	})
}
