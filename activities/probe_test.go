package activities_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/activities/replay"
)

// says adds facts told by a person, each with words of its own.
func (r *rig) says(n int) []string {
	r.t.Helper()
	w := memory.Write{Agent: "a", Cause: "talk"}
	var ids []string
	for i := range n {
		e := &dream.Episode{
			Head: dream.Head{
				ID:    fmt.Sprintf("fact%03d", i),
				Agent: "a",
				Kind:  dream.KindEpisode,
				At:    tonight.Add(-time.Duration(i+1) * time.Hour),
				State: dream.Live,
				Taint: dream.FromHuman,
			},
			Content: fmt.Sprintf("My cousin person%[1]s is allergic to stuff%[1]s and lives in town%[1]s",
				letters(i)), Salience: .5,
		}
		ids = append(ids, e.ID)
		w.Add = append(w.Add, e)
		w.Vectors = append(w.Vectors, memory.Vector{Item: e.ID, Space: space, V: vectorOf(e.Content)})
	}
	_, err := r.store.Commit(context.Background(), w)
	require.NoError(r.t, err)
	return ids
}

// letters is a number as a word, since figures are removed from gists.
func letters(n int) string { return string([]rune{'a' + rune(n/26), 'a' + rune(n%26)}) }

// archives is a dream that archives facts, as a faulty rule would.
func (r *rig) archives(s activities.Stretch, ids ...string) {
	r.t.Helper()
	items, err := r.store.Get(context.Background(), "a", ids...)
	require.NoError(r.t, err)
	for _, item := range items {
		item.Header().State = dream.Archived
	}
	require.NoError(r.t, core.At(r.ports, s).Write(context.Background(), memory.Write{Change: items}))
}

func (r *rig) ends(s activities.Stretch) activities.FinishResult {
	r.t.Helper()
	result, err := r.dreamRun().Finish(context.Background(),
		activities.FinishRequest{Stretch: s, Ending: activities.Ending{Outcome: dream.Completed, Kept: 3}})
	require.NoError(r.t, err)
	return result
}

func (r *rig) recordOf(s activities.Stretch) *dream.Record {
	r.t.Helper()
	record, err := memory.One[*dream.Record](context.Background(), r.store, "a", s.Dream)
	require.NoError(r.t, err)
	return record
}

func (r *rig) liveFacts() int {
	r.t.Helper()
	n, err := r.store.Count(context.Background(), memory.Query{Agent: "a", Kinds: []dream.Kind{dream.KindEpisode}})
	require.NoError(r.t, err)
	return n
}

func TestADreamThatLosesFactsIsUndone(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		r := newRig(t)
		facts := r.says(40)
		o := r.spec(1, tonight)
		o.Seed = seed
		s := r.begin(o)
		fragment := &dream.Fragment{
			Head: newRun(r.ports, o, activities.Stretch{}).Head(dream.Onset, dream.KindFragment, "1.1", nil), Content: "kept",
			Status: dream.FragmentRaw,
		}
		require.NoError(t, core.At(r.ports, s).Write(context.Background(), memory.Write{Add: []dream.Item{fragment}}))
		r.archives(s, facts[:3]...)
		for range 2 { // a repetition does not decide again
			result := r.ends(s)
			require.Equal(t, dream.Undone, result.Outcome)
			require.Contains(t, result.Reason,
				"it made recall worse: of 40 of the agent's own memories, 40 were found before and 37 after it")
		}
		require.Equal(t, 40, r.liveFacts(), "every fact is back")
		record := r.recordOf(s)
		require.Equal(t, dream.Undone, record.Outcome)
		require.Equal(t, dream.Archived, record.State)
		require.Equal(t, &dream.Recall{
			Requested: 40,
			Before:    40,
			After:     37,
			Lost:      3,
			Margin:    2,
		}, record.Recall)
		var result event.DreamUndone
		require.Equal(t, 1, r.count("DreamUndone", &result))
		require.Equal(t, 3, result.Restored)
		var ended event.DreamEnded
		require.Equal(t, 1, r.count("DreamEnded", &ended))
		require.Equal(t, dream.Undone, ended.Outcome)
		require.Zero(t, ended.Kept)
	}
}

func TestWithoutTheProbeALossStays(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	facts := r.says(40)
	o := r.spec(1, tonight)
	o.Knobs.Probe = 0
	s := r.begin(o)
	r.archives(s, facts[:20]...)
	require.Empty(t, r.ends(s).Outcome)
	require.Equal(t, 20, r.liveFacts())
	require.Nil(t, r.recordOf(s).Recall)
}

func TestADreamWithinTheMarginStands(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	facts := r.says(40)
	s := r.begin(r.spec(1, tonight))
	r.archives(s, facts[:2]...)
	require.Empty(t, r.ends(s).Outcome)
	record := r.recordOf(s)
	require.Equal(t, dream.Completed, record.Outcome)
	require.Equal(t, 2, record.Recall.Lost)
	require.Equal(t, 38, r.liveFacts())
}

func TestChangesByPeopleDuringADreamDoNotUndoIt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := context.Background()
	facts := r.says(40)
	s := r.begin(r.spec(1, tonight))
	_, err := r.store.Forget(ctx, "a", facts[:10]...)
	require.NoError(t, err)
	items, err := r.store.Get(ctx, "a", facts[10:20]...)
	require.NoError(t, err)
	w := memory.Write{Agent: "a", Cause: "operator"}
	for i, item := range items { // corrected: replaced by a newer one
		newer := *item.(*dream.Episode)
		newer.ID, newer.Revision = fmt.Sprintf("newer%d", i), 0
		item.Header().State, item.Header().NewerID = dream.Superseded, newer.ID
		w.Add, w.Change = append(w.Add, &newer), append(w.Change, item)
	}
	more, err := r.store.Get(ctx, "a", facts[20:30]...)
	require.NoError(t, err)
	for _, item := range more { // archived by a person
		item.Header().State = dream.Archived
	}
	w.Change = append(w.Change, more...)
	_, err = r.store.Commit(ctx, w)
	require.NoError(t, err)
	require.Empty(t, r.ends(s).Outcome)
	require.Equal(t, &dream.Recall{Requested: 30, Before: 30, After: 20, Margin: 2}, r.recordOf(s).Recall)
}

// knowsHarbours adds entries of knowledge from the web that faded long ago, each with words of its own.
func (r *rig) knowsHarbours(n int) {
	r.t.Helper()
	w := memory.Write{Agent: "a", Cause: "import"}
	for i := range n {
		h := dream.Head{
			ID:    "h" + letters(i),
			Agent: "a",
			Kind:  dream.KindSemantic,
			At:    tonight.Add(-4000 * time.Hour),
			State: dream.Live,
			Taint: dream.FromWeb,
		}
		content := fmt.Sprintf(
			"The pilot of Harbour%[1]s trusts Buoy%[1]s and Beacon%[1]s more than Chart%[1]s or Lamp%[1]s", letters(i))
		w.Add = append(w.Add,
			&dream.Semantic{
				Head: h, Content: content, Strength: .5,
				Due: tonight.Add(time.Duration(i-100) * time.Hour),
			})
	}
	_, err := r.store.Commit(context.Background(), w)
	require.NoError(r.t, err)
}

// floods lets the model contradict what people said again and again; with behind, after the words of an entry, so
// that it passes as its gist.
func (r *rig) floods(n int, behind bool) {
	var flood []string
	for i := range n {
		text := fmt.Sprintf(
			"My cousin person%[1]s is not allergic to stuff%[1]s and lives in town%[1]s: person%[1]s, stuff%[1]s, town%[1]s",
			letters(i%5))
		if behind {
			text = fmt.Sprintf("Harbour%[1]s, Buoy%[1]s, Beacon%[1]s, Chart%[1]s, Lamp%[1]s: %[2]s", letters(i), text)
		}
		flood = append(flood, text)
	}
	r.gistsOf(flood...)
}

func TestADreamThatFloodsRecallIsUndone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		entries int
		breaker bool
		lost    bool // pushed out of the first answers; otherwise ranked below the dream's items
	}{{60, true, true}, {5, true, false}, {60, false, true}} {
		r := newRig(t)
		r.says(30)
		r.knowsHarbours(c.entries)
		r.floods(c.entries, true)
		o := r.spec(1, tonight)
		o.Knobs.LastLookEntries = c.entries
		if !c.breaker {
			o.Knobs.Probe = 0
		}
		s := r.begin(o)
		_, err := (&replay.Replay{Ports: r.ports}).LastLook(context.Background(), step(s, .8))
		require.NoError(t, err)
		result := r.ends(s)
		gists := memory.As[*dream.Gist](r.find(s, dream.KindGist))
		if c.breaker {
			found := r.recordOf(s).Recall
			require.Equal(t, dream.Undone, result.Outcome, "%+v", found)
			require.Equal(t, c.lost, found.Lost > 0, "%+v", found)
			require.Equal(t, c.lost, found.Behind == 0, "%+v", found)
			require.Contains(t, result.Reason, fmt.Sprintf("%d came behind what it made", found.Behind))
			require.Empty(t, gists)
			require.Zero(t, r.archived())
		} else {
			require.Empty(t, result.Outcome, "control: without the probe the flood stays")
			require.NotEmpty(t, gists)
		}
		spent, err := r.ports.Guard.Ledger.Rows(context.Background(), spend.Query{Dream: s.Dream})
		require.NoError(t, err)
		require.NotEmpty(t, spent, "its cost stays counted")
		require.Positive(t, r.recordOf(s).Spent)
	}
}

func TestAGistAboutAnotherMemoryIsNotWritten(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.says(30)
	r.knowsHarbours(20)
	r.floods(20, false)
	require.Empty(t, r.looks(1).Made)
	require.Zero(t, r.archived())
	require.Empty(t, r.find(activities.Stretch{}, dream.KindGist))
	r = newRig(t)
	r.says(30)
	r.knowsHarbours(1)
	_, err := r.store.Commit(context.Background(),
		memory.Write{Agent: "a", Cause: "talk", Add: []dream.Item{&dream.Episode{
			Head: dream.Head{
				ID:    "bruna",
				Agent: "a",
				Kind:  dream.KindEpisode,
				At:    tonight,
				State: dream.Live,
				Taint: dream.FromHuman,
			},
			Content: "My neighbour Bruna trusts nobody", Salience: .5,
		}}})
	require.NoError(t, err)
	r.gistsOf("The pilot Bruna trusts Buoyaa, Beaconaa and Lampaa more than Chartaa")
	require.Empty(t, r.looks(1).Made, "it contains a name from another memory")
	r.gistsOf("A pilot trusts Buoyaa more than any chart")
	require.NotEmpty(t, r.looks(2).Made, "control: a gist of the entry itself is written")
	require.Equal(t, 1, r.archived())
}

func TestAnUnchangedRecallKeepsTheDreamAndBothCounts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.says(250)
	r.looks(1)
	record := r.recordOf(activities.Stretch{Dream: "dream/a/0001"})
	require.Equal(t, dream.Completed, record.Outcome)
	require.Equal(t, 200, record.Recall.Requested)
	require.Equal(t, record.Recall.Before, record.Recall.After)
	require.Greater(t, record.Recall.Before, 190)
}
