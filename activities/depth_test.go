package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/dreamrun"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/onset"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// adaptive is a spec with a depth rule.
func (r *rig) adaptive(n int, asOf time.Time) activities.Spec {
	o := r.spec(n, asOf)
	o.Depth = &activities.DepthRule{Prior: hypnagogia.Prior(3)}
	return o
}

// Surprise chooses the depth when the dream begins; a repetition returns the same, whatever was learned meanwhile.
func TestADepthIsChosenOnceAndRecorded(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t)
	r.live(10) // each with a surprise of 0.5
	s := r.begin(r.adaptive(1, tonight))
	first, err := (&onset.Onset{Ports: r.ports}).Gather(ctx, activities.GatherRequest{Stretch: s})
	require.NoError(t, err)
	require.NotNil(t, first.Depth)
	require.Equal(t, .5, first.Depth.Surprise)
	require.InDelta(t, .75, first.Depth.Depth, hypnagogia.DepthNoise)
	require.NotZero(t, first.Depth.Chance)
	require.False(t, first.Depth.Learned)

	calm := &dream.Episode{Head: dream.Head{
		ID:    "calm",
		Agent: "a",
		Kind:  dream.KindEpisode,
		At:    tonight.Add(-time.Minute),
		State: dream.Live,
		Taint: dream.FromHuman,
	}, Content: "nothing happened"}
	_, err = r.store.Commit(ctx, memory.Write{Agent: "a", Cause: "import", Add: []dream.Item{calm}})
	require.NoError(t, err)
	again, err := (&onset.Onset{Ports: r.ports}).Gather(ctx, activities.GatherRequest{Stretch: s})
	require.NoError(t, err)
	require.Equal(t, first, again)
	later, err := (&onset.Onset{Ports: r.ports}).Gather(ctx, activities.GatherRequest{Stretch: s, Cycle: 1})
	require.NoError(t, err)
	require.Nil(t, later.Depth, "only the first gathering returns it")

	r.finish(s)
	record, err := memory.One[*dream.Record](ctx, r.store, "a", s.Dream)
	require.NoError(t, err)
	require.Equal(t, first.Depth, record.Depth)
}

func TestASpecWithoutDepthRuleChoosesNone(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t)
	r.live(10)
	s := r.begin(r.spec(1, tonight))
	g, err := (&onset.Onset{Ports: r.ports}).Gather(ctx, activities.GatherRequest{Stretch: s})
	require.NoError(t, err)
	require.Nil(t, g.Depth)
	notes, err := r.store.Notes(ctx, "a", s.Dream, "")
	require.NoError(t, err)
	require.NotContains(t, notes, core.DepthNote)
	require.NotContains(t, notes, core.WorldNote)
	r.finish(s)
	record, err := memory.One[*dream.Record](ctx, r.store, "a", s.Dream)
	require.NoError(t, err)
	require.Nil(t, record.Depth)
}

// A core dream is one induction: it has no cycles and no peak.
func TestADreamOfTheCoreTierStaysAboveThePeak(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(10)
	o := r.adaptive(1, tonight)
	o.Tier = dream.Core
	g, err := (&onset.Onset{Ports: r.ports}).Gather(context.Background(), activities.GatherRequest{Stretch: r.begin(o)})
	require.NoError(t, err)
	require.Zero(t, g.Depth.Cycles)
	require.Equal(t, dream.Transitional, g.Depth.Stage)
}

// past writes n dreams, each with predictions before and after it whose residuals shrink by the given function.
func (r *rig) past(n int, shrunk func(depth float64) float64) {
	r.t.Helper()
	w := memory.Write{Agent: "a", Cause: "import"}
	dice := hypnagogia.Dice(1, dream.Onset, 0, 0, "past")
	foretold := func(id string, made, judged time.Time, residual float64) {
		w.Add = append(w.Add, &dream.Prediction{
			Head: dream.Head{
				ID:    id,
				Agent: "a",
				Kind:  dream.KindPrediction,
				At:    made,
				State: dream.Live,
				Taint: dream.FromHuman,
			},
			Source:     dream.Analytical,
			Claim:      id,
			Confidence: residual,
			Status:     dream.PredictionWrong,
			ResolvedAt: &judged,
			Residual:   &residual,
		})
	}
	for i := range n {
		at := tonight.AddDate(0, 0, 2*(i-n))
		surprise := .2 + .5*dice.Float64()
		d := hypnagogia.Prior(3).Aim(hypnagogia.DepthInput{Surprise: surprise},
			hypnagogia.DepthNoise*(2*dice.Float64()-1),
			"", 3)
		w.Add = append(w.Add, &dream.Record{
			Head: dream.Head{
				ID:    fmt.Sprintf("dream/a/past-%04d", i),
				Agent: "a",
				Kind:  dream.KindRecord,
				At:    at,
				State: dream.Live,
				Taint: dream.FromDream,
			},
			AsOf: at, Outcome: dream.Completed, Depth: &d,
			Phases: []dream.Tally{{Phase: dream.Onset, State: "ran", Cycles: d.Cycles}},
		})
		for k := range scoredPredictions {
			away := time.Duration(k) * time.Minute
			foretold(fmt.Sprintf("b%d.%d", i, k), at.Add(-10*time.Hour+away), at.Add(-time.Hour), .5)
			foretold(fmt.Sprintf("a%d.%d", i, k), at.Add(time.Hour+away), at.Add(11*time.Hour), .5-shrunk(d.Depth))
		}
	}
	_, err := r.store.Commit(context.Background(), w)
	require.NoError(r.t, err)
}

// scoredPredictions fill the window of the score on each side of a dream.
const scoredPredictions = 10

// Up to fifty outcomes the policy is its prior; after that, if shallow dreams did better, it is shallower.
func TestADepthPolicyIsLearnedFromOutcomes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		nights  int
		learned bool
	}{{49, false}, {80, true}} {
		r := newRig(t)
		r.live(10)
		r.past(c.nights, func(depth float64) float64 { return .3 * (1 - depth) })
		f, err := onset.ChooseDepth(context.Background(), r.store, "a", tonight, hypnagogia.Prior(3), 0, "", 3)
		require.NoError(t, err)
		require.Equal(t, c.nights, f.Learning.Outcomes)
		require.Equal(t, c.learned, f.Learning.Learned, f.Learning.Why)
		require.Equal(t, c.learned, f.Aim.Learned)
		if c.learned {
			s := hypnagogia.DepthInput{Surprise: .5}
			require.Less(t, f.Learning.Policy.Depth(s, 0), hypnagogia.Prior(3).Depth(s, 0))
		}
		before, err := onset.ChooseDepth(context.Background(), r.store, "a", tonight.AddDate(0, 0, -60),
			hypnagogia.Prior(3), 0,
			"", 3)
		require.NoError(t, err)
		require.Less(t, before.Learning.Outcomes, c.nights, "nothing later than the spec's time")
	}
}

// feed returns the given readings, or an error.
type feed struct {
	readings  []dream.Reading
	err       error
	requested []string
}

func (f *feed) Latest(_ context.Context, name string) ([]dream.Reading, error) {
	f.requested = append(f.requested, name)
	return f.readings, f.err
}

// follow lets the agent follow a feed with more readings than a dream records.
func (r *rig) follow() *feed {
	r.t.Helper()
	agent, err := r.store.Agent(context.Background(), "a")
	require.NoError(r.t, err)
	require.NoError(r.t, r.store.PutFeed(context.Background(), dream.Feed{Name: "harbour"}))
	agent.Feed = "harbour"
	require.NoError(r.t, r.store.PutAgent(context.Background(), agent))
	f := &feed{}
	for i := range 15 {
		n := float64(100 + i)
		f.readings = append(f.readings,
			dream.Reading{
				At: tonight.Add(-time.Duration(i) * time.Minute), Metric: fmt.Sprintf("berth-%02d", i),
				Number: &n,
			})
	}
	f.readings = append(f.readings,
		dream.Reading{At: tonight.Add(time.Hour), Metric: "tomorrow", State: "open"},
		dream.Reading{At: tonight.AddDate(0, 0, -2), Metric: "stale", State: "closed"})
	r.ports.World = f
	return f
}

// Readings are let into the prompt in a share that falls with depth, to zero at the peak.
func TestReadingsAreLetInByAShareThatFallsWithDepth(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t)
	r.live(3)
	f := r.follow()
	s := r.begin(r.adaptive(1, tonight))
	_, err := (&onset.Onset{Ports: r.ports}).Gather(ctx, activities.GatherRequest{Stretch: s})
	require.NoError(t, err)
	f.readings = nil // later readings are not used
	r.model.say["partial"] = "a lamp counts the tide"
	const golden = `
From outside, faint and far away:
- [w1] harbour: berth-00 100, just now
- [w2] harbour: berth-01 101, 1 min ago
- [w3] harbour: berth-02 102, 2 min ago
- [w4] harbour: berth-03 103, 3 min ago
`
	for turn, c := range []struct {
		stage dream.Stage
		share int
	}{{dream.Shallow, 8}, {dream.Transitional, 4}, {dream.Peak, 0}, {dream.TooDeep, 0}, {"", 0}} {
		request := step(s, 1.3)
		request.Cycle, request.Turn, request.Stage = 1, turn+1, c.stage
		_, err = (&onset.Onset{Ports: r.ports}).Partial(ctx, request)
		require.NoError(t, err)
		shown := r.model.requests[len(r.model.requests)-1].Messages[1].Content
		require.Equal(t, c.share, strings.Count(shown, "- [w"), c.stage)
		require.NotContains(t, shown, "tomorrow")
		require.NotContains(t, shown, "stale")
		switch c.share {
		case 0:
			require.NotContains(t, shown, "From outside")
			require.NotContains(t, shown, "harbour:")
		case 4:
			require.Contains(t, shown, golden)
		}
	}
	require.Equal(t, []string{"harbour"}, f.requested)
}

func TestAFeedThatDoesNotAnswerCountsAsEmpty(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t)
	r.live(3)
	f := r.follow()
	f.err = errors.New("no probe")
	s := r.begin(r.adaptive(1, tonight))
	_, err := (&onset.Onset{Ports: r.ports}).Gather(ctx, activities.GatherRequest{Stretch: s})
	require.NoError(t, err)
	request := step(s, 1)
	request.Cycle, request.Turn, request.Stage = 1, 1, dream.Shallow
	r.model.say["partial"] = "a lamp"
	_, err = (&onset.Onset{Ports: r.ports}).Partial(ctx, request)
	require.NoError(t, err)
	require.NotContains(t, r.model.requests[len(r.model.requests)-1].Messages[1].Content, "outside")
}

// The result of a judged partial tells the workflow in numbers how coherent it was.
func TestAnEmptyThoughtDoesNotCountForDepth(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(12)
	s := r.begin(r.watched(1, dream.BySingle))
	r.drift(s, "")
	request := step(s, .4)
	request.Cycle, request.Source, request.Turn = 1, 1, 1
	result, err := (&onset.Onset{Ports: r.ports}).Judge(context.Background(), request)
	require.NoError(t, err)
	require.Len(t, result.Made, 1)
	require.False(t, result.Made[0].Kept)
	require.Nil(t, result.Made[0].Sense)
}

func TestAJudgedPartialReportsItsCoherence(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t)
	r.live(10)
	s := r.begin(r.adaptive(1, tonight))
	_, err := (&onset.Onset{Ports: r.ports}).Gather(ctx, activities.GatherRequest{Stretch: s})
	require.NoError(t, err)
	r.model.say["partial"] = strings.Repeat("the half story in the half story ", 6)
	r.model.say["verdict"] = `{"novelty":1,"relevance":1,"coherence":1,"reason":"wonderful"}`
	request := step(s, .9)
	request.Cycle, request.Turn, request.Stage = 1, 1, dream.Shallow
	_, err = (&onset.Onset{Ports: r.ports}).Partial(ctx, request)
	require.NoError(t, err)
	result, err := (&onset.Onset{Ports: r.ports}).Judge(ctx, request)
	require.NoError(t, err)
	require.NotNil(t, result.Made[0].Sense)
	require.Equal(t, hypnagogia.LostRepeating, result.Made[0].Sense.Lost())
	kept, err := memory.One[*dream.Fragment](ctx, r.store, "a", result.Made[0].ID)
	require.NoError(t, err)
	require.Equal(t, dream.Shallow, kept.Stage, "a fragment has the stage it was caught at")
}

// The move to TooDeep, the interrupt and the way back are announced once each, in this order.
func TestBothMovesOfACycleThatWentTooDeepAreAnnounced(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t)
	s := r.begin(r.adaptive(1, tonight))
	mark := activities.ProgressRequest{Stretch: s, Now: tonight, Marks: []activities.Mark{{
		Phase: dream.Onset, Name: "cycle-1", State: "running", Dali: &activities.Dali{
			Cycle:       1,
			Partials:    4,
			Captured:    1,
			Temperature: 1.5,
			TooDeep:     hypnagogia.LostIncoherent,
		},
		Moves: []activities.Deeper{
			{From: dream.Peak, To: dream.TooDeep, Temperature: 1.5},
			{From: dream.TooDeep, To: dream.Peak, Temperature: 1.286},
		},
	}}}
	for range 2 {
		_, err := (&dreamrun.Progress{Ports: r.ports}).Record(ctx, mark)
		require.NoError(t, err)
	}
	events, err := r.store.Events(ctx, "a", 0, 100)
	require.NoError(t, err)
	var lines []string
	for _, e := range events {
		switch e.Type {
		case "DepthChanged":
			var p event.DepthChanged
			require.NoError(t, json.Unmarshal(e.Data, &p))
			lines = append(lines, fmt.Sprintf("%s to %s at %.3f", p.From, p.To, p.Temperature))
		case "DaliInterrupt":
			var p event.DaliInterrupt
			require.NoError(t, json.Unmarshal(e.Data, &p))
			lines = append(lines, "interrupt: "+p.TooDeep)
		}
	}
	require.Equal(t, []string{"peak to too_deep at 1.500", "interrupt: incoherent", "too_deep to peak at 1.286"}, lines)
}
