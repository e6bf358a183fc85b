package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/temporalchild"
)

// TestMain is also the program: with RUN_ONEIROS set, the test binary is oneiros.
func TestMain(m *testing.M) {
	if os.Getenv("RUN_ONEIROS") != "" {
		os.Exit(run())
	}
	os.Exit(m.Run())
}

// home is a separate home folder, with the real Temporal server where one is built.
type home struct {
	*testing.T
	dir string
	env []string
}

func newHome(t *testing.T) *home {
	t.Helper()
	if testing.Short() {
		t.Skip("starts real servers")
	}
	server := os.Getenv("ONEIROS_TEMPORALD")
	if server == "" {
		server, _ = filepath.Abs(filepath.Join("..", "..", "bin", "temporald"))
	}
	if _, err := os.Stat(server); err != nil {
		t.Skip("no temporald is built; make build builds one")
	}
	dir := t.TempDir()
	return &home{
		T: t, dir: dir,
		env: []string{
			"RUN_ONEIROS=1", "HOME=" + dir, "PATH=" + os.Getenv("PATH"), "ONEIROS_TEMPORALD=" + server,
			"ONEIROS_SERVE_LISTEN=127.0.0.1:0",
		},
	}
}

func (h *home) data(names ...string) string {
	return filepath.Join(append([]string{h.dir, ".local", "share", "oneiros"}, names...)...)
}

func (h *home) command(args ...string) *exec.Cmd {
	self, err := os.Executable()
	require.NoError(h, err)
	cmd := exec.Command(self, args...)
	cmd.Env, cmd.Dir = h.env, h.dir
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// run runs one command to its end.
func (h *home) run(args ...string) (out, beside string, code int) {
	h.Helper()
	cmd := h.command(args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exited *exec.ExitError
	if err != nil && !errors.As(err, &exited) {
		require.NoError(h, err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

func (h *home) must(args ...string) string {
	h.Helper()
	out, beside, code := h.run(args...)
	require.Equal(h, exit.OK, code, "%v: %s%s", args, out, beside)
	return out
}

// serving is a running `oneiros up`.
type serving struct {
	*exec.Cmd
	output *safe
}

type safe struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safe) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safe) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// up starts `oneiros up` and waits until it says that it runs.
func (h *home) up() *serving {
	h.Helper()
	cmd := h.command("up")
	answer := &safe{}
	cmd.Stdout, cmd.Stderr = answer, answer
	require.NoError(h, cmd.Start())
	s := &serving{cmd, answer}
	h.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	require.Eventually(h, func() bool { return strings.Contains(answer.String(), "Running.") }, 2*time.Minute,
		50*time.Millisecond, "%s", answer)
	return s
}

func processEnded(pid int) func() bool {
	return func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
}

func TestTheDemoDreamsWithNothingConfigured(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	out, beside, code := h.run("dream", "--demo", "--seed", "7")
	require.Equal(t, exit.OK, code, "%s%s", out, beside)
	require.Contains(t, beside, "built-in model, for trying things out")
	require.Contains(t, out, "completed")
	require.Contains(t, out, "echo dreamt")
	require.NotContains(t, out, "\x1b[", "no colour in a pipe")
	require.NoFileExists(t, h.data("demo", "temporal.json"), "the server was stopped")
	require.NoFileExists(t, h.data("oneiros.db"), "the demo has a deployment of its own")

	again, beside, code := h.run("dream", "--demo", "--agent", "tally", "--json")
	require.Equal(t, exit.OK, code, beside)
	require.Contains(t, again, `"dream":"dream/tally/0001"`)
}

// shortLife is a diary of 16 days with two entries a day.
func shortLife(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for i := range 16 {
		day := time.Date(2026, 9, 1+i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
		fmt.Fprintf(&b, "## %s, 08:00\n\nFog lay over field number %d, and the ferry was late by %d minutes.\n\n", day, i, 7*i+3)
		fmt.Fprintf(&b, "## %s, 20:00\n\nI mended %d nets, ate soup and read to the end of page %d.\n\n", day, i+1, 11*i)
	}
	path := filepath.Join(t.TempDir(), "short.md")
	require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	return path
}

func TestTheDemoPlaysALifeNightByNight(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	diary := shortLife(t)
	var played struct {
		Name string `json:"life"`
		Days []struct {
			Day, Dream, Outcome string
			Entries             int
		}
		Judged  struct{ Days int }
		Answers []struct{ Agent, Answer string }
	}
	for range 2 { // the second one begins with an empty folder
		out, beside, code := h.run("demo", "--life", diary, "--ask", "How late was the ferry?", "--json")
		require.Equal(t, exit.OK, code, "%s%s", out, beside)
		require.NoError(t, json.Unmarshal([]byte(out), &played))
		require.Equal(t, "short", played.Name)
		require.Len(t, played.Days, 16)
		require.Equal(t, 14, played.Judged.Days)
		for i, d := range played.Days {
			require.Equal(t, 2, d.Entries, d.Day)
			if i < 2 {
				require.Equal(t, fmt.Sprintf("dream/short/%04d", i+1), d.Dream)
				require.Contains(t, []string{"completed", "empty"}, d.Outcome, "so short a memory may give nothing")
			} else {
				require.Empty(t, d.Dream, "the last two weeks only judge")
			}
		}
		require.Len(t, played.Answers, 3)
		require.Equal(t, "never-dreamt", played.Answers[1].Agent)
		require.Contains(t, played.Answers[1].Answer, "the ferry was late", "it lived all days")
		require.Equal(t, "first-evening", played.Answers[2].Agent)
		require.Contains(t, played.Answers[2].Answer, "late by 3 minutes", "it lived the first day")
	}
	require.NoFileExists(t, h.data("life", "temporal.json"), "the server was stopped")
	out, _, code := h.run("demo", "--life", diary)
	require.Equal(t, exit.OK, code)
	require.Regexp(t, `(?m)^ +1  1 Sep +2 `, out)
	require.Contains(t, out, "In the last 14 days, which no dream knew of:")

	other := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(other, "mine.txt"), nil, 0o600))
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--dir", other}, exit.Refused, "holds other files than those of a life"},
		{[]string{"--life", "nowhere.md"}, exit.NotFound, "there is no life nowhere.md; name a file, a folder, or one that ships"},
		{[]string{"--life", other}, exit.Usage, "holds no dated entry"},
	} {
		_, beside, code := h.run(append([]string{"demo"}, c.args...)...)
		require.Equal(t, c.code, code, beside)
		require.Contains(t, beside, c.says)
	}
	require.FileExists(t, filepath.Join(other, "mine.txt"))
}

func TestUpFailsWhereItsPortIsTaken(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	other, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, other.Close()) })
	h.env = append(h.env, "ONEIROS_SERVE_LISTEN="+other.Addr().String())
	out, beside, code := h.run("up")
	require.Equal(t, exit.Unreachable, code, "%s%s", out, beside)
	require.NotContains(t, out, "Running.")
	require.Contains(t, beside, "cannot listen on "+other.Addr().String()+" (bind: address already in use)")
	require.Contains(t, beside, "--set serve.listen=127.0.0.1:7681")
	require.NoFileExists(t, h.data("temporal.json"), "the server that it had started was stopped")
}

func TestUpServesOtherProcessesAndLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.must("agents", "add", "echo", "--persona", "A companion.")
	h.must("memory", "import", sampleFile(t))
	up := h.up()
	require.Contains(t, up.output.String(), "task queue oneiros")
	server, alive, err := temporalchild.ReadRecord(h.data())
	require.NoError(t, err)
	require.True(t, alive)

	out := h.must("dream", "--theme", "rope", "--watch")
	require.Contains(t, out, "dream/echo/0001")
	found := h.must("doctor")
	require.Contains(t, found, "+ temporal")
	require.Contains(t, found, "+ embedder", "what the dream left behind has its vectors")
	require.Contains(t, h.must("dreams", "list"), "completed")
	require.Contains(t, h.must("spend", "--by", "phase"), "onset")

	// The dream is long enough to be cancelled half-way.
	begun := h.must("dream", "--set", "dream.cycles=20", "--json")
	var result struct{ Dream string }
	require.NoError(t, json.Unmarshal([]byte(begun), &result))
	h.must("dreams", "cancel", result.Dream)
	out, beside, code := h.run("watch", result.Dream)
	require.Equal(t, exit.Unfinished, code, "%s%s", out, beside)
	require.Contains(t, beside, "the dream ended canceled")

	require.NoError(t, up.Process.Signal(os.Interrupt))
	require.NoError(t, up.Wait(), "%s", up.output)
	require.True(t, processEnded(server.PID)(), "the server ends with its parent")
	_, beside, code = h.run("dreams", "cancel", "last")
	require.Equal(t, exit.NotFound, code, beside)
	_, beside, code = h.run("worker")
	require.Equal(t, exit.Unreachable, code, beside)
}

func TestADreamGoesOnAfterEverythingWasKilled(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.must("agents", "add", "echo", "--persona", "A companion.")
	h.must("memory", "import", sampleFile(t))
	up := h.up()
	server, _, err := temporalchild.ReadRecord(h.data())
	require.NoError(t, err)
	h.must("dream", "--set", "dream.cycles=20")
	require.NoError(t, up.Process.Kill())
	_ = up.Wait()
	require.Eventually(t, processEnded(server.PID), time.Minute, 50*time.Millisecond,
		"the server leaves when its owner is killed")

	again := h.up()
	out := h.must("watch")
	require.Contains(t, out, "echo dreamt")

	server, _, err = temporalchild.ReadRecord(h.data())
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(server.PID, syscall.SIGKILL))
	require.Error(t, again.Wait(), "up ends when its server does")
	require.Contains(t, again.output.String(), "stopped, because a part of it did: the Temporal server")
}

func TestADreamBringsWhatItNeedsAndLeavingOffIsNoLoss(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.must("agents", "add", "echo", "--persona", "A companion.")
	h.must("memory", "import", sampleFile(t))
	cmd := h.command("dream", "--set", "dream.cycles=20")
	answer := &safe{}
	cmd.Stdout, cmd.Stderr = answer, answer
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool { return strings.Contains(answer.String(), "Dali 1") }, 2*time.Minute,
		20*time.Millisecond, "%s", answer)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.Error(t, cmd.Wait())
	require.Contains(t, answer.String(), "dream/echo/0001 is not over and goes on wherever a worker runs")
	require.Contains(t, h.must("dreams", "list"), "dreaming")
	h.up()
	require.Contains(t, h.must("watch"), "echo dreamt")
}

func TestWhatIsWrongIsSaidWithItsExitCode(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	for line, want := range map[string]struct {
		code int
		says string
	}{
		"dream": {exit.NotFound, "there is no agent yet"},
		"config check --set dream.cycles=99": {
			exit.Usage,
			"dream.cycles is 99; it must be between 0 and 20",
		},
		"agents list --set roles.generator=x/y": {
			exit.Usage,
			`belongs to provider "x", which is not configured`,
		},
		"worker":                                     {exit.Unreachable, "no Temporal server is configured"},
		"worker --address 127.0.0.1:1":               {exit.Unreachable, "reach Temporal at 127.0.0.1:1"},
		"up --set temporal.child=never":              {exit.Usage, "temporal.child is never"},
		"agents list --config absent.yaml":           {exit.Usage, "absent.yaml"},
		"agents list --data-dir /proc/no":            {exit.Failure, "/proc/no"},
		"doctor --address 127.0.0.1:1":               {exit.Failure, "1 thing is wrong"},
		"doctor --set dream.keep=9 --log-level loud": {exit.Failure, "wrong"},
	} {
		out, beside, code := h.run(strings.Fields(line)...)
		require.Equal(t, want.code, code, "%s: %s%s", line, out, beside)
		require.Contains(t, beside, want.says, line)
	}
}

// sampleFile is a sample diary as a file to import.
func sampleFile(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "internal", "sample", "echo.jsonl"))
	require.NoError(t, err)
	return path
}

func TestAnAgentWithAutoDreamsByItselfWhenIdle(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.must("agents", "add", "echo", "--persona", "A companion.", "--auto")
	h.must("memory", "import", sampleFile(t))
	h.env = append(h.env, "ONEIROS_AGENT_IDLE_TIMEOUT=10s", "ONEIROS_AGENT_MIN_GAP=1h")
	h.up()
	require.Eventually(t, func() bool {
		return strings.Contains(h.must("dreams", "list"), "completed")
	}, 2*time.Minute, 500*time.Millisecond)
}
