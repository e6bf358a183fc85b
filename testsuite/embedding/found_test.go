package embedding_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/localmodel"
	"github.com/seed-56a03226/oneiros/internal/openaigw"
	"github.com/seed-56a03226/oneiros/testsuite/embedding"
)

const (
	among = 2500 // unrelated memories
	first = 6    // what a turn is shown of memory: serve.recall_items
)

// builtIn is the built-in model, with builtin/minilm where ONEIROS_TEST_MINILM names its folder.
func builtIn(t *testing.T) (m *localmodel.Model, minilm bool) {
	t.Helper()
	dir := os.Getenv("ONEIROS_TEST_MINILM")
	if dir == "" {
		return localmodel.New(), false
	}
	m, err := localmodel.WithMiniLM(dir)
	require.NoError(t, err)
	return m, true
}

// wired is the same model behind an OpenAI-compatible server on loopback, called by the gateway as any provider is.
func wired(t *testing.T, m *localmodel.Model) inference.Model {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answer, err := m.Relay(r.Context(), inference.RelayRequest{
			Method: r.Method, Path: strings.TrimPrefix(r.URL.Path, "/v1"), Body: body, Model: localmodel.MiniLM,
		})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		defer func() { _ = answer.Body.Close() }()
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(answer.Status)
		_, _ = io.Copy(w, answer.Body)
	}))
	t.Cleanup(server.Close)
	profile, err := openaigw.ProfileOf("")
	require.NoError(t, err)
	gateway, err := openaigw.New(openaigw.Options{
		Name: "house", BaseURL: server.URL + "/v1", Profile: profile,
		Catalog: inference.Table{"house/minilm": {
			Name:     "house/minilm",
			Provider: "house",
			Wire:     "minilm",
			Price:    &budget.Price{},
			Embeds:   true,
		}},
	})
	require.NoError(t, err)
	return gateway
}

// places returns the vectors of texts, in batches as small as an import's.
func places(t *testing.T, m inference.Model, model string, texts []string) [][]float32 {
	t.Helper()
	var out [][]float32
	for batch := range slices.Chunk(texts, 32) {
		v, err := m.Embed(context.Background(), model, batch, "")
		require.NoError(t, err)
		require.Len(t, v.V, len(batch))
		out = append(out, v.V...)
	}
	return out
}

// found counts, for each rank, the questions whose fact is at that rank or better.
func found(questions, memories [][]float32, firsts ...int) []int {
	hits := make([]int, len(firsts))
	for i, q := range questions { // the facts come first, in the order of their questions
		rank := 0
		own := dot(q, memories[i])
		for j, m := range memories {
			if j != i && dot(q, m) >= own {
				rank++
			}
		}
		for k, most := range firsts {
			if rank < most {
				hits[k]++
			}
		}
	}
	return hits
}

func dot(a, b []float32) float64 {
	sum := 0.0
	for i, x := range a {
		sum += float64(x) * float64(b[i])
	}
	return sum
}

// TestWhichEmbedderFindsWhatIsSaidInOtherWords prints, and with UPDATE=1 writes, the table of
// docs/measurements/embedders.md. MiniLM takes part where ONEIROS_TEST_MINILM names its folder, gte-small where
// ONEIROS_TEST_GTE does.
func TestWhichEmbedderFindsWhatIsSaidInOtherWords(t *testing.T) {
	t.Parallel()
	pairs, err := embedding.Paraphrases()
	require.NoError(t, err)
	unrelated, err := embedding.Unrelated(among)
	require.NoError(t, err)
	var memories, questions []string
	for _, p := range pairs {
		memories = append(memories, p.Fact)
		questions = append(questions, p.Question)
	}
	memories = append(memories, unrelated...)

	own, hasMiniLM := builtIn(t)
	hits := map[string][]int{}
	var table strings.Builder
	table.WriteString("| embedder | first | in the first 6 | in the first 10 |\n|---|---|---|---|\n")
	measure := func(name string, m inference.Model, model string) {
		hits[name] = found(places(t, m, model, questions), places(t, m, model, memories), 1, first, 10)
		fmt.Fprintf(&table, "| %s | %d | %d | %d |\n", name, hits[name][0], hits[name][1], hits[name][2])
	}
	measure("`builtin/lexical`", own, localmodel.Lexical)
	measure("`builtin/static`, the default", own, localmodel.Static)
	if hasMiniLM {
		measure("`builtin/minilm`, in process", own, localmodel.MiniLM)
		measure("all-MiniLM-L6-v2 over the OpenAI wire", wired(t, own), "house/minilm")
		require.Equal(t, hits["all-MiniLM-L6-v2 over the OpenAI wire"], hits["`builtin/minilm`, in process"],
			"in process it finds what it finds over the wire")
	}
	if dir := os.Getenv("ONEIROS_TEST_GTE"); dir != "" {
		served, err := embedding.Serve(dir)
		require.NoError(t, err)
		t.Cleanup(served.Close)
		measure("gte-small over the OpenAI wire", served.Model, served.Name)
	}
	t.Logf("100 questions among %d memories:\n%s", len(memories), table.String())
	require.Greater(t, hits["`builtin/static`, the default"][1], 2*hits["`builtin/lexical`"][1],
		"the default knows more than spelling")
	if os.Getenv("UPDATE") != "" && hasMiniLM {
		writeTable(t, table.String())
	}
}

// writeTable puts the table between its marks in the page of measurements.
func writeTable(t *testing.T, table string) {
	t.Helper()
	page := filepath.Join("..", "..", "docs", "measurements", "embedders.md")
	data, err := os.ReadFile(page)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(data), "<!-- paraphrases -->\n")
	require.True(t, found)
	_, after, found := strings.Cut(rest, "<!-- end -->\n")
	require.True(t, found)
	whole := before + "<!-- paraphrases -->\n" + table + "<!-- end -->\n" + after
	require.NoError(t, os.WriteFile(page, []byte(whole), 0o644))
}
