package waking_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/spend"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/chaos"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/workflows"
)

func afternoon() time.Time { return time.Now().Add(10 * time.Minute) }

func TestAResumedDreamIsNotResumedAgain(t *testing.T) {
	t.Parallel()
	r := furnish(t, furniture{})
	agent := r.hire()
	id := r.interrupted(agent)
	_, err := r.deployment.Starter.Resume(r.ctx, agent.Handle)
	require.ErrorIs(t, err, starter.ErrAwake)
	r.leave(agent)
	moment := r.await(provider.None, id, dream.NREM, "forward")
	require.Equal(t, id, r.resume(agent).Dream)
	_, err = r.deployment.Starter.Resume(r.ctx, agent.Handle)
	require.ErrorIs(t, err, starter.ErrDreaming)
	require.NoError(t, r.deployment.Client.SignalWorkflow(r.ctx, id, "", workflows.SignalResume, nil)) // a word too many
	require.NoError(t,
		r.deployment.Client.SignalWorkflow(r.ctx, workflows.AgentID(agent.Handle), "", workflows.SignalResume, nil))
	r.come(moment)
	r.ends(id, dream.Completed)
	require.Equal(t, 2, r.night(agent, id).Stretches)
	require.Len(t, r.events(agent, event.DreamResumed{}), 1)
	_, err = r.deployment.Starter.Resume(r.ctx, agent.Handle)
	require.ErrorIs(t, err, starter.ErrNothing)
	r.sound(1)
}

// A word to go on that came while the dream still dreamt does not wake the sleeper's guest: it is refused while
// somebody is there.
func TestAWordTooManyDoesNotResumeADreamBesideAClient(t *testing.T) {
	t.Parallel()
	r := furnish(t, furniture{})
	agent := r.hire()
	id := first(agent)
	moment := r.await(provider.HangMiddle, id, dream.Onset, "1/partial-2")
	r.begin(agent)
	r.come(moment)
	require.NoError(t, r.deployment.Client.SignalWorkflow(r.ctx, id, "", workflows.SignalResume, nil))
	r.recorded(r.connect(agent))
	require.NoError(t, r.deployment.Client.SignalWorkflow(r.ctx, id, "", workflows.SignalResume, nil))
	r.until(func() bool {
		progress, err := r.deployment.Starter.Progress(r.ctx, id)
		return err == nil && progress.Outcome == dream.Interrupted
	}, "it is never interrupted")
	require.Empty(t, r.events(agent, event.DreamResumed{}))
	require.Equal(t, workflows.Awake, r.agentState(agent).State)
	r.leave(agent)
	r.resume(agent)
	r.ends(id, dream.Completed)
	r.sound(1)
}

func TestADreamThatNobodyResumesInTimeEndsInterrupted(t *testing.T) {
	t.Parallel()
	r := furnish(t, furniture{edit: func(p *testdeploy.Config) { p.ResumeTTL = 2 * time.Second }})
	agent := r.hire()
	id := r.interrupted(agent)
	result := r.ends(id, dream.Interrupted)
	require.Contains(t, result.Reason, "nobody resumed it within 2s")
	require.Positive(t, result.Kept)
	require.False(t, r.night(agent, id).Resumable())
	require.Len(t, r.events(agent, event.DreamEnded{}), 1)
	r.leave(agent)
	_, err := r.deployment.Starter.Resume(r.ctx, agent.Handle)
	require.ErrorIs(t, err, starter.ErrNothing)
	r.sound(1)
}

func TestADreamThatMayNotBeResumedEndsWithItsFirstWake(t *testing.T) {
	t.Parallel()
	r := furnish(t, furniture{edit: func(p *testdeploy.Config) { p.ResumeTTL = 0 }})
	agent := r.hire()
	id := first(agent)
	moment := r.await(provider.HangMiddle, id, dream.REM, "branch-1")
	r.begin(agent)
	r.come(moment)
	r.recorded(r.connect(agent))
	r.ends(id, dream.Interrupted)
	r.sound(1)
}

// What an interrupted call is counted at may be all that was left.
func TestADreamWithoutMoneyLeftEndsInterrupted(t *testing.T) {
	t.Parallel()
	r := furnish(t, furniture{})
	agent := r.hire()
	id := first(agent)
	moment := r.await(provider.HangMiddle, id, dream.NREM, "forward")
	r.begin(agent)
	r.come(moment)
	r.recorded(r.connect(agent))
	r.leave(agent)
	r.spendTheRest(agent, id)
	r.resume(agent)
	result := r.ends(id, dream.Interrupted)
	require.Contains(t, result.Reason, "nothing is left")
	require.False(t, r.night(agent, id).Resumable())
	require.Equal(t, 1, r.night(agent, id).Stretches)
	slots, err := r.deployment.Store.Slots(r.ctx)
	require.NoError(t, err)
	require.Empty(t, slots)
}

func TestANewDreamLetsTheInterruptedOneGo(t *testing.T) {
	t.Parallel()
	r := furnish(t, furniture{})
	agent := r.hire()
	id := r.interrupted(agent)
	r.leave(agent)
	second := r.begin(agent)
	require.NotEqual(t, id, second)
	result := r.ends(id, dream.Interrupted)
	require.Contains(t, result.Reason, "another dream was begun")
	require.False(t, r.night(agent, id).Resumable())
	r.ends(second, dream.Completed)
	r.sound(1)
}

// A dream asked for within the wake lock is refused, and begins after it.
func TestNoDreamBeginsWithinTheWakeLock(t *testing.T) {
	t.Parallel()
	const lock = 1500 * time.Millisecond
	r := furnish(t, furniture{edit: func(p *testdeploy.Config) { p.Settings.WakeLock = lock }})
	agent := r.hire()
	id := r.interrupted(agent)
	require.NoError(t, r.deployment.Starter.Leave(r.ctx, agent.Handle, "guest"))
	_, err := r.deployment.Starter.Begin(r.ctx, r.request(agent))
	require.ErrorIs(t, err, starter.ErrAwake)
	_, err = r.deployment.Starter.Resume(r.ctx, agent.Handle)
	require.ErrorIs(t, err, starter.ErrAwake)
	status, err := r.deployment.Starter.Status(r.ctx, agent.Handle)
	require.NoError(t, err)
	r.state(agent, workflows.Sleeping)
	r.resume(agent)
	r.ends(id, dream.Completed)
	resumed := r.events(agent, event.DreamResumed{})
	require.Len(t, resumed, 1)
	require.False(t, resumed[0].At.Before(status.Lock), "it went on at %s, and the lock lasted until %s",
		resumed[0].At, status.Lock)
	r.sound(1)
}

// spendTheRest books what every cap above a dream still allows, as other dreams of the same day would.
func (r *room) spendTheRest(agent dream.Agent, id string) {
	r.t.Helper()
	e, err := chaos.Gather(r.ctx, r.deployment, r.upstream.Billing)
	require.NoError(r.t, err)
	spec, ledger, least := e.Dreams[0].Spec, r.deployment.Store.Ledger(), budget.Micros(budget.Unlimited)
	for _, account := range spec.Accounts {
		balance, err := ledger.Balance(r.ctx, account.Scope)
		require.NoError(r.t, err)
		least = min(least, account.Limit-balance.Spent-balance.Reserved)
	}
	hold, err := ledger.Reserve(r.ctx, spend.Ask{
		Step:     id + "/nrem/elsewhere",
		Agent:    agent.ID,
		Dream:    id,
		Phase:    "nrem",
		Model:    "scripted/script",
		Day:      spec.Day,
		Amount:   least,
		Accounts: spec.Accounts,
		At:       time.Now(),
	})
	require.NoError(r.t, err)
	require.NoError(r.t, ledger.Settle(r.ctx, hold, spend.Bill{State: spend.Settled, Amount: least, At: time.Now()}))
}
