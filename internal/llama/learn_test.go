package llama

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/localmodel"
	"github.com/seed-56a03226/oneiros/internal/steering"
)

func TestAVectorLearnedHereBendsTheModelItWasLearnedOn(t *testing.T) {
	t.Parallel()
	o := real(t)
	e, err := Open(o)
	require.NoError(t, err)
	done := 0
	v, result, err := e.Learn(t.Context(), steering.Pairs()[:8], 9, 12, func(int) { done++ })
	require.NoError(t, err)
	require.Equal(t, 8, done)
	require.Equal(t, e.shape.Width, v.Dim())
	require.Equal(t, "llama", v.Model)
	require.Len(t, result, 4)
	for _, layer := range result {
		require.Greater(t, layer.Agree, .3, "both halves of the pairs say the same of layer %d", layer.Layer)
		require.Positive(t, layer.Length)
	}
	_, _, err = e.Learn(t.Context(), steering.Pairs(), 1, 99, nil)
	require.ErrorContains(t, err, "layers 1 to 20")
	require.NoError(t, e.Close())

	raw, err := v.Encode()
	require.NoError(t, err)
	o.Vectors = map[string]string{"creativity": file(t, "v.gguf", raw, 0o600)}
	e, err = Open(o)
	require.NoError(t, err)
	rows, err := e.Effect(t.Context(), Trial{
		Vector:   "creativity",
		From:     11,
		To:       11,
		Alphas:   []float64{0, 3},
		Prompts:  steering.Prompts()[:1],
		Seeds:    []int64{1, 2},
		Tokens:   16,
		Sampling: inference.Sampling{Temperature: ptr(.8), MinP: ptr(.1)},
		Embed: func(_ context.Context, texts []string) (vectors [][]float32, err error) {
			for _, text := range texts {
				vectors = append(vectors, localmodel.Vector(text))
			}
			return vectors, nil
		},
	})
	require.NoError(t, err)
	require.Len(t, rows, 2)
	require.Zero(t, rows[0].Moved)
	require.Positive(t, rows[1].Moved, "the answers are others than without it")
	require.InDelta(t, rows[0].LogProb, rows[0].Plain, .1, "unsteered, what it says and what it thinks of it are one")
	require.Less(t, rows[1].Plain, rows[1].LogProb,
		"the plain model finds steered answers less likely than the steered one does")
	require.NoError(t, e.Close())

	thin, err := steering.Vector{Layers: map[int][]float32{3: {1}}}.Encode()
	require.NoError(t, err)
	o.Vectors = map[string]string{"thin": file(t, "thin.gguf", thin, 0o600)}
	_, err = Open(o)
	require.ErrorContains(t, err, "vector thin is 1 wide and the model")
}

func TestAScoreIsWhatTheAnswerSaidOfItself(t *testing.T) {
	t.Parallel()
	e := engine(t)
	a := story(12)
	generation := say(t, e, a)
	score, err := e.Score(t.Context(), a.Messages, generation.Text)
	require.NoError(t, err)
	require.InDelta(t, *generation.LogProb, score, .15)
	_, err = e.Score(t.Context(), a.Messages, "")
	require.ErrorContains(t, err, "cannot be scored")
}
