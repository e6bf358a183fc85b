// Package bench measures what a dream costs, compared with the least that it could cost.
package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/workers"
	"github.com/seed-56a03226/oneiros/workflows"
)

// workerEnv makes this test program a worker process: it holds the testdeploy.Config as JSON.
const workerEnv = "ONEIROS_BENCH_WORKER"

func TestMain(m *testing.M) {
	testdeploy.RunIfWorkerProcess()
	if each := os.Getenv(upstreamEnv); each != "" {
		if err := runProvider(each); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if config := os.Getenv(workerEnv); config != "" {
		if err := serve(config); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

type silent struct{}

func (silent) Debug(string, ...any) {}
func (silent) Info(string, ...any)  {}
func (silent) Warn(string, ...any)  {}
func (silent) Error(string, ...any) {}

var _ log.Logger = silent{}

// serve runs a worker process of the deployment; it ends when its standard input does.
func serve(text string) error {
	var config testdeploy.Config
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		return err
	}
	c, err := client.Dial(client.Options{
		HostPort: config.Address, Namespace: config.Namespace, Logger: silent{},
		DataConverter: workflows.DataConverter(),
		// as oneiros up does on loopback
		ConnectionOptions: client.ConnectionOptions{GrpcCompression: &client.GrpcCompressionNone{}},
	})
	if err != nil {
		return err
	}
	deployment, err := testdeploy.Open(context.Background(), config, c)
	if err != nil {
		return err
	}
	w := workers.New(c, deployment.Ports, starter.Executions{Client: c}, deployment.Starter,
		workers.Options{TaskQueue: config.Queue})
	w.RegisterWorkflowWithOptions(bare, workflow.RegisterOptions{Name: "Bare"})
	w.RegisterActivityWithOptions(func(context.Context, int64) error { return nil },
		activity.RegisterOptions{Name: "Nothing"})
	w.RegisterActivityWithOptions(func(ctx context.Context, step int64) error {
		ask := newRequest()
		ask.Model = "scripted/" + config.Model
		_, err := deployment.Ports.Guard.Generate(ctx, charge(int(step)), ask, func(string) bool { return true })
		return err
	}, activity.RegisterOptions{Name: "Call"})
	if err := w.Start(); err != nil {
		return err
	}
	if file := os.Getenv("ONEIROS_BENCH_PROFILE"); file != "" { // of the worker, for pprof
		f, err := os.Create(file)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	fmt.Println("ready")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	w.Stop()
	return deployment.Close()
}

// knobs are those of a dream of 27 calls to a model, whatever its agent remembers: induction, two cycles of four
// partials and four verdicts, capture, two replays, last look while something fades, three scenarios, their scoring,
// consolidation and insights.
func knobs() dream.Knobs {
	k := dream.DefaultKnobs()
	k.Cycles = 2
	k.Depth = dream.DepthFixed
	k.Judging = dream.BySingle
	k.RemRounds = 0
	return k
}

// bare runs the same activity so many times in turn: Nothing, or Call, which buys the same answer of 80 tokens each
// time. first is the number of the first step.
func bare(ctx workflow.Context, activity string, times int, first int64) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	for i := range times {
		if err := workflow.ExecuteActivity(ctx, activity, first+int64(i)).Get(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

// processes are a server and a worker in processes of their own, and a provider in this one.
type processes struct {
	server     *temporal.Server
	upstream   *provider.Server
	deployment *testdeploy.Deployment
	worker     *exec.Cmd
	agent      dream.Agent
}

func open(b *testing.B, k dream.Knobs) *processes {
	b.Helper()
	ctx := context.Background()
	server := temporal.Start(b)
	upstream, err := provider.Start(provider.Options{Seed: 1})
	require.NoError(b, err)
	b.Cleanup(upstream.Close)
	config := testdeploy.Config{
		Store: filepath.Join(b.TempDir(), "memory.db"), Address: server.Address, Namespace: server.Namespace,
		Queue:    "bench",
		Provider: upstream.URL, Model: "script", Knobs: k,
	}
	deployment, err := testdeploy.Open(ctx, config, server.Dial(b))
	require.NoError(b, err)
	b.Cleanup(func() { _ = deployment.Close() })
	agent, err := deployment.AddAgent(ctx, 0, "")
	require.NoError(b, err)
	agent.Caps = dream.Caps{Dream: agent.Caps.Dream, Day: 1000 * agent.Caps.Day, Month: 1000 * agent.Caps.Month}
	require.NoError(b, deployment.Store.PutAgent(ctx, agent))
	body, err := json.Marshal(config)
	require.NoError(b, err)
	worker := exec.Command(os.Args[0])
	worker.Env = append(os.Environ(), workerEnv+"="+string(body))
	worker.Stderr = os.Stderr
	stdin, err := worker.StdinPipe()
	require.NoError(b, err)
	stdout, err := worker.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, worker.Start())
	b.Cleanup(func() { _ = stdin.Close(); _ = worker.Wait() })
	ready, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(b, err)
	require.Equal(b, "ready\n", ready)
	return &processes{
		server:     server,
		upstream:   upstream,
		deployment: deployment,
		worker:     worker,
		agent:      agent,
	}
}

// cpu is what a process has used so far, user and system, in milliseconds (Linux: clock ticks of 10 ms).
func cpu(tb testing.TB, pid int) float64 {
	tb.Helper()
	body, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(tb, err)
	fields := strings.Fields(string(body[strings.LastIndexByte(string(body), ')')+1:]))
	user, err := strconv.ParseInt(fields[11], 10, 64)
	require.NoError(tb, err)
	system, err := strconv.ParseInt(fields[12], 10, 64)
	require.NoError(tb, err)
	return float64(user+system) * 10
}
