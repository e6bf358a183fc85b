package chaos_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
)

// killPoint is a moment of a dream at which something is killed. A call that hangs is certainly running then; the
// others may have been answered, stored or neither.
type killPoint struct {
	phase    dream.Phase
	activity string
	fault    provider.Fault
}

// killPoints has moments in each phase; the full proof has more of them.
func killPoints() []killPoint {
	if !full {
		return []killPoint{
			{dream.Onset, "1/partial-3", provider.HangMiddle},
			{dream.NREM, "forward", provider.HangMiddle},
			{dream.REM, "branch-2", provider.None},
			{dream.Integration, "consolidate", provider.HangMiddle},
			{dream.Return, "surface", provider.None},
		}
	}
	return []killPoint{
		{dream.Onset, "induction", provider.HangMiddle},
		{dream.Onset, "1/partial-3", provider.None},
		{dream.Onset, "2/judge-all/embed", provider.None},
		{dream.Onset, "3/partial-1", provider.HangMiddle},
		{dream.NREM, "forward", provider.HangMiddle},
		{dream.NREM, "backward", provider.None},
		{dream.REM, "branch-2", provider.HangMiddle},
		{dream.REM, "weigh", provider.None},
		{dream.Integration, "consolidate", provider.None},
		{dream.Return, "surface", provider.HangMiddle},
	}
}

// A dream continues from where it was: each of these dreams loses its worker, its server, or both, in every phase.

func TestADreamGoesOnFromWhereItWasWhenItsWorkerIsKilled(t *testing.T) {
	t.Parallel()
	killInEachPhase(t, true, false)
}

func TestADreamGoesOnFromWhereItWasWhenTheServerIsKilled(t *testing.T) {
	t.Parallel()
	killInEachPhase(t, false, true)
}

func TestADreamGoesOnFromWhereItWasWhenBothAreKilled(t *testing.T) {
	t.Parallel()
	killInEachPhase(t, true, true)
}

func killInEachPhase(t *testing.T, worker, server bool) {
	s := openScene(t, server, nil, nil)
	agent := s.addAgent()
	id := "dream/" + agent.Handle + "/0001"
	all := killPoints()
	moments := make([]<-chan provider.Arrival, len(all))
	for i, b := range all {
		fault := b.fault
		if !worker { // without a killed worker nothing would end a call that hangs
			fault = provider.None
		}
		moments[i] = s.moments.Await(fault, activity(id, b.phase, b.activity))
	}
	require.Equal(t, id, s.begin(agent).Dream)
	for i := range all {
		s.await(moments[i])
		if worker {
			s.crew.Kill(0)
		}
		if server {
			s.server.Kill()
			s.server.Restart()
		}
		if worker {
			require.NoError(t, s.crew.Replace(0))
		}
	}
	result := s.result(id)
	require.Equal(t, dream.Completed, result.Outcome, result.Reason)
	for _, tally := range result.Tallies {
		require.Equal(t, "ran", tally.State, "%s: %s", tally.Phase, tally.Reason)
		require.Zero(t, tally.Failed, tally.Phase)
	}
	s.audit()
}

// Heartbeats of a call of several seconds fail while there is no server. The call is paid for, so it is finished, and
// its answer is found.
func TestACallIsNotCutBecauseTheServerIsOutOfReachForAWhile(t *testing.T) {
	t.Parallel()
	const token = 90 * time.Millisecond
	s := openSlowScene(t, true, nil, nil, token)
	agent := s.addAgent()
	id, n := "dream/"+agent.Handle+"/0001", seed
	called := s.moments.Await(provider.None, activity(id, dream.Onset, "induction"))
	_, err := s.deployment.Starter.Begin(s.ctx,
		starter.DreamRequest{Agent: agent.Handle, Tier: dream.Core, Seed: &n, AsOf: testdeploy.Night})
	require.NoError(t, err)
	s.await(called)
	s.server.Kill()
	require.NoError(t, s.upstream.Billing.Quiet(s.ctx), "the call ends by itself while there is no server")
	s.server.Restart()
	require.Equal(t, dream.Completed, s.result(id).Outcome)
	e := s.audit()
	require.Greater(t, time.Duration(e.Book.Calls[0].Completion)*token, 4*time.Second,
		"it takes longer than a beat and what that waits for an answer")
	for _, row := range e.Rows {
		require.Equal(t, spend.Settled, row.State, row.Step)
		require.Equal(t, 1, row.Attempt, row.Step)
	}
}

// A stopping worker gives its dream to another: that is no wake, and the call it cut off is counted.
func TestAStoppedWorkerHandsItsDreamOn(t *testing.T) {
	t.Parallel()
	s := openScene(t, false, nil, nil)
	agent := s.addAgent()
	id := "dream/" + agent.Handle + "/0001"
	hung := s.moments.Await(provider.HangMiddle, key(id+"/onset/2/partial-2#1"))
	require.Equal(t, id, s.begin(agent).Dream)
	s.await(hung)
	require.NoError(t, s.crew.Stop(0))
	require.NoError(t, s.crew.Replace(0))
	result := s.result(id)
	require.Equal(t, dream.Completed, result.Outcome, result.Reason)
	require.Zero(t, result.Tallies[0].Failed)
	for _, row := range s.audit().Rows {
		if row.Step == id+"/onset/2/partial-2" && row.Attempt == 1 {
			require.Equal(t, spend.Partial, row.State)
			require.Equal(t, "cut", row.Finish)
			require.Equal(t, row.Reserved, row.Counted)
		}
	}
}
