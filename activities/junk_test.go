package activities_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/imagination"
	"github.com/seed-56a03226/oneiros/activities/onset"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/sample"
	"github.com/seed-56a03226/oneiros/testsuite/observing"
)

// remember stores a sample diary and returns texts made from it: of each kind the longest of some, as long as a
// fragment and as a scenario.
func (r *rig) remember() map[observing.Kind][]observing.Labelled {
	r.t.Helper()
	episodes, err := observing.Read(sample.Diaries()[0].Memories)
	require.NoError(r.t, err)
	w := memory.Write{Agent: "a", Cause: "import"}
	for i, e := range episodes {
		e.Agent, e.State, e.At = "a", dream.Live, tonight.Add(time.Duration(i-len(episodes))*time.Hour)
		w.Add = append(w.Add, e)
		w.Vectors = append(w.Vectors, memory.Vector{Item: e.ID, Space: space, V: vectorOf(e.Text())})
	}
	_, err = r.store.Commit(context.Background(), w)
	require.NoError(r.t, err)
	all := map[observing.Kind][]observing.Labelled{}
	for _, scenarios := range []bool{false, true} {
		longest := map[observing.Kind]observing.Labelled{}
		for _, l := range observing.Make(episodes, 8, scenarios, rand.New(rand.NewPCG(21, 1))) {
			if len(l.Text) > len(longest[l.Kind].Text) {
				longest[l.Kind] = l
			}
		}
		for kind, l := range longest {
			all[kind] = append(all[kind], l)
		}
	}
	return all
}

// However generous the judge, a copied memory and shuffled words are discarded with the reason, and what joins two
// memories is kept.
func TestJunkIsDiscardedWhateverTheJudgeSays(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	texts := r.remember()
	s := r.begin(r.watched(1, dream.ByTogether))
	kinds := []observing.Kind{observing.Recombined, observing.Copied, observing.Shuffled}
	var made []string
	var verdicts []map[string]any
	for i, kind := range kinds {
		made = append(made, texts[kind][0].Text)
		verdicts = append(verdicts,
			map[string]any{"ref": fmt.Sprintf("t%d", i+1), "novelty": .9, "relevance": .9, "coherence": .9})
	}
	answer, err := json.Marshal(map[string]any{"verdicts": verdicts})
	require.NoError(t, err)
	request := r.drift(s, made...)
	r.model.say["verdicts"] = string(answer)
	_, err = (&onset.Onset{Ports: r.ports}).JudgeTogether(context.Background(), request)
	require.NoError(t, err)
	for i, want := range []string{"", "below the floor: it repeats a memory", "below the floor: its words stand in no order"} {
		f := r.thought(fmt.Sprintf("%s/onset/1.%d", s.Dream, i+1))
		require.Equal(t, want, f.Reason, "%s: %s, %+v", kinds[i], f.Content, f.Verdict.Parts)
		require.Equal(t, want != "", f.Status == dream.FragmentDiscarded)
		require.NotNil(t, f.Verdict.Parts.WordOrder)
		require.NotNil(t, f.Verdict.Parts.Copied)
	}
	require.Len(t, r.events(event.FragmentDiscarded{}.EventType()), 2)
}

// REM scores a scenario that only repeats a memory or whose words stand in no order 0, by a judge as by measure.
func TestJunkIsNoScenario(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	texts := r.remember()
	s := r.begin(r.watched(1, dream.ByTogether))
	kinds := []observing.Kind{observing.Recombined, observing.Copied, observing.Shuffled}
	w := memory.Write{Agent: "a", Cause: s.Dream, Fence: s.Fence()}
	var ids []string
	var scores []map[string]any
	for i, kind := range kinds {
		id := fmt.Sprintf("%s/rem/%d", s.Dream, i+1)
		ids = append(ids, id)
		w.Add = append(w.Add, &dream.Scenario{
			Head: dream.Head{
				ID:    id,
				Agent: "a",
				Kind:  dream.KindScenario,
				At:    tonight,
				State: dream.Live,
				Taint: dream.FromDream,
				Dream: s.Dream,
				Phase: dream.REM,
			},
			Content: texts[kind][1].Text,
		})
		scores = append(scores,
			map[string]any{"ref": fmt.Sprintf("s%d", i+1), "novelty": .9, "plausible": .9, "matters": .9})
	}
	_, err := r.store.Commit(context.Background(), w)
	require.NoError(t, err)
	answer, err := json.Marshal(map[string]any{"scores": scores})
	require.NoError(t, err)
	r.model.say["scores"] = string(answer)
	_, err = (&imagination.Imagination{Ports: r.ports}).Score(context.Background(),
		activities.ScoreRequest{StepRequest: step(s, .4), Scenarios: ids})
	require.NoError(t, err)
	items, err := r.store.Get(context.Background(), "a", ids...)
	require.NoError(t, err)
	for i, scored := range memory.As[*dream.Scenario](items) {
		require.NotNil(t, scored.Worth, kinds[i])
		require.Equal(t, kinds[i] == observing.Recombined, scored.Score > .5, "%s: %+v", kinds[i], scored.Worth)
	}
}
