package console_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/alarm"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/workflows"
)

func (s *sleeper) PutFeed(ctx context.Context, f dream.Feed) error {
	return s.fixture.store.PutFeed(ctx, f)
}

func (s *sleeper) DropFeed(ctx context.Context, name string) error {
	return s.fixture.store.DropFeed(ctx, name)
}

func (s *sleeper) Push(_ context.Context, _ string, readings []dream.Reading) error {
	s.pushed = append(s.pushed, readings...)
	return s.fault
}

func (s *sleeper) FeedState(context.Context, string) (workflows.FeedState, error) {
	price, nine := 106.0, 9.0
	return workflows.FeedState{
		Watch: alarm.Watch{
			Readings: []dream.Reading{
				{Metric: "price", Number: &nine, At: now.Add(-2 * time.Hour)},
				{Metric: "price", Number: &price, At: now.Add(-time.Hour)},
				{Metric: "gate", State: "open", At: now.Add(-time.Minute)},
			},
			Up: []string{"price/price"}, Rose: map[string]time.Time{"price/price": now.Add(-time.Hour)},
			LastJudged: map[string]time.Time{
				"price": now.Add(-time.Hour), "relative_change-price": now.Add(-time.Hour),
				"state-gate": now.Add(-time.Minute),
			},
		},
		Unused: alarm.UnusedReadings{
			Readings: 5,
			Metrics: []alarm.UnusedMetric{
				{Reading: dream.Reading{Metric: "weather", State: "calm", At: now.Add(-time.Minute)}, Times: 2},
			},
		},
		Refused:     1,
		RefusedAt:   now,
		Refusal:     `the number of "price" is NaN; it must be finite`,
		Readings:    12,
		LastReading: now.Add(-time.Minute),
		RequestedAt: now.Add(-time.Minute),
		Alarms:      2,
		Failures:    3,
		InARow:      1,
		Failed:      now,
		Failure:     "it did not answer in time",
		Last: &workflows.RaisedAlarm{
			Rule:   "price",
			What:   "price: 100 to 106",
			At:     now.Add(-time.Hour),
			Agents: 1,
		},
	}, s.fault
}

func TestAFeedIsAddedShownPushedAndRemoved(t *testing.T) {
	t.Parallel()
	s := &sleeper{}
	d := newFixture(t).furnish().asleep(s, 0)
	require.Equal(t, exit.OK, d.run(80, "feed", "list"))
	require.Contains(t, d.err.String(), "No feeds yet.")
	require.Equal(t, exit.OK,
		d.run(80, "feed", "add", "harbour", "--url", "https://user:secret@harbour.example/v1?key=secret", "--path",
			"$.data", "--every", "30s",
			"--rule", "price", "--rule", "relative_change price 5% 10m", "--rule",
			"crash = relative_drop eth.usd .2 1h",
			"--rule", "state gate shut"), d.err.String())
	d.golden("feed-add-80")
	require.Equal(t, exit.OK, d.run(0, "feed", "add", "desk"), d.err.String())
	require.Equal(t, exit.OK, d.run(0, "agents", "edit", "echo", "--feed", "harbour"))
	require.Empty(t, d.err.String())
	require.Equal(t, exit.OK, d.run(0, "agents", "edit", "tally", "--feed", "nowhere"))
	require.Contains(t, d.err.String(), "There is no feed nowhere yet")
	for _, width := range []int{80, 200} {
		require.Equal(t, exit.OK, d.run(width, "feed", "list"))
		d.golden(fmt.Sprintf("feed-list-%d", width))
		require.Equal(t, exit.OK, d.run(width, "feed", "show", "harbour"))
		d.golden(fmt.Sprintf("feed-show-%d", width))
	}
	require.Equal(t, exit.OK, d.run(0, "feed", "show", "harbour", "--json"))
	require.NotContains(t, d.out.String(), "secret")
	require.Equal(t, exit.OK, d.run(0, "feed", "push", "desk", "price=101.5", "gate=shut", "7"), d.err.String())
	require.Contains(t, d.err.String(),
		"Warning: no rule takes price, gate, a value without a name: the feed has no rules.")
	require.Len(t, s.pushed, 3)
	require.InDelta(t, 101.5, *s.pushed[0].Number, 0)
	require.Equal(t, dream.Reading{Metric: "gate", State: "shut"}, s.pushed[1])
	require.Empty(t, s.pushed[2].Metric)
	require.Equal(t, exit.OK, d.run(0, "feed", "remove", "harbour"))
	require.Contains(t, d.err.String(), "It was followed by echo.")
	require.Equal(t, exit.NotFound, d.run(0, "feed", "push", "harbour", "1"))
	require.Equal(t, exit.NotFound, d.run(0, "feed", "remove", "harbour"))
}

func TestAPushThatNoRuleTakesIsGivenWithAWarning(t *testing.T) {
	t.Parallel()
	s := &sleeper{}
	d := newFixture(t).furnish().asleep(s, 0)
	require.Equal(t, exit.OK, d.run(0, "feed", "add", "desk", "--rule", "above level 4", "--rule", "stale - 6h"))
	for text, warning := range map[string]string{
		"level=9": "", "9": "", "level=1e3": "", "level=-.5": "",
		"lvel=9":     "Warning: no rule takes lvel; the rules take numbers of level, anything.",
		"level=high": "Warning: no rule takes words of level;",
	} {
		require.Equal(t, exit.OK, d.run(0, "feed", "push", "desk", text), text)
		if warning == "" {
			require.Empty(t, d.err.String(), text)
			continue
		}
		require.Contains(t, d.err.String(), warning, text)
	}
	require.Equal(t, exit.OK, d.run(0, "feed", "push", "desk", "lvel=9", "--json"))
	require.Contains(t, d.out.String(), `"warning": "no rule takes lvel;`)
	given := len(s.pushed)
	for _, text := range []string{"level=1,5", "level=1e999", "level=0x10", "level=3m", "level=-4..5"} {
		require.Equal(t, exit.Usage, d.run(0, "feed", "push", "desk", text), text)
		require.Contains(
			t,
			d.err.String(),
			"begins like a number and is none; numbers are like 1.5, -20 or 3e6",
			text,
		)
	}
	require.Len(t, s.pushed, given)
	require.Equal(t, exit.Usage, d.run(0, "agents", "edit", "echo", "--feed", "bad name!"))
	require.Contains(t, d.err.String(), `--feed: feed name "bad name!" must be 1 to 32 of a-z`)
	require.Equal(t, exit.OK, d.run(0, "agents", "edit", "echo", "--feed", ""))
}

func TestAFeedIsKeptWithoutAServerAndItsProbeComesLater(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish().asleep(&sleeper{}, 0)
	d.dream.Reach = func(context.Context, *deploy.Deployment) (deploy.Engine, error) { return nil, deploy.ErrNoServer }
	require.Equal(t, exit.OK, d.run(0, "feed", "add", "desk", "--rule", "price"))
	require.Contains(t, d.err.String(), "its probe begins with the next worker (oneiros up)")
	require.Equal(t, exit.Usage, d.run(0, "feed", "add", "desk"))
	require.Contains(t, d.err.String(), "--replace puts this one in its place")
	require.Equal(t, exit.OK, d.run(0, "feed", "add", "desk", "--replace"))
	require.Equal(t, exit.OK, d.run(0, "feed", "show", "desk"))
	require.Contains(t, d.out.String(), "no Temporal server runs")
	require.Equal(t, exit.Unreachable, d.run(0, "feed", "push", "desk", "1"))
	require.Equal(t, exit.OK, d.run(0, "feed", "remove", "desk"))
	d.asleep(&sleeper{fault: errors.New("timed out")}, 0)
	require.Equal(t, exit.OK, d.run(0, "feed", "add", "desk"))
	require.Equal(t, exit.OK, d.run(0, "feed", "show", "desk"))
	require.Contains(t, d.out.String(), "does not answer")
}

func TestARuleIsReadAsPeopleWriteIt(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish().asleep(&sleeper{}, 0)
	price, _ := alarm.Preset("price")
	eth := price
	eth.Metric = "eth"
	for text, want := range map[string]dream.Rule{
		"price":     price,
		"price eth": eth,
		"relative_change - 0.05 10m": {
			Name: "relative_change", Kind: dream.RelativeMove, Number: .05,
			Window: 10 * time.Minute,
		},
		"fall = relative_drop ETH 5% 1h": {
			Name:   "fall",
			Kind:   dream.RelativeDrop,
			Metric: "ETH",
			Number: .05,
			Window: time.Hour,
		},
		"above load.avg 8": {Name: "above-load_avg", Kind: dream.Above, Metric: "load.avg", Number: 8},
		"state gate shut":  {Name: "state-gate", Kind: dream.StateIs, Metric: "gate", State: "shut"},
		"above x 4 rearm 3.5": {
			Name:   "above-x",
			Kind:   dream.Above,
			Metric: "x",
			Number: 4,
			Margin: .5,
		},
		"below - 0 rearm 2": {Name: "below", Kind: dream.Below, Margin: 2},
		"stale - 90s":       {Name: "stale", Kind: dream.Stale, Window: 90 * time.Second},
		"change x -3 1m":    {},
	} {
		code := d.run(0, "feed", "add", "desk", "--replace", "--rule", text)
		if want.Kind == "" {
			require.Equal(t, exit.Usage, code)
			continue
		}
		require.Equal(t, exit.OK, code, "%s: %s", text, d.err.String())
		f, err := d.store.Feed(t.Context(), "desk")
		require.NoError(t, err)
		require.Equal(t, []dream.Rule{want}, f.Rules, text)
	}
	for text, why := range map[string]string{
		"":                        "it is empty",
		"sideways x 1":            "neither a preset (price, liquidity, pause) nor a kind (change, relative_change,",
		"price a b":               "the preset price takes a metric at most",
		"above x":                 "it must be above METRIC NUMBER",
		"above x 4 rearm 5":       "rearm 5 is on the side where the rule is true; it must be where above 4 is not",
		"below x 4 rearm low":     `rearm "low" must be a number`,
		"above x 5%":              `number "5%" must be a number`,
		"change x many 10":        `window "10" must be a duration`,
		"state gate very shut":    "it must be state METRIC WORD",
		"relative_drop x 120% 1h": "at most 1",
		"Big=above x 1":           "name must be",
	} {
		require.Equal(t, exit.Usage, d.run(0, "feed", "add", "desk", "--replace", "--rule", text), text)
		require.Contains(t, d.err.String(), why, text)
	}
	require.Equal(t, exit.Usage, d.run(0, "feed", "push", "desk", "price="+strings.Repeat("x", 1000)))
	require.Equal(t, exit.Usage, d.run(0, "feed", "push", "desk", "price="))
}

func TestVitalityIsSetFromOutsideAndLeftToTheCapsAgain(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	require.Equal(t, exit.OK, d.run(0, "agents", "edit", "echo", "--vitality", "0.3"), d.err.String())
	require.Equal(t, exit.OK, d.run(0, "agents", "show", "echo"))
	require.Contains(t, d.out.String(), "0.30, stable: up to 3 Dali cycles within 1m (set from outside)")
	require.Equal(t, exit.Usage, d.run(0, "agents", "edit", "echo", "--vitality", "2"))
	require.Equal(t, exit.Usage, d.run(0, "agents", "edit", "echo", "--vitality", "lots"))
	require.Equal(t, exit.OK, d.run(0, "agents", "edit", "echo", "--vitality", "caps"))
	require.Equal(t, exit.OK, d.run(0, "agents", "show", "echo"))
	require.NotContains(t, d.out.String(), "set from outside")
}
