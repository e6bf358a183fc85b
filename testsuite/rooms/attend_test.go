package rooms_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/rooms"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/chaos"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/workflows"
)

// owner is the person of requests without a key.
var owner = psyche.Caller{Key: access.Key{Role: access.Owner, Principal: access.Local}}

// sceneWithin bounds a scene; nothing is measured by it.
const sceneWithin = 5 * time.Minute

// scene is a deployment whose agents say "Here I am." when they are called.
type scene struct {
	testing.TB
	ctx        context.Context
	server     *temporal.Server
	upstream   *provider.Server
	deployment *testdeploy.Deployment
	rooms      *testdeploy.Rooms
}

func openScene(t testing.TB, plan provider.Plan) *scene {
	t.Helper()
	if testing.Short() {
		t.Skip("plays on a real Temporal server; make test runs it")
	}
	return openSceneOn(t, plan, temporal.Shared(t), sceneWithin)
}

func openSceneOn(t testing.TB, plan provider.Plan, server *temporal.Server, within time.Duration) *scene {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	t.Cleanup(cancel)
	s := &scene{TB: t, ctx: ctx, server: server}
	var err error
	s.upstream, err = provider.Start(provider.Options{
		Seed:  7,
		First: 2 * time.Millisecond,
		Each:  5 * time.Millisecond,
		Plan:  plan,
		Say:   replied,
	})
	require.NoError(t, err)
	t.Cleanup(s.upstream.Close)
	config := testdeploy.Config{
		Store: filepath.Join(t.TempDir(), "memory.db"), Address: s.server.Address, Namespace: s.server.Namespace,
		Queue: s.server.TaskQueue, Provider: s.upstream.URL, Model: "script", Knobs: dream.DefaultKnobs(),
		ResumeTTL: time.Hour, RoomLease: 2 * time.Second,
		Settings: workflows.Settings{
			WakeLock: time.Millisecond, ClientTimeout: time.Minute, ResumeAfter: 24 * time.Hour,
		},
	}
	s.deployment, err = testdeploy.Open(ctx, config, s.server.Dial(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.deployment.Close()) })
	s.rooms = s.deployment.OpenRooms("serve")
	return s
}

// replied answers calls, and lets the server make up everything else.
func replied(r provider.Request) string {
	if r.Schema != "wake" {
		return ""
	}
	body, err := json.Marshal(map[string]any{"should_respond": true, "response": "Here I am.", "emotion": "curious"})
	if err != nil {
		return ""
	}
	return string(body)
}

func (s *scene) addAgents(handles ...string) []dream.Agent {
	s.Helper()
	agents := make([]dream.Agent, len(handles))
	for i, handle := range handles {
		var err error
		agents[i], err = s.deployment.AddAgent(s.ctx, 0, handle)
		require.NoError(s, err)
	}
	return agents
}

func (s *scene) hall(id string, handles ...string) {
	s.Helper()
	_, err := s.rooms.Create(s.ctx, owner, rooms.CreateRequest{ID: id, Join: handles})
	require.NoError(s, err)
}

func (s *scene) say(id, as, body string) rooms.PostResult {
	s.Helper()
	done, err := s.rooms.Post(s.ctx, owner, rooms.PostRequest{Room: id, As: as, Body: body})
	require.NoError(s, err)
	return done
}

// await waits until the room holds a post whose text contains something.
func (s *scene) await(id, text string) room.Post {
	s.Helper()
	var found room.Post
	require.Eventually(s, func() bool {
		page, err := s.rooms.History(s.ctx, owner, room.Query{Room: id})
		if err != nil {
			return false
		}
		for _, p := range page.Posts {
			if strings.Contains(p.Body, text) {
				found = p
				return true
			}
		}
		return false
	}, 2*time.Minute, 20*time.Millisecond, "nobody says %q in %s", text, id)
	return found
}

func (s *scene) worker() {
	s.Helper()
	w, err := s.deployment.StartWorker()
	require.NoError(s, err)
	s.Cleanup(w.Stop)
}

func (s *scene) crew(n int) *chaos.Workers {
	s.Helper()
	crew, err := chaos.StartWorkers(s.deployment.Config, n)
	require.NoError(s, err)
	s.Cleanup(crew.KillAll)
	return crew
}

// A sleep with an end is ended by Temporal's timer, in a process that took no part in it; then what waited is answered.
func TestATimerEndsASleepAndWhatWaitedIsAnswered(t *testing.T) {
	t.Parallel()
	s := openScene(t, nil)
	s.worker()
	s.addAgents("timer-echo", "timer-iris")
	s.hall("timer", "timer-echo", "timer-iris")
	_, err := s.rooms.SetDormancy(s.ctx, owner, "timer-echo", rooms.DormancyRequest{Level: dormancy.Sleep, For: "2s"})
	require.NoError(t, err)
	_, err = s.rooms.SetDormancy(s.ctx, owner, "timer-iris", rooms.DormancyRequest{Level: dormancy.MentionOnly})
	require.NoError(t, err)
	done := s.say("timer", "timer-iris", "@timer-echo are you there?")
	require.Equal(t, []rooms.Reached{{
		Agent: "timer-echo", Outcome: room.Queued, Reason: "level", Level: dormancy.Sleep,
	}}, done.Reached)
	s.await("timer", "auto-woke")
	reply := s.await("timer", "Here I am.")
	require.Equal(t, done.Post.ID, reply.ReplyTo)
	var ended error
	require.Eventually(t, func() bool {
		ended = s.deployment.Client.GetWorkflow(s.ctx, workflows.AttendID("timer-echo"), "").Get(s.ctx, nil)
		return ended == nil
	}, time.Minute, 50*time.Millisecond, "the attendant ends when nothing is due")
}

// The process that took a mention dies before it has answered. A worker finds what it left, and the reply comes once.
func TestAMentionOutlivesTheProcessThatTookIt(t *testing.T) {
	t.Parallel()
	s := openScene(t, nil)
	agents := s.addAgents("left-echo")
	s.hall("left", "left-echo")
	post, err := s.deployment.Store.Rooms().Post(s.ctx, room.Draft{
		Room: "left", Author: room.PersonID("local"), Key: "left", Body: "@left-echo?",
		Mentions: []room.Mention{{Who: room.AgentID(agents[0].ID), Name: "left-echo"}}, Now: time.Now(),
	}, func(m room.Situation) room.Decision {
		return room.Decision{Deliveries: []room.Delivery{{Agent: agents[0].ID, Outcome: room.Queued, Priority: 5}}}
	})
	require.NoError(t, err)
	_, err = s.deployment.Store.Rooms().Take(s.ctx, room.Take{
		Agent: agents[0].ID, Holder: "a process that died", For: s.deployment.Config.RoomLease, Now: time.Now(),
	})
	require.NoError(t, err)
	s.worker()
	require.NoError(t, s.rooms.Sweep(s.ctx, time.Minute))
	reply := s.await("left", "Here I am.")
	require.Equal(t, post.Post.ID, reply.ReplyTo)
	page, err := s.rooms.History(s.ctx, owner, room.Query{Room: "left"})
	require.NoError(t, err)
	require.Len(t, page.Posts, 2, "the reply comes once")
}

// A worker is killed while its model answers. Another one goes on, the reply comes once, and nothing was paid that the
// ledger does not know.
func TestAKilledWorkerLeavesNoMentionUnanswered(t *testing.T) {
	t.Parallel()
	moments := new(chaos.Moments)
	s := openScene(t, moments.Plan(nil))
	s.addAgents("killed-echo", "killed-iris")
	s.hall("killed", "killed-echo", "killed-iris")
	_, err := s.rooms.SetDormancy(s.ctx, owner, "killed-echo", rooms.DormancyRequest{Level: dormancy.Sleep, For: "1s"})
	require.NoError(t, err)
	_, err = s.rooms.SetDormancy(s.ctx, owner, "killed-iris", rooms.DormancyRequest{Level: dormancy.MentionOnly})
	require.NoError(t, err)
	called := moments.Await(provider.None, func(_ int, a provider.Arrival) bool {
		return strings.HasPrefix(a.Key, "call/id-killed-echo/")
	})
	s.say("killed", "killed-iris", "@killed-echo?")
	crew := s.crew(2)
	select {
	case <-called:
	case <-s.ctx.Done():
		require.FailNow(t, "the agent is never called")
	}
	crew.KillAll()
	s.crew(1)
	s.await("killed", "Here I am.")
	calls, err := s.rooms.Calls(s.ctx, owner, "killed-echo", 0, 0)
	require.NoError(t, err)
	require.Len(t, calls, 1)
	require.Equal(t, room.Replied, calls[0].Outcome)
	page, err := s.rooms.History(s.ctx, owner, room.Query{Room: "killed"})
	require.NoError(t, err)
	replies := 0
	for _, p := range page.Posts {
		if p.Body == "Here I am." {
			replies++
		}
	}
	require.Equal(t, 1, replies)
}

// A person's mention interrupts a dream; an agent's waits for its end.
func TestAPersonsMentionInterruptsADream(t *testing.T) {
	t.Parallel()
	moments := new(chaos.Moments)
	s := openScene(t, moments.Plan(nil))
	s.worker()
	agents := s.addAgents("dreamer")
	s.hall("dream", "dreamer")
	id := workflows.DreamID("dreamer", 1)
	dreams := moments.Await(provider.None, func(_ int, a provider.Arrival) bool { return strings.HasPrefix(a.Key, id) })
	_, err := s.deployment.Starter.Begin(s.ctx, starter.DreamRequest{
		Agent: agents[0].Handle, Tier: dream.Hardened, AsOf: testdeploy.Night,
	})
	require.NoError(t, err)
	select {
	case <-dreams:
	case <-s.ctx.Done():
		require.FailNow(t, "the agent never dreams")
	}
	s.say("dream", "", "@dreamer good morning")
	s.await("dream", "Here I am.")
	require.Eventually(t, func() bool {
		record, err := s.deployment.Starter.AgentState(s.ctx, "dreamer")
		return err == nil && record.State == workflows.Awake && record.Interrupted != nil
	}, time.Minute, 20*time.Millisecond, "the dream is interrupted")
}
