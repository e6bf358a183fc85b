package psyche_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// embedder is a service whose embedder costs a dollar per million tokens, one micro-dollar a token.
func embedder(t *testing.T, window int) *rig {
	return setup(t, func(p *psyche.Ports, o *psyche.Options) {
		table := catalogue()
		spec := table["p/dear"]
		spec.Name, spec.Embeds, spec.Context = "p/places", true, window
		table[spec.Name] = spec
		p.Guard.Catalog = table
		o.Models = map[dream.Role]string{dream.Embedder: spec.Name, dream.Generator: "p/free"}
	})
}

func embeddings(c psyche.Caller, body string) psyche.Turn {
	e := turn(c, body)
	e.Path = "/embeddings"
	return e
}

// An embedder can charge for at most one token per byte of the input, or a window for what is not text.
func TestAnEmbeddingReservesWhatItsInputCanBill(t *testing.T) {
	t.Parallel()
	for body, least := range map[string]int64{
		`{"model":"echo","input":"twelve bytes"}`:                                  12,
		`{"model":"echo","input":["twelve bytes","twelve bytes"]}`:                 24,
		`{"model":"echo","input":[[1,2,3,40000],[5,6]]}`:                           6,
		`{"model":"echo","input":"x","dimensions":256,"encoding_format":"base64"}`: 1,
		`{"model":"echo","input":[{"text":"x"},{"image":"https://a.example/b"}]}`:  2 * 8192,
		fmt.Sprintf(`{"model":"echo","input":"%s"}`, strings.Repeat("ä", 5000)):    10_000,
	} {
		r := embedder(t, 8192)
		reply, err := r.Embeddings(t.Context(), embeddings(ann, body))
		require.NoError(t, err, body)
		_, _ = io.Copy(io.Discard, reply.Body)
		require.NoError(t, reply.Body.Close())
		rows := r.rows()
		require.Len(t, rows, 1)
		require.GreaterOrEqual(t, int64(rows[0].Reserved), least, body)
	}
}

func TestAnEmbeddingThatCannotBeBoundedIsRefused(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]struct{ code, param string }{
		`{"model":"echo","input":"x","Input":"xx"}`:      {"duplicate_field", "input"},
		`{"model":"echo","input":"x","\u0069nput":"xx"}`: {"duplicate_field", "input"},
		`{"model":"echo","Model":"dear","input":"x"}`:    {"duplicate_field", "model"},
		`{"model":"echo","input":"x","dimensions":"x"}`:  {"invalid_value", "dimensions"},
		`{"model":"echo","input":"x","dimensions":-1}`:   {"invalid_value", "dimensions"},
		`{"model":"echo","input":[{"text":"x"}]}`:        {"uncountable_content", "input"},
	} {
		r := embedder(t, 0)
		_, err := psyche.ReadBody([]byte(body))
		if err == nil {
			_, err = r.Embeddings(t.Context(), embeddings(ann, body))
		}
		fault, ok := errors.AsType[*psyche.Fault](err)
		require.True(t, ok, "%s: %v", body, err)
		require.Equal(t, 400, fault.Status, body)
		require.Equal(t, want.param, fault.Param, body)
		require.Equal(t, want.code, fault.Code, body)
		require.Empty(t, r.rows(), "nothing is reserved, and nothing sent")
	}
}
