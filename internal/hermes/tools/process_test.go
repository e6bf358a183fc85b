//go:build linux

package tools

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/hermes/message"
)

// A test starts itself again with these variables, as a Hermes that is killed.
const (
	helperTask  = "TEST_TOOLS_TASK" // "write", "run" or "replace"
	helperPlace = "TEST_TOOLS_PLACE"
	helperStep  = "TEST_TOOLS_STEP" // the step of a write at which the helper kills itself; empty: none
	helperSize  = "TEST_TOOLS_SIZE" // bytes that it writes
)

// help is the main of such a process. It prints a line for each step of a write.
func help(task string) int {
	top := os.Getenv(helperPlace)
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	b, err := Open(Settings{Workspace: filepath.Join(top, "workspace"), State: filepath.Join(top, "state"), Self: self})
	if err != nil {
		panic(err)
	}
	if task == "run" {
		b.Shell(context.Background(), nil, "setsid sh -c 'echo begun; exec sleep 1000' >pipe & sleep 1000")
		return 1
	}
	if task == "replace" {
		b.Shell(context.Background(), nil, "cp other new && mv -f new "+filepath.Base(self))
		fmt.Print(b.Shell(context.Background(), nil, "echo as before").Text)
		return 0
	}
	deadly, err := strconv.Atoi(os.Getenv(helperStep))
	if err != nil {
		deadly = -1
	}
	size, err := strconv.Atoi(os.Getenv(helperSize))
	if err != nil {
		panic(err)
	}
	<-b.swept
	step := 0
	atStep = func(name string) {
		if step == deadly {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		step++
		fmt.Println(name)
	}
	r := b.Run(context.Background(), nil, message.Call{
		Name: "write_file", Arguments: fmt.Sprintf(`{"path":"a/file","content":%q}`, newText(size)),
	})
	if r.Failed {
		panic(r.Text)
	}
	return 0
}

func newText(size int) string { return strings.Repeat("new ", size/4) }

func helper(t *testing.T, p place, task string, env ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	c := exec.Command(self)
	c.Env = append(os.Environ(), helperTask+"="+task, helperPlace+"="+filepath.Dir(p.workspace))
	c.Env = append(c.Env, env...)
	return c
}

// oldTexts are what the file is before; nil: there is none.
var oldTexts = []*string{nil, text(""), text("old\n"), text(strings.Repeat("old ", 50_000))}

func text(s string) *string { return &s }

func TestAFileIsOldOrNewAfterAKillAtEachStep(t *testing.T) {
	t.Parallel()
	kills := 0
	for i, old := range oldTexts {
		for _, size := range []int{0, 8, 200_000} {
			for step := 0; ; step++ {
				p := bare(t)
				p.before(t, old)
				err := helper(t, p, "write", helperStep+"="+strconv.Itoa(step), helperSize+"="+strconv.Itoa(size)).Run()
				if err == nil {
					require.Equal(t, newText(size), p.text(t, "a/file"))
					break // it has no such step
				}
				require.Equal(t, "signal: killed", err.Error())
				kills++
				p.requireOldOrNew(t, old, size, fmt.Sprintf("old %d, size %d, step %d", i, size, step))
			}
		}
	}
	t.Logf("%d kills", kills)
	require.Greater(t, kills, 80)
}

func TestAFileIsOldOrNewAfterAKillFromOutside(t *testing.T) {
	t.Parallel()
	const seed = 18
	kills := 25
	if full {
		kills = 300
	}
	r := rand.New(rand.NewPCG(seed, seed))
	for i := range kills {
		old, size := oldTexts[r.IntN(len(oldTexts))], 4*r.IntN(100_000)
		p := bare(t)
		p.before(t, old)
		c := helper(t, p, "write", helperSize+"="+strconv.Itoa(size))
		out, err := c.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, c.Start())
		in := bufio.NewScanner(out)
		for range r.IntN(16) {
			in.Scan()
		}
		require.NoError(t, c.Process.Kill())
		_ = c.Wait()
		p.requireOldOrNew(t, old, size, fmt.Sprintf("kill %d", i))
	}
}

// bare is a place that no Box has opened yet.
func bare(t *testing.T) place {
	t.Helper()
	top := t.TempDir()
	p := place{workspace: filepath.Join(top, "workspace"), state: filepath.Join(top, "state")}
	require.NoError(t, os.MkdirAll(p.workspace, 0o755))
	return p
}

func (p place) before(t *testing.T, old *string) {
	t.Helper()
	if old == nil {
		return
	}
	p.file(t, "a/file", *old)
	require.NoError(t, os.Chmod(filepath.Join(p.workspace, "a/file"), 0o751))
}

func (p place) requireOldOrNew(t *testing.T, old *string, size int, about string) {
	t.Helper()
	name := filepath.Join(p.workspace, "a/file")
	found, err := os.ReadFile(name)
	isOld := (old == nil && os.IsNotExist(err)) || (err == nil && old != nil && *old == string(found))
	require.True(t, isOld || (err == nil && string(found) == newText(size)), "%s: %d bytes, %v", about, len(found), err)
	if old != nil {
		info, err := os.Stat(name)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o751), info.Mode().Perm(), about)
	}
	// The next Hermes sweeps, sees the checkpoints, and puts the file back.
	b := p.open(t)
	<-b.swept
	require.NoError(t, b.Close())
	for _, folder := range []string{"workspace/a", "workspace", "state", "state/kept"} {
		left, err := filepath.Glob(filepath.Join(filepath.Dir(p.workspace), folder, ".hermes-*"))
		require.NoError(t, err)
		require.Empty(t, left, about)
	}
	b = p.open(t)
	if list := b.Checkpoints(); len(list) > 0 {
		_, err = b.Restore(list[0].ID)
		require.NoError(t, err, about)
	}
	require.NoError(t, b.Close())
	found, err = os.ReadFile(name)
	if old == nil {
		require.ErrorIs(t, err, os.ErrNotExist, about)
		return
	}
	require.NoError(t, err)
	require.Equal(t, *old, string(found), about)
}

// begun starts a command that writes a line into the FIFO "pipe" when it is where the test wants it.
func (p place) begun(t *testing.T, ctx context.Context, soft chan struct{}, command string) (string, chan message.Result) {
	t.Helper()
	require.NoError(t, syscall.Mkfifo(filepath.Join(p.workspace, "pipe"), 0o644))
	results := make(chan message.Result, 1)
	go func() {
		results <- p.Run(ctx, soft, message.Call{Name: "run", Arguments: fmt.Sprintf(`{"command":%q}`, command)})
	}()
	line, err := os.ReadFile(filepath.Join(p.workspace, "pipe"))
	require.NoError(t, err)
	return strings.TrimSpace(string(line)), results
}

func requireGone(t *testing.T, pids string) {
	t.Helper()
	require.NotEmpty(t, pids)
	for field := range strings.FieldsSeq(pids) {
		pid, err := strconv.Atoi(field)
		require.NoError(t, err)
		require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH)
	}
}

func TestACommandMayEndByItselfWhenItIsInterrupted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command, text string
		failed        bool
	}{
		"it ends well": {
			"trap 'echo stopped; exit 0' INT; sleep 1000 & echo x >pipe; wait",
			"stopped\n[programs that it left in the background were ended: 1; interrupted by a person; exit status 0]", false,
		},
		"it ends with a status": {
			"trap 'echo stopped; exit 7' INT; sleep 1000 & echo x >pipe; wait",
			"stopped\n[programs that it left in the background were ended: 1; interrupted by a person; exit status 7]", true,
		},
		"it knows nothing of signals": {
			"echo before; echo x >pipe; exec sleep 1000",
			"before\n[interrupted by a person; exit status 130]", true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			soft := make(chan struct{})
			_, results := p.begun(t, context.Background(), soft, c.command)
			close(soft)
			r := <-results
			require.Equal(t, message.Result{Text: c.text, Failed: c.failed, Interrupted: true}, r)
		})
	}
}

// stubborn is a command that ignores SIGINT, with a child, a grandchild, and one in a session of its own whose parent
// has ended. It prints, and tells their processes.
const stubborn = `trap '' INT
sleep 1001 & a=$!
sh -c 'sleep 1002 & echo $! >b; wait' &
setsid sh -c 'sleep 1003 & echo $! $$ >c; (sleep 1004 & echo $! >d)'
while ! [ -s b ] || ! [ -s c ] || ! [ -s d ]; do sleep 0.01; done
echo output
echo $$ $a $(cat b c d) >pipe
while :; do sleep 0.01; done`

func TestACommandThatGoesOnIsKilledWithAllThatItStarted(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	soft := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	pids, results := p.begun(t, ctx, soft, stubborn)
	require.Len(t, strings.Fields(pids), 6)
	close(soft)
	cancel() // the grace is over
	r := <-results
	require.Equal(t, "{\"error\":\"interrupted\",\"timeout\":true}\noutput\n", r.Text)
	require.True(t, r.Failed)
	require.True(t, r.Interrupted)
	requireGone(t, pids)
}

func TestACommandIsEndedAtItsLimit(t *testing.T) {
	t.Parallel()
	p := newPlace(t, func(s *Settings) { s.RunLimit = 2 * time.Second })
	r := p.sh(t, "echo output; sleep 1000 & setsid sleep 1000")
	require.True(t, r.Failed)
	require.False(t, r.Interrupted)
	require.True(t, strings.HasPrefix(r.Text, "output\n["), r.Text)
	require.Contains(t, r.Text, "ended after its limit of 2s")
}

func TestWhatACommandLeavesInTheBackgroundIsEnded(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	r := p.sh(t, "setsid sleep 1001 >/dev/null 2>&1 & echo $! >pid; (sleep 1002 &); nohup sleep 1003 & exit 0")
	require.False(t, r.Failed, r.Text)
	require.Contains(t, r.Text, "[programs that it left in the background were ended: 3;")
	requireGone(t, p.text(t, "pid"))
}

func TestACommandEndsWhenHermesIsKilled(t *testing.T) {
	t.Parallel()
	p := bare(t)
	pipe := filepath.Join(p.workspace, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o644))
	c := helper(t, p, "run")
	c.Stderr = os.Stderr
	require.NoError(t, c.Start())
	in, err := os.Open(pipe)
	require.NoError(t, err)
	defer in.Close()
	line, err := bufio.NewReader(in).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "begun\n", line)
	require.NoError(t, c.Process.Kill())
	_ = c.Wait()
	// The end of the FIFO comes when the last process that could write to it is gone.
	_, err = io.Copy(io.Discard, in)
	require.NoError(t, err)
}

func TestACallIsNotBegunAfterAnInterruption(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	soft := make(chan struct{})
	close(soft)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, name := range []string{"run", "write_file", "read_file"} {
		args := map[string]any{"run": values{"command": "echo x >a"}, "write_file": values{"path": "a", "content": "x"}}[name]
		if args == nil {
			args = values{"path": "a"}
		}
		c := call(t, name, args.(values))
		for _, r := range []message.Result{p.Run(context.Background(), soft, c), p.Run(ctx, nil, c)} {
			require.Equal(t, message.Result{Text: "interrupted before it began", Failed: true, Interrupted: true}, r)
		}
	}
	require.NoFileExists(t, filepath.Join(p.workspace, "a"))
}

func TestASearchStopsWhenItIsKilled(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.file(t, "a", "alpha\n")
	ctx := &endsOnSecondLook{Context: context.Background(), done: make(chan struct{})}
	r := p.Run(ctx, nil, call(t, "search_files", values{"pattern": "alpha"}))
	require.True(t, r.Interrupted)
	require.Equal(t, "{\"error\":\"interrupted\",\"timeout\":true}\n", r.Text)
}

// endsOnSecondLook is a context that is canceled when its error is asked for.
type endsOnSecondLook struct {
	context.Context
	done chan struct{}
}

func (c *endsOnSecondLook) Done() <-chan struct{} { return c.done }
func (c *endsOnSecondLook) Err() error            { return context.Canceled }

func TestACommandCannotReplaceTheProgramThatConfinesIt(t *testing.T) {
	t.Parallel()
	p := bare(t)
	self, err := os.Executable()
	require.NoError(t, err)
	text, err := os.ReadFile(self)
	require.NoError(t, err)
	own := filepath.Join(p.workspace, "hermes")
	require.NoError(t, os.WriteFile(own, text, 0o755))
	// What would run without any confinement, if it were started.
	outside := filepath.Join(filepath.Dir(p.workspace), "outside")
	p.file(t, "other", "#!/bin/sh\necho escaped >"+outside+"\n")
	require.NoError(t, os.Chmod(filepath.Join(p.workspace, "other"), 0o755))
	c := helper(t, p, "replace")
	c.Path = own
	out, err := c.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, "as before\n", string(out))
	require.NoFileExists(t, outside)
	require.Equal(t, p.text(t, "other"), p.text(t, "hermes"))
}
