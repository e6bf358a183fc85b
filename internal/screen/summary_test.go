package screen_test

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

// bare is a dream that left nothing behind, with an outcome and a reason.
func bare(outcome dream.Outcome, reason string) screen.DreamReport {
	r := screen.DreamReport{Agent: "echo", Record: night().Record}
	r.Record.Outcome, r.Record.Reason = outcome, reason
	r.Record.After = r.Record.Before
	return r
}

// Each state of a dream has its three lines: what changed, what was archived, and what to do next.
func TestTheSummarySaysWhatChangedWhatWasArchivedAndWhatToDoNext(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		r    screen.DreamReport
	}{
		{"completed", night()},
		{"completed, and nothing changed", bare(dream.Completed, "")},
		{"still dreaming", bare(dream.Dreaming, "")},
		{"empty", bare(dream.Empty, "no memory to dream over")},
		{"failed", bare(dream.Aborted, "all 4 partials of Dali cycle 1 failed: the provider refused the key")},
		{"cancelled", bare(dream.Canceled, "by an operator")},
		{"undone by itself", bare(dream.Undone, "it made recall worse")},
		{"interrupted for good", bare(dream.Interrupted, "an alarm")},
		{"out of money", bare(dream.Exhausted, "cap of the day")},
		{"of an outcome that is not known", bare("strange", "")},
	}
	waiting := night()
	waiting.Record.Outcome, waiting.MayGoOn = dream.Interrupted, true
	byHand := night()
	byHand.Record.State = dream.Archived
	held := bare(dream.Completed, "")
	held.Waiting, held.Record.Review = 5, dream.ReviewAsk
	held.Record.After.Pleasure = .9 // a proposal: it has not moved
	strengthened := bare(dream.Empty, "nothing was kept")
	strengthened.Strengthened, strengthened.Option = 3, " --config 'my own.yaml'"
	archived := night()
	archived.Archived = []screen.Archived{{ID: "se-1", Newer: "a gist"}, {ID: "h-1"}}
	for i := range byHand.Gists {
		byHand.Gists[i].State = dream.Archived
	}
	byHand.Fragments, byHand.Predictions, byHand.Scenarios = nil, nil, nil
	byHand.Hypotheses, byHand.Playbook = nil, nil
	cases = append(cases, []struct {
		name string
		r    screen.DreamReport
	}{
		{"interrupted, and it may go on", waiting},
		{"undone by a person", byHand},
		{"held for a review", held},
		{"empty, but memories were used", strengthened},
		{"memories were archived", archived},
	}...)
	var b strings.Builder
	for _, c := range cases {
		top, _, _ := strings.Cut(screen.Report(c.r, screen.Style{Width: 80}), "\n\n")
		b.WriteString("# " + c.name + "\n" + top + "\n\n")
		s := screen.Summarize(c.r)
		flat := strings.Join(strings.Fields(top), " ")
		for _, sentence := range []string{s.Changed, s.Archived, s.Next} {
			require.Contains(t, flat, sentence, "%s: the report shows the same sentences", c.name)
		}
		require.Contains(t, s.Next, s.Command, c.name)
	}
	golden(t, "summaries.txt", b.String())
}

// What a dream made is counted while it counts: neither what was archived since nor what waits for a person.
func TestTheSummaryCountsWhatHoldsNow(t *testing.T) {
	t.Parallel()
	r := screen.DreamReport{Agent: "echo", Record: dream.Record{Outcome: dream.Completed}}
	in := func(state dream.State) dream.Head { return dream.Head{State: state} }
	r.AddItems([]dream.Item{
		&dream.Fragment{Head: in(dream.Live), Status: dream.FragmentRaw},
		&dream.Fragment{Head: in(dream.Archived), Status: dream.FragmentDiscarded},
		&dream.Scenario{Head: in(dream.Live), Kept: true}, &dream.Scenario{Head: in(dream.Live)},
		&dream.Hypothesis{Head: in(dream.Proposed)}, &dream.Proposal{Head: in(dream.Proposed)},
		&dream.Gist{Head: in(dream.Archived)}, &dream.Journal{Head: in(dream.Live)},
		&dream.Playbook{Head: in(dream.Superseded)},
		&dream.Prediction{Head: in(dream.Live), Status: dream.PredictionOpen},
		&dream.Prediction{Head: in(dream.Live), Status: dream.PredictionRight},
	})
	c := screen.Summarize(r).Counts
	require.Equal(t, screen.Changes{
		Fragments:   1,
		Scenarios:   1,
		Journal:     1,
		Playbook:    1,
		Predictions: 2,
		Open:        1,
		Waiting:     2,
	}, c)
	body, err := json.Marshal(c)
	require.NoError(t, err)
	require.Contains(t, string(body), `"open_predictions":1`)
}

// What was restored or forgotten since is not archived any more.
func TestTheSummaryReadsWhatWasArchivedFromTheEventsOfTheDream(t *testing.T) {
	t.Parallel()
	memories := map[string]dream.Item{
		"faded":    &dream.Semantic{Head: dream.Head{ID: "faded", State: dream.Archived}, Content: "The old quay."},
		"restored": &dream.Semantic{Head: dream.Head{ID: "restored", State: dream.Live}, Content: "The new quay."},
		"gist":     &dream.Gist{Head: dream.Head{ID: "gist"}, Content: "Quays change."},
	}
	eventOf := func(p event.Payload) event.Event {
		return event.New(p.EventType(), "echo", "dream/echo/0042", evening, p)
	}
	broken := eventOf(event.ItemArchived{})
	broken.Data = []byte("{")
	r := screen.DreamReport{Agent: "echo"}
	require.NoError(t, r.AddEvents([]event.Event{
		eventOf(event.MemoriesRenewed{Memories: 2}), eventOf(event.MemoriesRenewed{Memories: 1}), broken,
		eventOf(event.ItemArchived{Item: "faded", Kind: dream.KindSemantic, Newer: "gist", Reason: event.Faded}),
		eventOf(event.ItemArchived{Item: "restored"}), eventOf(event.ItemArchived{Item: "forgotten"}),
	}, func(ids ...string) (items []dream.Item, err error) {
		for _, id := range ids {
			if item := memories[id]; item != nil {
				items = append(items, item)
			}
		}
		return items, nil
	}))
	require.Equal(t, []screen.Archived{{
		ID:     "faded",
		Kind:   dream.KindSemantic,
		Text:   "The old quay.",
		Newer:  "Quays change.",
		Reason: event.Faded,
	}}, r.Archived)
	require.Equal(t, 3, r.Strengthened)
	unread := func(...string) ([]dream.Item, error) { return nil, io.ErrUnexpectedEOF }
	require.ErrorIs(t, r.AddEvents([]event.Event{eventOf(event.ItemArchived{Item: "faded"})}, unread), io.ErrUnexpectedEOF)
}
