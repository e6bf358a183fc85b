package testdeploy_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/policy"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/workflows"
)

// interruptedHook is a hook that an alarm interrupts at its first question about a cycle, and that holds every
// fragment of the questions it answers.
type interruptedHook struct {
	holdingHook
	alarm func()
	once  sync.Once
}

func (g *interruptedHook) Capture(ctx context.Context, c activities.HookCapture) ([]activities.Concern, error) {
	interrupted := false
	if c.Cycle > 0 {
		g.once.Do(func() { interrupted = true })
	}
	if interrupted {
		g.alarm()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return g.holdingHook.Capture(ctx, c)
}

// An alarm ends the onset at once. Fragments that the hook could not judge are not developed, and the observer still
// judges the rules that are stated in words.
func TestFragmentsThatAnAlarmKeptFromTheHooksAreNotDeveloped(t *testing.T) {
	t.Parallel()
	g := &interruptedHook{holdingHook: holdingHook{hold: true}}
	breaches := 0
	s := newSleeper(t, provider.Options{Seed: 5, Each: time.Millisecond, Say: func(request provider.Request) string {
		if request.Schema == "breaches" {
			breaches++
		}
		return ""
	}}, func(p *testdeploy.Config) {
		p.Settings.AlarmHold = time.Second
		p.Hooks = activities.Hooks{"guard": g}
		p.Rules = []activities.HookRule{
			{Name: "guard", At: activities.Borders, Timeout: activities.LongestHook, Silent: activities.SilentAllow},
		}
	})
	g.alarm = func() { _ = s.Starter.Alarm(s.ctx, s.agent.ID, "harbour/price") }
	s.Starter.Options.Policy = &policy.Rules{
		Sentences: []policy.Sentence{{Name: "kind", Text: "Nothing that would shame a person by name."}},
		Unclear:   policy.Bar,
	}
	id := s.begin()
	require.Eventually(t, func() bool {
		agentState, err := s.Starter.AgentState(s.ctx, s.agent.Handle)
		return err == nil && agentState.State == workflows.Sleeping && agentState.Interrupted != nil
	}, patience, 5*time.Millisecond)
	_, err := s.Starter.Resume(s.ctx, s.agent.Handle)
	require.NoError(t, err)
	result, err := s.Result(s.ctx, id)
	require.NoError(t, err)
	require.Equal(t, dream.Completed, result.Outcome, result.Reason)
	require.Len(t, s.events("AlarmAbort"), 1)
	require.Empty(t, s.events("HookTimedOut"), "a hook cut off by an alarm is not reported as silent")
	kept := 0
	for _, f := range fragmentsOf(t, s.Deployment, s.agent, id) {
		if f.Status == dream.FragmentDiscarded {
			continue
		}
		kept++
		require.Contains(t, g.seen, f.ID)
		_, barred := f.Barred()
		require.True(t, barred, f.ID)
		require.Equal(t, dream.FragmentRaw, f.Status)
	}
	require.NotZero(t, kept)
	require.Zero(t, breaches, "what a hook holds is not paid for again")
}
