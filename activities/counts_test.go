package activities_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

func TestAnInterruptedDreamCountsWhatItHasKept(t *testing.T) {
	t.Parallel()
	for name, tallies := range map[string][]dream.Tally{
		"reported by its workflow": {{Phase: dream.Onset, State: "running", Cycles: 0}},
		"of a later phase": {
			{Phase: dream.Onset, State: "ran", Made: 3, Kept: 2},
			{Phase: dream.REM, State: "running"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, ctx := newRig(t), context.Background()
			s := r.begin(r.spec(1, tonight))
			head := func(phase dream.Phase, kind dream.Kind, id string) dream.Head {
				return dream.Head{
					ID:    s.Dream + "/" + id,
					Agent: "a",
					Kind:  kind,
					At:    tonight,
					State: dream.Live,
					Taint: dream.FromDream,
					Dream: s.Dream,
					Phase: phase,
				}
			}
			_, err := r.store.Commit(ctx, memory.Write{Agent: "a", Cause: s.Dream, Add: []dream.Item{
				&dream.Fragment{
					Head: head(dream.Onset, dream.KindFragment, "f1"), Content: "rope",
					Status: dream.FragmentRaw,
				},
				&dream.Fragment{
					Head: head(dream.Onset, dream.KindFragment, "f2"), Content: "tide",
					Status: dream.FragmentSelected,
				},
				&dream.Fragment{
					Head: head(dream.Onset, dream.KindFragment, "f3"), Content: "salt",
					Status: dream.FragmentDiscarded,
				},
				&dream.Scenario{Head: head(dream.REM, dream.KindScenario, "s1"), Content: "a storm", Kept: true},
				&dream.Scenario{Head: head(dream.REM, dream.KindScenario, "s2"), Content: "a calm"},
			}})
			require.NoError(t, err)
			_, err = r.dreamRun().Finish(ctx,
				activities.FinishRequest{
					Stretch: s,
					Ending:  activities.Ending{Outcome: dream.Canceled, Reason: "an operator cancelled it", Tallies: tallies},
				})
			require.NoError(t, err)
			record, err := memory.One[*dream.Record](ctx, r.store, "a", s.Dream)
			require.NoError(t, err)
			require.Equal(t, 3, record.Phases[0].Made)
			require.Equal(t, 2, record.Phases[0].Kept)
			for _, later := range record.Phases[1:] {
				require.Equal(t, 2, later.Made)
				require.Equal(t, 1, later.Kept)
			}
		})
	}
}
