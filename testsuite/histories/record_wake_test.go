package histories_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/workflows"
)

// resting are the settings under which nothing begins by itself.
func resting(p *testdeploy.Config) {
	p.Settings = workflows.Settings{
		WakeLock: time.Millisecond, ClientTimeout: time.Minute, AlarmHold: time.Second,
		ResumeAfter: 24 * time.Hour,
	}
	p.ResumeTTL = time.Hour
}

// reaches waits until a dream is in a phase and one of its calls is running.
func (s *scene) reaches(agent dream.Agent, phase dream.Phase) {
	s.t.Helper()
	opens := map[dream.Phase]string{
		dream.Onset:  event.OnsetStarted{}.EventType(),
		dream.Return: event.HypnopompicStarted{}.EventType(),
	}
	require.Eventually(s.t, func() bool {
		events, err := s.deployment.Store.Events(s.ctx, agent.ID, 0, 0)
		require.NoError(s.t, err)
		for _, e := range events {
			var started event.PhaseStarted
			if e.Type == opens[phase] ||
				e.Type == started.EventType() && json.Unmarshal(e.Data, &started) == nil && started.Phase == phase {
				calls := s.upstream.Billing.Calls()
				return len(calls) > 0 && calls[len(calls)-1].Open && calls[len(calls)-1].Completion > 5
			}
		}
		return false
	}, time.Minute, time.Millisecond)
}

// connect wakes the agent and waits until its workflow has recorded it.
func (s *scene) connect(agent dream.Agent) starter.WakeResult {
	s.t.Helper()
	woken, err := s.deployment.Starter.Wake(s.ctx, starter.Connection{Agent: agent.Handle, Client: "guest"})
	require.NoError(s.t, err)
	_, err = s.deployment.Starter.Recorded(s.ctx, agent.ID, woken.Epoch)
	require.NoError(s.t, err)
	return woken
}

// resume lets the client leave and the dream resume.
func (s *scene) resume(agent dream.Agent) {
	s.t.Helper()
	require.NoError(s.t, s.deployment.Starter.Leave(s.ctx, agent.Handle, "guest"))
	require.Eventually(s.t, func() bool {
		_, err := s.deployment.Starter.Resume(s.ctx, agent.Handle)
		return err == nil
	}, time.Minute, 5*time.Millisecond)
}

func (s *scene) ends(id string, want dream.Outcome, name string) workflows.Result {
	s.t.Helper()
	result, err := s.deployment.Result(s.ctx, id)
	require.NoError(s.t, err)
	require.Equal(s.t, want, result.Outcome, result.Reason)
	s.save(id, name)
	return result
}

func TestRecordNightsWokenInEachPhase(t *testing.T) {
	t.Parallel()
	for i, phase := range dream.Phases {
		t.Run(string(phase), func(t *testing.T) {
			t.Parallel()
			s := newScene(t, provider.Options{Seed: uint64(20 + i), Each: 4 * time.Millisecond}, resting).startWorker()
			agent := s.addAgent("recorded-woken-" + string(phase))
			begun, err := s.deployment.Starter.Begin(s.ctx, s.request(agent))
			require.NoError(t, err)
			s.reaches(agent, phase)
			require.Equal(t, begun.Dream, s.connect(agent).Dream)
			s.resume(agent)
			s.ends(begun.Dream, dream.Completed, "dream-woken-in-"+string(phase)+"-and-resumed")
			if phase == dream.Onset {
				s.save(workflows.AgentID(agent.Handle), "agent-woken-and-asleep-again")
			}
		})
	}
}

func TestRecordANightWokenTwice(t *testing.T) {
	t.Parallel()
	s := newScene(t, provider.Options{Seed: 30, Each: 4 * time.Millisecond}, resting).startWorker()
	agent := s.addAgent("recorded-twice")
	begun, err := s.deployment.Starter.Begin(s.ctx, s.request(agent))
	require.NoError(t, err)
	for _, phase := range []dream.Phase{dream.Onset, dream.REM} {
		s.reaches(agent, phase)
		s.connect(agent)
		s.resume(agent)
	}
	s.ends(begun.Dream, dream.Completed, "dream-woken-twice")
}

func TestRecordANightThatMayNotResume(t *testing.T) {
	t.Parallel()
	s := newScene(t, provider.Options{Seed: 31, Each: 4 * time.Millisecond},
		func(p *testdeploy.Config) { resting(p); p.ResumeTTL = 0 }).startWorker()
	agent := s.addAgent("recorded-final")
	begun, err := s.deployment.Starter.Begin(s.ctx, s.request(agent))
	require.NoError(t, err)
	s.reaches(agent, dream.NREM)
	s.connect(agent)
	s.ends(begun.Dream, dream.Interrupted, "dream-interrupted-for-good")
}

func TestRecordANightThatWasNotResumed(t *testing.T) {
	t.Parallel()
	s := newScene(t, provider.Options{Seed: 32, Each: 4 * time.Millisecond},
		func(p *testdeploy.Config) { resting(p); p.ResumeTTL = 2 * time.Second }).startWorker()
	agent := s.addAgent("recorded-left")
	begun, err := s.deployment.Starter.Begin(s.ctx, s.request(agent))
	require.NoError(t, err)
	s.reaches(agent, dream.Onset)
	s.connect(agent)
	s.ends(begun.Dream, dream.Interrupted, "dream-interrupted-time-ran-out")
}

func TestRecordANightReplacedByAnother(t *testing.T) {
	t.Parallel()
	s := newScene(t, provider.Options{Seed: 33, Each: 4 * time.Millisecond}, resting).startWorker()
	agent := s.addAgent("recorded-gave-way")
	first, err := s.deployment.Starter.Begin(s.ctx, s.request(agent))
	require.NoError(t, err)
	s.reaches(agent, dream.REM)
	s.connect(agent)
	require.NoError(t, s.deployment.Starter.Leave(s.ctx, agent.Handle, "guest"))
	var second workflows.StartedDream
	require.Eventually(t, func() bool {
		second, err = s.deployment.Starter.Begin(s.ctx, s.request(agent))
		return err == nil
	}, time.Minute, 20*time.Millisecond)
	s.ends(first.Dream, dream.Interrupted, "dream-interrupted-gave-way")
	require.NoError(t, s.deployment.Starter.Cancel(s.ctx, second.Dream))
	_, err = s.deployment.Result(s.ctx, second.Dream)
	require.NoError(t, err)
	s.save(workflows.AgentID(agent.Handle), "agent-let-a-dream-go")
}

func TestRecordAnAlarmInTheOnset(t *testing.T) {
	t.Parallel()
	s := newScene(t, provider.Options{Seed: 34, Each: 4 * time.Millisecond}, resting).startWorker()
	agent := s.addAgent("recorded-alarm")
	begun, err := s.deployment.Starter.Begin(s.ctx, s.request(agent))
	require.NoError(t, err)
	s.reaches(agent, dream.Onset)
	require.NoError(t, s.deployment.Starter.Alarm(s.ctx, agent.ID, "harbour/price"))
	require.Eventually(t, func() bool {
		_, err := s.deployment.Starter.Resume(s.ctx, agent.Handle)
		return err == nil
	}, time.Minute, 50*time.Millisecond)
	s.ends(begun.Dream, dream.Completed, "dream-alarm-in-the-onset")
	s.save(workflows.AgentID(agent.Handle), "agent-alarmed")
}

func TestRecordASignalWithNothingInIt(t *testing.T) {
	t.Parallel()
	for _, to := range []string{"dream", "agent"} {
		t.Run(to, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, provider.Options{Seed: 35, Each: 4 * time.Millisecond},
				func(p *testdeploy.Config) { resting(p); p.ResumeTTL = 0 }).startWorker()
			agent := s.addAgent("recorded-signal-" + to)
			begun, err := s.deployment.Starter.Begin(s.ctx, s.request(agent))
			require.NoError(t, err)
			s.reaches(agent, dream.Onset)
			target := begun.Dream
			if to == "agent" {
				target = workflows.AgentID(agent.Handle)
			}
			require.NoError(t, s.deployment.Client.SignalWorkflow(s.ctx, target, "", workflows.SignalWake, nil))
			s.ends(begun.Dream, dream.Interrupted, "dream-woken-by-a-signal-to-the-"+to)
		})
	}
}

func TestRecordANightCanceledWhileItWaits(t *testing.T) {
	t.Parallel()
	s := newScene(t, provider.Options{Seed: 36, Each: 4 * time.Millisecond}, resting).startWorker()
	agent := s.addAgent("recorded-waits")
	begun, err := s.deployment.Starter.Begin(s.ctx, s.request(agent))
	require.NoError(t, err)
	s.reaches(agent, dream.Integration)
	s.connect(agent)
	require.NoError(t, s.deployment.Starter.Cancel(s.ctx, begun.Dream))
	s.ends(begun.Dream, dream.Canceled, "dream-canceled-while-it-waited")
}

// Two workers: one takes the activity and is frozen, so that its call is abandoned; the other continues the workflow.
func TestRecordANightWhoseCallWasLeftBehind(t *testing.T) {
	t.Parallel()
	s := newScene(t, provider.Options{Seed: 37, Each: 20 * time.Millisecond, AtLeast: 500},
		func(p *testdeploy.Config) { resting(p); p.ResumeTTL = 0 })
	frozen, err := testdeploy.StartWorkerProcess(s.deployment.Config)
	require.NoError(t, err)
	t.Cleanup(frozen.Kill)
	agent := s.addAgent("recorded-forced")
	begun, err := s.deployment.Starter.Begin(s.ctx, s.request(agent))
	require.NoError(t, err)
	s.reaches(agent, dream.Onset)
	frozen.Freeze()
	s.startWorker()
	woken, err := s.deployment.Starter.Wake(s.ctx, starter.Connection{Agent: agent.Handle, Client: "guest"})
	require.NoError(t, err)
	_, err = s.deployment.Starter.Recorded(s.ctx, agent.ID, woken.Epoch)
	require.NoError(t, err)
	s.ends(begun.Dream, dream.Interrupted, "dream-forced-to-stop")
	forced := false
	history := s.deployment.Client.GetWorkflowHistory(s.ctx, begun.Dream, "", false,
		enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for history.HasNext() {
		e, err := history.Next()
		require.NoError(t, err)
		forced = forced || e.GetTimerStartedEventAttributes() != nil
	}
	require.True(t, forced, "the cooperative time was waited for")
}

func TestRecordAWokenNightWhoseWorkerWasKilled(t *testing.T) {
	t.Parallel()
	s := newScene(t, provider.Options{Seed: 38, Each: 4 * time.Millisecond}, resting)
	actor, err := testdeploy.StartWorkerProcess(s.deployment.Config)
	require.NoError(t, err)
	agent := s.addAgent("recorded-crash")
	begun, err := s.deployment.Starter.Begin(s.ctx, s.request(agent))
	require.NoError(t, err)
	s.reaches(agent, dream.Onset)
	_, err = s.deployment.Starter.Wake(s.ctx, starter.Connection{Agent: agent.Handle, Client: "guest"})
	require.NoError(t, err)
	actor.Kill()
	s.startWorker()
	s.resume(agent)
	s.ends(begun.Dream, dream.Completed, "dream-woken-and-its-worker-killed")
}

func TestRecordAFeedThatRaisesAnAlarm(t *testing.T) {
	t.Parallel()
	s := newScene(t, provider.Options{Seed: 39}, resting).startWorker()
	agent := s.addAgent("recorded-follower")
	agent.Feed = "recorded-tide"
	require.NoError(t, s.deployment.Store.PutAgent(s.ctx, agent))
	require.NoError(t, s.deployment.Starter.ForFeeds().PutFeed(s.ctx, dream.Feed{
		Name: agent.Feed, Rules: []dream.Rule{{Name: "flood", Metric: "level", Kind: dream.Above, Number: 4}},
	}))
	for _, level := range []float64{3, 4.2, 4.5, 3.5} {
		require.NoError(t,
			s.deployment.Starter.ForFeeds().Push(s.ctx, agent.Feed,
				[]dream.Reading{{At: time.Now(), Metric: "level", Number: &level}}))
	}
	require.Eventually(t, func() bool {
		state, err := s.deployment.Starter.ForFeeds().FeedState(s.ctx, agent.Feed)
		return err == nil && state.Readings == 4 && state.Alarms == 1
	}, time.Minute, 10*time.Millisecond)
	s.save(workflows.FeedID(agent.Feed), "feed-alarm")
	require.NoError(t, s.deployment.Starter.ForFeeds().DropFeed(s.ctx, agent.Feed))
}

var wakes = func() []string {
	names := []string{
		"dream-woken-twice", "dream-interrupted-for-good", "dream-interrupted-time-ran-out",
		"dream-interrupted-gave-way", "dream-alarm-in-the-onset",
		"dream-woken-by-a-signal-to-the-dream", "dream-woken-by-a-signal-to-the-agent",
		"dream-canceled-while-it-waited", "dream-forced-to-stop",
		"dream-woken-and-its-worker-killed", "agent-woken-and-asleep-again", "agent-let-a-dream-go", "agent-alarmed",
		"feed-alarm",
	}
	for _, phase := range dream.Phases {
		names = append(names, fmt.Sprintf("dream-woken-in-%s-and-resumed", phase))
	}
	return names
}()
