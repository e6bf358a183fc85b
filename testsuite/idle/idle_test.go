// Package idle measures what agents cost that dream by themselves and have nothing to do: processor time and memory of
// `oneiros up` with its Temporal server.
package idle

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
	"github.com/seed-56a03226/oneiros/workflows"
)

const root = "../.."

// output collects what a process writes while it runs.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// deployment is `oneiros up` on a folder of its own.
type deployment struct {
	dir, program, server string
}

func prepare(t *testing.T) deployment {
	t.Helper()
	if testing.Short() {
		t.Skip("starts real servers")
	}
	d := deployment{dir: t.TempDir()}
	d.program = filepath.Join(d.dir, "oneiros")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", d.program, "./cmd/oneiros")
	build.Dir, build.Stderr, build.Env = root, os.Stderr, append(os.Environ(), "CGO_ENABLED=0")
	require.NoError(t, build.Run())
	d.server = os.Getenv("ONEIROS_TEMPORALD")
	if d.server == "" {
		var err error
		d.server, err = filepath.Abs(filepath.Join(root, "bin", "temporald"))
		require.NoError(t, err)
	}
	require.FileExists(t, d.server, "make build builds it")
	settings := "data_dir: " + d.dir + "\nserve: {listen: \"127.0.0.1:0\"}\nfeed: {listen: \"\"}\n"
	require.NoError(t, os.WriteFile(filepath.Join(d.dir, "oneiros.yaml"), []byte(settings), 0o600))
	return d
}

// fill creates agents that dream by themselves and have no memories.
func (d deployment) fill(t *testing.T, agents int) {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), filepath.Join(d.dir, "oneiros.db"))
	require.NoError(t, err)
	for i := range agents {
		a := dream.Agent{ID: fmt.Sprintf("ag_%06d", i), Handle: fmt.Sprintf("agent%06d", i), Auto: true}
		require.NoError(t, s.PutAgent(t.Context(), a))
	}
	require.NoError(t, s.Close())
}

// up starts the deployment and returns its process and the address of its Temporal server.
func (d deployment) up(t *testing.T) (*os.Process, string) {
	t.Helper()
	cmd := exec.Command(d.program, "--json", "up")
	cmd.Dir = d.dir
	cmd.Env = []string{"HOME=" + d.dir, "PATH=" + os.Getenv("PATH"), "ONEIROS_TEMPORALD=" + d.server}
	var out, errs output
	cmd.Stdout, cmd.Stderr = &out, &errs
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		require.NoError(t, cmd.Wait(), "%s", &errs)
		if t.Failed() {
			t.Log(errs.String())
		}
	})
	var result struct {
		Places []struct{ Name, Where string }
	}
	require.Eventually(t, func() bool { return json.Unmarshal([]byte(out.String()), &result) == nil },
		2*time.Minute, 20*time.Millisecond, "%s", &errs)
	for _, p := range result.Places {
		if p.Name == "temporal" {
			address, _, _ := strings.Cut(p.Where, " ")
			return cmd.Process, address
		}
	}
	t.Fatal("it names no Temporal server: " + out.String())
	return nil, ""
}

// usage is what the program and its children have used.
type usage struct {
	cpu time.Duration
	rss int64 // bytes
}

// used adds up a process and its children.
func used(t *testing.T, pid int) usage {
	t.Helper()
	var u usage
	for _, each := range append(children(t, pid), pid) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", each))
		require.NoError(t, err)
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		for _, ticks := range fields[11:13] { // utime and stime, in hundredths of a second
			n, err := strconv.ParseInt(ticks, 10, 64)
			require.NoError(t, err)
			u.cpu += time.Duration(n) * 10 * time.Millisecond
		}
		pages, err := strconv.ParseInt(fields[21], 10, 64)
		require.NoError(t, err)
		u.rss += pages * int64(os.Getpagesize())
	}
	return u
}

// children are those that any thread of a process has started.
func children(t *testing.T, pid int) []int {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	require.NoError(t, err)
	var out []int
	for _, thread := range threads {
		text, err := os.ReadFile(thread)
		if os.IsNotExist(err) { // the thread has ended
			continue
		}
		require.NoError(t, err)
		for _, each := range strings.Fields(string(text)) {
			child, err := strconv.Atoi(each)
			require.NoError(t, err)
			out = append(out, child)
		}
	}
	return out
}

// TestIdleAgents prints how long so many agents take to begin, and what they use at rest: 10,000 with PROVE=full, else
// as many as ONEIROS_IDLE_AGENTS says. That a pass of maintenance asks Temporal once for all agents is held by a test
// of cmd/oneiros.
func TestIdleAgents(t *testing.T) {
	agents, err := strconv.Atoi(cmp.Or(os.Getenv("ONEIROS_IDLE_AGENTS"), "0"))
	require.NoError(t, err, "ONEIROS_IDLE_AGENTS")
	if os.Getenv("PROVE") == "full" {
		agents = 10_000
	}
	if agents == 0 {
		t.Skip("a measurement: set ONEIROS_IDLE_AGENTS")
	}
	d := prepare(t)
	d.fill(t, agents)
	began := time.Now()
	process, address := d.up(t)
	c, err := client.Dial(client.Options{HostPort: address})
	require.NoError(t, err)
	defer c.Close()
	query := fmt.Sprintf("WorkflowType = %q AND ExecutionStatus = 'Running'", workflows.AgentType)
	require.Eventually(t, func() bool {
		found, err := c.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Query: query})
		return err == nil && found.GetCount() == int64(agents)
	}, 20*time.Minute, 100*time.Millisecond)
	t.Logf("%d agents begun in %.1f s", agents, time.Since(began).Seconds())
	time.Sleep(time.Minute) // for the first tasks of the last ones, and a pass of maintenance
	before, from := used(t, process.Pid), time.Now()
	time.Sleep(2 * time.Minute)
	after, took := used(t, process.Pid), time.Since(from)
	t.Logf("at rest: %.2f %% of a core over %.0f s, %d MB of memory",
		100*float64(after.cpu-before.cpu)/float64(took), took.Seconds(), after.rss/1_000_000)
}
