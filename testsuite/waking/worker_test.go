package waking_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/workflows"
)

// blows are the moments at which a worker is hit; a proof in full has one in each phase.
func blows() []touch {
	all := []touch{
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

// The bell has cut the call, and its worker dies before anybody has heard of it.
func TestAWorkerKilledBetweenBusAndResultLosesNothing(t *testing.T) {
	t.Parallel()
	for _, at := range blows() {
		t.Run(string(at.phase)+" "+at.activity, func(t *testing.T) {
			t.Parallel()
			r := furnish(t, furniture{})
			agent := r.hire()
			id := first(agent)
			moment := r.await(at.fault, id, at.phase, at.activity)
			r.begin(agent)
			r.come(moment)
			woken := r.connect(agent)
			r.crew.Kill(0)
			require.True(t, woken.Raised)
			again := r.visit(agent, guest("another")) // nobody works at all, and the second is answered as well
			require.False(t, again.Raised)
			require.Equal(t, woken.Epoch, again.Epoch)
			require.NoError(t, r.crew.Replace(0))
			require.Equal(t, workflows.Awake, r.recorded(woken).State)
			r.until(func() bool { return r.night(agent, id).Resumable() }, "%s is never put down", id)
			r.leave(agent)
			r.resume(agent)
			r.ends(id, dream.Completed)
			r.sound(1)
		})
	}
}

// A frozen worker hears no bell and answers nobody. The dream goes on elsewhere without what that call had said; when
// the worker comes back, the store takes nothing from it.
func TestAFrozenWorkerHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	r := furnish(t, furniture{workers: 2, token: 5 * time.Millisecond})
	agent := r.hire()
	id := first(agent)
	moment := r.await(provider.None, id, dream.Onset, "1/partial-4")
	r.begin(agent)
	r.come(moment)
	r.crew.Freeze(0)
	woken := r.connect(agent)
	require.Equal(t, workflows.Awake, r.recorded(woken).State)
	r.until(func() bool { return r.night(agent, id).Resumable() }, "%s is never put down", id)
	r.leave(agent)
	r.resume(agent) // while the frozen one still believes in the first sitting
	r.twins = 4     // the partials that it was in the midst of go on beside those of the resumed dream
	r.crew.Thaw(0)
	r.ends(id, dream.Completed)
	r.sound(1)
}

// The only worker is frozen: whoever knocks goes on all the same, and what happened is told when it comes back.
func TestAConnectAtTheOnlyWorkerWhileItIsFrozenIsAnsweredAndToldLater(t *testing.T) {
	t.Parallel()
	r := furnish(t, furniture{})
	agent := r.hire()
	id := first(agent)
	moment := r.await(provider.HangMiddle, id, dream.NREM, "forward")
	r.begin(agent)
	r.come(moment)
	r.crew.Freeze(0)
	woken := r.connect(agent)
	require.True(t, woken.Raised)
	require.Equal(t, id, woken.Dream)
	require.False(t, r.connect(agent).Raised)
	r.crew.Thaw(0)
	require.Equal(t, id, r.recorded(woken).Dream)
	r.leave(agent)
	r.resume(agent)
	r.ends(id, dream.Completed)
	r.sound(1)
}
