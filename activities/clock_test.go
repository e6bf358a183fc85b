package activities_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
)

// With a server that skips idle time, one dream is refused months ahead of the local clock, and another ends there.
func TestADreamUsesItsWorkflowsTimeOnAServerThatSkipsTime(t *testing.T) {
	t.Parallel()
	h := build(t)
	ahead := night.AddDate(0, 5, 0)
	lie := func(id string) activities.BeginResult {
		h.running[id] = true
		lain, err := h.dreamRun.Begin(h.ctx,
			activities.BeginRequest{Spec: h.spec(id), Workflow: id, Run: "run of " + id, Now: ahead})
		require.NoError(t, err)
		return lain
	}
	require.Empty(t, lie("dream/echo/0001").Refused)
	require.Equal(t, dream.Canceled, lie("dream/echo/0002").Refused, "the first one is dreaming")
	require.Equal(t, ahead, h.dreamRecord("dream/echo/0002").Ended)
	later := ahead.Add(time.Minute)
	s := activities.Stretch{Agent: h.agent.ID, Dream: "dream/echo/0001", Run: "run of dream/echo/0001", Now: later}
	_, err := h.dreamRun.Finish(h.ctx,
		activities.FinishRequest{Stretch: s, Ending: activities.Ending{Outcome: dream.Empty}})
	require.NoError(t, err)
	require.Equal(t, later, h.dreamRecord("dream/echo/0001").Ended)
	events, err := h.store.Events(h.ctx, h.agent.ID, 0, 0)
	require.NoError(t, err)
	at := map[string]time.Time{}
	for _, e := range events {
		at[e.Dream+" "+e.Type] = e.At
	}
	ended := event.DreamEnded{}.EventType()
	require.Equal(t, map[string]time.Time{
		"dream/echo/0001 " + event.DreamStarted{}.EventType(): ahead, "dream/echo/0001 " + ended: later,
		"dream/echo/0002 " + ended: ahead,
	}, at)
}

func TestHoursOpenAfterTheJitterUnlessTheyCloseBefore(t *testing.T) {
	t.Parallel()
	h := build(t) // it is 08:00 in Tokyo
	plan := func(windows string, jitter time.Duration) time.Time {
		planned, err := h.dreamRun.Plan(h.ctx,
			activities.PlanRequest{Agent: h.agent.ID, Now: night, Windows: []string{windows}, Jitter: jitter})
		require.NoError(t, err)
		require.Contains(t, planned.Reason, "quiet hours until Tue 22:00")
		return planned.NotBefore
	}
	opens := time.Date(2026, 10, 20, 13, 0, 0, 0, time.UTC)
	require.True(t, plan("22:00-23:00", 17*time.Minute).Equal(opens.Add(17*time.Minute)))
	require.True(t, plan("22:00-22:10", 17*time.Minute).Equal(opens))
}

func TestAClientUnknownToTheWorkflowCountsAsActivity(t *testing.T) {
	t.Parallel()
	h := build(t)
	seen := night.Add(-20 * time.Minute)
	visit := presence.Visit{
		Agent:  h.agent.ID,
		Client: "guest",
		Cause:  presence.Connect,
		Now:    seen,
		For:    time.Minute,
	}
	_, err := h.store.Arrive(h.ctx, visit)
	require.NoError(t, err)
	for now, idle := range map[time.Time]bool{night: false, night.Add(10 * time.Minute): true} {
		planned, err := h.dreamRun.Plan(h.ctx,
			activities.PlanRequest{Agent: h.agent.ID, Now: now, IdleTimeout: 30 * time.Minute})
		require.NoError(t, err)
		require.True(t, planned.Active.Equal(seen))
		require.Empty(t, planned.Reason)
		require.Equal(t, idle, planned.Spec.Dream != "")
	}
}
