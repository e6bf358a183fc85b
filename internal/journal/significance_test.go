package journal

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/mood"
)

func TestSignificanceFollowsTheTable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		text    string
		sources int
		affect  mood.PAD
		want    float64
	}{
		{"nothing", "", 0, mood.PAD{}, 0},
		{"a finished thought", "The tide turned.", 1, mood.PAD{}, .2},
		{"two memories", "the tide and the letter", 2, mood.PAD{}, .2},
		{"affect counts a tenth of valence and arousal", "x", 0, mood.PAD{Pleasure: -.5, Arousal: .5}, .1},
		{"affect at most .2", "x", 0, mood.PAD{Pleasure: 1, Arousal: 1, Dominance: 1}, .2},
		{"above 200 characters", strings.Repeat("a", 201), 0, mood.PAD{}, .2},
		{"exactly 200 characters", strings.Repeat("a", 200), 0, mood.PAD{}, 0},
		{"above 500 characters", strings.Repeat("a", 501), 0, mood.PAD{}, .4},
		{"everything", strings.Repeat("a", 501) + ".", 3, mood.PAD{Pleasure: 1, Arousal: 1}, 1},
	} {
		require.InDelta(t, c.want, Significance(c.text, c.sources, c.affect), 1e-12, c.name)
	}
}

func TestTopicsAreTheMostFrequentWords(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"letter", "harbour", "salted"},
		Topics("The letter in the harbour. A letter, salted. The letter by the harbour where nothing is", 3))
	require.Empty(t, Topics("a an the of", 3))
}
