package circadian

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheTermsOfUrgency(t *testing.T) {
	t.Parallel()
	weights := 0.0
	for _, term := range UrgencyOf(UrgencyInput{}).Terms {
		weights += term.Weight
	}
	require.InDelta(t, 1, weights, 1e-12)
	for _, c := range []struct {
		name  string
		lived UrgencyInput
		want  float64
		terms [5]float64
	}{
		{"nothing lived, nothing dreamt", UrgencyInput{Never: true}, 0, [5]float64{}},
		{"the first episode of an agent that never dreamt", UrgencyInput{Never: true, Episodes: 1}, .252, [5]float64{.005, 1}},
		{"a calm day", UrgencyInput{Episodes: 20, Since: 12 * time.Hour, Affect: .2}, .195, [5]float64{.1, .5, .2}},
		{"a full day", UrgencyInput{Episodes: 200, Since: 24 * time.Hour}, .55, [5]float64{1, 1}},
		{
			"more than a day can hold",
			UrgencyInput{Episodes: 900, Since: 90 * time.Hour, Affect: 3, Volatility: 2},
			.9,
			[5]float64{1, 1, 1, 1},
		},
		{"half of the residuals are novel", UrgencyInput{Residuals: 8, Novel: 4}, .05, [5]float64{0, 0, 0, 0, .5}},
		{"all of everything", UrgencyInput{
			Episodes:   200,
			Since:      24 * time.Hour,
			Affect:     1,
			Volatility: 1,
			Residuals:  3,
			Novel:      3,
		}, 1, [5]float64{1, 1, 1, 1, 1}},
		{
			"NaN counts as 0",
			UrgencyInput{Affect: math.NaN(), Volatility: math.Inf(-1), Since: -time.Hour},
			0,
			[5]float64{},
		},
	} {
		u := UrgencyOf(c.lived)
		require.InDelta(t, c.want, u.Value, 1e-9, c.name)
		require.Len(t, u.Terms, 5)
		for i, want := range c.terms {
			require.InDelta(t, want, u.Terms[i].Value, 1e-9, "%s: %s", c.name, u.Terms[i].Name)
		}
	}
}

func TestAnUrgentAgentMayDreamEarlier(t *testing.T) {
	t.Parallel()
	full := UrgencyInput{Episodes: 200, Since: 24 * time.Hour}
	felt, torn := full, full
	felt.Affect, torn.Volatility = .9, .5
	for _, c := range []struct {
		name  string
		lived UrgencyInput
		at    float64
		early bool
	}{
		{"full and stale alone is .55", full, .8, false},
		{"full, stale and moved is .73", felt, .8, false},
		{"full and stale in uncertain times is .625", torn, .6, true},
		{"all of it", UrgencyInput{Episodes: 200, Since: 24 * time.Hour, Affect: 1, Volatility: .4}, .8, true},
	} {
		u := UrgencyOf(c.lived)
		require.InDelta(t, c.at, DefaultUrgencyRule.Threshold(u), 0, c.name)
		require.Equal(t, c.early, DefaultUrgencyRule.Early(u), c.name)
	}
	off := DefaultUrgencyRule
	off.Idle = 0
	require.False(t, off.Early(UrgencyOf(UrgencyInput{Episodes: 900, Since: 90 * time.Hour, Affect: 1, Volatility: 1})))
}

func TestUrgencyThresholdsAreValidated(t *testing.T) {
	t.Parallel()
	require.NoError(t, DefaultUrgencyRule.Validate())
	require.ErrorContains(t, UrgencyRule{Urgent: 0, Uncertain: 2}.Validate(), "urgent is 0; it must lie above 0")
	require.ErrorContains(t, UrgencyRule{Urgent: 0, Uncertain: 2}.Validate(), "urgent_uncertain is 2")
	require.ErrorContains(t, UrgencyRule{Urgent: .5, Uncertain: .6}.Validate(), "must not raise the threshold")
}

func TestNoveltyDependsOnTheSpace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		space Space
		below float64
	}{
		{"an uncalibrated space has the default limit", Space{}, .3},
		{"unrelated texts at 0: the same", Space{Mean: 0, SD: .05, Calibrated: true}, .3},
		{"unrelated texts at .5", Space{Mean: .5, SD: .04, Calibrated: true}, .65},
		{"a wide space: what chance reaches is novel", Space{Mean: .1, SD: .12, Calibrated: true}, .46},
		{"unrelated texts at .76", Space{Mean: .76, SD: .02, Calibrated: true}, .832},
		{"a space where everything is similar has a limit nevertheless", Space{Mean: .9, SD: .05, Calibrated: true}, .9},
	} {
		require.InDelta(t, c.below, c.space.NovelBelow(), 1e-9, c.name)
		require.True(t, c.space.Novel(c.below-.001), c.name)
		require.False(t, c.space.Novel(c.below), c.name)
	}
}
