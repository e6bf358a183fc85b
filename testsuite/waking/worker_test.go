package waking_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/workflows"
)

// killMoments are the moments at which a worker is killed; the full proof has one in each phase.
func killMoments() []wakeMoment {
	all := []wakeMoment{
		{dream.Onset, "1/partial-3", provider.HangMiddle},
		{dream.Integration, "consolidate", provider.HangMiddle},
		{dream.NREM, "forward", provider.HangMiddle},
		{dream.REM, "branch-2", provider.HangMiddle},
		{dream.Return, "surface", provider.HangMiddle},
		{dream.Onset, "1/judge-all", provider.None},
		{dream.REM, "weigh", provider.None},
	}
	if full {
		return all
	}
	return all[:2]
}

// The notice has stopped the call, and its worker dies before it reports the result.
func TestAWorkerKilledBetweenNoticeAndResultLosesNothing(t *testing.T) {
	t.Parallel()
	for _, at := range killMoments() {
		t.Run(string(at.phase)+" "+at.activity, func(t *testing.T) {
			t.Parallel()
			r := openScene(t, options{})
			agent := r.addAgent()
			id := first(agent)
			moment := r.await(at.fault, id, at.phase, at.activity)
			r.begin(agent)
			r.receive(moment)
			woken := r.connect(agent)
			r.crew.Kill(0)
			require.True(t, woken.Raised)
			again := r.visit(agent, clientNamed("another")) // no worker runs, and the second client is answered as well
			require.False(t, again.Raised)
			require.Equal(t, woken.Epoch, again.Epoch)
			require.NoError(t, r.crew.Replace(0))
			require.Equal(t, workflows.Awake, r.recorded(woken).State)
			r.until(func() bool { return r.night(agent, id).Resumable() }, "%s is never interrupted", id)
			r.release(agent)
			r.resume(agent)
			r.requireOutcome(id, dream.Completed)
			r.audit(1)
		})
	}
}

// A frozen worker gets no notice and answers nothing. The dream resumes elsewhere without the partial answer of that
// call; when the worker continues, the store accepts nothing from it.
func TestAFrozenWorkerDelaysNoConnect(t *testing.T) {
	t.Parallel()
	r := openScene(t, options{workers: 2, token: 5 * time.Millisecond})
	agent := r.addAgent()
	id := first(agent)
	moment := r.await(provider.None, id, dream.Onset, "1/partial-4")
	r.begin(agent)
	r.receive(moment)
	r.freeze(0, agent)
	woken := r.connect(agent)
	require.Equal(t, workflows.Awake, r.recorded(woken).State)
	r.until(func() bool { return r.night(agent, id).Resumable() }, "%s is never interrupted", id)
	r.release(agent)
	r.resume(agent) // while the frozen one still runs the first stretch
	r.twins = 4     // the partials that it was generating continue beside those of the resumed dream
	r.crew.Thaw(0)
	r.requireOutcome(id, dream.Completed)
	r.audit(1)
}

// The only worker is frozen: a connecting client goes on all the same, and the wake is recorded when the worker
// continues.
func TestAConnectAtAFrozenOnlyWorkerIsAnsweredAndRecordedLater(t *testing.T) {
	t.Parallel()
	r := openScene(t, options{})
	agent := r.addAgent()
	id := first(agent)
	moment := r.await(provider.HangMiddle, id, dream.NREM, "forward")
	r.begin(agent)
	r.receive(moment)
	r.freeze(0, agent)
	woken := r.connect(agent)
	require.True(t, woken.Raised)
	require.Equal(t, id, woken.Dream)
	require.False(t, r.connect(agent).Raised)
	r.crew.Thaw(0)
	require.Equal(t, id, r.recorded(woken).Dream)
	r.release(agent)
	r.resume(agent)
	r.requireOutcome(id, dream.Completed)
	r.audit(1)
}
