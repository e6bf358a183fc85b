package waking_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/waking"
	"github.com/seed-56a03226/oneiros/workflows"
)

// away is how long Temporal is away.
func away() time.Duration {
	if full {
		return time.Minute
	}
	return 4 * time.Second
}

// back is how soon after Temporal's return every wake must be recorded: the promise of the deployment.
const back = 15 * time.Second

// Temporal stops answering, or dies, while agents dream and clients keep connecting. Each is answered, and soon after
// its return everything is recorded.
func TestWhileTemporalIsAwayEveryConnectIsAnsweredAndRecordedAfterItsReturn(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(*scene) (back func()){
		"frozen": func(r *scene) func() { r.server.Freeze(); return r.server.Thaw },
		"killed": func(r *scene) func() { r.server.Kill(); return r.server.Restart },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := openScene(t, options{own: true, token: 20 * time.Millisecond})
			agents := make([]dream.Agent, 6)
			for i := range agents {
				agents[i] = r.addAgent()
			}
			for _, agent := range agents {
				moment := r.await(provider.None, first(agent), dream.Onset, "induction")
				r.begin(agent)
				r.receive(moment)
			}
			comeBack := leave(r)
			wakes, took := connectAllTheWhile(r, agents)
			comeBack()
			ctx, cancel := context.WithTimeout(r.ctx, back)
			defer cancel()
			for i, w := range wakes {
				awoken, err := r.deployment.Starter.Recorded(ctx, w.Agent, w.Epoch)
				require.NoError(t, err, "within %s of its return", back)
				require.Equal(t, workflows.Awake, awoken.State)
				require.Equal(t, first(agents[i]), awoken.Dream)
			}
			slices.Sort(took)
			t.Logf("away for %s: %d connects, p50 %s, p99 %s, max %s", away(), len(took), took[len(took)/2],
				took[len(took)*99/100], took[len(took)-1])
			for _, agent := range agents {
				r.until(func() bool { return r.night(agent, first(agent)).Resumable() }, "%s is never interrupted",
					first(agent))
				r.release(agent)
				r.resume(agent)
			}
			for _, agent := range agents {
				r.requireOutcome(first(agent), dream.Completed)
			}
			r.audit(len(agents))
		})
	}
}

// connectAllTheWhile lets clients connect and leave until the time is over, and returns the wake of each agent.
func connectAllTheWhile(r *scene, agents []dream.Agent) ([]starter.WakeResult, []time.Duration) {
	r.t.Helper()
	wakes := make([]starter.WakeResult, len(agents))
	took := make([][]time.Duration, len(agents))
	over, tick := time.After(away()), time.NewTicker(50*time.Millisecond)
	defer tick.Stop()
	for turn := 0; ; turn++ {
		var all sync.WaitGroup
		for i, agent := range agents {
			all.Go(func() {
				var w starter.WakeResult
				connect := func(ctx context.Context) (err error) {
					w, err = r.deployment.Starter.Wake(ctx, starter.Connection{Agent: agent.Handle, Client: "guest"})
					return err
				}
				stalled, err := waking.Within(r.ctx, answered, connect)
				// caused by the machine, not by Temporal
				for again := 0; err == nil && w.Degraded != "" && stalled > 0 && again < 10; again++ {
					stalled, err = waking.Within(r.ctx, answered, connect)
				}
				if err != nil || w.Raised != (turn == 0) || w.Degraded != "" {
					r.t.Errorf("connect %d to %s: %+v, %v", turn, agent.Handle, w, err)
				}
				if turn == 0 {
					wakes[i] = w
				}
				took[i] = append(took[i], w.Took)
			})
		}
		all.Wait()
		select {
		case <-tick.C:
		case <-over:
			return wakes, slices.Concat(took...)
		}
	}
}
