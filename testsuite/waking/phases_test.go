package waking_test

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/workflows"
)

// touch is a moment of a night at which somebody knocks: when a call of this deed has arrived, which then goes wrong,
// or not.
type touch struct {
	phase    dream.Phase
	activity string
	fault    provider.Fault
}

// touches fall into each phase: in mid-stream, before the first token, while an answer is embedded and then written.
var touches = map[string]touch{
	"induction":              {dream.Onset, "induction", provider.HangMiddle},
	"before the first token": {dream.Onset, "1/partial-2", provider.HangFirst},
	"a partial":              {dream.Onset, "1/partial-3", provider.HangMiddle},
	"the observer":           {dream.Onset, "1/judge-all", provider.HangMiddle},
	"embedding what follows": {dream.Onset, "1/judge-all/embed", provider.None},
	"lucid capture":          {dream.Onset, "capture", provider.HangMiddle},
	"replay":                 {dream.NREM, "forward", provider.HangMiddle},
	"replay backwards":       {dream.NREM, "backward", provider.None},
	"imagination":            {dream.REM, "branch-2", provider.HangMiddle},
	"weighing":               {dream.REM, "weigh", provider.None},
	"a scenario refined":     {dream.REM, "refine", provider.HangMiddle},
	"a later round weighed":  {dream.REM, "weigh-2", provider.HangMiddle},
	"integration":            {dream.Integration, "consolidate", provider.HangMiddle},
	"integration's write":    {dream.Integration, "consolidate", provider.None},
	"return":                 {dream.Return, "surface", provider.HangMiddle},
	"return's write":         {dream.Return, "surface", provider.None},
}

// TestAConnectInAnyPhaseLosesNothing wakes a dream once at each of these moments, resumes it, and audits all of it at
// the end.
func TestAConnectInAnyPhaseLosesNothing(t *testing.T) {
	t.Parallel()
	meetAll(t, furniture{workers: 2}, touches)
}

// The same on Redis; a proof in full has all the moments there too.
func TestAConnectInAnyPhaseLosesNothingOverRedis(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("plays on real servers; make test runs it")
	}
	some := maps.Clone(touches)
	maps.DeleteFunc(some,
		func(_ string, at touch) bool { return !full && (at.fault == provider.None || at.phase == dream.Onset) })
	meetAll(t, furniture{workers: 2, redis: redis.Shared(t)}, some)
}

// A judge that is asked about one partial at a time.
func TestAConnectWhileOnePartialIsJudgedLosesNothing(t *testing.T) {
	t.Parallel()
	meetAll(t, furniture{workers: 2, edit: func(p *testdeploy.Config) { p.Knobs.Judging = dream.BySingle }}, map[string]touch{
		"one of four":            {dream.Onset, "1/judge-2", provider.HangMiddle},
		"the first of them":      {dream.Onset, "1/judge-1", provider.HangFirst},
		"embedding what follows": {dream.Onset, "2/judge-1/embed", provider.None},
	})
}

// A call that gives all partials of a cycle, and two that do it together.
func TestAConnectWhileIdeasAreToldInWordsLosesNothing(t *testing.T) {
	t.Parallel()
	for way, touches := range map[dream.Loosening]map[string]touch{
		dream.Verbalised: {
			"in its midst": {dream.Onset, "1/ideas", provider.HangMiddle},
			"at its end":   {dream.Onset, "2/ideas", provider.None},
		},
		dream.TwoPhase: {
			"scraps": {dream.Onset, "1/scraps", provider.HangMiddle},
			"ideas":  {dream.Onset, "2/ideas", provider.HangFirst},
		},
	} {
		t.Run(string(way), func(t *testing.T) {
			t.Parallel()
			meetAll(t, furniture{edit: func(p *testdeploy.Config) { p.Model, p.Knobs.Loosening = "strict", way }}, touches)
		})
	}
}

func meetAll(t *testing.T, f furniture, touches map[string]touch) {
	t.Helper()
	r := furnish(t, f)
	t.Run("moments", func(t *testing.T) {
		for name, at := range touches {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				at.meet(r.with(t))
			})
		}
	})
	_, w := r.soundly()
	t.Logf("%d of %d knocks found a sitting to wake", w.Total, len(touches))
	require.GreaterOrEqual(t, w.Total, max(1, len(touches)-2))
}

func (at touch) meet(r *room) {
	t, agent := r.t, r.hire()
	id := first(agent)
	moment := r.await(at.fault, id, at.phase, at.activity)
	require.Equal(t, id, r.begin(agent))
	r.come(moment)
	woken := r.connect(agent)
	require.True(t, woken.Raised)
	awoken := r.recorded(woken)
	require.Equal(t, workflows.Awake, awoken.State)
	if record := r.night(agent, id); record.Outcome == dream.Interrupted {
		require.True(t, record.Resumable())
		r.leave(agent)
		require.Equal(t, id, r.resume(agent).Dream)
	} else { // it was just ending
		require.Equal(t, touch{phase: dream.Return}, touch{phase: at.phase, fault: at.fault})
	}
	result := r.ends(id, dream.Completed)
	for _, tally := range result.Tallies {
		require.Equal(t, "ran", tally.State, "%s: %s", tally.Phase, tally.Reason)
		require.Zero(t, tally.Failed, tally.Phase)
	}
	require.LessOrEqual(t, r.night(agent, id).Stretches, 2)
}

// A call that waits out a provider's delay has nothing to stop: the wake is answered, and the call made again later.
func TestAConnectInBackOffNeedNotWaitForIt(t *testing.T) {
	t.Parallel()
	r := furnish(t, furniture{retry: 30 * time.Second})
	agent := r.hire()
	id := first(agent)
	refused := r.await(provider.LimitDelay, id, dream.NREM, "forward")
	r.begin(agent)
	r.come(refused)
	awoken := r.recorded(r.connect(agent))
	require.Equal(t, id, awoken.Dream)
	r.leave(agent)
	r.resume(agent)
	r.ends(id, dream.Completed)
	r.sound(1)
}

// In each phase, again and again: the same dream is woken in every one of its phases.
func TestADreamWokenInEveryPhaseEndsAsOne(t *testing.T) {
	t.Parallel()
	r := furnish(t, furniture{edit: func(p *testdeploy.Config) { p.Knobs.Cycles = 1 }})
	agent := r.hire()
	id := first(agent)
	at := []touch{
		{dream.Onset, "1/partial-3", provider.HangMiddle},
		{dream.NREM, "forward", provider.HangMiddle},
		{dream.REM, "branch-2", provider.HangMiddle},
		{dream.Integration, "consolidate", provider.HangMiddle},
		{dream.Return, "surface", provider.HangMiddle},
	}
	for i, touch := range at {
		moment := r.await(touch.fault, id, touch.phase, touch.activity)
		if i == 0 {
			r.begin(agent)
		} else {
			r.leave(agent)
			r.resume(agent)
		}
		r.come(moment)
		require.Equal(t, int64(i+1), r.recorded(r.connect(agent)).Epoch)
	}
	r.leave(agent)
	r.resume(agent)
	r.ends(id, dream.Completed)
	require.Equal(t, len(at)+1, r.night(agent, id).Stretches)
	_, w := r.sound(len(at))
	for i, wake := range w.Dreams[0].Wakes {
		require.Equal(t, at[i].phase, wake.Phase)
		require.False(t, wake.Forced)
	}
}
