package testdeploy_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/workflows"
)

// An alarm ends the onset at once with its fragments saved. AlarmAbort takes the place of OnsetCompleted, and the
// mood stays as it was.
func TestAnAlarmEndsTheOnsetAndTheDreamGoesOnWithoutIt(t *testing.T) {
	t.Parallel()
	s := newSleeper(t, provider.Options{Seed: 1, Each: 3 * time.Millisecond},
		func(p *testdeploy.Config) { p.Settings.AlarmHold = time.Second })
	id := s.begin()
	require.Eventually(t, func() bool { return len(s.events("DaliInterrupt")) > 0 }, patience, time.Millisecond)
	before, err := s.Store.Affect(s.ctx, s.agent.ID)
	require.NoError(t, err)
	require.NoError(t, s.Starter.Alarm(s.ctx, s.agent.ID, "harbour/price"))
	require.Eventually(t, func() bool { return len(s.events("DreamInterrupted")) == 1 }, patience, time.Millisecond)
	after, err := s.Store.Affect(s.ctx, s.agent.ID)
	require.NoError(t, err)
	require.Equal(t, before.PAD, after.PAD)
	aborted := s.events("AlarmAbort")
	require.Len(t, aborted, 1)
	var payload event.AlarmAbort
	require.NoError(t, json.Unmarshal(aborted[0].Data, &payload))
	require.Equal(t, "harbour/price", payload.Trigger)
	require.NotZero(t, payload.Spent, "what the onset has consumed")
	require.Equal(t, s.night(id).Phases[0].Spent, payload.Spent)
	kept, err := s.Store.Count(s.ctx,
		memory.Query{
			Agent: s.agent.ID, Dream: id, Kinds: []dream.Kind{dream.KindFragment},
			Statuses: []string{dream.FragmentRaw},
		})
	require.NoError(t, err)
	require.Equal(t, kept, payload.Fragments)
	require.NotZero(t, kept)

	require.Eventually(t, func() bool {
		agentState, err := s.Starter.AgentState(s.ctx, s.agent.Handle)
		return err == nil && agentState.State == workflows.Sleeping && agentState.Interrupted != nil
	}, patience, 5*time.Millisecond)
	_, err = s.Starter.Resume(s.ctx, s.agent.Handle)
	require.NoError(t, err)
	result, err := s.Result(s.ctx, id)
	require.NoError(t, err)
	require.Equal(t, dream.Completed, result.Outcome, result.Reason)
	require.Empty(t, s.events("OnsetCompleted"))
	onset := result.Tallies[0]
	require.Equal(t, dream.Onset, onset.Phase)
	require.Equal(t, "stopped", onset.State)
	require.Contains(t, onset.Reason, "harbour/price")
	require.NotEmpty(t, s.events("PhaseCompleted"))
}
