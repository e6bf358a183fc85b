package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/onset"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/inflight"
)

// ambush is a store that runs a function just before a step.
type ambush struct {
	memory.Store
	commit func(memory.Write)
	read   func()
	drop   func() error
}

func (a *ambush) Commit(ctx context.Context, w memory.Write) (memory.Receipt, error) {
	if a.commit != nil {
		a.commit(w)
	}
	return a.Store.Commit(ctx, w)
}

func (a *ambush) Forgettings(ctx context.Context, agent string) (int64, error) {
	if a.read != nil {
		a.read()
	}
	return a.Store.Forgettings(ctx, agent)
}

func (a *ambush) DropAllNotes(ctx context.Context, agent, dreamID string) error {
	if a.drop != nil {
		if err := a.drop(); err != nil {
			return err
		}
	}
	return a.Store.DropAllNotes(ctx, agent, dreamID)
}

func (r *rig) connect() presence.Arrival {
	r.t.Helper()
	arrival, err := r.store.Arrive(context.Background(), presence.Visit{
		Agent:  "a",
		Client: "guest",
		Cause:  presence.Connect,
		Now:    tonight,
		For:    time.Minute,
	})
	require.NoError(r.t, err)
	return arrival
}

func TestADreamWokenWhileItBeginsGivesBackItsAllowance(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := context.Background()
	o := r.spec(1, tonight)
	_, err := r.store.Commit(ctx,
		memory.Write{Agent: "a", Cause: o.Dream, Add: []dream.Item{o.Record("", dream.Affect{}, tonight)}})
	require.NoError(t, err)
	bed := r.dreamRun()
	woken := false
	bed.Memory = &ambush{Store: r.store, commit: func(w memory.Write) {
		if w.Fence.Dream != "" && !woken {
			woken = true
			r.connect()
		}
	}}
	lain, err := bed.Begin(ctx, activities.BeginRequest{Spec: o, Workflow: o.Dream, Run: "run"})
	require.NoError(t, err)
	require.True(t, lain.Awake)
	require.Equal(t, dream.Canceled, lain.Refused)
	taken, err := r.store.Ledger().Allowance(ctx, "a", o.Day)
	require.NoError(t, err)
	require.Zero(t, taken)
}

// seat registers the activities of a test environment, as a worker does.
type seat struct {
	interceptor.WorkerInterceptorBase
	inflight *inflight.Registry
}

type onSeat struct {
	interceptor.ActivityInboundInterceptorBase
	inflight *inflight.Registry
}

func (s *seat) InterceptActivity(_ context.Context,
	next interceptor.ActivityInboundInterceptor,
) interceptor.ActivityInboundInterceptor {
	on := &onSeat{inflight: s.inflight}
	on.Next = next
	return on
}

func (s *onSeat) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	return activities.RunInterruptible(ctx, s.inflight, in.Args[0],
		func(ctx context.Context) (any, error) { return s.Next.ExecuteActivity(ctx, in) })
}

func TestANoticeThatInterruptsAReadEndsTheActivityWithoutError(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(3)
	s := r.begin(r.spec(1, tonight))
	_, err := (&onset.Onset{Ports: r.ports}).Gather(context.Background(), activities.GatherRequest{Stretch: s})
	require.NoError(t, err)
	registry := inflight.NewRegistry(r.store)
	t.Cleanup(registry.Close)
	ports := r.ports
	ports.Memory = &ambush{Store: r.store, read: func() {
		registry.OnNotice(presence.WakeNotice{Agent: "a", Epoch: r.connect().Epoch, Local: true})
	}}
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{&seat{inflight: registry}}})
	env.RegisterActivityWithOptions((&onset.Onset{Ports: ports}).Partial, activity.RegisterOptions{Name: "partial"})
	request := step(s, 1.3)
	request.Cycle, request.Turn = 1, 1
	done, err := env.ExecuteActivity("partial", request)
	require.NoError(t, err)
	var result activities.StepResult
	require.NoError(t, done.Get(&result))
	require.Equal(t, activities.EndWoken, result.End)
	require.Empty(t, r.model.requests)
}

func TestARepeatedEndCountsEmptyDreamsOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := context.Background()
	for n := 1; n <= dream.DefaultEmptyAlarm; n++ {
		s := r.begin(r.spec(n, tonight))
		bed := r.dreamRun()
		fails := 2
		bed.Memory = &ambush{Store: r.store, drop: func() error {
			fails--
			if fails >= 0 {
				return errors.New("the disk stumbles")
			}
			return nil
		}}
		request := activities.FinishRequest{
			Stretch: s,
			Ending:  activities.Ending{Outcome: dream.Empty, Reason: "nothing was worth keeping"},
		}
		for range 2 {
			_, err := bed.Finish(ctx, request)
			require.Error(t, err)
		}
		risen, err := bed.Finish(ctx, request)
		require.NoError(t, err)
		want := "nothing was worth keeping"
		if n == dream.DefaultEmptyAlarm {
			want += ", 3 nights in a row now"
		}
		require.Equal(t, want, r.nightOf(s).Reason)
		require.Equal(t, want, risen.Reason, "the result has the record's reason, also when repeated")
	}
}

func TestAnInvalidSettingIsNotRetried(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, request := range []activities.PlanRequest{
		{Agent: "a", Now: tonight, Windows: []string{"whenever"}},
		{Agent: "a", Now: tonight, Quiet: []string{"25:00-26:00"}},
	} {
		_, err := r.dreamRun().Plan(context.Background(), request)
		var app *temporal.ApplicationError
		require.ErrorAs(t, activities.ToApplicationError(err), &app)
		require.Equal(t, activities.FailSettings, app.Type())
		require.True(t, app.NonRetryable())
	}
	agent, err := r.store.Agent(context.Background(), "a")
	require.NoError(t, err)
	agent.Zone = "Middle/Earth"
	require.NoError(t, r.store.PutAgent(context.Background(), agent))
	_, err = r.dreamRun().Plan(context.Background(),
		activities.PlanRequest{Agent: "a", Now: tonight, Quiet: []string{"22:00-23:00"}})
	var app *temporal.ApplicationError
	require.ErrorAs(t, activities.ToApplicationError(err), &app)
	require.True(t, app.NonRetryable())
	require.Contains(t, app.Error(), `zone "Middle/Earth" of a`)
}

// An entry made from an interrupted call names the memories that its text uses.
func TestTheEntryOfAWakeNamesTheMemoriesItUses(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(2)
	ctx := context.Background()
	lived := &dream.Episode{
		Head: dream.Head{
			ID:    "lamp",
			Agent: "a",
			Kind:  dream.KindEpisode,
			At:    tonight.Add(-time.Hour),
			State: dream.Live,
			Taint: dream.FromHuman,
		},
		Content: "The keeper polished the lighthouse lantern.",
	}
	_, err := r.store.Commit(ctx, memory.Write{Agent: "a", Cause: "import", Add: []dream.Item{lived}})
	require.NoError(t, err)
	o := r.spec(1, tonight)
	o.ResumeTTL = time.Hour
	s := r.begin(o)
	text := "The lighthouse dreamt of its lantern. " + strings.Repeat("And the tide went out over glass, ", 16) +
		"slowly."
	c := core.Call{
		Phase:  dream.Onset,
		Step:   "1/partial-1",
		Behind: []string{"e0", "lamp", "lamp", "e1"},
	}
	kept := core.At(r.ports, s).Cut(ctx, c, spend.PaidAnswer{Answer: inference.Answer{Text: text}, Attempt: 1}, tonight)
	require.NotEmpty(t, kept.Snapshot)
	r.connect()
	_, err = r.dreamRun().Interrupt(ctx,
		activities.InterruptRequest{Stretch: s, Number: 1, Phase: dream.Onset, TTL: time.Hour})
	require.NoError(t, err)
	entries := r.journals()
	require.Len(t, entries, 1)
	require.Equal(t, []string{"lamp"}, entries[0].Sources)
	_, err = r.store.Forget(ctx, "a", "lamp")
	require.NoError(t, err)
	require.Empty(t, r.journals()[0].Sources)
}

// Removing a memory also removes the recorded answers of running and interrupted dreams whose prompts showed it.
func TestForgettingAMemoryDropsTheAnswersBasedOnIt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(3)
	ctx := context.Background()
	o := r.spec(1, tonight)
	o.ResumeTTL = time.Hour
	s := r.begin(o)
	onset := &onset.Onset{Ports: r.ports}
	_, err := onset.Gather(ctx, activities.GatherRequest{Stretch: s})
	require.NoError(t, err)
	r.model.say["partial"] = "context e0 again"
	request := step(s, 1.3)
	request.Cycle, request.Turn = 1, 1
	_, err = onset.Partial(ctx, request)
	require.NoError(t, err)
	key := o.Dream + "/onset/" + "1/partial-1"
	_, kept, err := r.store.Ledger().Answer(ctx, key)
	require.NoError(t, err)
	require.True(t, kept)
	_, err = r.store.Forget(ctx, "a", "e0")
	require.NoError(t, err)
	_, kept, err = r.store.Ledger().Answer(ctx, key)
	require.NoError(t, err)
	require.False(t, kept)
}

// notes is a store with failing or concurrent notes of gatherings.
type notes struct {
	memory.Store
	unread error         // the error of reading one
	first  func() []byte // what another attempt writes just before this one
}

func (n *notes) Note(ctx context.Context, agent, dreamID, key string) ([]byte, error) {
	if n.unread != nil && strings.HasPrefix(key, "gathered/") {
		return nil, n.unread
	}
	return n.Store.Note(ctx, agent, dreamID, key)
}

func (n *notes) PutNote(ctx context.Context, agent string, f memory.Fence, key string, value []byte) ([]byte, error) {
	if n.first != nil && strings.HasPrefix(key, "gathered/") {
		if _, err := n.Store.PutNote(ctx, agent, f, key, n.first()); err != nil {
			return nil, err
		}
	}
	return n.Store.PutNote(ctx, agent, f, key, value)
}

func TestAGatheringThatCannotBeReadIsNotReplaced(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(3)
	s := r.begin(r.spec(1, tonight))
	onset := &onset.Onset{Ports: r.ports}
	_, err := onset.Gather(t.Context(), activities.GatherRequest{Stretch: s})
	require.NoError(t, err)
	onset.Memory = &notes{Store: r.store, unread: errors.New("disk I/O error")}
	_, err = onset.Gather(t.Context(), activities.GatherRequest{Stretch: s})
	require.ErrorContains(t, err, "disk I/O error")
	var app *temporal.ApplicationError
	require.ErrorAs(t, activities.ToApplicationError(err), &app)
	require.Equal(t, activities.FailStore, app.Type(), "reading is retried")
}

func TestOfTwoGatheringsTheFirstNoteCounts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(3)
	s := r.begin(r.spec(1, tonight))
	onset := &onset.Onset{Ports: r.ports}
	first := activities.GatherResult{Selected: 7, Shown: 5, WithoutVector: 2}
	onset.Memory = &notes{Store: r.store, first: func() []byte {
		body, err := json.Marshal(map[string]activities.GatherResult{"result": first})
		require.NoError(t, err)
		return body
	}}
	got, err := onset.Gather(t.Context(), activities.GatherRequest{Stretch: s})
	require.NoError(t, err)
	require.Equal(t, first, got)
}
