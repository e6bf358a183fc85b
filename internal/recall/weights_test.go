package recall_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/recall"
)

func TestMeaningCountsMoreInASpaceThatSeesRewordings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		space inference.Calibration
		want  float64
	}{
		{"nobody has measured it", inference.Calibration{}, .3},
		{"it sees no rewordings", inference.Calibration{Unrelated: .1, Related: .4, Novel: .7, Same: 1}, .3},
		{
			"rewordings lie half-way",
			inference.Calibration{Unrelated: .2, Related: .6, Novel: .8, Same: 1},
			.3 + .5 - 1.0/3,
		},
		{
			"the same, where all texts lie near each other",
			inference.Calibration{Unrelated: .8, Related: .9, Novel: .95, Same: 1},
			.3 + .5 - 1.0/3,
		},
		{
			"rewordings lie where repetitions do",
			inference.Calibration{Unrelated: .2, Related: 1, Novel: 1, Same: 1},
			.5,
		},
	} {
		got := recall.Weights(c.space)
		require.InDelta(t, c.want, got.Meaning, 1e-9, c.name)
		require.InDelta(t, 1, got.Words+got.Meaning, 1e-9, c.name)
	}
}
