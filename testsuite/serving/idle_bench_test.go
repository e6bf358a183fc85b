package serving_test

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	temporal "go.temporal.io/sdk/client"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/serving/talker"
	temporalserver "github.com/seed-56a03226/oneiros/testsuite/temporal"
	"github.com/seed-56a03226/oneiros/workflows"
)

// restFor is how long workflows at rest are watched: two passes of maintenance.
const restFor = 2 * time.Minute

// BenchmarkIdleAgents measures agents that dream by themselves and have nothing to do: how long all of them take to
// begin, and what `oneiros up` with its Temporal server uses while they rest, compared with as many bare workflows of a
// bare worker on a Temporal server of the same program. ONEIROS_IDLE_AGENTS says how many there are, 2,000 otherwise.
func BenchmarkIdleAgents(b *testing.B) {
	agents, err := strconv.Atoi(cmp.Or(os.Getenv("ONEIROS_IDLE_AGENTS"), "2000"))
	require.NoError(b, err, "ONEIROS_IDLE_AGENTS")
	for b.Loop() {
		bare := restBare(b, agents)
		hours := time.Now().UTC().Add(4 * time.Hour).Truncate(time.Hour) // none dreams, or tries to, while it is measured
		h := build(b, talker.Options{}, provider.Options{}, fmt.Sprintf(
			`serve: {listen: "127.0.0.1:0", model: talk/talker}
agent: {windows: "%s-%s"}`, hours.Format("15:04"), hours.Add(time.Hour).Format("15:04")))
		folder := filepath.Join(h.dir, ".local", "share", "oneiros")
		require.NoError(b, os.MkdirAll(folder, 0o700))
		s, err := sqlitestore.Open(b.Context(), filepath.Join(folder, "oneiros.db"))
		require.NoError(b, err)
		for i := range agents {
			a := dream.Agent{ID: fmt.Sprintf("ag_%06d", i), Handle: fmt.Sprintf("agent%06d", i), Auto: true}
			require.NoError(b, s.PutAgent(b.Context(), a))
		}
		require.NoError(b, s.Close())
		began := time.Now()
		h.begin("up")
		awaitRunning(b, h.temporal, workflows.AgentType, agents)
		b.ReportMetric(time.Since(began).Seconds(), "begun-s")
		server := children(b, h.up.Process.Pid)
		require.Len(b, server, 1, "the Temporal server is the only child")
		mine := atRest(b, server[0], h.up.Process.Pid)
		mine.report(b, "")
		bare.report(b, "bare-")
		b.ReportMetric(float64(mine.memory())/float64(bare.memory()), "memory-to-bare")
		h.end()
	}
}

// restBare measures as many bare workflows, which wait for a signal or a timer in a worker that does nothing else.
func restBare(b *testing.B, count int) rest {
	b.Helper()
	file := filepath.Join(b.TempDir(), "bare")
	build := exec.Command("go", "build", "-o", file, "./testsuite/serving/bare")
	build.Dir, build.Stderr, build.Env = root, os.Stderr, append(os.Environ(), "CGO_ENABLED=0")
	require.NoError(b, build.Run())
	s := temporalserver.Start(b)
	began := time.Now()
	worker := exec.Command(file, "-address", s.Address, "-workflows", strconv.Itoa(count))
	worker.Stderr = os.Stderr
	stop, err := worker.StdinPipe()
	require.NoError(b, err)
	require.NoError(b, worker.Start())
	awaitRunning(b, s.Address, "Idle", count)
	b.ReportMetric(time.Since(began).Seconds(), "bare-begun-s")
	measured := atRest(b, s.PID(), worker.Process.Pid)
	require.NoError(b, stop.Close())
	require.NoError(b, worker.Wait())
	s.Stop()
	return measured
}

// awaitRunning waits until so many workflows of a type run. It asks once a second: a count reads every row.
func awaitRunning(b *testing.B, address, kind string, count int) {
	b.Helper()
	c, err := temporal.Dial(temporal.Options{HostPort: address})
	require.NoError(b, err)
	defer c.Close()
	query := fmt.Sprintf("WorkflowType = %q AND ExecutionStatus = 'Running'", kind)
	require.Eventually(b, func() bool {
		found, err := c.CountWorkflow(b.Context(), &workflowservice.CountWorkflowExecutionsRequest{Query: query})
		return err == nil && found.GetCount() == int64(count)
	}, time.Hour, time.Second)
}

// rest is what a Temporal server and a worker use while their workflows rest.
type rest struct {
	took           time.Duration
	server, worker usage
}

// atRest waits until the first tasks of the last workflows are done, at most a quarter of an hour, and measures after
// that. They are done when both processes together use less than a twentieth of a core.
func atRest(b *testing.B, server, worker int) rest {
	b.Helper()
	const window = restFor / 4
	for range 30 {
		before := used(b, server).cpu + used(b, worker).cpu
		<-time.After(window)
		if used(b, server).cpu+used(b, worker).cpu-before < window/20 {
			break
		}
	}
	from := time.Now()
	serverBefore, workerBefore := used(b, server), used(b, worker)
	<-time.After(restFor)
	r := rest{took: time.Since(from), server: used(b, server), worker: used(b, worker)}
	r.server.cpu -= serverBefore.cpu
	r.worker.cpu -= workerBefore.cpu
	return r
}

func (r rest) memory() int64 { return r.server.memory + r.worker.memory }

func (r rest) report(b *testing.B, prefix string) {
	percent := func(cpu time.Duration) float64 { return 100 * float64(cpu) / float64(r.took) }
	b.ReportMetric(percent(r.server.cpu+r.worker.cpu), prefix+"core-percent")
	b.ReportMetric(percent(r.server.cpu), prefix+"server-core-percent")
	b.ReportMetric(float64(r.memory())/1e6, prefix+"MB")
	b.ReportMetric(float64(r.server.memory)/1e6, prefix+"server-MB")
}

// usage is what a process has used.
type usage struct {
	cpu    time.Duration
	memory int64 // bytes, resident
}

func used(tb testing.TB, pid int) usage {
	tb.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(tb, err)
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	var u usage
	for _, ticks := range fields[11:13] { // utime and stime, in hundredths of a second
		n, err := strconv.ParseInt(ticks, 10, 64)
		require.NoError(tb, err)
		u.cpu += time.Duration(n) * 10 * time.Millisecond
	}
	pages, err := strconv.ParseInt(fields[21], 10, 64)
	require.NoError(tb, err)
	u.memory = pages * int64(os.Getpagesize())
	return u
}

// children are those that any thread of a process has started.
func children(tb testing.TB, pid int) []int {
	tb.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	require.NoError(tb, err)
	var out []int
	for _, thread := range threads {
		text, err := os.ReadFile(thread)
		if os.IsNotExist(err) { // the thread has ended
			continue
		}
		require.NoError(tb, err)
		for _, each := range strings.Fields(string(text)) {
			child, err := strconv.Atoi(each)
			require.NoError(tb, err)
			out = append(out, child)
		}
	}
	return out
}
