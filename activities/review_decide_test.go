package activities_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/onset"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/review"
)

func TestADecisionNeedsItemsAndIgnoresDuplicates(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t)
	o := r.spec(1, tonight)
	o.Review = dream.ReviewAsk
	s := r.begin(o)
	require.NoError(t, core.At(r.ports, s).Write(ctx, yield(r, o, s)))
	r.finish(s)
	k := review.Reviewer{Memory: r.store, Now: r.ports.Now, MaxStaged: 1}
	_, err := k.Decide(ctx, "a", o.Dream, nil, true)
	require.ErrorContains(t, err, "names no item")
	done, err := k.Decide(ctx, "a", o.Dream, []string{o.Dream + "/integration/1", o.Dream + "/integration/1"}, true)
	require.NoError(t, err, "a duplicate is decided once")
	require.Equal(t, []string{o.Dream + "/integration/1"}, done.Items)
	require.Len(t, r.events("HypothesisStaged"), 1)
	require.Len(t, r.events("ReviewDecided"), 1)
}

// Of two concurrent decisions one is applied, and the other gets an error.
func TestOneOfTwoConcurrentDecisionsIsApplied(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t)
	o := r.spec(1, tonight)
	o.Review = dream.ReviewAsk
	s := r.begin(o)
	require.NoError(t, core.At(r.ports, s).Write(ctx, yield(r, o, s)))
	r.finish(s)
	k := review.Reviewer{Memory: r.store, Now: r.ports.Now}
	faults := make([]error, 8)
	var all sync.WaitGroup
	for i := range faults {
		all.Go(func() { _, faults[i] = k.Decide(ctx, "a", o.Dream, []string{o.Dream + "/integration/1"}, i%2 == 0) })
	}
	all.Wait()
	stood := 0
	for _, err := range faults {
		if err == nil {
			stood++
			continue
		}
		require.ErrorIs(t, err, review.ErrNotWaiting)
	}
	require.Equal(t, 1, stood)
	require.Len(t, r.events("ReviewDecided"), 1)
}

func TestAFragmentWhoseHoldIsLiftedIsNotShownAsBarred(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t)
	o := r.spec(1, tonight)
	s := r.begin(o)
	held := r.fragment(o, s)
	held.Flags = []dream.Flag{{By: "hook/night-watch", Reason: "a person should look", Bars: true}}
	require.NoError(t, core.At(r.ports, s).Write(ctx, memory.Write{Change: []dream.Item{held}}))
	_, err := (&onset.Onset{Ports: r.ports}).Capture(ctx,
		activities.CaptureRequest{StepRequest: step(s, .5), Fragments: []string{held.ID}})
	require.NoError(t, err)
	require.Equal(t, "barred by hook/night-watch", r.thought(held.ID).Reason)
	r.finish(s)
	_, err = review.Reviewer{Memory: r.store, Now: r.ports.Now}.Decide(ctx, "a", o.Dream, []string{held.ID}, true)
	require.NoError(t, err)
	require.Empty(t, r.thought(held.ID).Reason)
}
