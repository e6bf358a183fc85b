package activities_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/onset"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// watched is a spec whose observer has parts.
func (r *rig) watched(n int, way string) activities.Spec {
	o := r.spec(n, tonight)
	o.Observer = &hypnagogia.JudgingChoice{Way: way}
	return o
}

// drift makes the partials of a cycle with these texts.
func (r *rig) drift(s activities.Stretch, texts ...string) activities.TogetherRequest {
	r.t.Helper()
	ctx := context.Background()
	_, err := (&onset.Onset{Ports: r.ports}).Gather(ctx, activities.GatherRequest{Stretch: s, Cycle: 1})
	require.NoError(r.t, err)
	all := activities.TogetherRequest{StepRequest: step(s, .4)}
	all.Cycle, all.Source = 1, 1
	for i, text := range texts {
		r.model.say["partial"] = text
		request := step(s, 1.3)
		request.Cycle, request.Source, request.Turn = 1, 1, i+1
		_, err := (&onset.Onset{Ports: r.ports}).Partial(ctx, request)
		require.NoError(r.t, err)
		all.Turns = append(all.Turns, activities.Turn{Turn: i + 1, Drift: 1.3})
	}
	return all
}

// observerView is the note of what the observer of a dream goes by.
type observerView struct {
	Judge   string          `json:"judge"`
	Bias    hypnagogia.Bias `json:"bias"`
	Markers []string        `json:"markers"`
}

func (r *rig) watches(s activities.Stretch) (w observerView) {
	r.t.Helper()
	body, err := r.store.Note(context.Background(), s.Agent, s.Dream, "observer")
	require.NoError(r.t, err)
	require.NoError(r.t, json.Unmarshal(body, &w))
	return w
}

func (r *rig) thought(id string) *dream.Fragment {
	r.t.Helper()
	f, err := memory.One[*dream.Fragment](context.Background(), r.store, "a", id)
	require.NoError(r.t, err)
	return f
}

func (r *rig) events(kind string) []event.Event {
	r.t.Helper()
	all, err := r.store.Events(context.Background(), "a", 0, 1000)
	require.NoError(r.t, err)
	var found []event.Event
	for _, e := range all {
		if e.Type == kind {
			found = append(found, e)
		}
	}
	return found
}

var thoughts = []string{
	"the gull keeps a ledger of every quiet day and nobody has ever asked to read it",
	"a number sits in the harbour until the water is ready to count it",
	"what if the pier was only ever waiting for the gull to leave it alone", "",
}

// A cycle is judged in one call. A thought that the answer leaves out or garbles is measured, and its verdict says
// so; an empty thought is not judged.
func TestACycleIsJudgedInOneCallAndGarbledVerdictsAreMeasured(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(12)
	s := r.begin(r.watched(1, dream.ByTogether))
	request := r.drift(s, thoughts...)
	r.model.say["verdicts"] = `{"verdicts":[{"ref":"[t3]","novelty":0.8,"relevance":0.7,"coherence":1.4,"reason":"a pier"},{"ref":"t1","relevance":0.5},
		{"ref":"t1","novelty":0.6,"relevance":0.5,"coherence":0.9,"reason":"a ledger"},{"ref":"t2","novelty":"high","relevance":0.5},{"ref":"t9","novelty":1,"relevance":1,"coherence":1}]}`
	requests := len(r.model.requests)
	result, err := (&onset.Onset{Ports: r.ports}).JudgeTogether(context.Background(), request)
	require.NoError(t, err)
	require.Len(t, r.model.requests, requests+1, "one call")
	require.Equal(t, activities.EndDone, result.End)
	require.Len(t, result.Made, 4)
	for i, made := range result.Made {
		require.Equal(t, i < 3, made.Sense != nil, "an empty thought does not count for depth")
	}
	id := func(turn int) string { return fmt.Sprintf("%s/onset/1.%d", s.Dream, turn) }
	first := r.thought(id(1))
	second := r.thought(id(2))
	third := r.thought(id(3))
	silent := r.thought(id(4))
	require.Equal(t, dream.FragmentDiscarded, silent.Status)
	require.Equal(t, "nothing was said", silent.Reason)
	for f, reason := range map[*dream.Fragment]string{first: "a ledger", third: "a pier"} {
		require.Equal(t, "p/w", f.Verdict.Judge)
		require.Equal(t, dream.ByTogether, f.Verdict.Parts.Way)
		require.Equal(t, 3, f.Verdict.Parts.Together, "the empty thought was not judged")
		require.Equal(t, reason, f.Verdict.Parts.JudgeReason)
	}
	require.Equal(t, 1.0, third.Verdict.Parts.Judged.Coherence, "clamped")
	require.Equal(t, hypnagogia.Measured, second.Verdict.Judge)
	require.Nil(t, second.Verdict.Parts.Judged)
	require.Equal(t, "the judge left it out, or a score of it", second.Verdict.Parts.Why)
	rows, err := r.store.Ledger().Rows(context.Background(), spend.Query{Dream: s.Dream})
	require.NoError(t, err)
	var paid budget.Micros
	for _, row := range rows {
		if strings.Contains(row.Step, "judge-all") && !strings.Contains(row.Step, "embed") {
			paid += row.Counted
		}
	}
	require.InDelta(t, float64(paid),
		float64(*first.Verdict.Parts.Cost+*second.Verdict.Parts.Cost+*third.Verdict.Parts.Cost), 2)

	// A repetition buys nothing and changes nothing.
	requests = len(r.model.requests)
	_, err = (&onset.Onset{Ports: r.ports}).JudgeTogether(context.Background(), request)
	require.NoError(t, err)
	require.Len(t, r.model.requests, requests)
	require.Equal(t, first, r.thought(id(1)))
	require.Len(t, r.find(s, dream.KindFragment), 4)
}

func TestAnUnreadableAnswerLeavesEveryThoughtMeasured(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(12)
	s := r.begin(r.watched(1, dream.ByTogether))
	request := r.drift(s, thoughts[:2]...)
	r.model.say["verdicts"] = "they are all quite good"
	requests := len(r.model.requests)
	result, err := (&onset.Onset{Ports: r.ports}).JudgeTogether(context.Background(), request)
	require.NoError(t, err)
	require.Len(t, r.model.requests, requests+2, "and its repair")
	rows, err := r.store.Ledger().Rows(context.Background(), spend.Query{Dream: s.Dream})
	require.NoError(t, err)
	var paid, stated budget.Micros
	for _, row := range rows {
		if strings.Contains(row.Step, "judge-all") && !strings.Contains(row.Step, "embed") {
			paid += row.Counted
		}
	}
	for _, made := range result.Made {
		stated += *r.thought(made.ID).Verdict.Parts.Cost
	}
	require.InDelta(t, float64(paid), float64(stated), 2, "the verdicts state the cost of both calls")
	for _, made := range result.Made {
		v := r.thought(made.ID).Verdict
		require.Equal(t, hypnagogia.Measured, v.Judge)
		require.Equal(t, "the judge's answer could not be read, nor its repair", v.Parts.Why)
	}
}

func TestAThoughtIsJudgedSinglyWithAllItsParts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(12)
	s := r.begin(r.watched(1, dream.BySingle))
	r.drift(s, thoughts[0])
	r.model.say["verdict"] = `{"novelty":0.6,"relevance":0.5,"coherence":0.9,"reason":"a ledger"}`
	request := step(s, .4)
	request.Cycle = 1
	request.Turn = 1
	request.Source = 1
	request.Drift = 1.3
	result, err := (&onset.Onset{Ports: r.ports}).Judge(context.Background(), request)
	require.NoError(t, err)
	f := r.thought(result.Made[0].ID)
	p := f.Verdict.Parts
	require.Equal(t, dream.BySingle, p.Way)
	require.Equal(t, dream.Scores{Novelty: .6, Relevance: .5, Coherence: .9}, *p.Judged)
	require.Equal(t, "a ledger", p.JudgeReason)
	require.Equal(t, 1.0, p.Bias)
	require.Equal(t, .10, *f.Verdict.Floor)
	require.NotNil(t, p.Cost)
	require.Positive(t, p.Surface.Whole)
	require.NotNil(t, p.Meaning, "twelve vectors are enough to calibrate the space, and the thought is long enough")
	require.Empty(t, p.Blind)

	// A spec of an older version has none of it.
	r.finish(s)
	s = r.begin(r.spec(2, tonight))
	r.drift(s, thoughts[0])
	request.Stretch = s
	result, err = (&onset.Onset{Ports: r.ports}).Judge(context.Background(), request)
	require.NoError(t, err)
	old := r.thought(result.Made[0].ID)
	require.Nil(t, old.Verdict.Parts)
	require.Nil(t, old.Verdict.Floor)
	require.Equal(t, .6, old.Verdict.Novelty)
	require.Equal(t, hypnagogia.Composite(.6, .5, .9), old.Verdict.Composite)
}

// Markers are learned from strong affect with a known outcome; one that fires adds to relevance and is announced.
func TestASomaticMarkerIsLearnedAndFires(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(12)
	storm := func(id, text string, affect mood.PAD, outcome string) {
		_, err := r.store.Commit(context.Background(),
			memory.Write{Agent: "a", Cause: "import", Add: []dream.Item{&dream.Episode{
				Head: dream.Head{
					ID:    id,
					Agent: "a",
					Kind:  dream.KindEpisode,
					At:    tonight.Add(-time.Hour),
					State: dream.Live,
					Taint: dream.FromHuman,
				},
				Content: text, Outcome: outcome, Affect: affect, Salience: .9,
			}}, Vectors: []memory.Vector{{Item: id, Space: space, V: vectorOf(text)}}})
		require.NoError(t, err)
	}
	bad := mood.PAD{Pleasure: -.7, Arousal: .6}
	storm("s1", "mast broke mast broke mast storm storm", bad, "it broke")
	storm("s2", "mast broke mast storm storm mast broke", bad, "it broke again")
	storm("s3", "mast storm mast", bad, "")
	spec := r.watched(1, dream.BySingle)
	s := r.begin(spec)
	markers := r.find(s, dream.KindMarker)
	require.Len(t, markers, 1, "two near moments of one valence make one marker; one without an outcome makes none")
	m := markers[0].(*dream.Marker)
	require.Equal(t, 2, m.Count)
	require.Equal(t, dream.CameOutBadly, m.Valence)
	require.ElementsMatch(t, []string{"s1", "s2"}, m.Sources)
	require.Equal(t, dream.FromDream, m.Taint)
	require.NoError(t, core.LearnMarkers(context.Background(), newRun(r.ports, spec, s)),
		"a repetition changes nothing")
	require.Equal(t, markers, r.find(s, dream.KindMarker))

	affect, err := r.store.Affect(context.Background(), "a")
	require.NoError(t, err)
	request := r.drift(s, "mast broke mast storm",
		"the gull keeps a ledger of every quiet day and nobody has ever asked to read it")
	r.model.say["verdicts"] = `{"verdicts":[{"ref":"t1","novelty":0.8,"relevance":0.4,"coherence":0.9},{"ref":"t2","novelty":0.8,"relevance":0.4,"coherence":0.9}]}`
	_, err = (&onset.Onset{Ports: r.ports}).JudgeTogether(context.Background(), request)
	require.NoError(t, err)
	fired := r.thought(s.Dream + "/onset/1.1").Verdict.Parts.Marker
	require.NotNil(t, fired)
	require.Equal(t, m.ID, fired.Marker)
	require.GreaterOrEqual(t, fired.Deviations, fired.Threshold)
	require.Equal(t, .4, fired.Relevance)
	require.InDelta(t, .4+fired.Boost, r.thought(s.Dream+"/onset/1.1").Verdict.Relevance, 1e-9)
	require.Nil(t, r.thought(s.Dream+"/onset/1.2").Verdict.Parts.Marker)
	announced := r.events("SomaticMarkerFired")
	require.Len(t, announced, 1)
	require.Contains(t, string(announced[0].Data), m.ID)
	after, err := r.store.Affect(context.Background(), "a")
	require.NoError(t, err)
	require.Equal(t, affect, after, "the onset writes no affect")

	// A removed source no longer counts; without any source the marker does not fire.
	_, err = r.store.Forget(context.Background(), "a", "s1", "s2")
	require.NoError(t, err)
	held, err := core.LiveMarkers(context.Background(), newRun(r.ports, r.spec(1, tonight), activities.Stretch{}))
	require.NoError(t, err)
	for _, h := range held {
		require.Nil(t, h.Place)
	}
}

// An agent without vectors learns nothing, and a spec of an older version never does.
func TestMemoriesWithoutVectorsTeachNoMarkers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, err := r.store.Commit(context.Background(),
		memory.Write{Agent: "a", Cause: "import", Add: []dream.Item{&dream.Episode{
			Head: dream.Head{
				ID:    "e",
				Agent: "a",
				Kind:  dream.KindEpisode,
				At:    tonight.Add(-time.Hour),
				State: dream.Live,
				Taint: dream.FromHuman,
			},
			Content: "the mast broke", Outcome: "it broke", Affect: mood.PAD{Pleasure: -1}, Salience: .9,
		}}})
	require.NoError(t, err)
	s := r.begin(r.watched(1, dream.BySingle))
	require.Empty(t, r.find(s, dream.KindMarker))
	r.finish(s)
	r.live(12)
	s = r.begin(r.spec(2, tonight))
	require.Empty(t, r.find(s, dream.KindMarker))
}

// The bias is computed from outcomes of the same judge and frozen for the dream; its alarm is raised once.
func TestTheBiasIsFrozenAndItsAlarmRaisedOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(12)
	w := memory.Write{Agent: "a", Cause: "import"}
	resolved := tonight.Add(-time.Hour)
	outcome := func(i int, judge string, whole float64, status string) {
		f := &dream.Fragment{
			Head: dream.Head{
				ID:    fmt.Sprintf("f%s%d", judge, i),
				Agent: "a",
				Kind:  dream.KindFragment,
				At:    tonight.Add(-9 * time.Hour),
				State: dream.Live,
				Taint: dream.FromDream,
			},
			Content: "x", Status: dream.FragmentSelected,
			Verdict: dream.Verdict{Judge: judge, Composite: .9, Parts: &dream.Parts{Whole: whole}},
		}
		w.Add = append(w.Add, f, &dream.Prediction{
			Head: dream.Head{
				ID:    f.ID + "/p",
				Agent: "a",
				Kind:  dream.KindPrediction,
				At:    tonight.Add(-9 * time.Hour),
				State: dream.Live,
				Taint: dream.FromDream,
			},
			Claim:      "c",
			Criterion:  "c",
			Source:     dream.Creative,
			Fragment:   f.ID,
			Status:     status,
			ResolvedAt: &resolved,
		})
	}
	for i := range 50 {
		if i < 20 {
			outcome(i, "p/w", .1, dream.PredictionRight)
		} else {
			outcome(i, "p/w", .5, dream.PredictionWrong)
		}
		outcome(i, "another", .5, dream.PredictionRight)
	}
	_, err := r.store.Commit(context.Background(), w)
	require.NoError(t, err)
	spec := r.watched(1, dream.BySingle)
	s := r.begin(spec)
	r.drift(s, thoughts[0])
	r.model.say["verdict"] = `{"novelty":0.6,"relevance":0.5,"coherence":0.9,"reason":"a ledger"}`
	request := step(s, .4)
	request.Cycle = 1
	request.Turn = 1
	request.Source = 1
	request.Drift = 1.3
	result, err := (&onset.Onset{Ports: r.ports}).Judge(context.Background(), request)
	require.NoError(t, err)
	v := r.thought(result.Made[0].ID).Verdict
	require.InDelta(t, .8*v.Parts.Whole, v.Composite, 1e-9)
	seen := r.watches(s)
	require.Equal(t, "p/w", seen.Judge)
	require.Equal(t, hypnagogia.LeastBias, seen.Bias.Factor)
	require.Equal(t, 50, seen.Bias.Outcomes)
	require.Len(t, r.events("ObserverDrifted"), 1)

	r.finish(s)
	spec = r.watched(2, dream.BySingle)
	s = r.begin(spec)
	_, err = (&onset.Onset{Ports: r.ports}).JudgeTogether(context.Background(), r.drift(s, thoughts[0]))
	require.NoError(t, err)
	require.Equal(t, 50, r.watches(s).Bias.Outcomes)
	require.Len(t, r.events("ObserverDrifted"), 1, "announced once for these fifty")
}

func TestABatchRefusedByACapLeavesItsThoughtsUnjudged(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(12)
	s := r.begin(r.watched(1, dream.ByTogether))
	request := r.drift(s, thoughts[:2]...)
	request.Limit = 1
	result, err := (&onset.Onset{Ports: r.ports}).JudgeTogether(context.Background(), request)
	require.NoError(t, err)
	require.Equal(t, activities.EndCap, result.End)
	require.Empty(t, r.find(s, dream.KindFragment))
	r.finish(s)
	left := r.find(s, dream.KindFragment)
	require.Len(t, left, 2)
	for _, item := range left {
		require.Equal(t, core.NotJudged, item.(*dream.Fragment).Reason)
	}
	require.Len(t, r.events("FragmentDiscarded"), 2, "everything rejected is recorded with its reason")
}
