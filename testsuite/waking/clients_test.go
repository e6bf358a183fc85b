package waking_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/workflows"
)

func clientNamed(name string) starter.Connection { return starter.Connection{Client: name} }

// The first of many concurrent clients wakes the agent; the others find it awake, and all get the same result.
func TestOfManyClientsAtOnceTheFirstWakesTheAgent(t *testing.T) {
	t.Parallel()
	r := openScene(t, options{})
	agent := r.addAgent()
	id := first(agent)
	moment := r.await(provider.HangMiddle, id, dream.Onset, "2/partial-1")
	r.begin(agent)
	r.receive(moment)
	woken := make([]starter.WakeResult, 20)
	var all sync.WaitGroup
	for i := range woken {
		all.Go(func() {
			w, err := r.deployment.Starter.Wake(r.ctx,
				starter.Connection{Agent: agent.Handle, Client: "guest-" + strconv.Itoa(i)})
			if err != nil {
				t.Error(err)
			}
			woken[i] = w
		})
	}
	all.Wait()
	raised := 0
	for _, w := range woken {
		if w.Raised {
			raised++
		}
		require.Equal(t, woken[0].Wake, w.Wake, "all of them get the same result")
		require.Equal(t, id, r.recorded(w).Dream)
	}
	require.Equal(t, 1, raised)
	require.Equal(t, 1, r.agentState(agent).Wakes)
	r.release(agent)
	r.resume(agent)
	r.requireOutcome(id, dream.Completed)
	r.audit(1)
}

// Many clients that come and go start no dream: each of them renews the wake lock, and nothing grows.
func TestAStormOfClientsStartsNoDream(t *testing.T) {
	t.Parallel()
	visits, pace := 100, 20*time.Millisecond
	if full {
		visits = 500
	}
	r := openScene(t, options{edit: func(p *testdeploy.Config) {
		p.Provider = ""
		p.Settings = workflows.Settings{
			Auto:          true,
			IdleTimeout:   50 * time.Millisecond,
			MinGap:        50 * time.Millisecond,
			WakeLock:      time.Second,
			ClientTimeout: time.Second,
		}
	}})
	agent := r.addAgent()
	agent.Auto = true
	require.NoError(t, r.deployment.Store.PutAgent(r.ctx, agent))
	r.recorded(r.connect(agent))
	worker, began := load(t, r.crew.PID(0)), time.Now()
	tick := time.NewTicker(pace)
	defer tick.Stop()
	epochs := map[int64]bool{}
	for i := range visits {
		<-tick.C
		w := r.visit(agent, clientNamed("guest-"+strconv.Itoa(i%7)))
		epochs[w.Epoch] = true
		require.NoError(t, r.deployment.Starter.Leave(r.ctx, agent.Handle, "guest-"+strconv.Itoa(i%7)))
	}
	after := load(t, r.crew.PID(0))
	lasted := time.Since(began)
	require.Empty(t, r.events(agent, event.DreamStarted{}), "a dream began within a wake lock")
	history := r.length(workflows.AgentID(agent.Handle))
	t.Logf(
		"%d visits in %s: %d epochs; the worker used %s of CPU and grew from %d to %d KiB; the life's history has %d events",
		visits,
		lasted.Round(time.Millisecond),
		len(epochs),
		after.cpu-worker.cpu,
		worker.resident>>10,
		after.resident>>10,
		history,
	)
	require.LessOrEqual(
		t,
		int64(len(epochs)),
		1+int64(lasted/time.Second),
		"only a client that finds it asleep wakes it",
	)
	require.LessOrEqual(t, history, 40+8*visits)
	require.Less(t, after.resident-worker.resident, int64(32<<20))
	r.until(func() bool { return len(r.events(agent, event.DreamStarted{})) > 0 },
		"%s never dreams again after its last lease", agent.Handle)
	started := r.events(agent, event.DreamStarted{})[0]
	status, err := r.deployment.Starter.Status(r.ctx, agent.Handle)
	require.NoError(t, err)
	require.False(t, started.At.Before(status.Seen.Add(time.Second)), "it began at %s, within the lock after %s",
		started.At, status.Seen)
	r.requireOutcome(started.Dream, dream.Completed)
}

// processLoad is what a process has used.
type processLoad struct {
	cpu      time.Duration
	resident int64 // bytes
}

// load reads it from the system, which counts time in hundredths of a second and memory in pages.
func load(t *testing.T, pid int) processLoad {
	t.Helper()
	read := func(name string) []string {
		body, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
		if err != nil {
			t.Skipf("this system does not report what a process uses: %v", err)
		}
		text := string(body)
		return strings.Fields(text[strings.LastIndex(text, ")")+1:])
	}
	number := func(text string) int64 {
		n, err := strconv.ParseInt(text, 10, 64)
		require.NoError(t, err)
		return n
	}
	stat, memory := read("stat"), read("statm")
	ticks := number(stat[11]) + number(stat[12])
	return processLoad{
		cpu:      time.Duration(ticks) * 10 * time.Millisecond,
		resident: number(memory[1]) * int64(os.Getpagesize()),
	}
}
