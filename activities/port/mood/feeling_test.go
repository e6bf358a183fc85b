package mood_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed-56a03226/oneiros/activities/port/mood"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func axes(m mood.PAD) [3]float64 { return [3]float64{m.Pleasure, m.Arousal, m.Dominance} }

func named(t require.TestingT, name string) mood.Event {
	e, err := mood.EventNamed(name)
	require.NoError(t, err)
	return e
}

// The directions are those of Gebhard's table 2 and of Russell and Mehrabian, times 0.4.
func TestTheDirectionOfEachEvent(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]mood.PAD{
		"success":   {Pleasure: .12, Arousal: -.08, Dominance: .16},
		"praise":    {Pleasure: .24, Arousal: .2, Dominance: .16},
		"failure":   {Pleasure: -.12, Arousal: .04, Dominance: -.16},
		"criticism": {Pleasure: -.12, Arousal: .04, Dominance: -.24},
		"threat":    {Pleasure: -.256, Arousal: .24, Dominance: -.172},
		"injustice": {Pleasure: -.204, Arousal: .236, Dominance: .1},
		"relief":    {Pleasure: .08, Arousal: -.12, Dominance: .16},
		"loss":      {Pleasure: -.16, Arousal: -.08, Dominance: -.2},
		"surprise":  {Pleasure: .16, Arousal: .268, Dominance: -.052},
		"boredom":   {Pleasure: -.26, Arousal: -.248, Dominance: -.132},
	} {
		f, err := mood.Feeling{At: noon}.Feel(named(t, name), 1, noon, mood.PAD{})
		require.NoError(t, err)
		require.InDelta(t, 0, f.Distance(want), 1e-12, name)
		half, err := mood.Feeling{At: noon}.Feel(named(t, name), .5, noon, mood.PAD{})
		require.NoError(t, err)
		require.InDelta(t, 0, half.Distance(mood.PAD{}.Toward(want, .5)), 1e-12, "%s at half its intensity", name)
	}
}

func TestEventsHaveUniqueNamesAndSources(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, e := range mood.Events {
		require.NotEmpty(t, e.From)
		require.False(t, seen[e.Name])
		seen[e.Name] = true
		require.NoError(t, e.Move.Validate())
		require.LessOrEqual(t, e.Move.Distance(mood.PAD{}), .5, "no single event moves a mood far")
	}
	_, err := mood.EventNamed("triumph")
	require.ErrorContains(t, err, `there is no event "triumph"; events are success, achievement`)
}

func TestAnInvalidIntensityMovesNothing(t *testing.T) {
	t.Parallel()
	for _, wrong := range []float64{0, -1, 1.01, math.NaN(), math.Inf(1)} {
		f, err := mood.Feeling{At: noon}.Feel(named(t, "joy"), wrong, noon, mood.PAD{})
		require.Error(t, err)
		require.Zero(t, f.PAD)
	}
}

func TestAMoodDecaysToItsBaselineByHalfLives(t *testing.T) {
	t.Parallel()
	m, calm := mood.PAD{Pleasure: .8, Arousal: .8, Dominance: -.8}, mood.PAD{Pleasure: .2}
	require.InDelta(t, .5, mood.Settled(m, calm, mood.PleasureHalf).Pleasure, 1e-12)
	require.InDelta(t, .4, mood.Settled(m, calm, mood.ArousalHalf).Arousal, 1e-12)
	require.InDelta(t, -.4, mood.Settled(m, calm, mood.DominanceHalf).Dominance, 1e-12)
	require.Equal(t, m, mood.Settled(m, calm, 0))
	require.Equal(t, m, mood.Settled(m, calm, -time.Hour), "time that runs backwards has no effect")
	require.InDelta(t, 0, mood.Settled(m, calm, 100*time.Hour).Distance(calm), 1e-9)
}

func TestAMoodDecaysSteadilyAndNeverPastItsBaseline(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		m, base := anyMood(r, "m"), anyMood(r, "base")
		soon := time.Duration(rapid.Int64Range(0, int64(24*time.Hour)).Draw(r, "soon"))
		more := time.Duration(rapid.Int64Range(0, int64(24*time.Hour)).Draw(r, "more"))
		before, after := mood.Settled(m, base, soon), mood.Settled(m, base, soon+more)
		for i := range 3 {
			from := axes(m)[i]
			a := axes(before)[i]
			b := axes(after)[i]
			to := axes(base)[i]
			require.LessOrEqual(r, math.Abs(a-to), math.Abs(from-to)+1e-12)
			require.LessOrEqual(r, math.Abs(b-to), math.Abs(a-to)+1e-12)
			require.GreaterOrEqual(r, (a-to)*(from-to), 0.0, "never past it")
		}
		require.InDelta(r, 0, after.Distance(mood.Settled(before, base, more)), 1e-9, "in two steps as in one")
	})
}

func TestNoSequenceOfEventsExceedsTheLimits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		base := anyMood(r, "base")
		f := mood.Feeling{PAD: anyMood(r, "start"), At: noon}
		now := noon
		for i := range rapid.IntRange(1, 60).Draw(r, "events") {
			e := rapid.SampledFrom(mood.Events).Draw(r, "event")
			now = now.Add(time.Duration(rapid.Int64Range(-int64(time.Minute), int64(20*time.Minute)).Draw(r, "pause")))
			var err error
			f, err = f.Feel(e, rapid.Float64Range(.01, 1).Draw(r, "intensity"), now, base)
			require.NoError(r, err)
			require.NoError(r, f.Validate(), i)
			require.LessOrEqual(r, len(f.Pushes), 61)
			var up, down [3]float64
			for _, p := range f.Pushes {
				require.Less(r, f.At.Sub(p.At), time.Hour)
				for axis := range 3 {
					up[axis] += axes(p.Up)[axis]
					down[axis] += axes(p.Down)[axis]
				}
			}
			for axis := range 3 {
				require.LessOrEqual(r, up[axis], mood.Bound+1e-9)
				require.LessOrEqual(r, down[axis], mood.Bound+1e-9)
			}
		}
	})
}

func TestRepeatedEventsMoveLessAndLess(t *testing.T) {
	t.Parallel()
	for _, e := range mood.Events {
		f := mood.Feeling{At: noon}
		var last [3]float64
		for i := range 100 {
			before := f.PAD
			var err error
			f, err = f.Feel(e, 1, noon, mood.PAD{})
			require.NoError(t, err)
			for axis := range 3 {
				moved := math.Abs(axes(f.PAD)[axis] - axes(before)[axis])
				require.LessOrEqual(t, math.Abs(axes(f.PAD)[axis]), mood.Bound+1e-9, "%s %d", e.Name, i)
				require.LessOrEqual(t, moved, 1.34*math.Abs(axes(e.Move)[axis])+1e-12, "momentum adds a third at most")
				if i >= 5 { // until then momentum builds up
					require.LessOrEqual(t, moved, last[axis]+1e-12, "%s %d", e.Name, i)
				}
				last[axis] = moved
			}
		}
		require.Len(t, f.Pushes, 1, "one minute, one push")
	}
}

func TestMomentumOnlyInTheSameDirection(t *testing.T) {
	t.Parallel()
	joy, loss := named(t, "joy"), named(t, "loss")
	first, err := mood.Feeling{At: noon}.Feel(joy, .2, noon, mood.PAD{})
	require.NoError(t, err)
	again, err := first.Feel(joy, .2, noon, mood.PAD{})
	require.NoError(t, err)
	require.Greater(t, again.Pleasure-first.Pleasure, first.Pleasure, "momentum adds to it")
	later, err := first.Feel(joy, .2, noon.Add(2*time.Hour), first.PAD)
	require.NoError(t, err)
	require.InDelta(t, first.Pleasure, later.Pleasure-first.Pleasure, 1e-4, "the drift has decayed")
	turned, err := first.Feel(loss, .2, noon, mood.PAD{})
	require.NoError(t, err)
	require.InDelta(t, .2*loss.Move.Pleasure, turned.Pleasure-first.Pleasure, 1e-12)
}

func TestAMoodHasAWord(t *testing.T) {
	t.Parallel()
	for word, m := range map[string]mood.PAD{
		mood.Calm: {Pleasure: .1}, "happy": {Pleasure: .8, Arousal: .5, Dominance: .5},
		"fearful": {Pleasure: -.6, Arousal: .6, Dominance: -.5},
		"angry":   {Pleasure: -.5, Arousal: .6, Dominance: .2}, "sad": {Pleasure: -.6, Arousal: -.3, Dominance: -.35},
		"bored":   {Pleasure: -.7, Arousal: -.6, Dominance: -.3},
		"curious": {Pleasure: .2, Arousal: .6}, "relaxed": {Pleasure: .7, Arousal: -.5},
	} {
		require.Equal(t, word, mood.Word(m))
	}
	rapid.Check(t, func(r *rapid.T) { require.NotEmpty(r, mood.Word(anyMood(r, "m"))) })
}

// The mood after a single event from calm has a fitting word, however weak it is.
func TestTheWordOfAMoodAfterOneEvent(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"success": "untroubled", "relief": "leisurely", "joy": "happy", "praise": "happy", "help": "grateful",
		"curiosity": "curious", "surprise": "surprised",
		"rest": "relaxed", "failure": "shamed", "threat": "fearful", "injustice": "angry", "loss": "sad",
		"boredom": "bored", "hope": mood.Calm,
	}
	for _, e := range mood.Events {
		if word, ok := want[e.Name]; ok {
			require.Equal(t, word, mood.Word(e.Move), e.Name)
			delete(want, e.Name)
		}
	}
	require.Empty(t, want)
	require.Equal(t, mood.Calm, mood.Word(mood.PAD{}))
}
