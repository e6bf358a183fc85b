package hermes_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/hermes/message"
	"github.com/seed-56a03226/oneiros/testsuite/hermes"
)

// stubborn are programs that ignore SIGINT: the command's own shell, a child, and a grandchild in a session of its own.
// Each has the workspace in its arguments, by which it is found.
const stubborn = `trap "" INT; loop='trap "" INT; while :; do sleep 0.1; done'
sh -c "$loop" child "$PWD" & setsid sh -c "setsid sh -c '$(echo "$loop" | sed "s/'/'\\\\''/g")' grandchild '$PWD' & touch begun; wait" &
wait; sh -c "$loop" again "$PWD"`

// big is more than is written at once.
var big = strings.Repeat("a line of a file that is written in one piece\n", 60_000)

// points are what the model does at each point at which it can be interrupted.
var points = map[string][]hermes.Step{
	"Task mute": {{Say: "Too late.", Pause: time.Hour}},
	"Task slow": {slowly("Once upon a time")},
	"Task two":  {does(call("write_file", "path", "one.md", "content", "one\n"), call("write_file", "path", "two.md", "content", "two\n"))},
	"Task polite": {
		does(call("run", "command", `trap 'echo farewell; exit 0' INT; touch begun; while :; do sleep 0.05; done; : "$PWD"`),
			call("write_file", "path", "two.md", "content", "two\n")),
	},
	"Task stubborn": {does(call("run", "command", stubborn))},
	"Task big":      {does(call("write_file", "path", "big.md", "content", big)), says("It is big.")},
	"Task after":    {says("We went on.")},
}

// child is hermes without a terminal.
type child struct {
	*machine
	cmd      *exec.Cmd
	in       io.WriteCloser
	lines    chan string
	dir      string // the workspace
	sessions string
}

// begin starts hermes in a workspace of its own.
func (m *machine) begin(args ...string) *child {
	m.Helper()
	c := &child{machine: m, lines: make(chan string, 10_000), dir: m.folder(m.agent)}
	c.sessions = filepath.Join(m.dir, "sessions", m.agent)
	c.cmd = m.command(m.hermes(append([]string{"--workspace", c.dir}, args...)...)...)
	c.cmd.Env = append(c.cmd.Env, "HERMES_SESSIONS="+c.sessions)
	in, err := c.cmd.StdinPipe()
	require.NoError(m, err)
	out, err := c.cmd.StdoutPipe()
	require.NoError(m, err)
	c.in = in
	require.NoError(m, c.cmd.Start())
	m.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
	})
	if slices.Contains(args, "-p") {
		require.NoError(m, in.Close()) // what is piped in would be waited for
	}
	go func() {
		defer close(c.lines)
		from := bufio.NewScanner(out)
		from.Buffer(nil, 16<<20)
		for from.Scan() {
			c.lines <- from.Text()
		}
	}()
	return c
}

// prints waits for a line that contains a text.
func (c *child) prints(text string) {
	c.Helper()
	var all []string
	for end := time.After(patience); ; {
		select {
		case line, ok := <-c.lines:
			require.True(c, ok, "hermes ended before it printed %q:\n%s", text, strings.Join(all, "\n"))
			if strings.Contains(line, text) {
				return
			}
			all = append(all, line)
		case <-end:
			require.FailNow(c, "hermes never printed "+text, strings.Join(all, "\n"))
		}
	}
}

// ends waits until hermes has ended and returns its exit status; -1 after a signal.
func (c *child) ends() int {
	c.Helper()
	for range c.lines {
	}
	var exited *exec.ExitError
	err := c.cmd.Wait()
	if err != nil {
		require.ErrorAs(c, err, &exited)
	}
	return c.cmd.ProcessState.ExitCode()
}

// eventually waits until something is so.
func (m *machine) eventually(what string, ok func() bool) {
	m.Helper()
	require.Eventually(m, ok, patience, 20*time.Millisecond, what)
}

// recorded are the messages of the only session of a folder.
func (c *child) recorded() (id string, all []message.Message) {
	c.Helper()
	files, err := filepath.Glob(filepath.Join(c.sessions, "*.jsonl"))
	require.NoError(c, err)
	require.Len(c, files, 1)
	text, err := os.ReadFile(files[0])
	require.NoError(c, err)
	for _, line := range strings.SplitAfter(string(text), "\n")[1:] {
		var e message.Entry
		if !strings.HasSuffix(line, "\n") {
			break // cut short
		}
		require.NoError(c, json.Unmarshal([]byte(line), &e))
		if e.Message != nil {
			all = append(all, *e.Message)
		}
	}
	return strings.TrimSuffix(filepath.Base(files[0]), ".jsonl"), all
}

// running are the programs that have the workspace in their arguments, without the terminal and its shell.
func (c *child) running() []string {
	var found []string
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range all {
		text, err := os.ReadFile(name)
		if err == nil && strings.Contains(string(text), c.dir) && !strings.Contains(string(text), left) {
			found = append(found, strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
	return found
}

// goesOn resumes the session, which needs every call to have a result: the model refuses others.
func (c *child) goesOn() {
	c.Helper()
	id, _ := c.recorded()
	next := c.command(c.hermes("--workspace", c.dir, "--resume", id, "--json", "-p", "Task after")...)
	next.Env = append(next.Env, "HERMES_SESSIONS="+c.sessions)
	out, err := next.Output()
	var exited *exec.ExitError
	if errors.As(err, &exited) {
		require.NoError(c, err, "%s", exited.Stderr)
	}
	require.NoError(c, err)
	var r result
	require.NoError(c, json.Unmarshal(out, &r))
	require.Equal(c, "answered", r.Outcome)
	require.Equal(c, "We went on.", r.Answer)
}

// point is where a turn is interrupted.
type point struct {
	name string
	args []string
	at   func(c *child) // waits until the turn is there
	// left are roles and the beginnings of contents in the session after an interruption, each as "role: content".
	left []string
	code int // exit status after an interruption
}

// print runs one turn without anybody there.
func print(task string) []string {
	return []string{"--approval", "auto", "--events", "-p", task}
}

func begun(c *child) {
	c.eventually("the command begins", func() bool { return exists(filepath.Join(c.dir, "begun")) })
}

var interruptions = []point{
	{
		name: "mute", args: print("Task mute"), code: 6, left: []string{"user: Task mute"},
		at: func(c *child) {
			c.prints(`"iteration"`)
			c.eventually("the model is asked", func() bool { return c.reached("Task mute") })
		},
	},
	{
		name: "token", args: print("Task slow"), code: 6, left: []string{"user: Task slow", "assistant: Once upon a time"},
		at: func(c *child) { c.prints(`"piece":"on `) },
	},
	{
		name: "approval", args: []string{"--plain"},
		left: []string{
			"user: Task two", "assistant: ", `tool: {"error":"interrupted"}`, `tool: {"error":"interrupted"}`,
		},
		at: func(c *child) {
			_, err := io.WriteString(c.in, "Task two\n")
			require.NoError(c, err)
			c.prints("May it do this? write one.md")
		},
	},
	{
		name: "polite",
		args: print("Task polite"),
		code: 6,
		at:   begun,
		left: []string{
			"user: Task polite", "assistant: ", "tool: farewell\n[interrupted by a person; exit status 0]",
			`tool: {"error":"interrupted"}`,
		},
	},
	{
		name: "stubborn", args: print("Task stubborn"), code: 6, left: []string{
			"user: Task stubborn", "assistant: ", `tool: {"error":"interrupted","timeout":true}`,
		},
		at: func(c *child) {
			c.eventually("a child and a grandchild run", func() bool {
				return hasAll(strings.Join(c.running(), "\n"), []string{" child " + c.dir, " grandchild " + c.dir})
			})
		},
	},
}

// reached reports whether these words have reached the agent's model.
func (m *machine) reached(words string) bool {
	for _, each := range m.worker.Requests() {
		text, err := json.Marshal(each)
		if err == nil && hasAll(string(text), []string{words, "You are " + m.agent + "."}) {
			return true
		}
	}
	return false
}

// At each point a turn can be interrupted, and Hermes can be killed. Nothing runs on, what happened is recorded, and the
// session goes on.
func TestEveryPointCanBeInterrupted(t *testing.T) {
	t.Parallel()
	m := build(t, points, "", "up")
	t.Run("each", func(t *testing.T) {
		for _, p := range interruptions {
			t.Run("interrupt "+p.name, func(t *testing.T) {
				t.Parallel()
				c := m.with(t, p.name).begin(p.args...)
				p.at(c)
				require.NoError(t, c.cmd.Process.Signal(os.Interrupt))
				if p.code == 0 { // it goes on
					c.prints("Interrupted. What was done so far is kept.")
					_, err := io.WriteString(c.in, "/quit\n")
					require.NoError(t, err)
				}
				require.Equal(t, p.code, c.ends())
				require.Empty(t, c.running())
				_, all := c.recorded()
				require.Len(t, all, len(p.left))
				for i, want := range p.left {
					require.True(t, strings.HasPrefix(all[i].Role+": "+all[i].Content, want), "%s, not %s", all[i].Content, want)
				}
				require.NoFileExists(t, filepath.Join(c.dir, "two.md"), "what waited is not begun")
				c.goesOn()
			})
			t.Run("kill "+p.name, func(t *testing.T) {
				t.Parallel()
				c := m.with(t, "killed-"+p.name).begin(p.args...)
				p.at(c)
				require.NoError(t, c.cmd.Process.Signal(syscall.SIGKILL))
				require.Equal(t, -1, c.ends())
				c.eventually("nothing runs on", func() bool { return len(c.running()) == 0 })
				_, all := c.recorded()
				require.NotEmpty(t, all)
				require.Equal(t, strings.TrimPrefix(p.left[0], "user: "), all[0].Content)
				c.goesOn()
			})
		}
		t.Run("kill in a write", func(t *testing.T) {
			t.Parallel()
			c := m.with(t, "writer").begin(print("Task big")...)
			file := filepath.Join(c.dir, "big.md")
			require.NoError(t, os.WriteFile(file, []byte("old"), 0o644))
			c.prints(`"type":"call"`)
			require.NoError(t, c.cmd.Process.Signal(syscall.SIGKILL))
			c.ends()
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Contains(t, []string{"old", big}, string(text), "the old or the new file")
			c.goesOn()
			rest, err := os.ReadDir(c.dir)
			require.NoError(t, err)
			require.Len(t, rest, 1, "what was begun is swept away")
		})
	})
}
