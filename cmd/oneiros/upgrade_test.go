package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/temporalchild"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
	"github.com/seed-56a03226/oneiros/workflows"
)

// frozen is a home with a frozen data folder.
type frozen struct {
	*home
	state frozenState
}

// thaw lays a frozen data folder into a home of its own.
func thaw(t *testing.T, archive string) *frozen {
	t.Helper()
	f := &frozen{home: newHome(t)}
	folders := map[string]string{"data": f.data()}
	var server *redis.Server
	if strings.HasPrefix(archive, "redis") {
		server = redis.Start(t)
		server.Stop()
		require.NoError(t, os.RemoveAll(filepath.Join(server.Dir, "appendonlydir")))
		folders["redis"] = server.Dir
		f.env = append(f.env, "ONEIROS_STORE_URL="+server.URL)
	}
	testdata := filepath.Join("..", "..", "testsuite", "upgrading", "testdata")
	require.NoError(t, unpacked(filepath.Join(testdata, archive+".tar.gz"), folders))
	if server != nil {
		server.Restart()
	}
	text, err := os.ReadFile(f.data("frozen.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &f.state))
	require.NoError(t, os.Remove(f.data("frozen.json")))
	return f
}

// unreplayable puts workflows in the place of open ones that this build cannot replay: each of these types, in the
// folder's own Temporal file.
func (f *frozen) unreplayable(ids map[string]string) {
	f.Helper()
	server, err := temporalchild.Start(f.Context(), temporalchild.Options{
		Binary: temporalchild.Binary{Path: f.getenv("ONEIROS_TEMPORALD")},
		DB:     f.data(deploy.TemporalFile),
		UIPort: -1,
	})
	require.NoError(f, err)
	c, err := client.Dial(client.Options{HostPort: server.Address})
	require.NoError(f, err)
	w := worker.New(c, workflows.TaskQueue, worker.Options{})
	for _, kind := range []string{workflows.AgentType, workflows.DreamType, workflows.FeedType} {
		w.RegisterWorkflowWithOptions(func(ctx workflow.Context) error {
			return workflow.Sleep(ctx, keepsWaiting)
		}, workflow.RegisterOptions{Name: kind})
	}
	for id, kind := range ids {
		require.NoError(f, c.TerminateWorkflow(f.Context(), id, "", "a build of the past takes its place"))
		_, err := c.ExecuteWorkflow(f.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: workflows.TaskQueue},
			kind)
		require.NoError(f, err)
	}
	require.NoError(f, w.Start())
	for id := range ids {
		require.Eventually(f, func() bool { return f.begun(c, id) }, time.Minute, 10*time.Millisecond)
	}
	w.Stop()
	c.Close()
	require.NoError(f, server.Stop())
}

// reserve leaves a call of the interrupted dream open, as a process does that is killed while a model answers.
func (f *frozen) reserve() {
	f.Helper()
	d, err := deploy.NewProcess(f.env).Open(f.Context())
	require.NoError(f, err)
	first := f.calls(d, f.state.Dream)[0]
	_, err = d.Ledger.Reserve(f.Context(), spend.Ask{
		Step:   first.Step + "/left",
		Agent:  f.state.Broken.Handle,
		Dream:  f.state.Dream,
		Phase:  string(dream.Onset),
		Day:    f.state.At.Format(time.DateOnly),
		Amount: 1000,
		At:     f.state.At,
	})
	require.NoError(f, err)
	require.NoError(f, d.Close())
}

// begun says whether a workflow has completed its first task.
func (f *frozen) begun(c client.Client, id string) bool {
	f.Helper()
	const firstTask = 4 // events: started, and its task scheduled, started and completed
	described, err := c.DescribeWorkflowExecution(f.Context(), id, "")
	require.NoError(f, err)
	return described.GetWorkflowExecutionInfo().GetHistoryLength() > firstTask
}

func (h *home) getenv(name string) string { return deploy.NewProcess(h.env).Getenv(name) }

// opened runs do with the store and Temporal as a command sees them.
func (h *home) opened(do func(*deploy.Deployment, *starter.Starter)) {
	h.Helper()
	d := deploy.NewProcess(h.env)
	shown, err := d.Open(h.Context())
	require.NoError(h, err)
	reached, err := d.Reach(h.Context(), shown)
	require.NoError(h, err)
	do(shown, reached.Workflows().(deploy.Reached).Starter)
	require.NoError(h, reached.Stop())
	require.NoError(h, shown.Close())
}

// TestAFrozenDataFolderIsOpened opens what an earlier build left behind with this one, as a process and with the
// Temporal server that up starts.
func TestAFrozenDataFolderIsOpened(t *testing.T) {
	t.Parallel()
	agents := map[string]string{
		"agent/echo":   workflows.AgentType,
		"agent/iris":   workflows.AgentType,
		"feed/harbour": workflows.FeedType,
	}
	dreams := map[string]string{"dream/iris/0001": workflows.DreamType}
	all := maps.Clone(agents)
	maps.Copy(all, dreams)
	for name, c := range map[string]struct {
		archive      string
		unreplayable map[string]string
		closed       bool
	}{
		"on SQLite":                         {archive: "sqlite-contract-2"},
		"on Redis":                          {archive: "redis-contract-2"},
		"on SQLite, agents are begun anew":  {archive: "sqlite-contract-2", unreplayable: agents},
		"on Redis, agents are begun anew":   {archive: "redis-contract-2", unreplayable: agents},
		"on SQLite, the dream cannot go on": {archive: "sqlite-contract-2", unreplayable: dreams, closed: true},
		"on Redis, nothing of it can go on": {archive: "redis-contract-2", unreplayable: all, closed: true},
		"on SQLite, of an earlier contract": {archive: "sqlite", closed: true},
		"on Redis, of an earlier contract":  {archive: "redis", closed: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := thaw(t, c.archive)
			if c.closed {
				f.reserve()
			}
			if len(c.unreplayable) > 0 {
				f.unreplayable(c.unreplayable)
			}
			up := f.up()
			for _, agent := range []frozenAgent{f.state.Asleep, f.state.Broken} {
				now := f.memories(agent.Handle)
				for id, content := range agent.Memories {
					require.Equal(t, content, now[id], "memory %s of %s", id, agent.Handle)
				}
			}
			f.asleepAndWoken()
			if c.closed {
				f.closed()
			} else {
				f.goesOn()
			}
			events := f.must("events", "--agent", f.state.Broken.Handle, "--last", "1000", "--json")
			require.Contains(t, events, `"stretch":`)
			require.NotContains(t, events, `"sitting":`)
			require.NotContains(t, events, `"knock"`, "the cause of the wake has its present name")
			f.owesNothing()
			f.searched()
			require.Eventually(t, func() bool {
				_, _, code := f.run("feed", "push", "harbour", "level=1")
				return code == exit.OK && strings.Contains(f.must("feed", "show", "harbour"), "1 reading")
			}, time.Minute, 100*time.Millisecond, "the probe of the feed takes in what is pushed")
			require.NoError(t, up.Process.Signal(os.Interrupt))
			require.NoError(t, up.Wait(), "%s", up.output)
		})
	}
}

// asleepAndWoken shows that the agent which slept sleeps, and is awake while a client is connected.
func (f *frozen) asleepAndWoken() {
	f.Helper()
	handle := f.state.Asleep.Handle
	require.Contains(f, f.must("agents", "show", handle), "state             sleeping")
	w := f.wakes("--agent", handle, "--client", "mara", "--wait")
	require.True(f, w.Raised)
	require.Equal(f, workflows.Awake, w.Recorded.State)
	f.must("sleep", "--agent", handle, "--force")
	f.opened(func(_ *deploy.Deployment, s *starter.Starter) {
		require.Eventually(f, func() bool {
			state, err := s.AgentState(f.Context(), handle)
			require.NoError(f, err)
			require.Equal(f, 1, state.Dreams, "dreams that it has dreamt")
			return state.State == workflows.Sleeping
		}, time.Minute, 20*time.Millisecond)
	})
}

// goesOn shows that the interrupted dream goes on, by itself since nobody is connected, and that what it had paid for
// is not paid for again.
func (f *frozen) goesOn() {
	f.Helper()
	f.must("watch", f.state.Dream)
	require.Contains(f, f.must("dreams", "list", "--agent", f.state.Broken.Handle), "completed")
	f.opened(func(d *deploy.Deployment, _ *starter.Starter) {
		now := f.calls(d, f.state.Dream)
		require.Greater(f, len(now), len(f.state.Calls))
		require.Equal(f, f.state.Calls, now[:len(f.state.Calls)])
		settled := map[string]bool{}
		for _, call := range now {
			require.False(f, settled[call.Step], "step %s was paid for twice", call.Step)
			settled[call.Step] = call.State == spend.Settled
		}
	})
}

// closed shows that the interrupted dream is over, and says why.
func (f *frozen) closed() {
	f.Helper()
	handle := f.state.Broken.Handle
	require.Contains(f, f.must("dreams", "show", "--agent", handle), "another build")
	_, beside, code := f.run("dreams", "resume", f.state.Dream)
	require.NotEqual(f, exit.OK, code, beside)
	f.opened(func(d *deploy.Deployment, _ *starter.Starter) {
		require.Equal(f, f.state.Calls, f.calls(d, f.state.Dream)[:len(f.state.Calls)])
	})
	f.must("dream", "--agent", handle, "--watch")
}

// owesNothing shows that nothing is reserved any more.
func (f *frozen) owesNothing() {
	f.Helper()
	f.opened(func(d *deploy.Deployment, _ *starter.Starter) {
		open, err := d.Ledger.OpenDreams(f.Context())
		require.NoError(f, err)
		require.Empty(f, open)
		rows, err := d.Ledger.Rows(f.Context(), spend.Query{Dream: f.state.Dream})
		require.NoError(f, err)
		for _, row := range rows {
			require.NotEqual(f, spend.Open, row.State, row.Step)
		}
		slots, err := d.Store.Slots(f.Context())
		require.NoError(f, err)
		require.Empty(f, slots)
	})
}

// searched shows that agents are found by the search attributes of today, and by those of yesterday no more.
func (f *frozen) searched() {
	f.Helper()
	f.opened(func(_ *deploy.Deployment, s *starter.Starter) {
		found := func(query string) (int, error) {
			list, err := s.Client.ListWorkflow(f.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: query})
			return len(list.GetExecutions()), err
		}
		require.Eventually(f, func() bool {
			n, err := found(workflows.AttrAgentState.GetName() + " = 'sleeping' AND ExecutionStatus = 'Running'")
			require.NoError(f, err)
			return n == 2
		}, time.Minute, 50*time.Millisecond)
		_, err := found("OneirosLife = 'sleeping'")
		require.ErrorContains(f, err, "OneirosLife")
	})
}
