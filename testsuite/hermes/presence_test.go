package hermes_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// process is the hermes of a workspace.
func (m *machine) process(dir string) int {
	m.Helper()
	found := 0
	m.eventually("hermes runs in "+dir, func() bool {
		all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, name := range all {
			text, err := os.ReadFile(name)
			words := strings.Split(string(text), "\x00")
			if err == nil && len(words) > 2 && words[1] == "hermes" && strings.Contains(string(text), dir) {
				found, err = strconv.Atoi(filepath.Base(filepath.Dir(name)))
				return err == nil
			}
		}
		return false
	})
	return found
}

// The agent is held awake while Hermes runs, however it ends; and what runs then ends with it and is recorded.
func TestAnAgentIsHeldAsLongAsHermesRuns(t *testing.T) {
	t.Parallel()
	m := build(t, points, "", "up")
	signal := func(s syscall.Signal) func(*machine, *pane, string) {
		return func(m *machine, _ *pane, dir string) { require.NoError(m, syscall.Kill(m.process(dir), s)) }
	}
	for _, each := range []struct {
		name     string
		leave    func(m *machine, term *pane, dir string)
		recorded bool // whether the command that ran is in the session with its end
	}{
		{"quit", func(_ *machine, term *pane, _ string) { term.says("/quit") }, true},
		{"term", signal(syscall.SIGTERM), true},
		{"hangup", func(_ *machine, term *pane, _ string) { term.tmux("kill-pane") }, true},
		{"kill", signal(syscall.SIGKILL), false},
	} {
		t.Run(each.name, func(t *testing.T) {
			m := m.with(t, each.name)
			t.Parallel()
			c := &child{machine: m, dir: m.folder(m.agent), sessions: filepath.Join(m.dir, "sessions", m.agent)}
			require.Zero(t, m.status().Leases)
			term := m.open(t, 80, 24, m.apart(), "--workspace", c.dir, "--approval", "auto")
			term.shows(each.name + "  awake")
			term.says("Task after")
			term.shows("We went on.")
			require.Equal(t, 1, m.status().Leases, "a turn holds the agent by the session, and no longer")
			pid := m.process(c.dir)
			each.leave(m, term, c.dir)
			m.eventually("hermes is gone", func() bool { return syscall.Kill(pid, 0) != nil })
			m.eventually("the agent is let go", func() bool { return m.status().Leases == 0 })
		})
		t.Run(each.name+" while a command runs", func(t *testing.T) {
			m := m.with(t, "busy-"+each.name)
			t.Parallel()
			c := &child{machine: m, dir: m.folder(m.agent), sessions: filepath.Join(m.dir, "sessions", m.agent)}
			term := m.open(t, 80, 24, m.apart(), "--workspace", c.dir, "--approval", "auto")
			term.shows("busy-" + each.name + "  awake")
			term.says("Task polite")
			begun(c)
			pid := m.process(c.dir)
			each.leave(m, term, c.dir)
			m.eventually("hermes is gone", func() bool { return syscall.Kill(pid, 0) != nil })
			m.eventually("the command is gone", func() bool { return len(c.running()) == 0 })
			_, all := c.recorded()
			if each.recorded {
				require.Len(t, all, 4, "words, calls and what became of each")
				require.Contains(t, all[2].Content, "interrupted")
			}
			c.goesOn()
		})
	}
}
