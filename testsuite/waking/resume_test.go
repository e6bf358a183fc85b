package waking_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/chaos"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/workflows"
)

func inTenMinutes() time.Time { return time.Now().Add(10 * time.Minute) }

func TestAResumedDreamIsNotResumedAgain(t *testing.T) {
	t.Parallel()
	r := openScene(t, options{})
	agent := r.addAgent()
	id := r.beginAndInterrupt(agent)
	_, err := r.deployment.Starter.Resume(r.ctx, agent.Handle)
	require.ErrorIs(t, err, starter.ErrAwake)
	r.release(agent)
	moment := r.await(provider.None, id, dream.NREM, "forward")
	require.Equal(t, id, r.resume(agent).Dream)
	_, err = r.deployment.Starter.Resume(r.ctx, agent.Handle)
	require.ErrorIs(t, err, starter.ErrDreaming)
	// one signal too many
	require.NoError(t, r.deployment.Client.SignalWorkflow(r.ctx, id, "", workflows.SignalResume, nil))
	require.NoError(t,
		r.deployment.Client.SignalWorkflow(r.ctx, workflows.AgentID(agent.Handle), "", workflows.SignalResume, nil))
	r.receive(moment)
	r.requireOutcome(id, dream.Completed)
	require.Equal(t, 2, r.night(agent, id).Stretches)
	require.Len(t, r.events(agent, event.DreamResumed{}), 1)
	_, err = r.deployment.Starter.Resume(r.ctx, agent.Handle)
	require.ErrorIs(t, err, starter.ErrNothing)
	r.audit(1)
}

// A resume signal that came while the dream still ran does not take the agent from a connected client: it is refused
// until the client has left.
func TestALateResumeSignalDoesNotResumeADreamBesideAClient(t *testing.T) {
	t.Parallel()
	r := openScene(t, options{})
	agent := r.addAgent()
	id := first(agent)
	moment := r.await(provider.HangMiddle, id, dream.Onset, "1/partial-2")
	r.begin(agent)
	r.receive(moment)
	require.NoError(t, r.deployment.Client.SignalWorkflow(r.ctx, id, "", workflows.SignalResume, nil))
	r.recorded(r.connect(agent))
	require.NoError(t, r.deployment.Client.SignalWorkflow(r.ctx, id, "", workflows.SignalResume, nil))
	r.until(func() bool {
		progress, err := r.deployment.Starter.Progress(r.ctx, id)
		return err == nil && progress.Outcome == dream.Interrupted
	}, "it is never interrupted")
	require.Empty(t, r.events(agent, event.DreamResumed{}))
	require.Equal(t, workflows.Awake, r.agentState(agent).State)
	r.release(agent)
	r.resume(agent)
	r.requireOutcome(id, dream.Completed)
	r.audit(1)
}

func TestADreamNotResumedInTimeEndsInterrupted(t *testing.T) {
	t.Parallel()
	r := openScene(t, options{edit: func(p *testdeploy.Config) { p.ResumeTTL = 2 * time.Second }})
	agent := r.addAgent()
	id := r.beginAndInterrupt(agent)
	result := r.requireOutcome(id, dream.Interrupted)
	require.Contains(t, result.Reason, "nobody resumed it within 2s")
	require.Positive(t, result.Kept)
	require.False(t, r.night(agent, id).Resumable())
	require.Len(t, r.events(agent, event.DreamEnded{}), 1)
	r.release(agent)
	_, err := r.deployment.Starter.Resume(r.ctx, agent.Handle)
	require.ErrorIs(t, err, starter.ErrNothing)
	r.audit(1)
}

func TestADreamThatMayNotBeResumedEndsWithItsFirstWake(t *testing.T) {
	t.Parallel()
	r := openScene(t, options{edit: func(p *testdeploy.Config) { p.ResumeTTL = 0 }})
	agent := r.addAgent()
	id := first(agent)
	moment := r.await(provider.HangMiddle, id, dream.REM, "branch-1")
	r.begin(agent)
	r.receive(moment)
	r.recorded(r.connect(agent))
	r.requireOutcome(id, dream.Interrupted)
	r.audit(1)
}

// The estimated cost of an interrupted call may be all that was left.
func TestADreamWithoutMoneyLeftEndsInterrupted(t *testing.T) {
	t.Parallel()
	r := openScene(t, options{})
	agent := r.addAgent()
	id := first(agent)
	moment := r.await(provider.HangMiddle, id, dream.NREM, "forward")
	r.begin(agent)
	r.receive(moment)
	r.recorded(r.connect(agent))
	r.release(agent)
	r.spendTheRest(agent, id)
	r.resume(agent)
	result := r.requireOutcome(id, dream.Interrupted)
	require.Contains(t, result.Reason, "nothing is left")
	require.False(t, r.night(agent, id).Resumable())
	require.Equal(t, 1, r.night(agent, id).Stretches)
	slots, err := r.deployment.Store.Slots(r.ctx)
	require.NoError(t, err)
	require.Empty(t, slots)
}

func TestANewDreamEndsTheInterruptedOne(t *testing.T) {
	t.Parallel()
	r := openScene(t, options{})
	agent := r.addAgent()
	id := r.beginAndInterrupt(agent)
	r.release(agent)
	second := r.begin(agent)
	require.NotEqual(t, id, second)
	result := r.requireOutcome(id, dream.Interrupted)
	require.Contains(t, result.Reason, "another dream was begun")
	require.False(t, r.night(agent, id).Resumable())
	r.requireOutcome(second, dream.Completed)
	r.audit(1)
}

// A dream requested within the wake lock is refused, and begins after it.
func TestNoDreamBeginsWithinTheWakeLock(t *testing.T) {
	t.Parallel()
	const lock = 1500 * time.Millisecond
	r := openScene(t, options{edit: func(p *testdeploy.Config) { p.Settings.WakeLock = lock }})
	agent := r.addAgent()
	id := r.beginAndInterrupt(agent)
	require.NoError(t, r.deployment.Starter.Leave(r.ctx, agent.Handle, "guest"))
	_, err := r.deployment.Starter.Begin(r.ctx, r.request(agent))
	require.ErrorIs(t, err, starter.ErrAwake)
	_, err = r.deployment.Starter.Resume(r.ctx, agent.Handle)
	require.ErrorIs(t, err, starter.ErrAwake)
	status, err := r.deployment.Starter.Status(r.ctx, agent.Handle)
	require.NoError(t, err)
	r.state(agent, workflows.Sleeping)
	r.resume(agent)
	r.requireOutcome(id, dream.Completed)
	resumed := r.events(agent, event.DreamResumed{})
	require.Len(t, resumed, 1)
	require.False(t, resumed[0].At.Before(status.Lock), "it went on at %s, and the lock lasted until %s",
		resumed[0].At, status.Lock)
	r.audit(1)
}

// spendTheRest books what every cap above a dream still allows, as other dreams of the same day would.
func (r *scene) spendTheRest(agent dream.Agent, id string) {
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
