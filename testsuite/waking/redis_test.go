package waking_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
	"github.com/seed-56a03226/oneiros/workflows"
)

// redisAway is how long Redis is away: several times as long as a connect takes to be answered without it.
const redisAway = 2 * time.Second

// Redis stops answering, or dies, while an agent dreams, and a client connects: it goes on, and is told what could
// not be done. When Redis is back the agent is awake, and nothing is lost.
func TestAConnectWhileRedisIsAwayIsAnsweredAndCompletedLater(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("plays on real servers; make test runs it")
	}
	for name, leave := range map[string]func(*redis.Server) (back func()){
		"frozen":                 func(s *redis.Server) func() { s.Freeze(); return s.Thaw },
		"killed":                 func(s *redis.Server) func() { s.Kill(); return s.Restart },
		"killed before they met": func(s *redis.Server) func() { s.Kill(); return s.Restart },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redis.Start(t, redis.Fsync("always"))
			r := openScene(t, options{redis: server, token: 10 * time.Millisecond})
			agent := r.addAgent()
			id, epochs := first(agent), int64(1)
			seen := !strings.Contains(name, "met")
			if seen {
				r.recorded(r.connect(agent))
				r.release(agent)
				epochs = 2
			}
			moment := r.await(provider.HangMiddle, id, dream.NREM, "forward")
			r.begin(agent)
			r.receive(moment)
			r.awaitTokens("nrem/forward", 5)
			comeBack := leave(server)
			over := time.After(redisAway)
			var last starter.WakeResult
			for away := true; away; {
				woken, _ := r.call(starter.Connection{Agent: agent.Handle, Client: "guest"})
				require.NotEmpty(t, woken.Degraded)
				require.Zero(t, woken.Digest, "no digest that is not fixed is sent")
				last = woken
				select {
				case <-over:
					away = false
				default:
				}
			}
			comeBack()
			if seen { // otherwise the key to ask for is unknown
				require.Equal(t, workflows.Awake, r.recorded(last).State)
			}
			r.until(func() bool { return r.night(agent, id).Resumable() }, "%s is never interrupted", id)
			r.state(agent, workflows.Awake)
			status, err := r.deployment.Starter.Status(r.ctx, agent.Handle)
			require.NoError(t, err)
			require.Equal(t, epochs, status.Epoch, "many connects, one wake")
			require.Equal(t, presence.Connect, status.Last.Cause)
			r.until(func() bool { // a connect may be recorded after its client has left
				return r.deployment.Starter.Sleep(r.ctx, agent.Handle) == nil &&
					r.agentState(agent).State == workflows.Sleeping
			}, "%s never sleeps again", agent.Handle)
			r.resume(agent)
			r.requireOutcome(id, dream.Completed)
			r.audit(1)
		})
	}
}
