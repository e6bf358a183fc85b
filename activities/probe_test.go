package activities

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/purse"
)

// says adds facts that a person told, each with words of its own.
func (r *rig) says(n int) []string {
	r.t.Helper()
	w := memory.Write{Agent: "a", Cause: "talk"}
	var ids []string
	for i := range n {
		e := &dream.Episode{
			Head:    dream.Head{ID: fmt.Sprintf("fact%03d", i), Agent: "a", Kind: dream.KindEpisode, At: tonight.Add(-time.Duration(i+1) * time.Hour), State: dream.Live, Taint: dream.FromHuman},
			Content: fmt.Sprintf("My cousin Person%[1]s is allergic to Stuff%[1]s and lives in Town%[1]s", letters(i)), Salience: .5,
		}
		ids = append(ids, e.ID)
		w.Add = append(w.Add, e)
		w.Vectors = append(w.Vectors, memory.Vector{Item: e.ID, Space: space, V: vectorOf(e.Content)})
	}
	_, err := r.store.Commit(context.Background(), w)
	require.NoError(r.t, err)
	return ids
}

// letters is a number as a word: figures are taken out of gists.
func letters(n int) string { return string([]rune{'a' + rune(n/26), 'a' + rune(n%26)}) }

// archives is a night that puts facts aside, as a faulty rule would.
func (r *rig) archives(s Sitting, ids ...string) {
	r.t.Helper()
	items, err := r.store.Get(context.Background(), "a", ids...)
	require.NoError(r.t, err)
	for _, item := range items {
		item.Header().State = dream.Archived
	}
	require.NoError(r.t, r.ports.write(context.Background(), s, memory.Write{Change: items}))
}

func (r *rig) ends(s Sitting) RiseResult {
	r.t.Helper()
	result, err := r.bed().Rise(context.Background(), RiseRequest{Sitting: s, Ending: Ending{Outcome: dream.Completed, Kept: 3}})
	require.NoError(r.t, err)
	return result
}

func (r *rig) recordOf(s Sitting) *dream.Night {
	r.t.Helper()
	night, err := memory.One[*dream.Night](context.Background(), r.store, "a", s.Dream)
	require.NoError(r.t, err)
	return night
}

func (r *rig) liveFacts() int {
	r.t.Helper()
	n, err := r.store.Count(context.Background(), memory.Query{Agent: "a", Kinds: []dream.Kind{dream.KindEpisode}})
	require.NoError(r.t, err)
	return n
}

func TestANightThatLosesFactsIsUndoneByItself(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		r := newRig(t)
		facts := r.says(40)
		o := r.order(1, tonight)
		o.Seed = seed
		s := r.lie(o)
		fragment := &dream.Fragment{Head: head(o, dream.Onset, dream.KindFragment, "1.1", nil), Content: "kept", Status: dream.FragmentRaw}
		require.NoError(t, r.ports.write(context.Background(), s, memory.Write{Add: []dream.Item{fragment}}))
		r.archives(s, facts[:3]...)
		for range 2 { // done twice, it decides once
			result := r.ends(s)
			require.Equal(t, dream.Undone, result.Outcome)
			require.Contains(t, result.Reason, "it made recall worse: of 40 of the agent's own memories, 40 were found before and 37 after it")
		}
		require.Equal(t, 40, r.liveFacts(), "every fact is back")
		night := r.recordOf(s)
		require.Equal(t, dream.Undone, night.Outcome)
		require.Equal(t, dream.Archived, night.State)
		require.Equal(t, &dream.Recall{Asked: 40, Before: 40, After: 37, Lost: 3, Margin: 2}, night.Recall)
		var told event.NightUndone
		require.Equal(t, 1, r.told("NightUndone", &told))
		require.Equal(t, 3, told.Restored)
		var ended event.DreamEnded
		require.Equal(t, 1, r.told("DreamEnded", &ended))
		require.Equal(t, dream.Undone, ended.Outcome)
		require.Zero(t, ended.Kept)
	}
}

func TestWithoutTheBreakerALossStays(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	facts := r.says(40)
	o := r.order(1, tonight)
	o.Knobs.Probe = 0
	s := r.lie(o)
	r.archives(s, facts[:20]...)
	require.Empty(t, r.ends(s).Outcome)
	require.Equal(t, 20, r.liveFacts())
	require.Nil(t, r.recordOf(s).Recall)
}

func TestANightWithinTheMarginStands(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	facts := r.says(40)
	s := r.lie(r.order(1, tonight))
	r.archives(s, facts[:2]...)
	require.Empty(t, r.ends(s).Outcome)
	night := r.recordOf(s)
	require.Equal(t, dream.Completed, night.Outcome)
	require.Equal(t, 2, night.Recall.Lost)
	require.Equal(t, 38, r.liveFacts())
}

func TestWhatPeopleDoDuringANightUndoesNoNight(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := context.Background()
	facts := r.says(40)
	s := r.lie(r.order(1, tonight))
	_, err := r.store.Forget(ctx, "a", facts[:10]...)
	require.NoError(t, err)
	items, err := r.store.Get(ctx, "a", facts[10:20]...)
	require.NoError(t, err)
	w := memory.Write{Agent: "a", Cause: "operator"}
	for i, item := range items { // corrected: a newer one stands in its place
		newer := *item.(*dream.Episode)
		newer.ID, newer.Revision = fmt.Sprintf("newer%d", i), 0
		item.Header().State, item.Header().NewerID = dream.Superseded, newer.ID
		w.Add, w.Change = append(w.Add, &newer), append(w.Change, item)
	}
	more, err := r.store.Get(ctx, "a", facts[20:30]...)
	require.NoError(t, err)
	for _, item := range more { // put aside by a person
		item.Header().State = dream.Archived
	}
	w.Change = append(w.Change, more...)
	_, err = r.store.Commit(ctx, w)
	require.NoError(t, err)
	require.Empty(t, r.ends(s).Outcome)
	require.Equal(t, &dream.Recall{Asked: 30, Before: 30, After: 20, Margin: 2}, r.recordOf(s).Recall)
}

// A model that writes gists which contradict what people said, again and again, crowds the memories themselves out
// of the first answers.
func TestANightThatFloodsRecallIsUndoneByItself(t *testing.T) {
	t.Parallel()
	for _, breaker := range []bool{true, false} {
		r := newRig(t)
		r.says(30)
		r.knows(60, dream.FromWeb)
		var flood []string
		for i := range 60 {
			flood = append(flood, fmt.Sprintf("My cousin Person%[1]s is not allergic to Stuff%[1]s and lives in Town%[1]s: Person%[1]s, Stuff%[1]s, Town%[1]s", letters(i%5)))
		}
		r.gistsOf(flood...)
		o := r.order(1, tonight)
		o.Knobs.LastLookEntries = 60
		if !breaker {
			o.Knobs.Probe = 0
		}
		s := r.lie(o)
		_, err := (&Replay{r.ports}).LastLook(context.Background(), step(s, .8))
		require.NoError(t, err)
		result := r.ends(s)
		gists := memory.As[*dream.Gist](r.find(s, dream.KindGist))
		if breaker {
			require.Equal(t, dream.Undone, result.Outcome, "%+v", r.recordOf(s).Recall)
			require.Empty(t, gists)
			require.Zero(t, r.archived())
		} else {
			require.Empty(t, result.Outcome, "the control: without the breaker the flood stays")
			require.NotEmpty(t, gists)
		}
		spent, err := r.ports.Purse.Ledger.Rows(context.Background(), purse.Query{Dream: s.Dream})
		require.NoError(t, err)
		require.NotEmpty(t, spent, "its money stays counted")
		require.Positive(t, r.recordOf(s).Spent)
	}
}

func TestAQuietNightStandsAndKeepsBothCounts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.says(250)
	r.looks(1)
	night := r.recordOf(Sitting{Dream: "dream/a/0001"})
	require.Equal(t, dream.Completed, night.Outcome)
	require.Equal(t, 200, night.Recall.Asked)
	require.Equal(t, night.Recall.Before, night.Recall.After)
	require.Greater(t, night.Recall.Before, 190)
}
