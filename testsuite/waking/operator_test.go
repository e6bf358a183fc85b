package waking_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/workers"
	"github.com/seed-56a03226/oneiros/workflows"
)

// TestAPlainWakeFromAnyTemporalToolWakes sends what a person types into the temporal CLI or the UI: a name and
// nothing else.
func TestAPlainWakeFromAnyTemporalToolWakes(t *testing.T) {
	t.Parallel()
	r := openScene(t, options{workers: 2})
	signal := func(name string, args ...any) func(*scene, string) {
		return func(r *scene, workflow string) {
			var arg any
			if len(args) > 0 {
				arg = args[0]
			}
			require.NoError(r.t, r.deployment.Client.SignalWorkflow(r.ctx, workflow, "", name, arg))
		}
	}
	updated := func(r *scene, workflow string) { require.Equal(r.t, workflows.Awake, r.update(workflow).State) }
	type tool struct {
		send       func(*scene, string)
		agentState bool // to the agent's workflow, otherwise to the dream
		cause      presence.Cause
	}
	t.Run("tools", func(t *testing.T) {
		for name, tool := range map[string]tool{
			"wake to the life":    {signal(workflows.SignalWake), true, presence.Operator},
			"wake to the dream":   {signal(workflows.SignalWake), false, presence.Operator},
			"alarm to the life":   {signal(workflows.SignalAlarm), true, presence.Alarm},
			"alarm to the dream":  {signal(workflows.SignalAlarm), false, presence.Alarm},
			"update of the life":  {updated, true, presence.Operator},
			"update of the dream": {updated, false, presence.Operator},
			"a word no one can read": {
				both(signal(workflows.SignalWake, "now!"), signal(workflows.SignalAlarm)),
				false, presence.Alarm,
			},
			"a word no life can read": {
				both(signal(workflows.SignalWake, "now!"), signal(workflows.SignalAlarm)),
				true, presence.Alarm,
			},
			"an alarm with its trigger": {
				signal(workflows.SignalAlarm, workflows.Wake{Trigger: "btc/crash"}), true,
				presence.Alarm,
			},
			"another alarm with trigger": {
				signal(workflows.SignalAlarm, workflows.Wake{Trigger: "btc/crash"}), false,
				presence.Alarm,
			},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				r := r.withT(t)
				agent := r.addAgent()
				id := first(agent)
				moment := r.await(provider.HangMiddle, id, dream.NREM, "forward")
				r.begin(agent)
				r.receive(moment)
				target := id
				if tool.agentState {
					target = workflows.AgentID(agent.Handle)
				}
				tool.send(r, target)
				r.until(func() bool { return r.night(agent, id).Resumable() }, "%s is never interrupted", id)
				r.state(agent, workflows.Awake)
				status, err := r.deployment.Starter.Status(r.ctx, agent.Handle)
				require.NoError(t, err)
				require.Equal(t, int64(1), status.Epoch)
				require.Equal(t, tool.cause, status.Last.Cause)
				r.until(func() bool {
					status, err := r.deployment.Starter.Status(r.ctx, agent.Handle)
					return err == nil && status.Recorded == 1
				}, "the life never tells the store that it knows")
				r.release(agent)
				r.resume(agent)
				r.requireOutcome(id, dream.Completed)
				result := r.wakes(agent)
				require.Len(t, result, 1)
				require.Equal(t, string(tool.cause), result[0].Cause)
			})
		}
	})
	r.auditAll()
}

func both(one, other func(*scene, string)) func(*scene, string) {
	return func(r *scene, workflow string) { one(r, workflow); other(r, workflow) }
}

// An alarm in the onset ends the onset for good: fragments caught before are kept, and the dream resumes with replay.
func TestAnAlarmInTheOnsetEndsItForGood(t *testing.T) {
	t.Parallel()
	r := openScene(t, options{})
	agent := r.addAgent()
	id := first(agent)
	moment := r.await(provider.HangMiddle, id, dream.Onset, "2/partial-1")
	r.begin(agent)
	r.receive(moment)
	woken := r.visit(agent, starter.Connection{Client: "alarm/btc/crash", Cause: presence.Alarm, Trigger: "btc/crash"})
	require.Zero(t, woken.Delta)
	r.recorded(woken)
	require.Len(t, r.events(agent, event.AlarmAbort{}), 1)
	require.Empty(t, r.events(agent, event.OnsetCompleted{}))
	kept := r.night(agent, id)
	require.Positive(t, kept.Phases[0].Kept, "fragments caught before are kept")
	r.release(agent)
	r.resume(agent)
	result := r.requireOutcome(id, dream.Completed)
	require.Equal(t, "stopped", result.Tallies[0].State)
	require.Contains(t, result.Tallies[0].Reason, "btc/crash")
	require.Equal(t, "ran", result.Tallies[1].State)
	require.Empty(t, r.events(agent, event.OnsetCompleted{}))
	r.audit(1)
}

// beginAndInterrupt brings an agent to a dream that waits to be resumed.
func (r *scene) beginAndInterrupt(agent dream.Agent) string {
	r.t.Helper()
	id := first(agent)
	moment := r.await(provider.HangMiddle, id, dream.Onset, "2/partial-2")
	require.Equal(r.t, id, r.begin(agent))
	r.receive(moment)
	r.recorded(r.connect(agent))
	require.True(r.t, r.night(agent, id).Resumable())
	return id
}

func TestAnInterruptedDreamThatIsCancelledEndsWithWhatItHas(t *testing.T) {
	t.Parallel()
	r := openScene(t, options{})
	agent := r.addAgent()
	id := r.beginAndInterrupt(agent)
	require.NoError(t, r.deployment.Starter.Cancel(r.ctx, id))
	r.requireOutcome(id, dream.Canceled)
	require.Equal(t, dream.Canceled, r.night(agent, id).Outcome)
	r.release(agent)
	_, err := r.deployment.Starter.Resume(r.ctx, agent.Handle)
	require.ErrorIs(t, err, starter.ErrNothing)
	r.audit(1)
}

// A terminated dream cannot report its end; the reconciler finds it, and nothing stays reserved.
func TestAnInterruptedDreamThatIsTerminatedIsReconciled(t *testing.T) {
	t.Parallel()
	r := openScene(t, options{})
	agent := r.addAgent()
	id := r.beginAndInterrupt(agent)
	require.NoError(t, r.deployment.Client.TerminateWorkflow(r.ctx, id, "", "chaos"))
	r.release(agent)
	_, err := r.deployment.Starter.Resume(r.ctx, agent.Handle)
	require.Error(t, err, "there is no workflow to resume")
	later := *r.deployment
	later.Ports.Now = inTenMinutes // a dream younger than five minutes may be about to begin
	_, err = workers.Reconcile(r.ctx, later.Ports, r.deployment.Starter.Executions())
	require.NoError(t, err)
	record := r.night(agent, id)
	require.Equal(t, dream.Canceled, record.Outcome)
	require.False(t, record.Resumable())
	_, err = r.deployment.Starter.Resume(r.ctx, agent.Handle)
	require.ErrorIs(t, err, starter.ErrNothing)
	second := r.begin(agent)
	r.requireOutcome(second, dream.Completed)
	r.audit(1)
}

// A client connects to a dream that was terminated while it ran: no workflow answers for it, and the client is not
// delayed.
func TestATerminatedDreamDelaysNoConnect(t *testing.T) {
	t.Parallel()
	r := openScene(t, options{})
	agent := r.addAgent()
	id := first(agent)
	moment := r.await(provider.HangMiddle, id, dream.NREM, "forward")
	r.begin(agent)
	r.receive(moment)
	require.NoError(t, r.deployment.Client.TerminateWorkflow(r.ctx, id, "", "chaos"))
	woken := r.connect(agent)
	require.Equal(t, workflows.Awake, r.recorded(woken).State)
	require.NoError(t, r.upstream.Billing.Quiet(r.ctx), "its worker ends the call")
	_, err := workers.Reconcile(r.ctx, r.deployment.Ports, r.deployment.Starter.Executions())
	require.NoError(t, err)
	require.Equal(t, dream.Canceled, r.night(agent, id).Outcome)
	r.release(agent)
	r.requireOutcome(r.begin(agent), dream.Completed)
	r.audit(0)
}
