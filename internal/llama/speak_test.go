package llama

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// spoken speaks tokens through a voice and gives the pieces that came.
func spoken(v *voice, tokens ...string) []string {
	var pieces []string
	say := v.say
	v.say = func(p Piece) bool { pieces = append(pieces, p.Text); return say == nil || say(p) }
	v.over = func() bool { return false }
	for _, token := range tokens {
		if !v.stopped && !v.halted {
			v.token(Token{Text: token, LogProb: -1})
		}
	}
	v.end()
	return pieces
}

func TestPiecesAreWholeLetters(t *testing.T) {
	t.Parallel()
	v := &voice{}
	require.Equal(t, []string{"a", "é", "😀", "b\uFFFD"},
		spoken(v, "a", "\xc3", "\xa9", "\xf0", "\x9f\x98", "\x80", "b\xc3"))
	require.Equal(t, 7, v.tokens)
	require.InDelta(t, -7, v.sum, 1e-9)
	require.Equal(t, []string{"\uFFFD"}, spoken(&voice{}, "\xff"))
}

func TestAStopWordIsNeverSaidNotEvenInParts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		stops, tokens, want []string
		stopped             bool
	}{
		{[]string{"END"}, []string{"one", " E", "N", "D", " two"}, []string{"one", " "}, true},
		{[]string{"END"}, []string{"one", " E", "N", "T", " two"}, []string{"one", " E", "N", "T", " two"}, false},
		{[]string{"."}, []string{"a.b"}, []string{"a"}, true},
		{[]string{".", "b"}, []string{".b"}, nil, true},
		{[]string{"aab"}, []string{"a", "a", "a", "b"}, []string{"a"}, true},
		{[]string{"xyz"}, []string{"ax", "y"}, []string{"ax", "y"}, false},
		{[]string{""}, []string{"a"}, []string{"a"}, false},
	} {
		v := &voice{stops: c.stops}
		require.Equal(t, c.want, spoken(v, c.tokens...), "%q", c.tokens)
		require.Equal(t, c.stopped, v.stopped)
	}
}

func TestWhoHasEnoughHearsNoMore(t *testing.T) {
	t.Parallel()
	n := 0
	v := &voice{stops: []string{"abcd"}, say: func(Piece) bool { n++; return n < 2 }}
	require.Equal(t, []string{"a", "b"}, spoken(v, "a", "b", "c", "x", "y"))
	require.True(t, v.halted)
	require.Equal(t, "ab", v.text.String())
}

func anything(int) bool { return true }

func TestDrawsFollowTheOdds(t *testing.T) {
	t.Parallel()
	log := logs([]float32{0, float32(math.Log(2)), float32(math.Log(5)), float32(math.Inf(-1))}) // 1/8, 2/8, 5/8, 0
	require.InDelta(t, math.Log(.625), log[2], 1e-6)
	draw := func(s inference.Sampling, allowed func(int) bool) []float64 {
		taste, err := tasteOf(s, 42)
		require.NoError(t, err)
		share := make([]float64, 4)
		for range 20_000 {
			share[taste.choose(log, allowed)] += 1.0 / 20_000
		}
		return share
	}
	near := func(want, got []float64) {
		t.Helper()
		require.InDeltaSlice(t, want, got, .012)
	}
	near([]float64{.125, .25, .625, 0}, draw(inference.Sampling{}, anything))
	near([]float64{0, 0, 1, 0}, draw(inference.Sampling{Temperature: ptr(0.0)}, anything))
	near([]float64{1. / 30, 4. / 30, 25. / 30, 0}, draw(inference.Sampling{Temperature: ptr(.5)}, anything))
	near([]float64{0, 2. / 7, 5. / 7, 0}, draw(inference.Sampling{MinP: ptr(.3)}, anything))
	near([]float64{0, 2. / 7, 5. / 7, 0}, draw(inference.Sampling{TopP: ptr(.8)}, anything))
	near([]float64{0, 0, 1, 0}, draw(inference.Sampling{Temperature: ptr(5.0), MinP: ptr(1.0)}, anything))
	near([]float64{1. / 3, 2. / 3, 0, 0}, draw(inference.Sampling{}, func(token int) bool { return token < 2 }))
	near([]float64{0, 1, 0, 0}, draw(inference.Sampling{MinP: ptr(.5)}, func(token int) bool { return token < 2 }))
	taste, err := tasteOf(inference.Sampling{}, 1)
	require.NoError(t, err)
	require.Equal(t, -1, taste.choose(log, func(int) bool { return false }))
}

func TestSamplingThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	for _, s := range []inference.Sampling{
		{Temperature: ptr(-.1)},
		{Temperature: ptr(math.NaN())},
		{Temperature: ptr(5.1)},
		{MinP: ptr(1.1)},
		{TopP: ptr(-1.0)},
	} {
		_, err := tasteOf(s, 0)
		require.ErrorContains(t, err, "must lie between")
	}
}

func TestTheLikeliestComeBestFirst(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(1, 2))
	log := make([]float64, 100)
	for i := range log {
		log[i] = -dice.Float64()
	}
	top := likeliest(log, 5)
	require.Len(t, top, 5)
	for i := range top[1:] {
		require.GreaterOrEqual(t, top[i].log, top[i+1].log)
	}
	above := 0
	for _, x := range log {
		if x > top[4].log {
			above++
		}
	}
	require.Equal(t, 4, above)
	require.Empty(t, likeliest(log, 0))
}
