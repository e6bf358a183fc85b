package activities_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/onset"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/replay"
	"github.com/seed-56a03226/oneiros/internal/inflight"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

const secret = "SECRETDREAM"

func TestTheTextOfAnUnreadableAnswerStaysOutOfTheHistory(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(10)
	s := r.begin(r.spec(1, tonight))
	r.model.say["patterns"] = `{"patterns": [ {"claim": ` + secret + ` the harbour belongs to Anna} ]}`
	result, err := (&replay.Replay{Ports: r.ports}).Run(context.Background(),
		activities.ReplayRequest{StepRequest: step(s, .7)})
	require.NoError(t, err)
	require.Equal(t, activities.EndUnreadable, result.End)
	body, err := json.Marshal(result)
	require.NoError(t, err)
	require.NotContains(t, string(body), secret)
	require.Len(t, r.model.requests, 2, "one attempt at repair")
}

func TestAProvidersOwnWordsStayOutOfTheHistory(t *testing.T) {
	t.Parallel()
	for _, kind := range []inference.Kind{
		inference.BadRequest, inference.Unauthorized, inference.NoMoney, inference.RateLimited, inference.Unavailable,
		inference.Broken, inference.Malformed,
	} {
		err := activities.ToApplicationError(
			&inference.Failure{Kind: kind, Status: 418, Message: "cannot serve " + secret})
		require.NotContains(t, err.Error(), secret)
		require.Contains(t, err.Error(), string(kind))
		require.Contains(t, err.Error(), "418")
	}
	nobody := &activities.CallFailed{
		Model: "house/any",
		Err:   &inference.Failure{Kind: inference.Unavailable, Message: "dial tcp " + secret},
	}
	require.ErrorContains(t, activities.ToApplicationError(nobody),
		"house/any: unavailable: the provider cannot be reached")
	require.NotContains(t, activities.ToApplicationError(nobody).Error(), secret)
	strange := &inference.Failure{
		Kind: inference.BadRequest, Status: 404,
		Message: "The model " + secret + " does not exist",
	}
	require.ErrorContains(t, activities.ToApplicationError(strange),
		"bad_request (HTTP 404): the provider does not know this model")
	require.NotContains(t, activities.ToApplicationError(strange).Error(), secret)
	require.ErrorContains(t,
		activities.ToApplicationError(&inference.Failure{Kind: inference.Unpriced, Message: "model x has no price"}),
		"model x has no price")
}

func TestTheReasonOfADiscardedFragmentIsNotAnnounced(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(10)
	o := r.spec(1, tonight)
	s := r.begin(o)
	f := r.fragment(o, s)
	r.model.say["ratings"] = `{"ratings":[{"ref":"f1","rating":"discard","reason":"` + secret +
		` only repeats","criterion":"x","days":3,"first_step":"y"}]}`
	result, err := (&onset.Onset{Ports: r.ports}).Capture(context.Background(),
		activities.CaptureRequest{StepRequest: step(s, .5), Fragments: []string{f.ID}})
	require.NoError(t, err)
	require.Len(t, result.Made, 1)
	require.False(t, result.Made[0].Kept, "a fragment that lucid capture discards is not kept")
	events, err := r.store.Events(context.Background(), "a", 0, 100)
	require.NoError(t, err)
	for _, e := range events {
		require.NotContains(t, string(e.Data), secret, e.Type)
	}
	kept, err := memory.One[*dream.Fragment](context.Background(), r.store, "a", f.ID)
	require.NoError(t, err)
	require.Contains(t, kept.Reason, secret, "the item keeps its reason")
}

func (r *rig) fragment(o activities.Spec, s activities.Stretch) *dream.Fragment {
	r.t.Helper()
	f := &dream.Fragment{
		Head:    newRun(r.ports, o, activities.Stretch{}).Head(dream.Onset, dream.KindFragment, "1.1", nil),
		Content: "a gull counts the days", Status: dream.FragmentRaw,
	}
	require.NoError(r.t, core.At(r.ports, s).Write(context.Background(), memory.Write{Add: []dream.Item{f}}))
	return f
}

func TestAPaidInductionIsKeptWhenItsEmbeddingFails(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(10)
	s := r.begin(r.spec(1, tonight))
	_, err := (&onset.Onset{Ports: r.ports}).Gather(context.Background(), activities.GatherRequest{Stretch: s})
	require.NoError(t, err)
	r.model.say["fragments"] = `{"fragments":[{"text":"a gull counts the quiet days","sources":["r1","r2"]}]}`
	var result activities.StepResult
	// the smallest amount that pays for the call and nothing else
	for limit := budget.Micros(1000); len(r.model.requests) == 0; limit += 10 {
		request := step(s, 1.2)
		request.Limit = limit
		result, err = (&onset.Onset{Ports: r.ports}).Induce(context.Background(), request)
		require.NoError(t, err)
		// the call cost less than reserved, so its embedding was affordable
		if len(r.model.requests) == 1 && result.End == activities.EndDone {
			return
		}
	}
	require.Equal(t, activities.EndCap, result.End)
	kept := memory.As[*dream.Fragment](r.find(s, dream.KindFragment))
	require.Len(t, kept, 1)
	require.Equal(t, dream.FragmentDiscarded, kept[0].Status)
}

func TestRepeatedFragmentsOfAnInductionCountOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(10)
	s := r.begin(r.spec(1, tonight))
	_, err := (&onset.Onset{Ports: r.ports}).Gather(context.Background(), activities.GatherRequest{Stretch: s})
	require.NoError(t, err)
	r.model.say["fragments"] = `{"fragments":[{"text":"a lamp counts the quiet tides at night","sources":["r1"]},
		{"text":"A lamp  counts the quiet tides at night","sources":["r2"]}]}`
	result, err := (&onset.Onset{Ports: r.ports}).Induce(context.Background(), step(s, 1.2))
	require.NoError(t, err)
	require.Len(t, result.Made, 2)
	require.True(t, result.Made[0].Kept)
	require.False(t, result.Made[1].Kept)
}

func TestAPaidAnswerIsKeptWhenTheDreamIsCancelledAtTheLastToken(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(10)
	s := r.begin(r.spec(1, tonight))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r.model.say["patterns"] = `{"patterns":[{"claim":"c","criterion":"x","days":3,"confidence":0.3,"trace":"t","sources":["r1"]}]}`
	r.model.while = func(string) { cancel() }
	_, err := (&replay.Replay{Ports: r.ports}).Run(ctx, activities.ReplayRequest{StepRequest: step(s, .7)})
	require.NoError(t, err)
	require.Len(t, r.find(s, dream.KindPrediction), 1)
}

func TestTheObserverSeesNothingDreamtAndNothingLaterThanTheDream(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(4)
	ctx := context.Background()
	first := r.spec(1, tonight)
	before := r.begin(first)
	gist := &dream.Gist{
		Head:    newRun(r.ports, first, activities.Stretch{}).Head(dream.NREM, dream.KindGist, "x", nil),
		Content: "zebra OLDDREAM orchard",
	}
	later := &dream.Episode{
		Head: dream.Head{
			ID:    "later",
			Agent: "a",
			Kind:  dream.KindEpisode,
			At:    tonight.Add(900 * time.Hour),
			State: dream.Live,
			Taint: dream.FromHuman,
		},
		Content: "zebra FUTURE orchard",
	}
	require.NoError(t,
		core.At(r.ports, before).Write(ctx, memory.Write{Add: []dream.Item{gist, later}, Vectors: []memory.Vector{
			{Item: gist.ID, Space: space, V: vectorOf(gist.Content)},
			{Item: "later", Space: space, V: vectorOf(later.Content)},
		}}))
	r.finish(before)
	s := r.begin(r.spec(2, tonight.Add(time.Hour)))
	_, err := (&onset.Onset{Ports: r.ports}).Gather(ctx, activities.GatherRequest{Stretch: s})
	require.NoError(t, err)
	r.model.say["partial"] = "zebra walks in the orchard"
	r.model.say["verdict"] = `{"novelty":0.5,"relevance":0.5,"coherence":0.5,"reason":"fine"}`
	request := step(s, 1.3)
	request.Cycle, request.Turn = 1, 1
	_, err = (&onset.Onset{Ports: r.ports}).Partial(ctx, request)
	require.NoError(t, err)
	result, err := (&onset.Onset{Ports: r.ports}).Judge(ctx, request)
	require.NoError(t, err)
	require.Len(t, result.Made, 1)
	for _, request := range r.model.requests {
		for _, m := range request.Messages {
			require.NotContains(t, m.Content, "OLDDREAM")
			require.NotContains(t, m.Content, "FUTURE")
		}
	}
	f, err := memory.One[*dream.Fragment](ctx, r.store, "a", result.Made[0].ID)
	require.NoError(t, err)
	require.Less(t, f.Verdict.DistanceMemory, .5, "the distance is measured to all of memory")
	require.NotContains(t, f.Sources, gist.ID)
	require.NotContains(t, f.Sources, "later")
}

func TestVectorsBoughtForOtherMemoriesAreNotUsed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := context.Background()
	episode := func(id string, hours int, text string) dream.Item {
		return &dream.Episode{Head: dream.Head{
			ID:    id,
			Agent: "a",
			Kind:  dream.KindEpisode,
			At:    tonight.Add(time.Duration(hours) * time.Hour),
			State: dream.Live,
			Taint: dream.FromHuman,
		}, Content: text}
	}
	_, err := r.store.Commit(ctx,
		memory.Write{
			Agent: "a", Cause: "import",
			Add: []dream.Item{episode("b", -2, "beta"), episode("c", -1, "gamma")},
		})
	require.NoError(t, err)
	o := r.spec(1, tonight)
	s := r.begin(o)
	bare, err := r.store.WithoutVector(ctx, "a", "", core.Measurable, 64)
	require.NoError(t, err)
	// then the process dies
	_, _, err = newRun(r.ports, o, s).Place(ctx, core.Call{Phase: dream.Onset, Limit: budget.Dollar}, "place-1", bare)
	require.NoError(t, err)
	_, err = r.store.Commit(ctx,
		memory.Write{Agent: "a", Cause: "import", Add: []dream.Item{episode("z", -3, "alpha")}})
	require.NoError(t, err)
	request := step(s, 0)
	request.Turn = 1
	_, err = (&onset.Onset{Ports: r.ports}).Embed(ctx, request)
	require.NoError(t, err)
	for id, text := range map[string]string{"b": "beta", "c": "gamma", "z": "alpha"} {
		hits, err := r.store.Near(ctx, memory.Near{Agent: "a", Space: space, V: vectorOf(text), Limit: 1})
		require.NoError(t, err)
		require.Equal(t, id, hits[0].Item)
	}
}

// embedding is a job that another process holds until it was read a number of times; then everything is embedded.
type embedding struct {
	memory.EmbedQueue
	looks int
	until int
	done  func()
}

func (e *embedding) EmbedJob(context.Context, string) (memory.EmbedJob, error) {
	e.looks++
	if e.looks == e.until {
		e.done()
	}
	if e.looks >= e.until {
		return memory.EmbedJob{}, memory.ErrNotFound
	}
	return memory.EmbedJob{Agent: "a", Holder: "server", Until: time.Now().Add(time.Hour)}, nil
}

// Without the wait, the dream would measure distances to a memory that is not embedded yet.
func TestADreamWaitsForBackgroundEmbeddingAndDoesNotPayForIt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := context.Background()
	e := &dream.Episode{Head: dream.Head{
		ID:    "e",
		Agent: "a",
		Kind:  dream.KindEpisode,
		At:    tonight,
		State: dream.Live,
		Taint: dream.FromHuman,
	}, Content: "alpha"}
	_, err := r.store.Commit(ctx, memory.Write{Agent: "a", Cause: "import", Add: []dream.Item{e}})
	require.NoError(t, err)
	s := r.begin(r.spec(1, tonight))
	request := step(s, 0)
	request.Turn = 1
	jobs := &embedding{until: 3, done: func() {
		v := memory.Vector{Item: "e", Space: space, V: vectorOf("alpha")}
		_, err := r.store.Commit(ctx, memory.Write{Agent: "a", Cause: "embed", Vectors: []memory.Vector{v}})
		require.NoError(t, err)
	}}
	r.ports.Jobs = jobs
	result, err := (&onset.Onset{Ports: r.ports}).Embed(ctx, request)
	require.NoError(t, err)
	require.Equal(t, activities.StepResult{CallOutcome: activities.CallOutcome{NoCall: true}}, result)
	require.Equal(t, 3, jobs.looks)
}

func TestTheWaitForBackgroundEmbeddingEndsByAWakeOrAfterALimit(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	o := r.spec(1, tonight)
	r.ports.Jobs = &embedding{until: 1 << 30}
	o.Knobs.CallTimeout = time.Second
	result, waits, err := core.AwaitEmbedding(context.Background(), newRun(r.ports, o, activities.Stretch{}))
	require.NoError(t, err)
	require.True(t, waits)
	require.True(t, result.Waiting)

	woken, wake := context.WithCancelCause(context.Background())
	wake(&inflight.Woken{})
	o.Knobs.CallTimeout = time.Hour
	result, waits, err = core.AwaitEmbedding(woken, newRun(r.ports, o, activities.Stretch{}))
	require.NoError(t, err)
	require.True(t, waits)
	require.Equal(t, activities.EndWoken, result.End)
}

func TestADreamWithAnotherEmbedderIsRefusedBeforeAnyCall(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := context.Background()
	_, err := r.store.Commit(ctx, memory.Write{Agent: "a", Cause: "import", Add: []dream.Item{&dream.Episode{
		Head: dream.Head{
			ID:    "e",
			Agent: "a",
			Kind:  dream.KindEpisode,
			At:    tonight,
			State: dream.Live,
			Taint: dream.FromHuman,
		}, Content: "old",
	}}, Vectors: []memory.Vector{{Item: "e", Space: "other/model/8", V: vectorOf("old")}}})
	require.NoError(t, err)
	s := r.begin(r.spec(1, tonight))
	_, err = (&onset.Onset{Ports: r.ports}).Gather(ctx, activities.GatherRequest{Stretch: s})
	require.ErrorContains(t, err, "oneiros memory embed --agent a")
	require.Empty(t, r.model.requests)
}

func TestADreamGivesBackItsUnspentAllowance(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(10)
	ctx := context.Background()
	taken := func() budget.Micros {
		amount, err := r.store.Allowance(ctx, "a", "2026-10-19")
		require.NoError(t, err)
		return amount
	}
	s := r.begin(r.spec(1, tonight))
	require.Equal(t, budget.Dollar, taken(), "a dream reserves its whole budget")
	r.model.say["patterns"] = `{"patterns":[]}`
	_, err := (&replay.Replay{Ports: r.ports}).Run(ctx, activities.ReplayRequest{StepRequest: step(s, .7)})
	require.NoError(t, err)
	r.finish(s)
	balance, err := r.store.Balance(ctx, activities.DreamScope(s.Dream))
	require.NoError(t, err)
	require.Positive(t, balance.Spent)
	require.Equal(t, balance.Spent, taken())

	aborted := r.begin(r.spec(2, tonight))
	_, err = (&replay.Replay{Ports: r.ports}).Run(ctx, activities.ReplayRequest{StepRequest: step(aborted, .7)})
	require.NoError(t, err)
	for range 2 { // a repetition changes nothing
		_, err = r.dreamRun().Finish(ctx,
			activities.FinishRequest{Stretch: aborted, Ending: activities.Ending{Outcome: dream.Aborted, Reason: "x"}})
		require.NoError(t, err)
		require.Equal(t, balance.Spent, taken(), "an aborted dream gives back all of it")
	}
}

func TestAJudgeCannotMakeALoopCoherentNorACopyNew(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, c := range []struct {
		text    string
		check   func(v dream.Verdict) bool
		because string
	}{
		{
			strings.Repeat("the half story in the half story ", 6),
			func(v dream.Verdict) bool { return v.Coherence < .5 }, "a loop",
		},
		{
			"on day 1 the harbour was quiet and number 7 gull sat there",
			func(v dream.Verdict) bool { return v.Novelty < .2 }, "a copy",
		},
		{
			"a lamp counts the tide and keeps the change for winter",
			func(v dream.Verdict) bool { return v.Coherence == 1 }, "plain speech",
		},
	} {
		r := newRig(t)
		r.live(10)
		s := r.begin(r.spec(1, tonight))
		_, err := (&onset.Onset{Ports: r.ports}).Gather(ctx, activities.GatherRequest{Stretch: s})
		require.NoError(t, err)
		r.model.say["partial"] = c.text
		r.model.say["verdict"] = `{"novelty":1,"relevance":1,"coherence":1,"reason":"wonderful"}`
		request := step(s, 1.3)
		request.Cycle, request.Turn = 1, 1
		_, err = (&onset.Onset{Ports: r.ports}).Partial(ctx, request)
		require.NoError(t, err)
		result, err := (&onset.Onset{Ports: r.ports}).Judge(ctx, request)
		require.NoError(t, err)
		f, err := memory.One[*dream.Fragment](ctx, r.store, "a", result.Made[0].ID)
		require.NoError(t, err)
		require.True(t, c.check(f.Verdict), "%s: %+v", c.because, f.Verdict)
	}
}

func TestAMemoryForgottenDuringADreamIsNoLongerShown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(10)
	ctx := context.Background()
	s := r.begin(r.spec(1, tonight))
	_, err := (&onset.Onset{Ports: r.ports}).Gather(ctx, activities.GatherRequest{Stretch: s})
	require.NoError(t, err)
	r.model.say["partial"] = "a lamp"
	shown := func(turn int) string {
		request := step(s, 1.3)
		request.Cycle, request.Turn = 1, turn
		_, err := (&onset.Onset{Ports: r.ports}).Partial(ctx, request)
		require.NoError(t, err)
		return r.model.requests[len(r.model.requests)-1].Messages[1].Content
	}
	require.Contains(t, shown(1), "number 21 gull")
	other, err := sqlitestore.Open(ctx, r.path) // another process of the deployment
	require.NoError(t, err)
	_, err = other.Forget(ctx, "a", "e3")
	require.NoError(t, err)
	require.NoError(t, other.Close())
	require.NotContains(t, shown(2), "number 21 gull")
}

func TestTheThirdEmptyDreamInARowRaisesTheAlarm(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := context.Background()
	outcomes := []dream.Outcome{
		dream.Empty, dream.Completed, dream.Empty, dream.Canceled, dream.Empty, dream.Empty, dream.Empty,
	}
	for i, outcome := range outcomes {
		o := r.spec(i+1, tonight.Add(time.Duration(i)*time.Hour))
		s := r.begin(o)
		_, err := r.dreamRun().Finish(ctx,
			activities.FinishRequest{
				Stretch: s,
				Ending:  activities.Ending{Outcome: outcome, Reason: "nothing was worth keeping"},
			})
		require.NoError(t, err)
	}
	events, err := r.store.Events(ctx, "a", 0, 100)
	require.NoError(t, err)
	var alarms []string
	for _, e := range events {
		if e.Type == "EmptyDreamsRepeated" {
			alarms = append(alarms, e.Dream+" "+string(e.Data))
		}
	}
	require.Equal(t, []string{`dream/a/0006 {"dreams":3}`, `dream/a/0007 {"dreams":4}`}, alarms)
	record, err := memory.One[*dream.Record](ctx, r.store, "a", "dream/a/0006")
	require.NoError(t, err)
	require.Contains(t, record.Reason, "3 nights in a row now")
}

func TestARepeatedStepReportsThatItsAnswerWasReused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(10)
	s := r.begin(r.spec(1, tonight))
	r.model.say["patterns"] = `{"patterns":[{"claim":"c","criterion":"x","days":3,"confidence":0.3,"trace":"t","sources":["r1"]}]}`
	for again, want := range []bool{false, true} {
		result, err := (&replay.Replay{Ports: r.ports}).Run(context.Background(),
			activities.ReplayRequest{StepRequest: step(s, .7)})
		require.NoError(t, err)
		require.Equal(t, want, result.Reused, "time %d", again+1)
		require.Len(t, result.Made, 1)
	}
	require.Len(t, r.model.requests, 1)
}
