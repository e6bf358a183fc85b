package activities_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/replay"
	"github.com/seed-56a03226/oneiros/internal/prediction"
)

// reasons adds a resolved prediction with a reasoning, made by an earlier dream from an episode.
func (r *rig) reasons(id, status, trace string) {
	r.t.Helper()
	o := r.spec(90, tonight.Add(-72*time.Hour))
	at, residual := tonight.Add(-time.Hour), .7
	h := newRun(r.ports, o, activities.Stretch{}).Head(dream.NREM, dream.KindPrediction, id, []string{"e1"})
	h.ID = id
	p := &dream.Prediction{
		Head:       h,
		Source:     dream.Creative,
		Claim:      "gulls sit before rain, " + id,
		Horizon:    tonight.Add(14 * 24 * time.Hour),
		Confidence: .3,
		Session:    o.Dream,
		Episodes:   []string{"e1"},
		Trace:      trace,
		Status:     status,
		ResolvedAt: &at,
		ResolvedBy: dream.ByPerson,
		Residual:   &residual,
	}
	_, err := r.store.Commit(context.Background(), memory.Write{Agent: "a", Cause: o.Dream, Add: []dream.Item{p}})
	require.NoError(r.t, err)
}

func (r *rig) prediction(id string) *dream.Prediction {
	r.t.Helper()
	p, err := memory.One[*dream.Prediction](context.Background(), r.store, "a", id)
	require.NoError(r.t, err)
	return p
}

// replays makes a replay twice, as after a crash.
func (r *rig) replays(s activities.Stretch) {
	r.t.Helper()
	r.model.say["patterns"] = `{"patterns":[]}`
	for range 2 {
		_, err := (&replay.Replay{Ports: r.ports}).Run(context.Background(),
			activities.ReplayRequest{StepRequest: step(s, .7)})
		require.NoError(r.t, err)
	}
}

// calls counts the requests with a schema.
func (r *rig) calls(schema string) []string {
	var texts []string
	for _, request := range r.model.requests {
		if request.Schema != nil && request.Schema.Name == schema {
			texts = append(texts, request.Messages[1].Content)
		}
	}
	return texts
}

func TestReasoningIsReviewedBlindAndLuckGivesNoCredit(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(12)
	r.reasons("lucky", dream.PredictionRight, "The moon is full.")
	r.reasons("sound", dream.PredictionRight, "It was so twice.")
	r.reasons("model", dream.PredictionWrong, "It was so thrice.")
	r.reasons("silent", dream.PredictionWrong, " ")
	h := &dream.Hypothesis{
		Head: dream.Head{
			ID:      "h1",
			Agent:   "a",
			Kind:    dream.KindHypothesis,
			At:      tonight.Add(-48 * time.Hour),
			State:   dream.Live,
			Taint:   dream.FromDream,
			Sources: []string{"lucky", "sound"},
		},
		Claim: "Gulls sit before rain.", Confidence: .2, Status: dream.HypothesisStaged,
	}
	for _, id := range h.Sources {
		from := prediction.Support{Sources: []string{"of " + id}, Events: []string{"by " + id}}
		require.True(t, prediction.Test(h, r.prediction(id), from, true))
	}
	_, err := r.store.Commit(context.Background(), memory.Write{Agent: "a", Cause: "test", Add: []dream.Item{h}})
	require.NoError(t, err)

	s := r.begin(r.spec(91, tonight))
	r.model.say["reasonings"] = `{"reasonings":[{"ref":"p1","aligned":false,"reason":"the moon is no cause"},` +
		`{"ref":"p2","aligned":true,"reason":"it follows"},{"ref":"p3","aligned":true,"reason":"it follows"}]}`
	r.replays(s)
	require.Len(t, r.calls("reasonings"), 1, "it is paid for once")
	for _, word := range []string{"correct", "came true.", "residual"} {
		require.NotContains(t, strings.SplitN(r.calls("reasonings")[0], "Say of every", 2)[0], word)
	}
	require.Equal(t, dream.MisalignedCorrect, r.prediction("lucky").Quadrant())
	require.Equal(t, dream.AlignedIncorrect, r.prediction("model").Quadrant())
	require.Equal(t, dream.AlignedCorrect, r.prediction("sound").Quadrant())
	require.Nil(t, r.prediction("silent").Reasoning, "without a reasoning there is nothing to review")
	require.Equal(t, 2, r.prediction("lucky").Revision, "once")
	require.Len(t, r.events(event.ReasoningReviewed{}.EventType()), 3)
	left, err := memory.One[*dream.Hypothesis](context.Background(), r.store, "a", "h1")
	require.NoError(t, err)
	require.Equal(t, []string{"sound"}, left.Confirmed, "luck gives no credit")
	require.InDelta(t, .3, left.Confidence, 1e-9)
	r.finish(s)

	_, err = r.store.Undo(context.Background(), "a", s.Dream)
	require.NoError(t, err)
	require.Nil(t, r.prediction("lucky").Reasoning, "undoing the dream takes its reviews back")
	left, err = memory.One[*dream.Hypothesis](context.Background(), r.store, "a", "h1")
	require.NoError(t, err)
	require.Equal(t, []string{"lucky", "sound"}, left.Confirmed)
}

func TestReasoningIsReviewedByProgramWhereNoModelCan(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(r *rig, o *activities.Spec){
		"a model that cannot judge": func(_ *rig, o *activities.Spec) { o.Models[dream.Observer] = o.Models[dream.Generator] },
		"an answer without it":      func(r *rig, _ *activities.Spec) { r.model.say["reasonings"] = `{"reasonings":[]}` },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.live(12)
			r.reasons("lucky", dream.PredictionRight, "The moon is full.")
			spec := r.spec(91, tonight)
			prepare(r, &spec)
			r.model.say["reasonings"] = `{"reasonings":[]}`
			s := r.begin(spec)
			r.replays(s)
			require.Equal(t, dream.MisalignedCorrect, r.prediction("lucky").Quadrant())
			require.Equal(t, dream.ByProgram, r.prediction("lucky").Reasoning.By)
		})
	}
}

func TestADreamUnderReviewReviewsNoReasoning(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(12)
	r.reasons("lucky", dream.PredictionRight, "The moon is full.")
	spec := r.spec(91, tonight)
	spec.Review = dream.ReviewAsk
	r.replays(r.begin(spec))
	require.Empty(t, r.calls("reasonings"))
	require.Nil(t, r.prediction("lucky").Reasoning)
}

func TestTheNextDreamReplaysFirstWhatWasSoundAndWrong(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(12)
	r.reasons("model", dream.PredictionWrong, "It was so thrice.")
	r.model.say["reasonings"] = `{"reasonings":[{"ref":"p1","aligned":true,"reason":"it follows"}]}`
	first := r.begin(r.spec(91, tonight))
	r.replays(first)
	require.Equal(t, dream.AlignedIncorrect, r.prediction("model").Quadrant())
	r.finish(first)
	spec := r.spec(92, tonight.Add(24*time.Hour))
	curriculum := activities.DefaultCurriculum
	curriculum.Large = 2 // no residual is large
	spec.Curriculum = &curriculum
	second := r.begin(spec)
	r.replays(second)
	lesson, err := r.store.Note(context.Background(), "a", second.Dream, "lesson")
	require.NoError(t, err)
	require.JSONEq(t, `["e1"]`, string(lesson))
}
