package workflows

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/dreamrun"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/triggers"
)

// heeded is a world that checks triggers, with the real computation of schedules.
type heeded struct {
	*world
	heeds  []activities.CheckTriggersRequest
	plans  []activities.PlanRequest
	early  bool
	away   bool // the store is unreachable
	awake  time.Time
	refuse string
}

func newHeeded(t *testing.T) *heeded {
	t.Helper()
	h := &heeded{world: newWorld(t)}
	h.env.RegisterActivityWithOptions(
		func(_ context.Context, r activities.CheckTriggersRequest) (activities.CheckTriggersResult, error) {
			h.heeds = append(h.heeds, r)
			if h.away {
				return activities.CheckTriggersResult{}, context.DeadlineExceeded
			}
			result := activities.CheckTriggersResult{Appointments: dreamrun.Appointments(r.Schedules, r.Zone, r.Now)}
			if r.UrgencyRule != nil {
				result.Urgency, result.Early = &circadian.Urgency{Value: .9}, h.early
			}
			return result, nil
		}, activity.RegisterOptions{Name: activities.AgentCheckTriggers})
	h.env.OnActivity(activities.AgentPlan, mock.Anything, mock.Anything).
		Return(func(_ context.Context, r activities.PlanRequest) (activities.PlanResult, error) {
			h.plans = append(h.plans, r)
			if h.awake.After(r.Now) {
				return activities.PlanResult{Awake: h.awake}, nil
			}
			o := testSpec("dream/echo/" + string(rune('a'+len(h.plans)-1)))
			return activities.PlanResult{Spec: o, Reason: h.refuse}, nil
		})
	return h
}

func (h *heeded) live(hours int, s Settings) {
	h.env.RegisterDelayedCallback(h.env.CancelWorkflow, time.Duration(hours)*time.Hour)
	h.env.ExecuteWorkflow(Agent, AgentRequest{Agent: "a1", Handle: "echo", Settings: s})
}

func (h *heeded) signal(after time.Duration, f triggers.Fire) {
	h.env.RegisterDelayedCallback(func() {
		if f.At.IsZero() {
			f.At = h.env.Now()
		}
		h.env.SignalWorkflow(SignalTrigger, f)
	}, after)
}

// by is settings under which only these triggers begin a dream; idleness alone would take a day.
func by(triggers ...dream.Trigger) Settings {
	return Settings{
		Auto:        true,
		IdleTimeout: 10 * time.Minute,
		MinGap:      2 * time.Hour,
		Zone:        "Europe/Berlin",
		Triggers:    append([]dream.Trigger{}, triggers...),
	}
}

var nightly = dream.Trigger{Name: "nightly", Kind: dream.OnSchedule, Schedule: "03:30"}

func TestAScheduleFollowsTheClockOfTheZone(t *testing.T) {
	t.Parallel()
	h := newHeeded(t) // 22:00 UTC on 19 October, midnight in Berlin; the clock is put back on the 25th
	h.live(24*8, by(nightly))
	require.Len(t, h.plans, 8)
	for i, p := range h.plans {
		hour := 1 // 03:30 in summer
		if i > 4 {
			hour = 2 // and in winter
		}
		require.WithinDuration(t, time.Date(2026, 10, 20+i, hour, 30, 0, 0, time.UTC), p.Now, 2*time.Second)
	}
	require.Len(t, h.dreamt, 8)
	require.LessOrEqual(t, len(h.heeds), 9, "once per dream, and once at the start")
}

func TestAMissedScheduleCallsOnce(t *testing.T) {
	t.Parallel()
	h := newHeeded(t)
	quarter := dream.Trigger{Name: "quarter", Kind: dream.OnSchedule, Schedule: "*/15 * * * *"}
	start := h.env.Now()
	h.env.RegisterDelayedCallback(func() { h.ask(testSpec("dream/echo/0001"), func(error, error) {}) }, 5*time.Minute)
	var during AgentState
	h.env.RegisterDelayedCallback(func() { during = h.world.agentState(t) }, 50*time.Minute)
	s := by(quarter)
	s.MinGap = 90 * time.Minute
	h.live(3, s)
	require.Equal(t, Dreaming, during.State)
	require.Len(t, h.plans, 1, "three were missed in the dream and six in the gap")
	require.WithinDuration(t, start.Add(5*time.Minute+time.Hour+90*time.Minute), h.plans[0].Now, 2*time.Second)
}

func TestACallDuringATalkIsKeptUntilTheAgentIsIdle(t *testing.T) {
	t.Parallel()
	h := newHeeded(t)
	full := dream.Trigger{Name: "full", Kind: dream.OnEpisodes, Episodes: 50}
	start := h.env.Now()
	h.env.RegisterDelayedCallback(func() { h.env.SignalWorkflow(SignalActive, start.Add(30*time.Minute)) },
		30*time.Minute)
	h.signal(31*time.Minute, triggers.Fire{Trigger: "full", Kind: dream.OnEpisodes, Key: "1"})
	h.signal(32*time.Minute, triggers.Fire{Trigger: "full", Kind: dream.OnEpisodes, Key: "1"}) // repeated
	// of a trigger that the agent does not have
	h.signal(33*time.Minute, triggers.Fire{Trigger: "gone", Kind: dream.OnEvent, Key: "2"})
	var waits, after AgentState
	h.env.RegisterDelayedCallback(func() { waits = h.world.agentState(t) }, 35*time.Minute)
	h.env.RegisterDelayedCallback(func() { after = h.world.agentState(t) }, 45*time.Minute)
	h.live(12, by(full))
	require.Equal(t, "full", waits.Triggering.Pending.Trigger)
	require.Nil(t, after.Triggering.Pending)
	require.Equal(t, "full", after.Triggering.Last.Trigger)
	require.Len(t, h.plans, 1, "one dream answers all, and no idleness begins another")
	require.WithinDuration(t, start.Add(40*time.Minute), h.plans[0].Now, 2*time.Second)
}

func TestACallWhileTheAgentIsAwakeIsKept(t *testing.T) {
	t.Parallel()
	h := newHeeded(t)
	start := h.env.Now()
	h.awake = start.Add(3 * time.Hour)
	h.signal(time.Hour, triggers.Fire{Trigger: "full", Kind: dream.OnEpisodes, Key: "1"})
	h.live(12, by(dream.Trigger{Name: "full", Kind: dream.OnEpisodes, Episodes: 50}))
	require.Len(t, h.dreamt, 1)
	require.WithinDuration(t, h.awake, h.plans[1].Now, 2*time.Second)
}

func TestACallFromBeforeTheDreamIsAnsweredByIt(t *testing.T) {
	t.Parallel()
	h := newHeeded(t)
	start := h.env.Now()
	h.env.RegisterDelayedCallback(func() { h.ask(testSpec("dream/echo/0001"), func(error, error) {}) }, time.Hour)
	// arrives late
	h.signal(70*time.Minute,
		triggers.Fire{Trigger: "price", Kind: dream.OnEvent, Key: "1", At: start.Add(30 * time.Minute)})
	h.signal(80*time.Minute, triggers.Fire{Trigger: "price", Kind: dream.OnEvent, Key: "2"})
	var before, after AgentState
	h.env.RegisterDelayedCallback(func() { before = h.world.agentState(t) }, 75*time.Minute)
	h.env.RegisterDelayedCallback(func() { after = h.world.agentState(t) }, 85*time.Minute)
	h.live(12, by(dream.Trigger{Name: "price", Kind: dream.OnEvent, Feed: "harbour", Rule: "price"}))
	require.Nil(t, before.Triggering.Pending)
	require.NotNil(t, after.Triggering.Pending)
	require.Len(t, h.dreamt, 2)
	require.WithinDuration(t, start.Add(4*time.Hour), h.plans[0].Now, 2*time.Second, "a gap after the dream")
}

func TestAnUrgentAgentDreamsAfterAShorterIdleTime(t *testing.T) {
	t.Parallel()
	for _, early := range []bool{true, false} {
		h := newHeeded(t)
		h.early = early
		start := h.env.Now()
		s := Settings{
			Auto: true, IdleTimeout: time.Hour, MinGap: 6 * time.Hour,
			UrgencyRule: &circadian.DefaultUrgencyRule,
		}
		h.live(12, s)
		want := map[bool]time.Duration{true: 10 * time.Minute, false: time.Hour}[early]
		require.WithinDuration(t, start.Add(want), h.plans[0].Now, 2*time.Second)
		require.WithinDuration(t, start.Add(want+7*time.Hour), h.plans[1].Now, 2*time.Second, "never within the gap")
		require.NotNil(t, h.heeds[0].UrgencyRule)
		require.LessOrEqual(t, len(h.heeds), 3, "once in each stretch of idleness")
	}
}

func TestAnUrgentCallExpiresWhenTheAgentIsUsed(t *testing.T) {
	t.Parallel()
	h := newHeeded(t)
	h.early, h.refuse = true, "its models cost money"
	start := h.env.Now()
	h.env.RegisterDelayedCallback(func() { h.env.SignalWorkflow(SignalActive, h.env.Now()) }, 20*time.Minute)
	h.live(2, Settings{
		Auto: true, IdleTimeout: time.Hour, MinGap: time.Hour,
		UrgencyRule: &circadian.DefaultUrgencyRule,
	})
	require.WithinDuration(t, start.Add(10*time.Minute), h.plans[0].Now, 2*time.Second)
	require.WithinDuration(t, start.Add(70*time.Minute), h.plans[1].Now, 2*time.Second,
		"checked again one gap after the failed attempt")
}

func TestARequestedDreamBeginsAsSoonAsTheAgentSleeps(t *testing.T) {
	t.Parallel()
	h := newHeeded(t)
	start := h.env.Now()
	h.env.RegisterDelayedCallback(func() { h.ask(testSpec("dream/echo/0001"), func(error, error) {}) }, time.Minute)
	h.signal(2*time.Minute, triggers.Fire{Trigger: "manual", Kind: dream.OnRequest})
	s := Settings{IdleTimeout: time.Hour, MinGap: 6 * time.Hour, Windows: []string{"03:00-04:00"}}
	h.live(12, s)
	require.Len(t, h.plans, 1, "it does not dream by itself")
	require.WithinDuration(t, start.Add(61*time.Minute), h.plans[0].Now, 2*time.Second,
		"as soon as the dream has ended")
	require.Empty(t, h.plans[0].Windows)
	require.Zero(t, h.plans[0].IdleTimeout)
}

func TestARefusedRequestIsReportedAndDropped(t *testing.T) {
	t.Parallel()
	h := newHeeded(t)
	h.refuse = "its models cost money"
	h.signal(time.Minute, triggers.Fire{Trigger: "manual", Kind: dream.OnRequest})
	var after AgentState
	h.env.RegisterDelayedCallback(func() { after = h.world.agentState(t) }, time.Hour)
	h.live(2, Settings{IdleTimeout: time.Hour, MinGap: 6 * time.Hour})
	require.Nil(t, after.Triggering.Pending)
	require.Equal(t, h.refuse, after.LastReason)
	require.Len(t, h.plans, 1)
}

func TestACallIsDroppedWithItsTriggerOrByHand(t *testing.T) {
	t.Parallel()
	full := dream.Trigger{Name: "full", Kind: dream.OnEpisodes, Episodes: 50}
	for name, drop := range map[string]func(h *heeded){
		"its trigger": func(h *heeded) { h.env.SignalWorkflow(SignalSettings, by()) },
		"by hand": func(h *heeded) {
			h.env.SignalWorkflow(SignalTrigger, triggers.Fire{Trigger: "full", Drop: true})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHeeded(t)
			h.env.RegisterDelayedCallback(func() { h.env.SignalWorkflow(SignalActive, h.env.Now()) }, time.Minute)
			h.signal(2*time.Minute, triggers.Fire{Trigger: "full", Kind: dream.OnEpisodes, Key: "1"})
			h.env.RegisterDelayedCallback(func() { drop(h) }, 3*time.Minute)
			h.live(12, by(full))
			require.Empty(t, h.plans)
		})
	}
}

// One dream answers all waiting calls; until one begins, each call stands alone.
func TestDroppingACallKeepsTheOthers(t *testing.T) {
	t.Parallel()
	full := dream.Trigger{Name: "full", Kind: dream.OnEpisodes, Episodes: 50}
	torn := dream.Trigger{Name: "torn", Kind: dream.OnEvent, Event: "AlarmRaised"}
	for name, drop := range map[string]func(h *heeded){
		"with its trigger": func(h *heeded) { h.env.SignalWorkflow(SignalSettings, by(torn)) },
		"by hand": func(h *heeded) {
			h.env.SignalWorkflow(SignalTrigger, triggers.Fire{Trigger: "full", Drop: true})
		},
		"the other one": func(h *heeded) { h.env.SignalWorkflow(SignalSettings, by(full)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHeeded(t)
			h.env.RegisterDelayedCallback(func() { h.env.SignalWorkflow(SignalActive, h.env.Now()) }, time.Minute)
			h.signal(2*time.Minute, triggers.Fire{Trigger: "full", Kind: dream.OnEpisodes, Key: "1"})
			h.signal(2*time.Minute, triggers.Fire{Trigger: "torn", Kind: dream.OnEvent, Key: "2"})
			h.env.RegisterDelayedCallback(func() { drop(h) }, 3*time.Minute)
			h.live(12, by(full, torn))
			require.Len(t, h.plans, 1, "the one that is left calls once")
		})
	}
}

func TestARefusedRequestKeepsTheOtherCalls(t *testing.T) {
	t.Parallel()
	full := dream.Trigger{Name: "full", Kind: dream.OnEpisodes, Episodes: 50}
	h := newHeeded(t)
	h.refuse = "the cap is used up"
	h.env.RegisterDelayedCallback(func() { h.env.SignalWorkflow(SignalActive, h.env.Now()) }, time.Minute)
	h.signal(2*time.Minute, triggers.Fire{Trigger: "full", Kind: dream.OnEpisodes, Key: "1"})
	h.signal(3*time.Minute, triggers.Fire{Trigger: "manual", Kind: dream.OnRequest})
	h.env.RegisterDelayedCallback(func() { h.refuse = "" }, time.Hour)
	h.live(12, by(full))
	require.Len(t, h.plans, 2, "the request, and after the gap the call that waited before it")
	require.Len(t, h.dreamt, 1)
}

// A dream that could not begin answers no call, neither a waiting one nor one that arrives late.
func TestADreamThatCannotBeginAnswersNoCall(t *testing.T) {
	t.Parallel()
	full := dream.Trigger{Name: "full", Kind: dream.OnEpisodes, Episodes: 50}
	torn := dream.Trigger{Name: "torn", Kind: dream.OnEvent, Event: "AlarmRaised"}
	late := dream.Trigger{Name: "late", Kind: dream.OnEvent, Event: "AgentAsleep"}
	h := newHeeded(t)
	h.env.OnWorkflow(DreamType, mock.Anything, mock.Anything).Return(Result{},
		testsuite.ErrMockStartChildWorkflowFailed).Once()
	h.env.OnWorkflow(DreamType, mock.Anything, mock.Anything).Return(Result{Outcome: dream.Completed}, nil)
	h.env.RegisterDelayedCallback(func() { h.env.SignalWorkflow(SignalActive, h.env.Now()) }, time.Minute)
	h.signal(2*time.Minute, triggers.Fire{Trigger: "full", Kind: dream.OnEpisodes, Key: "1"})
	h.signal(3*time.Minute, triggers.Fire{Trigger: "torn", Kind: dream.OnEvent, Key: "2"})
	h.signal(20*time.Minute,
		triggers.Fire{Trigger: "late", Kind: dream.OnEvent, Key: "3", At: h.env.Now().Add(10 * time.Minute)})
	var between, after AgentState
	h.env.RegisterDelayedCallback(func() { between = h.world.agentState(t) }, 30*time.Minute)
	h.env.RegisterDelayedCallback(func() { after = h.world.agentState(t) }, 11*time.Hour)
	h.live(12, by(full, torn, late))
	require.Contains(t, between.LastReason, "begin dream/echo/a")
	require.Zero(t, between.Triggering.Began)
	require.Equal(t, "full", between.Triggering.Pending.Trigger)
	require.Len(t, between.Triggering.AlsoPending, 2)
	require.Len(t, h.plans, 2)
	require.Nil(t, after.Triggering.Pending)
	require.Empty(t, after.Triggering.AlsoPending)
	require.Equal(t, "full", after.Triggering.Last.Trigger)
}

// A schedule whose time passed during a dream calls after it, although other schedules were added or removed
// meanwhile.
func TestAMissedScheduleIsKeptWhenAnotherChanges(t *testing.T) {
	t.Parallel()
	weekly := dream.Trigger{Name: "weekly", Kind: dream.OnSchedule, Schedule: "sun 12:00"}
	moved := dream.Trigger{Name: "nightly", Kind: dream.OnSchedule, Schedule: "09:00"}
	elsewhere := by(nightly)
	elsewhere.Zone = "Asia/Tokyo"
	for name, c := range map[string]struct {
		then Settings
		at   time.Time // when the next dream is planned
	}{
		"another comes":     {by(weekly, nightly), time.Date(2026, 10, 20, 4, 0, 0, 0, time.UTC)},
		"itself is moved":   {by(moved), time.Date(2026, 10, 20, 7, 0, 0, 0, time.UTC)},
		"the zone is moved": {elsewhere, time.Date(2026, 10, 20, 18, 30, 0, 0, time.UTC)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHeeded(t) // 22:00 UTC, and 03:30 in Berlin is 01:30
			h.env.RegisterDelayedCallback(func() { h.ask(testSpec("dream/echo/0001"), func(error, error) {}) },
				3*time.Hour)
			h.env.RegisterDelayedCallback(func() { h.env.SignalWorkflow(SignalSettings, c.then) },
				3*time.Hour+45*time.Minute)
			h.live(36, by(nightly))
			require.NotEmpty(t, h.plans)
			require.WithinDuration(t, c.at, h.plans[0].Now, 2*time.Second)
		})
	}
}

func TestASchedulesMissedWhileSwitchedOffAreNotMadeUpFor(t *testing.T) {
	t.Parallel()
	h := newHeeded(t)
	off := by(nightly)
	off.Auto = false
	h.env.RegisterDelayedCallback(func() { h.env.SignalWorkflow(SignalSettings, off) }, time.Hour)
	h.env.RegisterDelayedCallback(func() { h.env.SignalWorkflow(SignalSettings, by(nightly)) }, 50*time.Hour)
	h.live(60, by(nightly))
	require.Len(t, h.plans, 1)
	require.WithinDuration(t, time.Date(2026, 10, 22, 1, 30, 0, 0, time.UTC), h.plans[0].Now, 2*time.Second)
}

// A call that waited when automatic dreams were switched off is dropped as well; a condition that still holds calls
// again.
func TestACallThatWaitedWhenItWasSwitchedOffIsForgotten(t *testing.T) {
	t.Parallel()
	full := dream.Trigger{Name: "full", Kind: dream.OnEpisodes, Episodes: 50}
	for name, again := range map[string]bool{"called again": true, "not called again": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHeeded(t)
			off := by(full)
			off.Auto = false
			h.env.RegisterDelayedCallback(func() { h.env.SignalWorkflow(SignalActive, h.env.Now()) }, time.Minute)
			h.signal(2*time.Minute, triggers.Fire{Trigger: "full", Kind: dream.OnEpisodes, Key: "1"})
			h.env.RegisterDelayedCallback(func() { h.env.SignalWorkflow(SignalSettings, off) }, 3*time.Minute)
			h.env.RegisterDelayedCallback(func() { h.env.SignalWorkflow(SignalSettings, by(full)) }, 50*time.Hour)
			if again {
				h.signal(51*time.Hour, triggers.Fire{Trigger: "full", Kind: dream.OnEpisodes, Key: "1"})
			}
			h.live(60, by(full))
			if !again {
				require.Empty(t, h.plans)
				return
			}
			require.Len(t, h.plans, 1)
			require.WithinDuration(t, time.Date(2026, 10, 22, 1, 0, 0, 0, time.UTC), h.plans[0].Now, 2*time.Second)
		})
	}
}

func TestTriggersAreCheckedAgainAfterTheStoreWasUnreachable(t *testing.T) {
	t.Parallel()
	h := newHeeded(t)
	h.away = true
	h.env.RegisterDelayedCallback(func() { h.away = false }, 30*time.Minute)
	h.live(5, by(nightly))
	require.Len(t, h.dreamt, 1)
}

func TestTriggersCrossContinueAsNew(t *testing.T) {
	t.Parallel()
	h := newHeeded(t)
	full := dream.Trigger{Name: "full", Kind: dream.OnEpisodes, Episodes: 50}
	h.env.RegisterDelayedCallback(func() { h.ask(testSpec("dream/echo/0001"), func(error, error) {}) }, time.Minute)
	h.env.RegisterDelayedCallback(func() {
		h.env.SetContinueAsNewSuggested(true)
		h.env.SignalWorkflow(SignalTrigger,
			triggers.Fire{Trigger: "full", Kind: dream.OnEpisodes, At: h.env.Now(), Key: "1"})
	}, 3*time.Minute)
	h.env.ExecuteWorkflow(Agent, AgentRequest{Agent: "a1", Handle: "echo", Settings: by(full, nightly)})
	var again *workflow.ContinueAsNewError
	require.ErrorAs(t, h.env.GetWorkflowError(), &again)
	var next AgentRequest
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(again.Input, &next))
	require.Equal(t, "full", next.Carried.Triggering.Pending.Trigger)
	require.Len(t, next.Carried.Triggering.Appointments, 1)
	require.Equal(t, []dream.Trigger{full, nightly}, next.Settings.Triggers)

	goes := newHeeded(t)
	goes.env.SetStartTime(h.env.Now())
	goes.running = false // the dream has ended meanwhile
	goes.env.RegisterDelayedCallback(goes.env.CancelWorkflow, 4*time.Hour)
	goes.env.ExecuteWorkflow(Agent, next)
	require.Len(t, goes.dreamt, 1, "the call that waited was not lost")
}

// A store that is unreachable when a dream is due delays the dream by a minute. Settings of older versions wait for
// the gap.
func TestAFailedPlanIsRetriedSoon(t *testing.T) {
	t.Parallel()
	full := dream.Trigger{Name: "full", Kind: dream.OnEpisodes, Episodes: 50}
	for name, c := range map[string]struct {
		again  time.Duration
		kind   dream.TriggerKind
		broken error
		plans  int
		begins time.Duration // after the first plan
	}{
		"by idleness":                  {again: time.Minute, begins: 11 * time.Minute},
		"by a trigger":                 {again: time.Minute, kind: dream.OnEpisodes, begins: 11 * time.Minute},
		"by a person":                  {again: time.Minute, kind: dream.OnRequest, begins: 11 * time.Minute},
		"settings of an older version": {begins: 2 * time.Hour},
		"a permanent failure": {
			again:  time.Minute,
			broken: temporal.NewNonRetryableApplicationError("no such zone", activities.FailRefused, nil),
			begins: 2 * time.Hour,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newWorld(t)
			var plans []time.Time
			h.env.OnActivity(activities.AgentPlan, mock.Anything, mock.Anything).
				Return(func(_ context.Context, r activities.PlanRequest) (activities.PlanResult, error) {
					plans = append(plans, r.Now)
					if r.Now.Sub(plans[0]) < 10*time.Minute {
						if c.broken != nil {
							return activities.PlanResult{}, c.broken
						}
						return activities.PlanResult{}, context.DeadlineExceeded
					}
					return activities.PlanResult{Spec: testSpec("dream/echo/0001")}, nil
				})
			s := by(full)
			s.TryAgain = c.again
			if c.kind == "" {
				s.Triggers = nil
			} else {
				h.env.RegisterDelayedCallback(func() {
					h.env.SignalWorkflow(SignalTrigger,
						triggers.Fire{
							Trigger: map[dream.TriggerKind]string{
								dream.OnEpisodes: "full",
								dream.OnRequest:  "manual",
							}[c.kind], Kind: c.kind, At: h.env.Now(), Key: "1",
						})
				}, 20*time.Minute)
			}
			h.env.RegisterDelayedCallback(h.env.CancelWorkflow, 2*time.Hour+55*time.Minute)
			h.env.ExecuteWorkflow(Agent, AgentRequest{Agent: "a1", Handle: "echo", Settings: s})
			require.Len(t, h.dreamt, 1)
			// an attempt that was given up may still be counted later
			last := slices.MaxFunc(plans, time.Time.Compare).Sub(plans[0])
			require.InDelta(t, c.begins.Minutes(), last.Minutes(), 1.5)
			require.Less(t, len(plans), 100, "each plan is tried a few times")
		})
	}
}
