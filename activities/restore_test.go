package activities_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/integration"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/review"
)

func TestAnItemArchivedByADreamIsRestored(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := context.Background()
	r.live(3)
	r.knows(3, dream.FromWeb)
	r.gistsOf(repeated("somebody by the sea likes warm soup", 3)...)
	r.looks(1)
	restoring := review.Restorer{Memory: r.store, Now: time.Now}
	faded, err := restoring.Archived(ctx, "a", "")
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"k00", "k01", "k02"}, faded)
	none, err := restoring.Archived(ctx, "a", "dream/a/0009")
	require.NoError(t, err)
	require.Empty(t, none)
	of, err := restoring.Archived(ctx, "a", "dream/a/0001")
	require.NoError(t, err)
	require.Len(t, of, 3)

	items, err := restoring.Restore(ctx, "a", "k01", "k01")
	require.NoError(t, err)
	require.Len(t, items, 1)
	entry, err := memory.One[*dream.Semantic](ctx, r.store, "a", "k01")
	require.NoError(t, err)
	require.Equal(t, dream.Live, entry.State)
	require.Empty(t, entry.NewerID)
	gist, err := memory.One[*dream.Gist](ctx, r.store, "a", "gist/k01")
	require.NoError(t, err)
	require.Equal(t, dream.Archived, gist.State, "there is no duplicate")
	require.Equal(t, "k01", gist.NewerID)
	var result event.ItemRestored
	require.Equal(t, 1, r.count("ItemRestored", &result))
	require.Equal(t, event.ItemRestored{Item: "k01", Kind: dream.KindSemantic, By: dream.ByPerson}, result)

	_, err = restoring.Restore(ctx, "a", "k00", "k01")
	require.ErrorIs(t, err, review.ErrNotArchived)
	require.ErrorContains(t, err, "k01 was not archived by a dream: it is live")
	entry, err = memory.One[*dream.Semantic](ctx, r.store, "a", "k00")
	require.NoError(t, err)
	require.Equal(t, dream.Archived, entry.State, "all or none")
	_, err = restoring.Restore(ctx, "a", "nothing")
	require.ErrorIs(t, err, memory.ErrNotFound)
}

func TestUndoneItemsAreNotRestored(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := context.Background()
	r.live(3)
	r.knows(1, dream.FromWeb)
	r.gistsOf("somebody by the sea likes warm soup")
	r.looks(1)
	_, err := r.store.Undo(ctx, "a", "dream/a/0001")
	require.NoError(t, err)
	restoring := review.Restorer{Memory: r.store, Now: time.Now}
	faded, err := restoring.Archived(ctx, "a", "")
	require.NoError(t, err)
	require.Empty(t, faded)
	_, err = restoring.Restore(ctx, "a", "gist/k00")
	require.ErrorContains(t, err, "it went when dream/a/0001 was undone")
}

// A dream archived an item that an earlier, since undone, dream had changed: the archiving stands and can be
// restored.
func TestAnItemIsRestoredAlthoughAnEarlierDreamWasUndone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := context.Background()
	r.live(3)
	r.knows(1, dream.FromWeb)
	entry, err := memory.One[*dream.Semantic](ctx, r.store, "a", "k00")
	require.NoError(t, err)
	entry.Strength /= 2
	_, err = r.store.Commit(ctx, memory.Write{Agent: "a", Cause: "dream/a/0000", Change: []dream.Item{entry}})
	require.NoError(t, err)
	r.gistsOf("somebody by the sea likes warm soup")
	r.looks(1)
	undone, err := r.store.Undo(ctx, "a", "dream/a/0000")
	require.NoError(t, err)
	require.Equal(t, []string{"k00"}, undone.Kept)
	restoring := review.Restorer{Memory: r.store, Now: time.Now}
	faded, err := restoring.Archived(ctx, "a", "dream/a/0001")
	require.NoError(t, err)
	require.Equal(t, []string{"k00"}, faded)
	_, err = restoring.Restore(ctx, "a", "k00")
	require.NoError(t, err)
}

// stages stores n hypotheses of another dream, staged at a time.
func (r *rig) stages(n int, since time.Time, confidence float64) {
	r.t.Helper()
	o := r.spec(99, since)
	w := memory.Write{Agent: "a", Cause: o.Dream}
	for i := range n {
		h := newRun(r.ports, o, activities.Stretch{}).Head(dream.Integration, dream.KindHypothesis,
			string(rune('a'+i)), nil)
		w.Add = append(w.Add,
			&dream.Hypothesis{Head: h, Claim: "claim " + h.ID, Confidence: confidence, Status: dream.HypothesisStaged})
	}
	_, err := r.store.Commit(context.Background(), w)
	require.NoError(r.t, err)
}

func TestAFullStagingReplacesOldHypotheses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		days   int
		rested int
	}{{3, 0}, {8, 1}} {
		r := newRig(t)
		ctx := context.Background()
		r.live(3)
		s := r.begin(r.spec(100, tonight))
		r.stages(10, tonight.Add(-time.Duration(c.days)*24*time.Hour), .2) // later, since without predictions they lapse
		r.model.say["hypotheses"] = `{"hypotheses":[{"claim":"gulls sit before rain","first_step":"look","confidence":0.3,"sources":["r1"]}]}`
		request := activities.ConsolidateRequest{StepRequest: step(s, .4), Items: []string{"e1"}}
		for range 2 { // a repetition archives no more
			result, err := (&integration.Integration{Ports: r.ports}).Consolidate(ctx, request)
			require.NoError(t, err)
			require.Equal(t, c.rested == 0, result.NoCall)
			require.Len(t, result.Made, c.rested)
			if c.rested == 0 {
				require.Contains(t, result.Reason, "10 hypotheses are staged already")
			}
		}
		var result event.ItemArchived
		require.Equal(t, c.rested, r.count("ItemArchived", &result))
		q := memory.Query{
			Agent: "a", Kinds: []dream.Kind{dream.KindHypothesis},
			Statuses: []string{dream.HypothesisStaged},
		}
		staged, err := r.store.Count(ctx, q)
		require.NoError(t, err)
		require.Equal(t, 10, staged)
		r.finish(s)
		if c.rested > 0 {
			require.Equal(t, event.Unfounded, result.Reason)
			_, err := review.Restorer{Memory: r.store, Now: time.Now}.Restore(ctx, "a", result.Item)
			require.NoError(t, err)
			h, err := memory.One[*dream.Hypothesis](ctx, r.store, "a", result.Item)
			require.NoError(t, err)
			require.Equal(t, dream.HypothesisStaged, h.Status)
		}
	}
}
