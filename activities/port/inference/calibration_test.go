package inference_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// space places the calibration texts so that unrelated ones lie at about low, reworded ones at middle and repeated ones
// at high: a common direction, one of each reference and one of each text.
func space(low, middle, high float64) [][]float32 {
	n := len(inference.References)
	var out [][]float32
	for i := range n {
		for kind := range 3 {
			v := make([]float32, 1+3*n)
			near := []float64{1, middle, high}[kind]
			v[0] = float32(math.Sqrt(low))
			shared := (near - low) / math.Sqrt(1-low)
			v[1+3*i] = float32(shared)
			if kind == 0 {
				v[1+3*i] = float32(math.Sqrt(1 - low))
			} else {
				v[1+3*i+kind] = float32(math.Sqrt(max(0, 1-low-shared*shared)))
			}
			out = append(out, v)
		}
	}
	return out
}

func TestASpaceIsCalibratedByItsOwnCosines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name              string
		low, middle, high float64
		want              inference.Calibration
	}{
		{"wide", .1, .6, .98, inference.Calibration{Unrelated: .1, Related: .6, Novel: .79, Same: .98}},
		{"compressed", .75, .88, .98, inference.Calibration{Unrelated: .75, Related: .88, Novel: .93, Same: .98}},
		{"blind to rewording", .1, .1, .97, inference.Calibration{Unrelated: .1, Related: .39, Novel: .68, Same: .97}},
		{
			"repetitions are the same", .2, .5, 1,
			inference.Calibration{Unrelated: .2, Related: .5, Novel: .745, Same: .99},
		},
	} {
		got, err := inference.Calibrate(space(c.low, c.middle, c.high))
		require.NoError(t, err, c.name)
		require.InDelta(t, c.want.Unrelated, got.Unrelated, 1e-4, c.name)
		require.InDelta(t, c.want.Related, got.Related, 1e-4, c.name)
		require.InDelta(t, c.want.Novel, got.Novel, 1e-4, c.name)
		require.InDelta(t, c.want.Same, got.Same, 1e-4, c.name)
		require.NoError(t, got.Validate())
	}
}

func TestASpaceThatTellsNothingApartIsRefused(t *testing.T) {
	t.Parallel()
	same := make([][]float32, 3*len(inference.References))
	for i := range same {
		same[i] = []float32{1, 0}
	}
	_, err := inference.Calibrate(same)
	require.ErrorContains(t, err, "tells nothing apart")
	_, err = inference.Calibrate(same[:5])
	require.ErrorContains(t, err, "5 vectors")
	require.ErrorContains(t, inference.Calibration{Unrelated: .5, Related: .4, Novel: .6, Same: .9}.Validate(),
		"related is 0.4")
	require.ErrorContains(t, inference.Calibration{Same: 1.5}.Validate(), "same is 1.5")
	require.ErrorContains(t, inference.Calibration{Unrelated: math.NaN()}.Validate(), "unrelated is NaN")
	require.NoError(t, inference.Cautious.Validate())
}

func TestClosenessIsOneScaleForAllSpaces(t *testing.T) {
	t.Parallel()
	compressed := inference.Calibration{Unrelated: .75, Related: .85, Novel: .9, Same: .95}
	require.Zero(t, compressed.Closeness(.7))
	require.InDelta(t, .5, compressed.Closeness(.85), 1e-9)
	require.InDelta(t, 1.0, compressed.Closeness(.99), 1e-9)
	require.InDelta(t, inference.Cautious.Closeness(.6), inference.Calibration{}.Closeness(.6), 1e-9,
		"an unknown space is taken cautiously")
}
