package activities_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/onset"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// Episodes after the spec's time are invisible, both to a dream of the past and to one that is resumed a day later.
func TestDistancesIgnoreMemoriesAfterTheSpecsTime(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t)
	r.live(6)
	o := r.spec(1, tonight)
	r.begin(o)
	const thought = "a ledger of tides is kept by nobody"
	v := memory.Vector{Item: "t", Space: space, V: vectorOf(thought)}
	before, _, err := newRun(r.ports, o, activities.Stretch{}).Near(ctx, v, nil)
	require.NoError(t, err)
	_, err = r.store.Commit(ctx, memory.Write{
		Agent: "a", Cause: "talk",
		Add: []dream.Item{
			&dream.Episode{Head: dream.Head{
				ID:    "later",
				Agent: "a",
				Kind:  dream.KindEpisode,
				At:    tonight.Add(time.Hour),
				State: dream.Live,
				Taint: dream.FromHuman,
			}, Content: thought},
			&dream.Playbook{Head: dream.Head{
				ID:    "rule",
				Agent: "a",
				Kind:  dream.KindPlaybook,
				At:    tonight.Add(time.Hour),
				State: dream.Live,
				Taint: dream.FromHuman,
			}, Content: thought},
		},
		Vectors: []memory.Vector{
			{Item: "later", Space: space, V: vectorOf(thought)},
			{Item: "rule", Space: space, V: vectorOf(thought)},
		},
	})
	require.NoError(t, err)
	after, _, err := newRun(r.ports, o, activities.Stretch{}).Near(ctx, v, nil)
	require.NoError(t, err)
	require.Equal(t, before, after)
}

func TestAMarkerLearnedAfterTheSpecsTimeDoesNotFire(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t)
	r.live(3)
	o := r.watched(1, dream.BySingle)
	s := r.begin(o)
	for id, at := range map[string]time.Time{"now": tonight, "later": tonight.Add(time.Hour)} {
		_, err := r.store.Commit(ctx, memory.Write{Agent: "a", Cause: "talk", Add: []dream.Item{&dream.Marker{
			Head: dream.Head{
				ID:      id,
				Agent:   "a",
				Kind:    dream.KindMarker,
				At:      at,
				State:   dream.Live,
				Taint:   dream.FromDream,
				Dream:   "dream/a/0009",
				Sources: []string{"e1"},
			},
			Strength: .9, Valence: dream.CameOutBadly, Count: 1,
		}}})
		require.NoError(t, err)
	}
	_, err := (&onset.Onset{Ports: r.ports}).JudgeTogether(ctx, r.drift(s, "a gull on the pier"))
	require.NoError(t, err)
	require.Equal(t, []string{"now"}, r.watches(s).Markers)
}
