package hermes_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/testsuite/hermes"
	"github.com/seed-56a03226/oneiros/testsuite/program"
)

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		tides()
		return
	}
	os.Exit(program.Main(m))
}

// machine has a home of its own, a server, and a model that works through tasks.
type machine struct {
	*testing.T
	dir    string
	env    []string
	worker *hermes.Worker
	base   string // of the server
	agent  string
	up     *exec.Cmd
}

// build makes a machine with an agent iris, on which `oneiros up` runs.
func build(t *testing.T, tasks map[string][]hermes.Step, settings, command string) *machine {
	t.Helper()
	return buildWith(t, tasks, free, settings, command)
}

// free is a model that costs nothing, and paid is one that costs something; both as they stand in the settings.
const (
	free = "local: true\n    models: [{name: worker, context: 100000}]"
	paid = "models: [{name: worker, context: 100000, price: {in: \"1.00\", cached_in: \"0.50\", out: \"2.00\"}}]"
)

// buildWith also says what the model is, and may have further providers behind it.
func buildWith(t *testing.T, tasks map[string][]hermes.Step, model, settings, command string) *machine {
	t.Helper()
	if testing.Short() {
		t.Skip("starts real servers")
	}
	m := &machine{T: t, dir: t.TempDir(), agent: "iris"}
	var err error
	m.worker, err = hermes.Work(tasks)
	require.NoError(t, err)
	t.Cleanup(m.worker.Close)
	temporald, err := filepath.Abs(filepath.Join("..", "..", "bin", "temporald"))
	require.NoError(t, err)
	if own := os.Getenv("ONEIROS_TEMPORALD"); own != "" {
		temporald = own
	}
	m.env = []string{"HOME=" + m.dir, "PATH=" + os.Getenv("PATH"), "ONEIROS_TEMPORALD=" + temporald, "OPENAI_API_KEY=sk-secret"}
	text := fmt.Sprintf(`providers:
  work:
    profile: generic
    base_url: %s
    %s
serve: {listen: "127.0.0.1:0", model: work/worker, rate: 0}
feed: {listen: ""}
%s
`, m.worker.URL, model, settings)
	require.NoError(t, os.WriteFile(filepath.Join(m.dir, "oneiros.yaml"), []byte(text), 0o600))
	m.must("agents", "add", "iris", "--persona", "a quiet companion")
	m.serve(command)
	return m
}

func (m *machine) command(args ...string) *exec.Cmd {
	cmd := exec.Command(program.Oneiros(m), args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = m.dir, m.env, 10*time.Second
	return cmd
}

// run runs a command to its end.
func (m *machine) run(args ...string) (out, beside string, code int) {
	m.Helper()
	cmd := m.command(args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exited *exec.ExitError
	if err != nil && !errors.As(err, &exited) {
		require.NoError(m, err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

func (m *machine) must(args ...string) string {
	m.Helper()
	out, beside, code := m.run(args...)
	require.Zero(m, code, "%v: %s%s", args, out, beside)
	return out
}

// hermes are the words that start hermes with the machine's server and agent.
func (m *machine) hermes(args ...string) []string {
	return append([]string{"hermes", "--server", m.base, "--agent", m.agent}, args...)
}

// in is the machine within another test.
func (m *machine) in(t *testing.T) *machine {
	other := *m
	other.T = t
	return &other
}

// with is the machine within another test, with an agent of that test's own.
func (m *machine) with(t *testing.T, agent string) *machine {
	t.Helper()
	other := m.in(t)
	other.must("agents", "add", agent, "--persona", "a quiet companion")
	other.agent = agent
	return other
}

type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

func (m *machine) serve(command string) {
	m.Helper()
	var out, beside output
	m.up = m.command("--json", command)
	m.up.Stdout, m.up.Stderr = &out, &beside
	require.NoError(m, m.up.Start())
	m.Cleanup(func() {
		_ = m.up.Process.Signal(os.Interrupt)
		_ = m.up.Wait()
	})
	var result struct {
		Places []struct{ Name, Where string }
	}
	require.Eventually(m, func() bool { return json.Unmarshal([]byte(out.String()), &result) == nil },
		2*time.Minute, 20*time.Millisecond, "%s", &beside)
	for _, p := range result.Places {
		if p.Name == "serve" {
			where, _, _ := strings.Cut(p.Where, " ")
			m.base = strings.TrimSuffix(where, "/v1")
		}
	}
	require.NotEmpty(m, m.base, "%s", &out)
}

// status is what the server says of the agent.
func (m *machine) status() (s struct {
	State    string
	Leases   int
	Memories map[string]int
},
) {
	m.Helper()
	res, err := http.Get(m.base + "/v1/agents/" + m.agent + "/status")
	require.NoError(m, err)
	defer res.Body.Close()
	require.NoError(m, json.NewDecoder(res.Body).Decode(&s))
	return s
}

// folder makes an empty workspace.
func (m *machine) folder(name string) string {
	m.Helper()
	dir := filepath.Join(m.dir, "work", name)
	require.NoError(m, os.MkdirAll(dir, 0o755))
	return dir
}
