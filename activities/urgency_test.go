package activities_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/dreamrun"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/activities/replay"
	"github.com/seed-56a03226/oneiros/activities/urgency"
	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/prediction"
	"github.com/seed-56a03226/oneiros/internal/triggers"
)

// pays plans nothing and allows an embedder.
type pays struct {
	unplanned
	model, why string
}

func (p pays) Embedder(context.Context, dream.Agent) (string, string) { return p.model, p.why }

// resolved stores a resolved prediction that rests on some episodes.
func (r *rig) resolved(id, claim string, confidence float64, status string, at time.Time, episodes ...string) {
	r.t.Helper()
	p := &dream.Prediction{
		Head: dream.Head{
			ID:    id,
			Agent: "a",
			Kind:  dream.KindPrediction,
			At:    at.Add(-time.Hour),
			State: dream.Live,
			Taint: dream.FromHuman,
		},
		Source:     dream.Analytical,
		Claim:      claim,
		Criterion:  "seen",
		Horizon:    at.Add(time.Hour),
		Confidence: confidence,
		Status:     dream.PredictionOpen,
		Episodes:   episodes,
	}
	_, err := r.store.Commit(context.Background(), memory.Write{Agent: "a", Cause: "test", Add: []dream.Item{p}})
	require.NoError(r.t, err)
	resolver := r.ports.Resolver()
	resolver.Now = func() time.Time { return at }
	_, err = resolver.Resolve(context.Background(), "a", id,
		prediction.Verdict{Status: status, By: dream.ByPerson, At: at})
	require.NoError(r.t, err)
}

func (r *rig) place(ctx context.Context, texts []string) ([][]float32, string, error) {
	v, err := r.model.Embed(ctx, "p/e", texts, "")
	return v.V, v.Space, err
}

func TestUrgencyCountsFromTheLastDream(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	needs := urgency.Reader{Memory: r.store, Place: r.place}
	lived, err := needs.Input(t.Context(), "a", tonight)
	require.NoError(t, err)
	require.Equal(t, circadian.UrgencyInput{Never: true}, lived, "nothing at all")

	r.live(12)
	lived, err = needs.Input(t.Context(), "a", tonight)
	require.NoError(t, err)
	require.Equal(t, 12, lived.Episodes)
	require.True(t, lived.Never)
	s := r.begin(r.spec(1, tonight))
	r.finish(s)
	record, err := memory.One[*dream.Record](t.Context(), r.store, "a", s.Dream)
	require.NoError(t, err)
	require.Equal(t, 12, *record.Episodes)

	_, err = r.store.Commit(t.Context(), memory.Write{Agent: "a", Cause: "import", Add: []dream.Item{
		&dream.Episode{ // happened long ago, added now
			Head: dream.Head{
				ID:    "old",
				Agent: "a",
				Kind:  dream.KindEpisode,
				At:    tonight.AddDate(-1, 0, 0),
				State: dream.Live,
				Taint: dream.FromHuman,
			},
			Content: "an old storm", Salience: 1,
		},
		&dream.Episode{
			Head: dream.Head{
				ID:    "felt",
				Agent: "a",
				Kind:  dream.KindEpisode,
				At:    tonight.Add(time.Hour),
				State: dream.Live,
				Taint: dream.FromHuman,
			},
			Content: "the mast broke", Salience: .5, Affect: mood.PAD{Pleasure: -.6, Arousal: .8},
		},
	}})
	require.NoError(t, err)
	later := record.Ended.Add(12 * time.Hour)
	r.resolved("seen", "on day 3 the harbour was quiet and number 21 gull sat there", .2, dream.PredictionRight,
		tonight.Add(-time.Hour))
	r.resolved("plain", "on day 3 the harbour was quiet and number 21 gull sat there", .8, dream.PredictionWrong,
		later.Add(-time.Hour))
	r.resolved("strange", "zebra zebra zebra", .7, dream.PredictionWrong, later.Add(-2*time.Hour))
	lived, err = needs.Input(t.Context(), "a", later)
	require.NoError(t, err)
	require.Equal(t, 2, lived.Episodes, "whenever they happened")
	require.Equal(t, 12*time.Hour, lived.Since)
	require.False(t, lived.Never)
	require.Equal(t, 2, lived.Residuals, "the last dream has seen the first")
	require.Equal(t, 1, lived.Novel)
	require.Positive(t, lived.Affect)

	blind, err := urgency.Reader{Memory: r.store, Reason: "nobody pays"}.Input(t.Context(), "a", later)
	require.NoError(t, err)
	require.Zero(t, blind.Novel)
	require.Equal(t, "nobody pays", blind.Unplaced)
}

func TestTheUrgencyOfAnIdleAgentSpendsOnlyWhereItMatters(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(12)
	r.resolved("strange", "zebra zebra zebra", .7, dream.PredictionWrong, tonight.Add(-time.Hour))
	bed := r.dreamRun()
	bed.Planner = pays{model: "p/e"}
	spent := func() budget.Micros {
		b, err := r.store.Ledger().Balance(t.Context(), "day:a/"+tonight.Format(time.DateOnly))
		require.NoError(t, err)
		return b.Spent
	}
	ask := func(urgent float64) activities.CheckTriggersResult {
		got, err := bed.CheckTriggers(t.Context(),
			activities.CheckTriggersRequest{
				Agent: "a", Now: tonight,
				UrgencyRule: &circadian.UrgencyRule{Idle: time.Minute, Urgent: urgent, Uncertain: urgent},
			})
		require.NoError(t, err)
		require.NotNil(t, got.Urgency)
		return got
	}
	calm := ask(.8)
	require.False(t, calm.Early)
	require.Zero(t, spent(), "no novelty could make it urgent")
	require.NotEmpty(t, calm.Urgency.Input.Unplaced)

	keen := ask(.3)
	require.True(t, keen.Early)
	require.Equal(t, 1, keen.Urgency.Input.Novel)
	require.Positive(t, spent())
	before := spent()
	require.Equal(t, keen, ask(.3))
	require.Equal(t, before, spent(), "vectors are not bought twice")

	bed.Planner = pays{why: "automatic dreaming on a paid provider is switched off"}
	require.Equal(t, "automatic dreaming on a paid provider is switched off", ask(.3).Urgency.Input.Unplaced)
	bed.Planner = unplanned{}
	require.NotEmpty(t, ask(.3).Urgency.Input.Unplaced)
}

// slowEmbedder answers only when its context has ended.
type slowEmbedder struct{ inference.Model }

func (slowEmbedder) Embed(ctx context.Context, _ string, _ []string, _ string) (inference.Vectors, error) {
	<-ctx.Done()
	return inference.Vectors{}, ctx.Err()
}

// The check of an idle agent includes its schedules: an embedder that does not answer delays them only for a moment.
func TestAnEmbedderThatDoesNotAnswerDelaysTriggersBriefly(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(12)
	r.resolved("strange", "zebra zebra zebra", .7, dream.PredictionWrong, tonight.Add(-time.Hour))
	r.ports.Guard.Model = slowEmbedder{r.ports.Guard.Model}
	bed := r.dreamRun()
	bed.Planner = pays{model: "p/e"}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got, err := bed.CheckTriggers(ctx, activities.CheckTriggersRequest{
		Agent: "a", Now: tonight, Schedules: []dream.Trigger{{Name: "b", Schedule: "03:30"}},
		UrgencyRule: &circadian.UrgencyRule{Idle: time.Minute, Urgent: .3, Uncertain: .3},
	})
	require.NoError(t, err)
	require.NoError(t, ctx.Err(), "it did not wait for the caller's timeout")
	require.Len(t, got.Appointments, 1)
	require.NotNil(t, got.Urgency)
	require.Equal(t, "its embedder did not answer in time", got.Urgency.Input.Unplaced)
}

func TestAnInvalidScheduleIsReportedAndDelaysNoOther(t *testing.T) {
	t.Parallel()
	got := dreamrun.Appointments([]dream.Trigger{{Name: "a", Schedule: "25:00"}, {Name: "b", Schedule: "03:30"}},
		"UTC", tonight)
	require.Contains(t, got[0].Fault, `schedule "25:00"`)
	require.Equal(t, time.Date(2026, 10, 20, 3, 30, 0, 0, time.UTC), got[1].At)
	require.Contains(t,
		dreamrun.Appointments([]dream.Trigger{{Name: "b", Schedule: "03:30"}}, "Moon/Base", tonight)[0].Fault,
		"Moon/Base")
}

// recorder records the calls.
type recorder struct {
	calls []triggers.Fire
	deaf  error
}

func (h *recorder) Call(_ context.Context, _ dream.Agent, f triggers.Fire) error {
	if h.deaf != nil {
		return h.deaf
	}
	h.calls = append(h.calls, f)
	return nil
}

func TestNewEpisodesAndEventsCallOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	agent, err := r.store.Agent(t.Context(), "a")
	require.NoError(t, err)
	agent.Auto, agent.Created = true, tonight.AddDate(0, -1, 0)
	agent.Triggers = []dream.Trigger{
		{Name: "full", Kind: dream.OnEpisodes, Episodes: 10},
		{Name: "wrong", Kind: dream.OnEvent, Event: "PredictionResolved", Residual: .5},
	}
	require.NoError(t, r.store.PutAgent(t.Context(), agent))
	received := &recorder{}
	listener := func() *triggers.Listener {
		return &triggers.Listener{
			Memory: r.store, Events: r.store, Calls: received,
			Now: func() time.Time { return tonight },
		}
	}
	l := listener()
	listen := func(l *triggers.Listener, want ...string) {
		t.Helper()
		received.calls = nil
		n, err := l.Listen(t.Context())
		require.NoError(t, err)
		require.Equal(t, len(want), n)
		for i, name := range want {
			require.Equal(t, name, received.calls[i].Trigger)
		}
	}
	listen(l)
	r.live(12)
	received.deaf = errors.New("Temporal is away")
	_, err = l.Listen(t.Context())
	require.ErrorContains(t, err, "Temporal is away")
	received.deaf = nil
	listen(l, "full")
	require.Equal(t, "12 new episodes since the last dream; the trigger waits for 10", received.calls[0].Reason)
	listen(l)
	listen(listener(), "full") // another worker without that memory: the workflow recognises the call by its key
	r.resolved("small", "it rains", .7, dream.PredictionRight, tonight.Add(-2*time.Hour))
	listen(l)
	r.resolved("large", "it snows", .7, dream.PredictionWrong, tonight.Add(-time.Hour))
	listen(l, "wrong")
	require.Equal(t, "PredictionResolved with a residual of -0.70", received.calls[0].Reason)
	listen(l)
	listen(listener(), "full", "wrong")

	r.finish(r.begin(r.spec(1, tonight)))
	listen(l)
	listen(listener())
	agent.Auto = false
	require.NoError(t, r.store.PutAgent(t.Context(), agent))
	r.live(12)
	listen(listener())
}

// A call is repeated after a while, for a workflow that did not have the trigger yet or was terminated; any other
// recognises it by its key.
func TestCallsAreRepeatedAfterAWhileUntilADreamHasSeenThem(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	agent, err := r.store.Agent(t.Context(), "a")
	require.NoError(t, err)
	agent.Auto, agent.Created = true, tonight.AddDate(0, -1, 0)
	agent.Triggers = []dream.Trigger{
		{Name: "full", Kind: dream.OnEpisodes, Episodes: 10},
		{Name: "wrong", Kind: dream.OnEvent, Event: "PredictionResolved", Residual: .5},
	}
	require.NoError(t, r.store.PutAgent(t.Context(), agent))
	r.live(12)
	r.resolved("large", "it snows", .7, dream.PredictionWrong, tonight.Add(-time.Hour))
	received, at := &recorder{}, tonight
	l := &triggers.Listener{Memory: r.store, Events: r.store, Calls: received, Now: func() time.Time { return at }}
	var first []triggers.Fire
	for _, c := range []struct {
		after time.Duration
		calls int
	}{{0, 2}, {time.Minute, 0}, {58 * time.Minute, 0}, {time.Minute, 2}, {time.Minute, 0}} {
		at, received.calls = at.Add(c.after), nil
		_, err := l.Listen(t.Context())
		require.NoError(t, err)
		require.Len(t, received.calls, c.calls, at)
		if first == nil {
			first = received.calls
		}
		for i, f := range received.calls {
			require.Equal(t, first[i].Key, f.Key, "the workflow recognises it")
		}
	}
	for _, auto := range []bool{false, true} { // the workflow has dropped the waiting call
		agent.Auto, received.calls = auto, nil
		require.NoError(t, r.store.PutAgent(t.Context(), agent))
		_, err := l.Listen(t.Context())
		require.NoError(t, err)
	}
	require.Len(t, received.calls, 2, "once it is switched on again")
	r.finish(r.begin(r.spec(1, tonight)))
	at, received.calls = at.Add(2*time.Hour), nil
	_, err = l.Listen(t.Context())
	require.NoError(t, err)
	require.Empty(t, received.calls)
}

func TestAListenerFindsAnEventHoweverMuchHasHappenedSince(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	agent, err := r.store.Agent(t.Context(), "a")
	require.NoError(t, err)
	agent.Auto, agent.Created = true, tonight
	agent.Triggers = []dream.Trigger{{Name: "alarm", Kind: dream.OnEvent, Event: "AlarmRaised"}}
	require.NoError(t, r.store.PutAgent(t.Context(), agent))
	w := memory.Write{Agent: "a", Cause: "test", Events: []event.Event{
		event.New("before", "a", "", tonight.Add(-time.Hour), event.AlarmRaised{Feed: "f", Rule: "r"}),
		event.New("alarm", "a", "", tonight.Add(time.Minute), event.AlarmRaised{Feed: "f", Rule: "r"}),
		event.New("dreamt", "a", "dream/a/0001", tonight.Add(2*time.Minute), event.AlarmRaised{Feed: "f", Rule: "r"}),
	}}
	for i := range 1300 {
		w.Events = append(w.Events,
			event.New(fmt.Sprintf("asleep-%d", i), "a", "", tonight.Add(time.Duration(i+3)*time.Minute),
				event.AgentAsleep{}))
	}
	_, err = r.store.Commit(t.Context(), w)
	require.NoError(t, err)
	received := &recorder{}
	l := &triggers.Listener{Memory: r.store, Events: r.store, Calls: received, Now: time.Now}
	n, err := l.Listen(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, "alarm", received.calls[0].Key)
}

// The ports of a worker have typed fields for everything its activities use, so that a missing capability is a
// compile error.
func TestThePortsOfAWorkerHaveTypedFields(t *testing.T) {
	t.Parallel()
	require.True(t, reflect.TypeFor[activities.Planner]().Implements(reflect.TypeFor[activities.Embedders]()))
}

func TestEpisodesBehindNovelErrorsAreReplayedFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(30)
	at := tonight.Add(-time.Hour)
	r.resolved("large", "zebra zebra zebra", .9, dream.PredictionWrong, at, "e3", "e4")
	r.resolved("larger", "quagga quagga", .95, dream.PredictionWrong, at, "e9")
	r.resolved("small", "okapi okapi okapi", .2, dream.PredictionWrong, at, "e5")
	r.resolved("known", "on day 3 the harbour was quiet and number 21 gull sat there", .9, dream.PredictionWrong, at,
		"e6")
	spec := r.spec(1, tonight)
	plain := r.spec(2, tonight)
	curriculum := activities.DefaultCurriculum
	spec.Curriculum = &curriculum
	require.NoError(t, spec.Validate())
	s := r.begin(spec)
	// replayed are the episodes that a direction's prompt shows, oldest first
	replayed := func(o activities.Spec, back bool) []string {
		s := activities.Stretch{Agent: "a", Dream: o.Dream, Run: "run"}
		_, err := (&replay.Replay{Ports: r.ports}).Run(t.Context(),
			activities.ReplayRequest{StepRequest: step(s, .7), Backward: back})
		require.NoError(t, err)
		prompt := r.model.requests[len(r.model.requests)-1].Messages[1].Content
		var ids []string
		for i := range 30 {
			if strings.Contains(prompt, fmt.Sprintf("on day %d the", i)) {
				ids = append(ids, fmt.Sprintf("e%d", i))
			}
		}
		return ids
	}
	lesson := func() string {
		body, err := r.store.Note(t.Context(), "a", spec.Dream, "lesson")
		require.NoError(t, err)
		return string(body)
	}
	r.model.say["patterns"] = `{"patterns":[]}`
	forward := replayed(spec, false)
	require.Len(t, forward, spec.Knobs.ReplayEpisodes)
	require.Subset(t, forward, []string{"e9", "e3", "e4"})
	require.JSONEq(t, `["e9","e3","e4"]`, lesson(), "the largest error comes first")
	r.resolved("late", "lynx lynx lynx lynx", .99, dream.PredictionWrong, at, "e20")
	require.Subset(t, replayed(spec, true), []string{"e9", "e3", "e4"})
	require.JSONEq(t, `["e9","e3","e4"]`, lesson(), "it was chosen once in the dream")
	r.finish(s)

	s = r.begin(plain)
	drawn, err := core.Draw(t.Context(), newRun(r.ports, plain, s), "forward", plain.Knobs.ReplayEpisodes)
	require.NoError(t, err)
	require.ElementsMatch(t, core.IdsOf(drawn), replayed(plain, false),
		"a spec without a curriculum draws by surprise alone")
	narrow := plain
	narrow.Curriculum = &activities.Curriculum{Large: 2}
	require.ErrorContains(t, narrow.Validate(), "curriculum is large 2")
}

// Volatility follows what the newest episodes are about: it is low while the subject stays, and high when it changes.
func TestVolatilityFollowsTheSubject(t *testing.T) {
	t.Parallel()
	subjects := []string{
		"the harbour bell rang while Mina mended the old net by the pier and the tide came in",
		"the court asked about the lease and the landlord's lawyer wanted another hearing on costs",
	}
	measure := func(subject func(i int) string) float64 {
		r := newRig(t)
		w := memory.Write{Agent: "a", Cause: "import"}
		for i := range 40 {
			e := &dream.Episode{
				Head: dream.Head{
					ID:    fmt.Sprintf("e%02d", i),
					Agent: "a",
					Kind:  dream.KindEpisode,
					At:    tonight.Add(time.Duration(i-72) * time.Hour),
					State: dream.Live,
					Taint: dream.FromHuman,
				},
				Content: fmt.Sprintf("%s, %d gulls", subject(i), i%5),
			}
			w.Add = append(w.Add, e)
			w.Vectors = append(w.Vectors, memory.Vector{Item: e.ID, Space: space, V: vectorOf(e.Content)})
		}
		_, err := r.store.Commit(context.Background(), w)
		require.NoError(t, err)
		input, err := urgency.Reader{Memory: r.store}.Input(context.Background(), "a", tonight)
		require.NoError(t, err)
		return input.Volatility
	}
	require.Less(t, measure(func(i int) string { return subjects[i%2] }), .2)
	require.Greater(t, measure(func(i int) string { return subjects[i/20] }), .5)
}
