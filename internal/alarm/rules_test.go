package alarm

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

func TestPresets(t *testing.T) {
	t.Parallel()
	var names []string
	for _, r := range Presets() {
		require.NoError(t, Validate(r))
		names = append(names, r.Name)
	}
	require.Equal(t, []string{"price", "liquidity", "pause"}, names)
	price, _ := Preset("price")
	require.InDelta(t, .05, price.Number, 0, "price moves of 5 %")
	_, ok := Preset("weather")
	require.False(t, ok)
}

func TestInvalidRulesAreRefusedWithAHint(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule dream.Rule
		want string
	}{
		{dream.Rule{Name: "Price!", Kind: dream.Above}, `rule "Price!": name must be 1 to 32 of a-z`},
		{dream.Rule{Name: "r", Kind: "sideways"}, `kind "sideways" is unknown; kinds are [change relative_change`},
		{
			dream.Rule{Name: "r", Kind: dream.RelativeMove, Window: time.Hour},
			"number is 0; a relative_change needs how far the number moves, above 0: 0.05 is 5 %",
		},
		{
			dream.Rule{Name: "r", Kind: dream.RelativeDrop, Number: 20, Window: time.Hour},
			"number is 20; a drop is a share above 0 and at most 1",
		},
		{dream.Rule{Name: "r", Kind: dream.RiseFall, Number: math.NaN(), Window: time.Hour}, "number is NaN"},
		{dream.Rule{Name: "r", Kind: dream.Above, Number: math.Inf(1)}, "it must be finite"},
		{
			dream.Rule{Name: "r", Kind: dream.RiseFall, Number: 1},
			"window is 0s; a change needs one between 1s and 168h0m0s",
		},
		{dream.Rule{Name: "r", Kind: dream.Stale, Window: 400 * time.Hour}, "window is 400h0m0s"},
		{dream.Rule{Name: "r", Kind: dream.StateIs}, `state "" must be a word`},
		{
			dream.Rule{Name: "r", Kind: dream.Above, Metric: strings.Repeat("m", 65)},
			"metric is 65 bytes long; 64 at most",
		},
	} {
		require.ErrorContains(t, Validate(c.rule), c.want)
	}
}

func TestInvalidFeedsAreRefusedWithoutQuotingTheURL(t *testing.T) {
	t.Parallel()
	price, _ := Preset("price")
	good := dream.Feed{Name: "eth", URL: "https://user:secret@host/p?key=secret", Every: time.Minute, Rules: Presets()}
	require.NoError(t, ValidateFeed(good))
	require.NoError(t, ValidateFeed(dream.Feed{Name: "pushed", Rules: Presets()}))
	for _, c := range []struct {
		edit func(f *dream.Feed)
		want string
	}{
		{func(f *dream.Feed) { f.Name = "" }, `feed name "" must be`},
		{func(f *dream.Feed) { f.URL = "file://secret" }, "url must begin with https:// or http:// and name a host"},
		{func(f *dream.Feed) { f.URL = "https://" }, "url must begin"},
		{func(f *dream.Feed) { f.Every = 0 }, "every is 0s; a feed with a url is read every 1s to 24h0m0s"},
		{func(f *dream.Feed) { f.URL = "" }, `path "" and every 1m0s belong to a url`},
		{
			func(f *dream.Feed) { f.Every = time.Hour },
			`rule "price": window is 15m0s and the feed is read every 1h0m0s; the window must hold two readings`,
		},
		{func(f *dream.Feed) { f.Rules = []dream.Rule{price, price} }, `two rules are named "price"`},
		{func(f *dream.Feed) { f.Rules = make([]dream.Rule, 17) }, "there are 17 rules; 16 at most"},
		{func(f *dream.Feed) { f.Rules = []dream.Rule{{Name: "r"}} }, `rule "r": kind "" is unknown`},
	} {
		f := good
		c.edit(&f)
		err := ValidateFeed(f)
		require.ErrorContains(t, err, c.want)
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestInvalidReadingsAreRefused(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	long := strings.Repeat("x", 65)
	require.ErrorContains(t, ValidateReading(dream.Reading{Metric: "m"}), `"m" has neither a number nor a state`)
	require.ErrorContains(t, ValidateReading(dream.Reading{Number: &nan}), "must be finite")
	require.ErrorContains(t, ValidateReading(dream.Reading{Metric: long, State: "s"}), "65 bytes long; 64 at most")
	require.ErrorContains(t, ValidateReading(dream.Reading{State: long}), "a state is a word")
	require.NoError(t, ValidateReading(dream.Reading{State: "paused"}))
}
