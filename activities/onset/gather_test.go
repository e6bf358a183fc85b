package onset

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

func TestTheMemoriesShownFitTheModelsWindow(t *testing.T) {
	t.Parallel()
	for context, want := range map[int]int{0: 12_000, 2048: 3 * (2048 - 600 - 700), 128_000: 12_000, 100: 500} {
		run := onsetRun{&core.Run{
			Ports: activities.Ports{Catalog: inference.Table{"p/w": {Name: "p/w", Context: context}}},
			Spec: activities.Spec{
				Models: map[dream.Role]string{dream.Generator: "p/w"},
				Knobs:  dream.DefaultKnobs(),
			},
		}}
		require.Equal(t, want, run.window(), "a model with a context of %d tokens; 0: unknown", context)
	}
}
