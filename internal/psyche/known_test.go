package psyche_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/localmodel"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// bent is the lexical embedder in a space of another shape: each vector has a part common to all texts, and another
// part of its own.
type bent struct {
	inference.Model
	common, own float64
}

func (b bent) Embed(ctx context.Context, _ string, texts []string, key string) (inference.Vectors, error) {
	v, err := b.Model.Embed(ctx, localmodel.Lexical, texts, key)
	for i := range v.V {
		v.V[i] = b.bend(texts[i], v.V[i])
	}
	v.Space = bentSpace
	return v, err
}

const bentSpace = "p-bent/1/449"

func (b bent) bend(text string, v []float32) []float32 {
	const noise = 64
	sum := sha256.Sum256([]byte(text))
	dice := rand.New(rand.NewPCG(binary.LittleEndian.Uint64(sum[:]), binary.LittleEndian.Uint64(sum[8:])))
	out := []float32{float32(math.Sqrt(b.common))}
	square := 0.0
	for _, x := range v {
		square += float64(x) * float64(x)
	}
	shared := math.Sqrt((1 - b.common - b.own) / max(square, 1e-9))
	for _, x := range v {
		out = append(out, float32(shared*float64(x)))
	}
	for range noise {
		out = append(out, float32(math.Sqrt(b.own/noise)*dice.NormFloat64()))
	}
	return out
}

// The same words again are known, and what differs in a name, a number or its words is not, whatever the embedder's
// cosines are.
func TestWhatIsKnownAlreadyIsTheSameWithEveryEmbedder(t *testing.T) {
	t.Parallel()
	pairs := []struct {
		first, second string
		existing      bool
	}{
		{"Anna is allergic to penicillin and to hazelnuts.", "Anna is allergic to penicillin and to hazelnuts!", true},
		{
			"Anna is allergic to penicillin and to hazelnuts.",
			"Please remember that Anna is allergic to penicillin and to hazelnuts.", true,
		},
		{"My brother works as a teacher in Oslo.", "my brother works as a teacher in oslo", true},
		{
			"The boat Aurora lies at quay 7 in the old harbour.",
			"Note that the boat Aurora lies at quay 7 in the old harbour.", true,
		},
		{"Anna is allergic to penicillin and to hazelnuts.", "Anne is allergic to penicillin and to hazelnuts.", false},
		{"My brother works as a teacher in Oslo.", "He has a job at a school in the Norwegian capital.", false},
		{"My sister plays the piano every evening.", "The deployment failed because the disk was full.", false},
	}
	for name, change := range embedders(t) {
		for _, p := range pairs {
			t.Run(fmt.Sprintf("%s/%s", name, p.second), func(t *testing.T) {
				t.Parallel()
				r := setup(t, change, func(_ *psyche.Ports, o *psyche.Options) {
					o.Switches.Recall = no() // what only repeats a recalled memory is left out before the comparison
				})
				r.tells(p.first)
				r.tells(p.second)
				require.Equal(t, map[bool]int64{true: 1}[p.existing], r.Counts()["existing"])
				require.Empty(t, r.superseded())
				require.Len(t, r.episodes(), map[bool]int{true: 1, false: 2}[p.existing])
			})
		}
	}
}

// embedders are the built-in ones, builtin/minilm where ONEIROS_TEST_MINILM names its folder, and two spaces of other
// shapes.
func embedders(t *testing.T) map[string]func(*psyche.Ports, *psyche.Options) {
	t.Helper()
	all := map[string]func(*psyche.Ports, *psyche.Options){}
	own := localmodel.New()
	names := []string{localmodel.Static, localmodel.Lexical}
	if dir := os.Getenv("ONEIROS_TEST_MINILM"); dir != "" {
		var err error
		own, err = localmodel.WithMiniLM(dir)
		require.NoError(t, err)
		names = append(names, localmodel.MiniLM)
	}
	for _, name := range names {
		all[name] = func(p *psyche.Ports, o *psyche.Options) {
			p.Guard.Model, o.Models = own, map[dream.Role]string{dream.Embedder: name}
		}
	}
	for name, b := range map[string]bent{"compressed": {own, .75, .02}, "spread": {own, 0, .35}} {
		v, err := b.Embed(t.Context(), "", inference.CalibrationTexts(), "")
		require.NoError(t, err)
		measured, err := inference.Calibrate(v.V)
		require.NoError(t, err)
		all[name] = func(p *psyche.Ports, o *psyche.Options) {
			table := catalogue()
			table["p/bent"] = inference.Spec{
				Name:        "p/bent",
				Provider:    "p",
				Wire:        "bent",
				Price:       &free,
				Embeds:      true,
				Calibration: measured,
			}
			p.Guard.Catalog, p.Guard.Model = table, b
			o.Models = map[dream.Role]string{dream.Embedder: "p/bent"}
		}
	}
	return all
}
