package hermes_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/testsuite/program"
)

// patience is how long a test waits for what must come.
const patience = time.Minute

// pane is a real terminal of its own, of a fixed size, in which a program runs.
type pane struct {
	*testing.T
	socket string
}

// left is printed in a terminal when its program has ended, with its exit status.
const left = "[left with "

// open runs hermes in a new terminal, with further variables of its environment.
func (m *machine) open(t *testing.T, width, height int, env []string, args ...string) *pane {
	t.Helper()
	return openTerminal(t, width, height, m.dir, append(append([]string(nil), m.env...), env...),
		append([]string{program.Oneiros(t)}, m.hermes(args...)...))
}

func openTerminal(t *testing.T, width, height int, dir string, env, command []string) *pane {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed; make tmux installs it where it may")
	}
	folder, err := os.MkdirTemp("", "hermes-tmux-")
	require.NoError(t, err)
	term := &pane{T: t, socket: filepath.Join(folder, "s")}
	args := []string{
		"new-session", "-d", "-x", strconv.Itoa(width), "-y", strconv.Itoa(height), "-c", dir,
		"env", "-i", "TERM=tmux-256color", "LANG=C.UTF-8",
	}
	args = append(args, env...)
	// The shell stays, so that what the program printed last can be read.
	args = append(args, "sh", "-c", `"$@"; echo "`+left+`$?]"; exec cat`, "sh")
	term.tmux(append(args, command...)...)
	term.tmux("set-option", "-g", "history-limit", "20000")
	pid, err := strconv.Atoi(strings.TrimSpace(term.tmux("display-message", "-p", "#{pid}")))
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = syscall.Kill(pid, syscall.SIGTERM)
		for end := time.Now().Add(patience); syscall.Kill(pid, 0) == nil && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
		_ = os.RemoveAll(folder)
	})
	return term
}

func (x *pane) tmux(args ...string) string {
	x.Helper()
	out, err := exec.Command("tmux", append([]string{"-u", "-S", x.socket, "-f", "/dev/null"}, args...)...).CombinedOutput()
	require.NoError(x, err, "tmux %v: %s", args, out)
	return string(out)
}

// types types text.
func (x *pane) types(text string) { x.tmux("send-keys", "-l", "--", text) }

// press presses keys, such as Enter or C-c.
func (x *pane) press(keys ...string) { x.tmux(append([]string{"send-keys"}, keys...)...) }

// says types text and Enter.
func (x *pane) says(text string) {
	x.types(text)
	x.press("Enter")
}

// screen is what the terminal shows.
func (x *pane) screen() string { return x.tmux("capture-pane", "-p") }

// history is what the terminal shows, with what was scrolled out of it.
func (x *pane) history() string { return x.tmux("capture-pane", "-p", "-J", "-S", "-") }

// until waits until the screen is as it should be and returns it.
func (x *pane) until(what string, ok func(screen string) bool) string {
	x.Helper()
	var now string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		now = x.screen()
		if ok(now) {
			return now
		}
	}
	require.FailNow(x, "the screen never had "+what, "%s", now)
	return ""
}

// shows waits until each text stands on the screen.
func (x *pane) shows(texts ...string) string {
	x.Helper()
	return x.until(strings.Join(texts, " and "), func(screen string) bool { return hasAll(screen, texts) })
}

// hides waits until a text is gone.
func (x *pane) hides(text string) string {
	x.Helper()
	return x.until("lost "+text, func(screen string) bool { return !strings.Contains(screen, text) })
}

func hasAll(screen string, texts []string) bool {
	for _, text := range texts {
		if !strings.Contains(screen, text) {
			return false
		}
	}
	return true
}

// twice presses a key until a text appears that takes two presses shortly after one another: a slow machine may make
// them too slow.
func (x *pane) twice(key, after, text string) {
	x.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		x.press(key)
		x.until(after+" or "+text, func(s string) bool { return strings.Contains(s, after) || strings.Contains(s, text) })
		x.press(key)
		for soon := time.Now().Add(2 * time.Second); time.Now().Before(soon); time.Sleep(20 * time.Millisecond) {
			if strings.Contains(x.screen(), text) {
				return
			}
		}
	}
	require.FailNow(x, "two presses of "+key+" never brought "+text, "%s", x.screen())
}

// leaves waits until the program has ended, which must be with a status.
func (x *pane) leaves(status int) string {
	x.Helper()
	screen := x.shows(left)
	require.Contains(x, screen, left+strconv.Itoa(status)+"]")
	return screen
}
