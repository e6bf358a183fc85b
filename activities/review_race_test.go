package activities_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/review"
)

// proposes stores the record of a finished dream and a proposed hypothesis of it.
func (l *ledger) proposes(id string) string {
	l.Helper()
	part := func(id string, kind dream.Kind, state dream.State, of string) dream.Head {
		return dream.Head{
			ID:    id,
			Agent: l.agent.ID,
			Kind:  kind,
			At:    l.now,
			State: state,
			Taint: dream.FromDream,
			Dream: of,
			Phase: dream.Integration,
		}
	}
	record := &dream.Record{Head: part(id, dream.KindRecord, dream.Live, id), AsOf: l.now, Outcome: dream.Completed}
	h := &dream.Hypothesis{
		Head:  part(id+"/integration/1", dream.KindHypothesis, dream.Proposed, id),
		Claim: "It calms.", Confidence: .2, Status: dream.HypothesisStaged,
	}
	_, err := l.store.Commit(l.Context(), memory.Write{Agent: l.agent.ID, Cause: id, Add: []dream.Item{record, h}})
	require.NoError(l, err)
	return h.ID
}

// Of concurrent decisions about one item one is applied and the others get errors, and the number of staged
// hypotheses never exceeds the limit.
func TestConcurrentDecisionsNeitherContradictNorStageTooMuch(t *testing.T) {
	onBoth(t, func(l *ledger) {
		const nights, room = 6, 2
		k := review.Reviewer{Memory: l.store, Now: l.Now, MaxStaged: room}
		staged, err := l.store.Find(l.Context(),
			memory.Query{
				Agent: l.agent.ID, Kinds: []dream.Kind{dream.KindHypothesis},
				Statuses: []string{dream.HypothesisStaged},
			})
		require.NoError(l, err)
		k.MaxStaged = len(staged) + room
		var deciding sync.WaitGroup
		errs := make([]error, 2*nights)
		for n := range nights {
			id := fmt.Sprintf("dream/echo/%04d", 100+n)
			waits := l.proposes(id)
			for _, i := range []int{2 * n, 2*n + 1} {
				deciding.Go(func() { _, errs[i] = k.Decide(l.Context(), l.agent.ID, id, []string{waits}, true) })
			}
		}
		deciding.Wait()
		stood := 0
		for _, err := range errs {
			if err == nil {
				stood++
			}
		}
		require.Equal(l, room, stood, "%v", errs)
		left, err := l.store.Find(l.Context(),
			memory.Query{
				Agent: l.agent.ID, Kinds: []dream.Kind{dream.KindHypothesis},
				States: []dream.State{dream.Proposed},
			})
		require.NoError(l, err)
		require.Len(l, left, nights-room)
		for _, h := range left {
			require.Equal(l, 1, h.Header().Revision, "what still waits is unchanged")
		}
	})
}
