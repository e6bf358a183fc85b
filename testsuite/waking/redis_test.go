package waking_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
	"github.com/seed-56a03226/oneiros/testsuite/stage"
	"github.com/seed-56a03226/oneiros/workflows"
)

// onRedis makes a room whose two worker processes share one Redis server.
func onRedis(t *testing.T) (*room, *redis.Server) {
	t.Helper()
	if testing.Short() {
		t.Skip("plays on real servers; make test runs it")
	}
	server := redis.Start(t, redis.Fsync("always"))
	return furnish(t, furniture{own: true, workers: 2, token: 20 * time.Millisecond, edit: func(p *stage.Play) { p.Redis, p.Prefix = server.URL, "room:" }}), server
}

// Redis stops answering, or dies, in the middle of a dream, and somebody knocks: the answer comes in time and says what is
// missing. When Redis is back the wake is recorded, the dream put down, and it goes on to its end with nothing twice.
func TestWhileRedisIsAwayAKnockIsAnsweredAndMadeGoodAfterItsReturn(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(*redis.Server) (back func()){
		"frozen": func(s *redis.Server) func() { s.Freeze(); return s.Thaw },
		"killed": func(s *redis.Server) func() { s.Kill(); return s.Restart },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, server := onRedis(t)
			agent := r.hire()
			_, err := r.company.Starter.Standing(r.ctx, agent.Handle)
			require.NoError(t, err)
			moment := r.await(provider.None, first(agent), dream.Onset, "induction")
			id := r.begin(agent)
			r.come(moment)
			comeBack := leave(server)
			ctx, cancel := context.WithTimeout(r.ctx, answered)
			w, err := r.company.Starter.Wake(ctx, starter.Knock{Agent: agent.Handle, Client: "guest"})
			cancel()
			require.NoError(t, err, "answered within %s", answered)
			require.Contains(t, w.Degraded, "the store does not answer")
			comeBack()
			require.Eventually(t, func() bool {
				life, err := r.company.Starter.Life(r.ctx, agent.Handle)
				return err == nil && life.State == workflows.Awake && life.Epoch > 0 && life.Broken != nil
			}, patience, 20*time.Millisecond)
			require.NoError(t, r.company.Starter.Sleep(r.ctx, agent.Handle))
			require.Eventually(t, func() bool {
				_, err := r.company.Starter.Resume(r.ctx, agent.Handle)
				return err == nil
			}, patience, 20*time.Millisecond)
			result, err := r.company.Result(r.ctx, id)
			require.NoError(t, err)
			require.Equal(t, dream.Completed, result.Outcome, result.Reason)
			require.Empty(t, r.till.Till.Repeated(), "an answer that was served whole was bought twice")
		})
	}
}

// Dreams of many agents, on Redis, are carried by both processes, and a knock reaches the one that has the call.
func TestTwoProcessesOnRedisShareTheDreamsAndHearTheBell(t *testing.T) {
	t.Parallel()
	r, _ := onRedis(t)
	agents := make([]dream.Agent, 8)
	for i := range agents {
		agents[i] = r.hire()
		moment := r.await(provider.None, first(agents[i]), dream.Onset, "induction")
		r.begin(agents[i])
		r.come(moment)
	}
	workers := map[string]bool{}
	for _, agent := range agents {
		described, err := r.company.Client.DescribeWorkflowExecution(r.ctx, first(agent), "")
		require.NoError(t, err)
		for _, pending := range described.GetPendingActivities() {
			workers[pending.GetLastWorkerIdentity()] = true
		}
	}
	require.Len(t, workers, 2, "both processes do deeds")
	for _, agent := range agents {
		w := r.knock(agent)
		_, err := r.company.Starter.Recorded(r.ctx, agent.ID, w.Epoch)
		require.NoError(t, err)
		events, err := r.company.Store.Events(r.ctx, agent.ID, 0, 0)
		require.NoError(t, err)
		for _, e := range events {
			var told event.DreamInterrupted
			if e.Type == told.EventType() {
				require.NoError(t, json.Unmarshal(e.Data, &told))
				require.False(t, told.Forced)
				require.False(t, told.Light)
			}
		}
		night, err := memory.One[*dream.Night](r.ctx, r.company.Store, agent.ID, first(agent))
		require.NoError(t, err)
		require.Equal(t, dream.Interrupted, night.Outcome)
	}
}
