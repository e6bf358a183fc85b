package hypnagogia_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

func piece(text string, day int, salience float64, affect mood.PAD) hypnagogia.Piece {
	return hypnagogia.Piece{Text: text, At: noon.AddDate(0, 0, day), Salience: salience, Affect: affect}
}

func texts(pieces []hypnagogia.Piece) []string {
	var out []string
	for _, p := range pieces {
		out = append(out, p.Text)
	}
	return out
}

// Weights: recency 0.4, salience 0.3, congruence 0.3.
func TestRankWeighsRecencySalienceAndCongruence(t *testing.T) {
	t.Parallel()
	calm := mood.PAD{Pleasure: .5, Arousal: -.2, Dominance: .1}
	opposite := mood.PAD{Pleasure: -.5, Arousal: .2, Dominance: -.1}
	ranked := hypnagogia.Rank([]hypnagogia.Piece{
		piece("old, dull, contrary", 0, 0, opposite),       // 0 + 0 - .3
		piece("old and salient", 0, 1, mood.PAD{}),         // 0 + .3 + 0
		piece("newest and dull", 4, 0, mood.PAD{}),         // .4
		piece("in between and congruent", 1, .2, calm),     // .2 + .06 + .3
		piece("newest, salient, contrary", 4, 1, opposite), // .4 + .3 - .3, after "newest and dull" by text
	}, calm, noon.AddDate(0, 0, 30))
	require.Equal(t, []string{
		"in between and congruent", "newest and dull", "newest, salient, contrary", "old and salient",
		"old, dull, contrary",
	}, texts(ranked))
	require.Equal(t, []float64{.5, 1, 1, 0, 0}, []float64{
		ranked[0].Recency, ranked[1].Recency, ranked[2].Recency, ranked[3].Recency, ranked[4].Recency,
	})
}

// Threat, opportunity, broad.
func TestTheBiasOfAMoodPrefersItsMemories(t *testing.T) {
	t.Parallel()
	hurt := piece("hurt", 0, .5, mood.PAD{Pleasure: -.8, Arousal: .8})
	joy := piece("joy", 0, .5, mood.PAD{Pleasure: .8, Arousal: .8})
	first := func(now mood.PAD) string {
		return hypnagogia.Rank([]hypnagogia.Piece{hurt, joy}, now, noon)[0].Text
	}
	require.Equal(t, "hurt", first(mood.PAD{Pleasure: -.3, Arousal: .6}))
	require.Equal(t, "joy", first(mood.PAD{Pleasure: .3, Arousal: .6}))
	require.Equal(t, "hurt", first(mood.PAD{}), "a neutral mood prefers neither: ties are ordered by text")
}

func TestTheFutureCountsAsNow(t *testing.T) {
	t.Parallel()
	ranked := hypnagogia.Rank([]hypnagogia.Piece{
		piece("b today", 0, 0, mood.PAD{}), piece("a tomorrow", 1, 0, mood.PAD{}),
		piece("yesterday", -1, 1, mood.PAD{}),
	}, mood.PAD{}, noon)
	require.Equal(t, []string{"a tomorrow", "b today", "yesterday"}, texts(ranked))
	require.Equal(t, 1.0, ranked[1].Recency)
}

func TestRankDoesNotDependOnTheOrderGiven(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		var pieces []hypnagogia.Piece
		for i := range rapid.IntRange(0, 30).Draw(r, "n") {
			pieces = append(pieces, piece(fmt.Sprint("text ", i), rapid.IntRange(0, 5).Draw(r, "day"),
				float64(rapid.IntRange(0, 4).Draw(r, "salience"))/4,
				mood.PAD{Pleasure: float64(rapid.IntRange(-1, 1).Draw(r, "p"))}))
		}
		now := mood.PAD{Pleasure: -.5, Arousal: .5}
		asOf := noon.Add(time.Hour)
		want := hypnagogia.Rank(pieces, now, asOf)
		dice := hypnagogia.Dice(rapid.Uint64().Draw(r, "seed"), dream.Onset, 0, 0, "order")
		require.Equal(r, texts(want), texts(hypnagogia.Rank(hypnagogia.Shuffle(pieces, 1, dice), now, asOf)))
	})
}

// Cut to the model's window in biased order before shuffling.
func TestFitFillsTheWindowInOrderWithoutRepeatingItself(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long ", 30)
	pieces := []hypnagogia.Piece{
		{Text: "The pool drained before noon on Friday."},
		{Text: "the pool drained before noon, on FRIDAY"},
		{Text: "So the pool drained before noon on Friday."},
		{Text: long},
		{Text: "Salt."},
		{Text: "Salt!"},
		{Text: "Rain fell."},
	}
	require.Equal(t, []string{"The pool drained before noon on Friday.", "Salt.", "Rain fell."},
		texts(hypnagogia.Fit(pieces, 70)))
	require.Equal(t, []string{"Salt."}, texts(hypnagogia.Fit(pieces, 10)))
	require.Empty(t, hypnagogia.Fit(pieces, 0))
	require.Len(t, hypnagogia.Fit(pieces, 10_000), 4)
}

func TestFitNeverExceedsTheWindow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		var pieces []hypnagogia.Piece
		for _, text := range rapid.SliceOfN(rapid.StringN(1, 60, -1), 0, 40).Draw(r, "texts") {
			pieces = append(pieces, hypnagogia.Piece{Text: text})
		}
		window := rapid.IntRange(-5, 600).Draw(r, "window")
		used := 0
		for _, p := range hypnagogia.Fit(pieces, window) {
			used += len([]rune(p.Text)) + hypnagogia.Margin
		}
		require.LessOrEqual(r, used, max(window, 0))
	})
}

// Of the positions, 70 % are exchanged; the others stay.
func TestShuffleMovesOnlyItsShare(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(0, 60).Draw(r, "n")
		share := rapid.SampledFrom([]float64{0, .3, .7, 1}).Draw(r, "share")
		pieces := make([]hypnagogia.Piece, n)
		for i := range pieces {
			pieces[i].Text = fmt.Sprintf("%02d", i)
		}
		seed := rapid.Uint64().Draw(r, "seed")
		got := hypnagogia.Shuffle(pieces, share, hypnagogia.Dice(seed, dream.Onset, 0, 0, "shuffle"))
		require.ElementsMatch(r, texts(pieces), texts(got))
		require.Equal(r, got, hypnagogia.Shuffle(pieces, share, hypnagogia.Dice(seed, dream.Onset, 0, 0, "shuffle")))
		moved := 0
		for i := range got {
			if got[i].Text != pieces[i].Text {
				moved++
			}
		}
		require.LessOrEqual(r, float64(moved), share*float64(n)+.5)
	})
}

func TestAFullShuffleReachesEveryOrder(t *testing.T) {
	t.Parallel()
	pieces := []hypnagogia.Piece{{Text: "a"}, {Text: "b"}, {Text: "c"}}
	seen := map[string]int{}
	for seed := range uint64(1200) {
		seen[strings.Join(texts(hypnagogia.Shuffle(pieces, 1, hypnagogia.Dice(seed, dream.Onset, 0, 0, "s"))), "")]++
	}
	require.Len(t, seen, 6)
	for sequence, times := range seen {
		require.InDelta(t, 200, times, 60, sequence)
	}
}
