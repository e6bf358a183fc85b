package activities_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/awakening"
	"github.com/seed-56a03226/oneiros/activities/onset"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
)

// moved sets the agent's affect and its start.
func (r *rig) moved(m mood.PAD, since time.Time) {
	r.t.Helper()
	w := memory.Write{Agent: "a", Cause: "operator", Affect: &dream.Affect{PAD: m, Since: since, Cause: "operator"}}
	_, err := r.store.Commit(context.Background(), w)
	require.NoError(r.t, err)
}

// returns runs a dream that consists of a return.
func (r *rig) returns(n int, asOf time.Time) *dream.Record {
	r.t.Helper()
	ctx := context.Background()
	s := r.begin(r.spec(n, asOf))
	awakening := &awakening.Awakening{Ports: r.ports}
	_, err := awakening.SettleMood(ctx, activities.SettleMoodRequest{Stretch: s})
	require.NoError(r.t, err)
	r.finish(s)
	record, err := memory.One[*dream.Record](ctx, r.store, "a", s.Dream)
	require.NoError(r.t, err)
	return record
}

func TestADreamReadsTheDecayedMoodAndDoesNotRefreshIt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	angry := mood.PAD{Pleasure: -.8, Arousal: .9, Dominance: .4}
	r.moved(angry, tonight)
	left := func(after time.Duration) mood.PAD { return mood.Settled(angry, mood.PAD{}, after) }
	for n, hours := range []int{1, 2, 5} {
		asOf := tonight.Add(time.Duration(hours) * time.Hour)
		record := r.returns(n+1, asOf)
		want := left(asOf.Sub(tonight))
		require.InDelta(t, 0, want.Distance(record.Before), 1e-9, "a dream begins from the decayed mood")
		require.InDelta(t, 0, want.Distance(record.After), 1e-9, "an empty dream leaves it unchanged")
	}
	affect, err := r.store.Affect(context.Background(), "a")
	require.NoError(t, err)
	later := tonight.Add(9 * time.Hour)
	require.InDelta(t, 0, left(9*time.Hour).Distance(affect.At(later)), 1e-9,
		"three dreams have read it without refreshing it")
}

func TestGatheringUsesTheMoodOfTheDreamsTime(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(3)
	r.moved(mood.PAD{Pleasure: -.9, Arousal: .9}, tonight)
	s := r.begin(r.spec(1, tonight.Add(6*time.Hour)))
	g, err := (&onset.Onset{Ports: r.ports}).Gather(context.Background(), activities.GatherRequest{Stretch: s})
	require.NoError(t, err)
	require.Equal(t, mood.Broad, g.Bias, "six hours later the fright has decayed")
	require.Less(t, mood.PAD{}.Distance(g.Affect), .05)
}
