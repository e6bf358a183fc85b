package prediction_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/prediction"
)

func seen(status string) prediction.Verdict {
	return prediction.Verdict{
		Status: status, By: dream.ByPerson, Evidence: "seen from the pier",
		At: dawn.Add(time.Hour),
	}
}

func TestAVerdictSetsResidualAuthorAndEvidence(t *testing.T) {
	t.Parallel()
	for status, residual := range map[string]float64{dream.PredictionRight: .7, dream.PredictionWrong: -.3} {
		p := foretold("p", dream.NREM, .3)
		changed, err := prediction.Resolve(p, seen(status))
		require.NoError(t, err)
		require.True(t, changed)
		require.Equal(t, status, p.Status)
		require.InDelta(t, residual, *p.Residual, 1e-12)
		require.Equal(t, dawn.Add(time.Hour), *p.ResolvedAt)
		require.Equal(t, "person: seen from the pier", p.ResolvedBy+": "+p.Evidence)
	}
	p := foretold("p", dream.NREM, .3)
	_, err := prediction.Resolve(p, seen(dream.PredictionVoid))
	require.NoError(t, err)
	require.Nil(t, p.Residual, "a void verdict has no residual")
	require.NotNil(t, p.ResolvedAt)
}

func TestARepeatedVerdictChangesNothingAndADifferentOneNeedsAgain(t *testing.T) {
	t.Parallel()
	p := foretold("p", dream.NREM, .3)
	_, err := prediction.Resolve(p, seen(dream.PredictionRight))
	require.NoError(t, err)
	before := *p
	later := seen(dream.PredictionRight)
	later.By, later.Again = dream.ByTool+"bot", true
	changed, err := prediction.Resolve(p, later)
	require.NoError(t, err)
	require.False(t, changed)
	require.Equal(t, before, *p)

	other := seen(dream.PredictionWrong)
	_, err = prediction.Resolve(p, other)
	require.ErrorIs(t, err, prediction.ErrResolved)
	require.EqualError(t, err, "p was resolved already as correct by person at 2026-03-12T05:00:00Z")
	require.Equal(t, before, *p)
	other.Again = true
	changed, err = prediction.Resolve(p, other)
	require.NoError(t, err)
	require.True(t, changed)
	require.InDelta(t, -.3, *p.Residual, 1e-12)
	back := seen(dream.PredictionVoid)
	back.Again = true
	_, err = prediction.Resolve(p, back)
	require.NoError(t, err)
	require.Nil(t, p.Residual)
}

func TestInvalidVerdictsAndAuthorsAreRefused(t *testing.T) {
	t.Parallel()
	for why, v := range map[string]prediction.Verdict{
		`it must be correct, incorrect or void`: {Status: "open", By: dream.ByPerson, At: dawn},
		`by "dream/echo/0042": it must be person,`: {
			Status: dream.PredictionRight, By: "dream/echo/0042",
			At: dawn,
		},
		`by "": it must be person,`:      {Status: dream.PredictionRight, At: dawn},
		`by "tool/": it must be person,`: {Status: dream.PredictionRight, By: "tool/", At: dawn},
		`by "rule/harbour": it must be person,`: {
			Status: dream.PredictionRight, By: "rule/harbour",
			At: dawn,
		},
		`its evidence is 2001 bytes long; 2000 at most`: {
			Status: dream.PredictionRight, By: dream.ByPerson,
			At: dawn, Evidence: strings.Repeat("x", 2001),
		},
		`it was made at 2026-03-12T04:00:00Z only`: {
			Status: dream.PredictionRight, By: dream.ByPerson,
			At: dawn.Add(-time.Second),
		},
		`as of 0001-01-01T00:00:00Z: it was made at 2026-`: {Status: dream.PredictionRight, By: dream.ByPerson},
	} {
		p := foretold("p", dream.NREM, .3)
		changed, err := prediction.Resolve(p, v)
		require.ErrorContains(t, err, why)
		require.False(t, changed)
		require.Equal(t, dream.PredictionOpen, p.Status)
	}
}

func TestAPredictionOfAnUndoneDreamIsNotResolved(t *testing.T) {
	t.Parallel()
	p := foretold("p", dream.NREM, .3)
	p.State = dream.Archived
	_, err := prediction.Resolve(p, seen(dream.PredictionRight))
	require.EqualError(t, err, "resolve p: it is archived, as the dream that made it was undone")
}

func watched(means string) *dream.Prediction {
	p := foretold("p", dream.REM, .25)
	p.Watch = &dream.Watch{Feed: "harbour", Rule: "quay", Means: means, Since: dawn.Add(time.Hour)}
	return p
}

func TestAFiredRuleResolvesAWatchedPrediction(t *testing.T) {
	t.Parallel()
	in, now := dawn.Add(2*time.Hour), dawn.Add(3*time.Hour)
	v, ok := prediction.Fired(watched(dream.PredictionWrong), "harbour", "quay", "quay: 100 to 106", in, now)
	require.True(t, ok)
	require.Equal(t, prediction.Verdict{
		Status: dream.PredictionWrong, By: "rule/harbour/quay",
		Evidence: "the rule fired at 2026-03-12T06:00:00Z (quay: 100 to 106)", At: now,
	}, v)
	for name, c := range map[string]struct {
		p    *dream.Prediction
		rule string
		at   time.Time
	}{
		"not watched":       {foretold("p", dream.REM, .25), "quay", in},
		"another rule":      {watched(dream.PredictionRight), "gate", in},
		"before the watch":  {watched(dream.PredictionRight), "quay", dawn.Add(time.Minute)},
		"after the horizon": {watched(dream.PredictionRight), "quay", dawn.AddDate(0, 0, 14).Add(time.Second)},
		"resolved already":  {judged("p", dream.REM, .25, dream.PredictionRight, 1), "quay", in},
	} {
		_, ok := prediction.Fired(c.p, "harbour", c.rule, "", c.at, c.at)
		require.False(t, ok, name)
	}
	_, ok = prediction.Fired(watched(dream.PredictionRight), "harbour", "quay", "", dawn.AddDate(0, 0, 14), now)
	require.True(t, ok, "on the very horizon")
}

func TestAPassedHorizonGivesTheOppositeOrVoid(t *testing.T) {
	t.Parallel()
	horizon := dawn.AddDate(0, 0, 14)
	for _, c := range []struct {
		name    string
		p       *dream.Prediction
		unheard string
		at      time.Time
		want    string // empty: no verdict yet
	}{
		{"not watched, not yet", foretold("p", dream.REM, .25), "", horizon.Add(-time.Second), ""},
		{"not watched", foretold("p", dream.REM, .25), "", horizon, dream.PredictionVoid},
		{
			"it did not fire, an alarm may be on its way", watched(dream.PredictionRight), "",
			horizon.Add(prediction.Grace - 1), "",
		},
		{
			"it did not fire and meant right", watched(dream.PredictionRight), "", horizon.Add(prediction.Grace),
			dream.PredictionWrong,
		},
		{
			"it did not fire and meant wrong", watched(dream.PredictionWrong), "", horizon.Add(prediction.Grace),
			dream.PredictionRight,
		},
		{
			"it could not have fired", watched(dream.PredictionRight), "there is no such rule",
			horizon.Add(prediction.Grace), dream.PredictionVoid,
		},
		{"resolved already", judged("p", dream.REM, .25, dream.PredictionRight, 1), "", horizon, ""},
	} {
		v, ok := prediction.Lapsed(c.p, c.unheard, c.at)
		require.Equal(t, c.want != "", ok, c.name)
		require.Equal(t, c.want, v.Status, c.name)
		if ok {
			changed, err := prediction.Resolve(c.p, v)
			require.NoError(t, err)
			require.True(t, changed)
			require.Equal(t, dream.ByHorizon, c.p.ResolvedBy)
			require.Contains(t, c.p.Evidence, c.unheard)
		}
	}
	endless := foretold("p", dream.REM, .25)
	endless.Horizon = time.Time{}
	_, ok := prediction.Lapsed(endless, "", horizon)
	require.False(t, ok)
	require.Equal(t, dream.PredictionVoid, prediction.Opposite(dream.PredictionVoid))
}

func TestAWatchNeedsFeedRuleAndMeaning(t *testing.T) {
	t.Parallel()
	require.NoError(t, prediction.CheckWatch(*watched(dream.PredictionRight).Watch))
	require.EqualError(t, prediction.CheckWatch(dream.Watch{Means: "maybe"}),
		"the feed of a watch is missing; it must be the name of the feed that the agent follows\n"+
			"the rule of a watch is missing; it must be the name of a rule of that feed\nthe watched rule means \"maybe\"; it must mean correct or incorrect")
}

func TestAnAnalyticalPredictionIsValidated(t *testing.T) {
	t.Parallel()
	whole := func() *dream.Prediction {
		p := foretold("p", "", .6)
		p.Criterion, p.Session = "She says so.", dream.ByPerson
		return p
	}
	require.NoError(t, prediction.Check(whole(), dawn))
	for why, spoil := range map[string]func(p *dream.Prediction){
		"the claim is empty; it must say what is predicted": func(
			p *dream.Prediction,
		) {
			p.Claim = "  "
		},
		"the criterion is empty; it must say what would show": func(
			p *dream.Prediction,
		) {
			p.Criterion = ""
		},
		"the reasoning is 2001 bytes long; 2000 at most": func(
			p *dream.Prediction,
		) {
			p.Trace = strings.Repeat("x", 2001)
		},
		"the confidence is 60; it must lie between 0 and 1": func(
			p *dream.Prediction,
		) {
			p.Confidence = 60
		},
		"the confidence is NaN; it must lie between 0 and 1": func(
			p *dream.Prediction,
		) {
			p.Confidence = math.NaN()
		},
		"the horizon is 2026-03-12T04:00:00Z; it must be after 2026-03-12T04:00:00Z, and within ten y": func(
			p *dream.Prediction,
		) {
			p.Horizon = dawn
		},
		"the horizon is 2126-03-12T04:00:00Z; it must be after": func(
			p *dream.Prediction,
		) {
			p.Horizon = dawn.AddDate(100, 0, 0)
		},
		`its author is "tool/"; it must be person or tool/NAME`: func(
			p *dream.Prediction,
		) {
			p.Session = dream.ByTool
		},
		`its author is "dream/echo/0042"; it must be`: func(
			p *dream.Prediction,
		) {
			p.Session = "dream/echo/0042"
		},
	} {
		p := whole()
		spoil(p)
		require.ErrorContains(t, prediction.Check(p, dawn), why)
	}
}
