package waking_test

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/workflows"
)

// wakeMoment is a moment of a dream at which a client connects: when a call of this activity has arrived, which then
// fails, or not.
type wakeMoment struct {
	phase    dream.Phase
	activity string
	fault    provider.Fault
}

// touches in each phase: in mid-stream, before the first token, while an answer is embedded and then written.
var touches = map[string]wakeMoment{
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
	wakeAtEach(t, options{workers: 2}, touches)
}

// The same on Redis; the full proof has all the moments there too.
func TestAConnectInAnyPhaseLosesNothingOverRedis(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("plays on real servers; make test runs it")
	}
	some := maps.Clone(touches)
	maps.DeleteFunc(some,
		func(_ string, at wakeMoment) bool {
			return !full && (at.fault == provider.None || at.phase == dream.Onset)
		})
	wakeAtEach(t, options{workers: 2, redis: redis.Shared(t)}, some)
}

// With an observer that judges one partial in a call.
func TestAConnectWhileOnePartialIsJudgedLosesNothing(t *testing.T) {
	t.Parallel()
	wakeAtEach(
		t,
		options{workers: 2, edit: func(p *testdeploy.Config) { p.Knobs.Judging = dream.BySingle }},
		map[string]wakeMoment{
			"one of four":            {dream.Onset, "1/judge-2", provider.HangMiddle},
			"the first of them":      {dream.Onset, "1/judge-1", provider.HangFirst},
			"embedding what follows": {dream.Onset, "2/judge-1/embed", provider.None},
		},
	)
}

// A call that gives all partials of a cycle, and two that do it together.
func TestAConnectDuringACallForSeveralIdeasLosesNothing(t *testing.T) {
	t.Parallel()
	for way, touches := range map[dream.Loosening]map[string]wakeMoment{
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
			wakeAtEach(
				t,
				options{edit: func(p *testdeploy.Config) { p.Model, p.Knobs.Loosening = "strict", way }},
				touches,
			)
		})
	}
}

func wakeAtEach(t *testing.T, f options, touches map[string]wakeMoment) {
	t.Helper()
	r := openScene(t, f)
	t.Run("moments", func(t *testing.T) {
		for name, at := range touches {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				at.wakeAt(r.withT(t))
			})
		}
	})
	_, w := r.auditAll()
	t.Logf("%d of %d connects woke a stretch", w.Total, len(touches))
	require.GreaterOrEqual(t, w.Total, max(1, len(touches)-2))
}

func (at wakeMoment) wakeAt(r *scene) {
	t, agent := r.t, r.addAgent()
	id := first(agent)
	moment := r.await(at.fault, id, at.phase, at.activity)
	require.Equal(t, id, r.begin(agent))
	r.receive(moment)
	woken := r.connect(agent)
	require.True(t, woken.Raised)
	awoken := r.recorded(woken)
	require.Equal(t, workflows.Awake, awoken.State)
	if record := r.night(agent, id); record.Outcome == dream.Interrupted {
		require.True(t, record.Resumable())
		r.release(agent)
		require.Equal(t, id, r.resume(agent).Dream)
	} else { // it was about to end
		require.Equal(t, wakeMoment{phase: dream.Return}, wakeMoment{phase: at.phase, fault: at.fault})
	}
	result := r.requireOutcome(id, dream.Completed)
	for _, tally := range result.Tallies {
		require.Equal(t, "ran", tally.State, "%s: %s", tally.Phase, tally.Reason)
		require.Zero(t, tally.Failed, tally.Phase)
	}
	require.LessOrEqual(t, r.night(agent, id).Stretches, 2)
}

// A call that waits for a provider's delay has nothing to stop: the wake is answered, and the call made later.
func TestAConnectDuringBackOffDoesNotWaitForIt(t *testing.T) {
	t.Parallel()
	r := openScene(t, options{retry: 30 * time.Second})
	agent := r.addAgent()
	id := first(agent)
	refused := r.await(provider.LimitDelay, id, dream.NREM, "forward")
	r.begin(agent)
	r.receive(refused)
	awoken := r.recorded(r.connect(agent))
	require.Equal(t, id, awoken.Dream)
	r.release(agent)
	r.resume(agent)
	r.requireOutcome(id, dream.Completed)
	r.audit(1)
}

// The same dream is woken in every one of its phases.
func TestADreamWokenInEveryPhaseEndsAsOne(t *testing.T) {
	t.Parallel()
	r := openScene(t, options{edit: func(p *testdeploy.Config) { p.Knobs.Cycles = 1 }})
	agent := r.addAgent()
	id := first(agent)
	at := []wakeMoment{
		{dream.Onset, "1/partial-3", provider.HangMiddle},
		{dream.NREM, "forward", provider.HangMiddle},
		{dream.REM, "branch-2", provider.HangMiddle},
		{dream.Integration, "consolidate", provider.HangMiddle},
		{dream.Return, "surface", provider.HangMiddle},
	}
	for i, wakeMoment := range at {
		moment := r.await(wakeMoment.fault, id, wakeMoment.phase, wakeMoment.activity)
		if i == 0 {
			r.begin(agent)
		} else {
			r.release(agent)
			r.resume(agent)
		}
		r.receive(moment)
		require.Equal(t, int64(i+1), r.recorded(r.connect(agent)).Epoch)
	}
	r.release(agent)
	r.resume(agent)
	r.requireOutcome(id, dream.Completed)
	require.Equal(t, len(at)+1, r.night(agent, id).Stretches)
	_, w := r.audit(len(at))
	for i, wake := range w.Dreams[0].Wakes {
		require.Equal(t, at[i].phase, wake.Phase)
		require.False(t, wake.Forced)
	}
}
