package workflows

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
)

// town is a world with clients: dreams react to wakes, and clients hold the agent awake until a given time.
type town struct {
	*world
	epoch        int64
	until        time.Time // the end of the leases in the store
	visit        Wake      // the connected client
	greeted      []int64
	lookups      int
	ignoreWakes  bool // dreams do not react to a wake
	endOnRelease bool // dreams end when they are released

	// the cause of the wake that holds the agent awake; the next wake without an epoch joins it
	held      presence.Cause
	joins     bool // the answer says that it joined
	rousedFor time.Duration
}

func newTown(t *testing.T) *town {
	t.Helper()
	w := &town{world: &world{running: true}}
	var suite testsuite.WorkflowTestSuite
	w.env = suite.NewTestWorkflowEnvironment()
	w.env.SetStartTime(time.Date(2026, 10, 19, 22, 0, 0, 0, time.UTC))
	w.env.RegisterWorkflowWithOptions(w.dream, workflow.RegisterOptions{Name: DreamType})
	activityName := func(name string, do any) {
		w.env.RegisterActivityWithOptions(do, activity.RegisterOptions{Name: name})
	}
	activityName(activities.AgentPlan, func(_ context.Context, r activities.PlanRequest) (activities.PlanResult, error) {
		w.planned = append(w.planned, w.env.Now())
		if r.Resume != nil {
			return activities.PlanResult{Resume: true}, nil
		}
		return activities.PlanResult{Spec: testSpec("dream/echo/alone")}, nil
	})
	activityName(activities.AgentIsDreaming,
		func(context.Context, activities.RunningRequest) (bool, error) { return w.running, nil })
	activityName(activities.AgentRaiseEpoch,
		func(_ context.Context, r activities.RaiseEpochRequest) (activities.RaiseEpochResult, error) {
			w.rousedFor = r.Wake.Hold
			if w.held != "" {
				w.until = later(w.until, r.Now.Add(r.Wake.Hold))
				if r.Wake.Cause == presence.Connect {
					w.visit = Wake{Epoch: w.epoch, Cause: presence.Connect, Client: r.Wake.Client, At: r.Now}
				}
				r.Wake.Epoch, r.Wake.Cause, r.Wake.Client = w.epoch, w.held, ""
				return activities.RaiseEpochResult{Wake: r.Wake, Joined: w.joins}, nil
			}
			w.epoch++
			r.Wake.Epoch = w.epoch
			w.until = r.Now.Add(max(time.Minute, r.Wake.Hold))
			if r.Wake.Cause == "" {
				r.Wake.Cause = presence.Operator
			}
			return activities.RaiseEpochResult{Wake: r.Wake}, nil
		})
	activityName(activities.AgentAnnounceWake, func(_ context.Context, r activities.AnnounceWakeRequest) error {
		w.greeted = append(w.greeted, r.Epoch)
		return nil
	})
	activityName(activities.AgentCheckClients,
		func(context.Context, activities.CheckClientsRequest) (activities.CheckClientsResult, error) {
			w.lookups++
			return activities.CheckClientsResult{Until: w.until, Epoch: w.epoch, Visit: w.visit}, nil
		})
	return w
}

// dream lasts an hour, less what it has already dreamt; an interrupted one may be resumed for two hours.
func (w *town) dream(ctx workflow.Context, spec activities.Spec) (Result, error) {
	w.dreamt = append(w.dreamt, spec.Dream)
	wakes, words := workflow.GetSignalChannel(ctx, SignalWake), workflow.GetSignalChannel(ctx, SignalResume)
	left := time.Hour
	for {
		began := workflow.Now(ctx)
		timed, cancel := workflow.WithCancel(ctx)
		timer := workflow.NewTimer(timed, left)
		if err := workflow.Await(ctx,
			func() bool { return timer.IsReady() || wakes.Len() > 0 && !w.ignoreWakes }); err != nil {
			cancel()
			return Result{}, err
		}
		cancel()
		var wake Wake
		if !wakes.ReceiveAsync(&wake) {
			break
		}
		left -= workflow.Now(ctx).Sub(began)
		reportEnd(ctx, spec,
			EndedDream{
				Dream: spec.Dream, Outcome: dream.Interrupted, Until: workflow.Now(ctx).Add(2 * time.Hour),
				Epoch: wake.Epoch,
			})
		lets := workflow.GetSignalChannel(ctx, SignalRelease)
		ok, err := workflow.AwaitWithTimeout(ctx, 2*time.Hour,
			func() bool { return words.Len() > 0 || w.endOnRelease && lets.Len() > 0 })
		if err != nil || !ok || words.Len() == 0 {
			reportEnd(ctx, spec, EndedDream{Dream: spec.Dream, Outcome: dream.Interrupted})
			return Result{Dream: spec.Dream, Outcome: dream.Interrupted}, err
		}
		words.ReceiveAsync(nil)
		w.dreamt = append(w.dreamt, spec.Dream+" again")
	}
	reportEnd(ctx, spec, EndedDream{Dream: spec.Dream, Outcome: dream.Completed})
	return Result{Dream: spec.Dream, Outcome: dream.Completed}, nil
}

func reportEnd(ctx workflow.Context, o activities.Spec, e EndedDream) {
	_ = workflow.SignalExternalWorkflow(ctx, o.Owner, "", SignalEnded, e).Get(ctx, nil)
}

func (w *town) at(after time.Duration, do func()) { w.env.RegisterDelayedCallback(do, after) }

func (w *town) connect(wake Wake, then func(WakeAnswer, error)) {
	w.env.UpdateWorkflow(UpdateWake, "", &testsuite.TestUpdateCallback{
		OnAccept: func() {}, OnReject: func(err error) { then(WakeAnswer{}, err) },
		OnComplete: func(result any, err error) {
			answer, _ := result.(WakeAnswer)
			then(answer, err)
		},
	}, wake)
}

func (w *town) live(settings Settings) {
	w.env.ExecuteWorkflow(Agent, AgentRequest{Agent: "a1", Handle: "echo", Settings: settings})
}

func TestAClientWakesTheAgentAndItSleepsAfterTheLeaseEnds(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	var woken WakeAnswer
	var during, after AgentState
	var refused error
	w.at(time.Minute, func() {
		w.epoch, w.until = 1, w.env.Now().Add(10*time.Minute)
		w.connect(Wake{Epoch: 1, Cause: presence.Connect},
			func(a WakeAnswer, err error) { woken = a; require.NoError(t, err) })
	})
	w.at(2*time.Minute, func() {
		during = w.agentState(t)
		w.ask(testSpec("dream/echo/0001"), func(r, f error) { refused = orElse(r, f) })
	})
	w.at(15*time.Minute, func() { after = w.agentState(t); w.env.CancelWorkflow() })
	w.live(Settings{ClientTimeout: time.Minute})
	require.Equal(t, WakeAnswer{Epoch: 1, State: Awake}, woken)
	require.Equal(t, Awake, during.State)
	require.ErrorContains(t, refused, "holds it awake")
	require.Equal(t, Sleeping, after.State)
	require.Equal(t, []int64{1}, w.greeted)
	require.Equal(t, 6, w.lookups, "at once, every two minutes, and at the end of the lease")
	require.Empty(t, w.dreamt)
}

func TestAnInterruptedDreamIsResumedAutomatically(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	var woken WakeAnswer
	var waiting, again AgentState
	w.at(time.Minute, func() { w.ask(testSpec("dream/echo/0001"), func(error, error) {}) })
	w.at(11*time.Minute, func() {
		w.epoch, w.until = 1, w.env.Now()
		w.connect(Wake{Epoch: 1, Cause: presence.Connect},
			func(a WakeAnswer, err error) { woken = a; require.NoError(t, err) })
	})
	w.at(15*time.Minute, func() { waiting = w.agentState(t) })
	w.at(18*time.Minute, func() { again = w.agentState(t) })
	w.at(3*time.Hour, func() { require.Equal(t, Sleeping, w.agentState(t).State); w.env.CancelWorkflow() })
	w.live(Settings{ClientTimeout: time.Minute, ResumeAfter: 5 * time.Minute})
	require.Equal(t, Awake, woken.State)
	require.Equal(t, "dream/echo/0001", woken.Dream)
	require.NotZero(t, woken.Until)
	require.Equal(t, Sleeping, waiting.State)
	require.NotNil(t, waiting.Interrupted)
	require.Equal(t, Dreaming, again.State)
	require.Equal(t, "dream/echo/0001", again.Dream.Dream)
	require.Equal(t, []string{"dream/echo/0001", "dream/echo/0001 again"}, w.dreamt)
	require.Equal(t, 1, again.Dreams)
}

func TestAnInterruptedDreamIsReleasedForANewOne(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.at(time.Minute, func() { w.ask(testSpec("dream/echo/0001"), func(error, error) {}) })
	w.at(2*time.Minute, func() { w.epoch = 1; w.connect(Wake{Epoch: 1}, func(WakeAnswer, error) {}) })
	var broken *InterruptedDream
	w.at(10*time.Minute, func() {
		require.NotNil(t, w.agentState(t).Interrupted)
		w.ask(testSpec("dream/echo/0002"), func(r, f error) { require.NoError(t, orElse(r, f)) })
	})
	w.at(11*time.Minute, func() { broken = w.agentState(t).Interrupted; w.env.CancelWorkflow() })
	w.live(Settings{ClientTimeout: time.Minute, ResumeAfter: 24 * time.Hour})
	require.Nil(t, broken)
	require.Equal(t, []string{"dream/echo/0001", "dream/echo/0002"}, w.dreamt)
}

func TestAnInterruptedDreamExpires(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.at(time.Minute, func() { w.ask(testSpec("dream/echo/0001"), func(error, error) {}) })
	w.at(2*time.Minute, func() { w.epoch = 1; w.connect(Wake{Epoch: 1}, func(WakeAnswer, error) {}) })
	var refused error
	w.at(4*time.Hour, func() {
		require.Nil(t, w.agentState(t).Interrupted)
		w.env.UpdateWorkflow(UpdateResume, "", &testsuite.TestUpdateCallback{
			OnAccept: func() {}, OnReject: func(err error) { refused = err }, OnComplete: func(any, error) {},
		})
	})
	w.at(5*time.Hour, w.env.CancelWorkflow)
	w.live(Settings{ClientTimeout: time.Minute, ResumeAfter: 24 * time.Hour})
	require.ErrorContains(t, refused, "no interrupted dream")
}

func TestAWakeTakesAtMostASecondEvenIfTheDreamDoesNotAnswer(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.ignoreWakes = true
	var requestedAt, answered time.Time
	w.at(time.Minute, func() { w.ask(testSpec("dream/echo/0001"), func(error, error) {}) })
	w.at(2*time.Minute, func() {
		requestedAt = w.env.Now()
		w.epoch = 1
		w.connect(Wake{Epoch: 1, Cause: presence.Connect}, func(a WakeAnswer, err error) {
			answered = w.env.Now()
			require.NoError(t, err)
			require.Equal(t, Awake, a.State)
		})
	})
	w.at(3*time.Hour, func() { require.Equal(t, Sleeping, w.agentState(t).State); w.env.CancelWorkflow() })
	w.live(Settings{ClientTimeout: time.Minute})
	require.Equal(t, wakeDeadline, answered.Sub(requestedAt))
}

func TestRepeatedLateAndForgedWakesChangeNothing(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.at(time.Minute,
		func() { w.epoch = 7; w.connect(Wake{Epoch: 7, Cause: presence.Connect}, func(WakeAnswer, error) {}) })
	w.at(10*time.Minute, func() { w.ask(testSpec("dream/echo/0001"), func(error, error) {}) })
	var state string
	w.at(20*time.Minute, func() { // a duplicate, one that is late, and a forged one
		for _, epoch := range []int64{7, 3} {
			w.connect(Wake{Epoch: epoch}, func(a WakeAnswer, err error) { require.NoError(t, err); state = a.State })
			w.env.SignalWorkflow(SignalWake, Wake{Epoch: epoch})
		}
		w.connect(Wake{Epoch: -1}, func(_ WakeAnswer, err error) { require.ErrorContains(t, err, "must not be negative") })
	})
	w.at(30*time.Minute, func() {
		l := w.agentState(t)
		require.Equal(t, Dreaming, l.State)
		require.Equal(t, int64(7), l.Epoch)
		require.Equal(t, 1, l.Wakes)
		w.env.CancelWorkflow()
	})
	w.live(Settings{ClientTimeout: time.Minute})
	require.Equal(t, Dreaming, state)
	require.Equal(t, []int64{7}, w.greeted)
}

func TestASignalWithoutPayloadWakesADreamingAgent(t *testing.T) {
	t.Parallel()
	for _, signal := range []string{SignalWake, SignalAlarm} {
		t.Run(signal, func(t *testing.T) {
			t.Parallel()
			w := newTown(t)
			w.at(time.Minute, func() { w.ask(testSpec("dream/echo/0001"), func(error, error) {}) })
			w.at(2*time.Minute, func() { w.env.SignalWorkflow(signal, nil) })
			var l AgentState
			w.at(2*time.Minute+30*time.Second, func() { l = w.agentState(t) })
			w.at(time.Hour, w.env.CancelWorkflow)
			w.live(Settings{AlarmHold: 10 * time.Minute, ResumeAfter: 24 * time.Hour})
			require.Equal(t, Awake, l.State)
			require.Equal(t, int64(1), l.Epoch)
			require.NotNil(t, l.Interrupted)
			require.Equal(t, signal == SignalAlarm, l.Wake.Cause == presence.Alarm)
			if signal == SignalAlarm {
				require.Equal(t, lookInterval, l.Until.Sub(l.Since).Round(10*time.Second), "then it checks again")
				require.Equal(t, 1, l.Alarms)
			}
		})
	}
}

func TestAnAlarmLeavesASleepingAgentAsleepAndIsNoted(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.at(time.Minute, func() { w.epoch = 1; w.env.SignalWorkflow(SignalAlarm, Wake{Epoch: 1}) })
	w.at(2*time.Minute, func() { require.Equal(t, Sleeping, w.agentState(t).State); w.env.CancelWorkflow() })
	w.live(Settings{})
	require.Equal(t, []int64{1}, w.greeted)
}

func TestAWakeWhoseSignalWasLostIsLearnedFromTheStore(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.at(time.Minute, func() {
		w.epoch, w.until = 1, w.env.Now().Add(time.Minute)
		w.connect(Wake{Epoch: 1}, func(WakeAnswer, error) {})
	})
	w.at(90*time.Second, func() { w.epoch, w.until = 2, w.env.Now().Add(30*time.Minute) })
	var l AgentState
	w.at(5*time.Minute, func() { l = w.agentState(t); w.env.CancelWorkflow() })
	w.live(Settings{ClientTimeout: time.Minute})
	require.Equal(t, Awake, l.State)
	require.Equal(t, int64(2), l.Epoch)
	require.Equal(t, []int64{1, 2}, w.greeted)
}
