package screen_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

func TestAReportSaysHowAModelWasLoosenedThatWasLoosenedByWords(t *testing.T) {
	t.Parallel()
	likely := .04
	for _, c := range []struct {
		settings dream.Settings
		want     string
		not      string
	}{
		{
			dream.Settings{Temperature: hot(1.2), Loosening: dream.TwoPhase, Probability: &likely},
			"temperature 1.20 by prompt only, one of several made of scraps, called .04 likely", "",
		},
		{
			dream.Settings{Temperature: hot(1.2), Effective: "temperature=1", Loosening: dream.Verbalised},
			"temperature 1.20, one of several in one call", "likely",
		},
		{
			dream.Settings{
				Temperature: hot(1.4), Effective: "temperature=1.4 min_p=0.1",
				Loosening: dream.ByTemperatureMinP,
			}, "temperature 1.40, from", "several",
		},
	} {
		r := night()
		r.Fragments = r.Fragments[1:2]
		r.Fragments[0].Settings = c.settings
		drawn := screen.Report(r, screen.Style{Width: 400})
		require.Contains(t, drawn, c.want)
		if c.not != "" {
			require.NotContains(t, drawn, c.not)
		}
	}
}
