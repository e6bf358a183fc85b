package chaos_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

// blow is a moment of a night at which something is killed. A call that hangs is certainly under way when the blow falls;
// the others may have been answered, stored or neither.
type blow struct {
	phase dream.Phase
	deed  string
	fault provider.Fault
}

// blows fall in each phase; a proof in full has more of them.
func blows() []blow {
	if !full {
		return []blow{
			{dream.Onset, "1/partial-3", provider.HangMiddle},
			{dream.NREM, "forward", provider.HangMiddle},
			{dream.REM, "branch-2", provider.None},
			{dream.Integration, "consolidate", provider.HangMiddle},
			{dream.Return, "surface", provider.None},
		}
	}
	return []blow{
		{dream.Onset, "induction", provider.HangMiddle},
		{dream.Onset, "1/partial-3", provider.None},
		{dream.Onset, "2/judge-2/embed", provider.None},
		{dream.Onset, "3/partial-1", provider.HangMiddle},
		{dream.NREM, "forward", provider.HangMiddle},
		{dream.NREM, "backward", provider.None},
		{dream.REM, "branch-2", provider.HangMiddle},
		{dream.REM, "weigh", provider.None},
		{dream.Integration, "consolidate", provider.None},
		{dream.Return, "surface", provider.HangMiddle},
	}
}

// The dream goes on from where it was, whoever is killed: each of these nights loses its worker, its server, or both, in
// every phase.

func TestADreamGoesOnFromWhereItWasWhenItsWorkerIsKilled(t *testing.T) {
	t.Parallel()
	endure(t, true, false)
}

func TestADreamGoesOnFromWhereItWasWhenTheServerIsKilled(t *testing.T) {
	t.Parallel()
	endure(t, false, true)
}

func TestADreamGoesOnFromWhereItWasWhenBothAreKilled(t *testing.T) {
	t.Parallel()
	endure(t, true, true)
}

func endure(t *testing.T, worker, server bool) {
	s := set(t, server, nil, nil)
	agent := s.hire()
	id := "dream/" + agent.Handle + "/0001"
	all := blows()
	moments := make([]<-chan provider.Arrival, len(all))
	for i, b := range all {
		fault := b.fault
		if !worker { // nobody would hang up on a call that hangs
			fault = provider.None
		}
		moments[i] = s.moments.Await(fault, deed(id, b.phase, b.deed))
	}
	require.Equal(t, id, s.begin(agent).Dream)
	for i := range all {
		s.come(moments[i])
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
	s.sound()
}
