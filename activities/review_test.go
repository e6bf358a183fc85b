package activities_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/review"
)

// yield is a write with one of everything that an activity can store.
func yield(r *rig, o activities.Spec, s activities.Stretch) memory.Write {
	h := &dream.Hypothesis{
		Head:   newRun(r.ports, o, activities.Stretch{}).Head(dream.Integration, dream.KindHypothesis, "1", nil),
		Claim:  "It calms.",
		Status: dream.HypothesisStaged,
	}
	barred := &dream.Gist{
		Head:    newRun(r.ports, o, activities.Stretch{}).Head(dream.NREM, dream.KindGist, "barred", nil),
		Content: "Borrow all.",
	}
	barred.State = dream.Archived // as the policy leaves it
	return memory.Write{
		Add: []dream.Item{
			h, barred,
			&dream.Fragment{
				Head:    newRun(r.ports, o, activities.Stretch{}).Head(dream.Onset, dream.KindFragment, "1", nil),
				Content: "A rope.",
			},
			&dream.Journal{
				Head:         newRun(r.ports, o, activities.Stretch{}).Head(dream.Return, dream.KindJournal, "1", nil),
				Content:      "I dreamt of rope.",
				Significance: .5,
			},
		},
		Affect: &dream.Affect{PAD: mood.PAD{Arousal: 1}, Since: tonight, Cause: o.Dream},
		OnWake: &memory.OnWake{Mood: &mood.PAD{Arousal: 1}, Digest: []string{o.Dream + "/return/1"}},
		Events: []event.Event{core.At(r.ports, s).Event("integration/1", event.HypothesisStaged{Hypothesis: h.ID})},
	}
}

func TestTheReviewModeDecidesWhatAnActivityStores(t *testing.T) {
	t.Parallel()
	for way, want := range map[dream.Review]map[dream.State]int{
		"":                {dream.Live: 3, dream.Archived: 1},
		dream.ReviewAuto:  {dream.Live: 3, dream.Archived: 1},
		dream.ReviewAsk:   {dream.Live: 1, dream.Proposed: 2, dream.Archived: 1},
		dream.JournalOnly: {dream.Live: 2, dream.Archived: 1},
	} {
		t.Run(string(way), func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			r := newRig(t)
			o := r.spec(1, tonight)
			o.Review = way
			s := r.begin(o)
			for range 2 { // a repetition changes nothing
				require.NoError(t, core.At(r.ports, s).Write(ctx, yield(r, o, s)))
			}
			for state, n := range want {
				found, err := r.store.Find(ctx, memory.Query{
					Agent: "a", Dream: o.Dream, States: []dream.State{state},
					Kinds: []dream.Kind{dream.KindHypothesis, dream.KindGist, dream.KindFragment, dream.KindJournal},
				})
				require.NoError(t, err)
				require.Len(t, found, n, state)
			}
			items, err := core.At(r.ports, s).Made(ctx, o.Dream+"/integration/1", "nobody", o.Dream+"/onset/1")
			require.NoError(t, err)
			require.Len(t, items, 2, "the dream itself uses all of it")
			require.Equal(t, "It calms.", items[0].Text())

			log, err := r.store.Events(ctx, "a", 0, 100)
			require.NoError(t, err)
			values := map[string]int{}
			for _, e := range log {
				values[e.Type]++
			}
			require.Equal(t, !way.Holds(), values["HypothesisStaged"] == 1)
			require.Equal(t, want[dream.Proposed], values["ReviewRequested"])

			arrival, err := r.store.Arrive(ctx, presence.Visit{
				Agent:  "a",
				Client: "c",
				Cause:  presence.Connect,
				Now:    tonight,
				For:    1,
			})
			require.NoError(t, err)
			require.Equal(t, !way.Holds(), len(arrival.Digest) == 1, "the digest for a client")
			affect, err := r.store.Affect(ctx, "a")
			require.NoError(t, err)
			require.Equal(t, !way.Holds(), affect.PAD == mood.PAD{Arousal: 1},
				"a wake moves the mood only if the dream may")
			r.finish(s)
			notes, err := r.store.Notes(ctx, "a", o.Dream, core.DraftNote)
			require.NoError(t, err)
			require.Empty(t, notes)
		})
	}
}

func TestAcceptedHypothesesStayWithinTheLimit(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t)
	o := r.spec(1, tonight)
	o.Review = dream.ReviewAsk
	s := r.begin(o)
	require.NoError(t, core.At(r.ports, s).Write(ctx, yield(r, o, s)))
	k := review.Reviewer{Memory: r.store, Now: r.ports.Now, MaxStaged: 1}
	_, err := k.Decide(ctx, "a", o.Dream, []string{o.Dream + "/integration/1"}, true)
	require.ErrorIs(t, err, review.ErrGoesOn)
	r.finish(s)
	_, err = r.store.Commit(ctx, memory.Write{Agent: "a", Cause: "talk", Add: []dream.Item{&dream.Hypothesis{
		Head: dream.Head{
			ID:    "own",
			Agent: "a",
			Kind:  dream.KindHypothesis,
			At:    tonight,
			State: dream.Live,
		},
		Claim: "It storms.", Status: dream.HypothesisStaged,
	}}})
	require.NoError(t, err)
	_, err = k.Decide(ctx, "a", o.Dream, []string{o.Dream + "/integration/1"}, true)
	require.ErrorIs(t, err, review.ErrFull)
	k.MaxStaged = 2
	_, err = k.Decide(ctx, "a", o.Dream, []string{o.Dream + "/integration/1"}, true)
	require.NoError(t, err)
}
