package activities_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/awakening"
	"github.com/seed-56a03226/oneiros/activities/dreamrun"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
)

func (r *rig) affect(p float64) {
	r.t.Helper()
	_, err := r.store.Commit(context.Background(),
		memory.Write{Agent: "a", Cause: "talk", Affect: &dream.Affect{PAD: mood.PAD{Pleasure: p}, Cause: "talk"}})
	require.NoError(r.t, err)
}

func (r *rig) settle(s activities.Stretch, kept ...string) activities.SettleMoodResult {
	r.t.Helper()
	settled, err := (&awakening.Awakening{Ports: r.ports}).SettleMood(context.Background(),
		activities.SettleMoodRequest{Stretch: s, Kept: kept})
	require.NoError(r.t, err)
	return settled
}

func TestAResumedDreamContinuesFromTheCurrentMood(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	o, s := r.waits()
	r.affect(.9)
	lain := r.beginAgain(o, s)
	require.Empty(t, lain.Refused, lain.Reason)
	s.Epoch = lain.Epoch
	r.settle(s)
	affect, err := r.store.Affect(context.Background(), "a")
	require.NoError(t, err)
	require.InDelta(t, .9, affect.PAD.Pleasure, 1e-9)
}

// keeps stores a fragment of a Dali cycle that draws on a memory of this pleasure.
func (r *rig) keeps(o activities.Spec, s activities.Stretch, cycle int, pleasure float64) string {
	r.t.Helper()
	lived := &dream.Episode{
		Head: dream.Head{
			ID:    core.FragmentStep(cycle, 9),
			Agent: "a",
			Kind:  dream.KindEpisode,
			At:    tonight.Add(-time.Hour),
			State: dream.Live,
			Taint: dream.FromHuman,
		},
		Content: core.FragmentStep(cycle, 9), Affect: mood.PAD{Pleasure: pleasure},
	}
	_, err := r.store.Commit(context.Background(), memory.Write{Agent: "a", Cause: "test", Add: []dream.Item{lived}})
	require.NoError(r.t, err)
	f := &dream.Fragment{
		Head: newRun(r.ports, o, activities.Stretch{}).Head(dream.Onset, dream.KindFragment,
			core.FragmentStep(cycle, 1),
			[]string{lived.ID}),
		Content: "kept", Cycle: cycle, Status: dream.FragmentRaw,
	}
	require.NoError(r.t, core.At(r.ports, s).Write(context.Background(), memory.Write{Add: []dream.Item{f}}))
	return f.ID
}

func (r *rig) marks(s activities.Stretch, cycle int) {
	r.t.Helper()
	_, err := (&dreamrun.Progress{Ports: r.ports}).Record(context.Background(),
		activities.ProgressRequest{Stretch: s, Now: tonight, Marks: []activities.Mark{{
			Phase: dream.Onset, Name: "cycle-" + core.FragmentStep(cycle, 0), State: "running",
			Dali: &activities.Dali{Cycle: cycle},
		}}})
	require.NoError(r.t, err)
}

// If the mood did not change between the stretches, the dream settles exactly as if it had not been interrupted.
func TestAResumedDreamWithUnchangedMoodSettlesAsIfNotInterrupted(t *testing.T) {
	t.Parallel()
	var settled []activities.SettleMoodResult
	for _, woken := range []bool{false, true} {
		r := newRig(t)
		o := r.spec(1, tonight)
		o.ResumeTTL = time.Hour
		s := r.begin(o)
		kept := []string{r.keeps(o, s, 1, 1)}
		r.marks(s, 1)
		if woken {
			_, err := r.store.Arrive(context.Background(), presence.Visit{
				Agent:  "a",
				Client: "guest",
				Cause:  presence.Connect,
				Now:    tonight,
				For:    time.Minute,
			})
			require.NoError(t, err)
			o, s = r.putDown(s, activities.InterruptRequest{
				Stretch: s,
				Number:  1,
				Phase:   dream.Onset,
				Cycle:   2,
				TTL:     time.Hour,
			})
			lain := r.beginAgain(o, s)
			require.Empty(t, lain.Refused, lain.Reason)
			s.Epoch = lain.Epoch
		}
		settled = append(settled, r.settle(s, append(kept, r.keeps(o, s, 2, .5))...))
		r.finish(s)
		require.Zero(t, r.nightOf(s).Felt+r.nightOf(s).Connected)
	}
	require.Positive(t, settled[0].Delta)
	require.Equal(t, settled[0], settled[1])
}

// The shift that a wake has applied is not applied again; the rest of it is.
func TestTheShiftOfAWakeIsAppliedOnce(t *testing.T) {
	t.Parallel()
	later, both := .5, .75
	for _, c := range []struct {
		name   string
		cause  presence.Cause
		phase  dream.Phase
		marked int      // number of finished cycles
		kept   int      // cycles that kept a fragment
		toward *float64 // the tone that is not yet applied
		felt   int
	}{
		{"after the onset", presence.Connect, dream.NREM, 2, 2, nil, 3},
		{"within the second cycle", presence.Connect, dream.Onset, 1, 2, &later, 2},
		{"within the second cycle, which had kept nothing", presence.Connect, dream.Onset, 1, 1, nil, 2},
		{"in the lucid capture after the second cycle", presence.Connect, dream.Onset, 2, 2, nil, 3},
		{"by an alarm", presence.Alarm, dream.NREM, 2, 2, &both, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			ctx := context.Background()
			o := r.spec(1, tonight)
			o.ResumeTTL = time.Hour
			s := r.begin(o)
			var kept []string
			for cycle := 1; cycle <= 2; cycle++ {
				if cycle <= c.kept {
					kept = append(kept, r.keeps(o, s, cycle, 1/float64(cycle)))
				}
				if cycle <= c.marked {
					r.marks(s, cycle)
				}
			}
			_, err := r.store.Arrive(ctx, presence.Visit{
				Agent:  "a",
				Client: "guest",
				Cause:  c.cause,
				Now:    tonight,
				For:    time.Minute,
			})
			require.NoError(t, err)
			o, s = r.putDown(s, activities.InterruptRequest{
				Stretch: s,
				Number:  1,
				Phase:   c.phase,
				Cycle:   2,
				TTL:     time.Hour,
			})
			require.Equal(t, c.felt, r.nightOf(s).Connected)
			r.affect(-.5)
			lain := r.beginAgain(o, s)
			require.Empty(t, lain.Refused, lain.Reason)
			s.Epoch = lain.Epoch
			settled := r.settle(s, kept...)
			require.InDelta(t, -.5, settled.Before.Pleasure, 1e-9)
			require.Equal(t, c.felt, r.nightOf(s).Felt)
			want := settled.Before
			if c.toward != nil {
				want = want.Toward(mood.PAD{Pleasure: *c.toward}, o.Knobs.MoodShift)
			}
			require.InDelta(t, want.Pleasure, settled.After.Pleasure, 1e-9)
		})
	}
}

// The store keeps only the newest wake, so a later wake before the stretch is recorded hides how far the mood moved.
func TestAHiddenWakeLeavesItsDeltaOut(t *testing.T) {
	t.Parallel()
	for _, again := range []bool{false, true} {
		r := newRig(t)
		ctx := context.Background()
		o := r.spec(1, tonight)
		o.ResumeTTL = time.Hour
		s := r.begin(o)
		r.keeps(o, s, 1, 1)
		r.marks(s, 1)
		visit := presence.Visit{
			Agent:  "a",
			Client: "guest",
			Cause:  presence.Connect,
			Now:    tonight,
			For:    time.Minute,
		}
		_, err := r.store.Arrive(ctx, visit)
		require.NoError(t, err)
		if again {
			visit.Now = tonight.Add(time.Hour)
			later, err := r.store.Arrive(ctx, visit)
			require.NoError(t, err)
			require.True(t, later.Raised)
		}
		_, err = r.dreamRun().Interrupt(ctx, activities.InterruptRequest{
			Stretch: s,
			Number:  1,
			Phase:   dream.NREM,
			Cycle:   1,
			TTL:     time.Hour,
		})
		require.NoError(t, err)
		var result event.DreamInterrupted
		require.Equal(t, 1, r.count(result.EventType(), &result))
		require.Equal(t, again, result.DeltaUnknown)
		require.Equal(t, again, result.Delta == 0)
		require.Equal(t, 2, r.nightOf(s).Connected, "the mood was moved nevertheless")
	}
}
