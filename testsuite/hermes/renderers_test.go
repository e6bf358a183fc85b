package hermes_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// inline leaves what was said in the terminal's own scrollback, once and in its order.
func inline(m *machine) {
	dir := m.folder(m.agent)
	require.NoError(m, os.WriteFile(filepath.Join(dir, "lens.go"), []byte(lens), 0o644))
	term := m.open(m.T, 80, 16, m.apart(), "--workspace", dir, "--inline")
	term.shows("> Say something")
	answered := func(text string, times int) {
		term.until(text+" once more", func(now string) bool {
			return strings.Count(term.history(), text) >= times && !strings.Contains(now, "interrupts")
		})
	}
	for i := range 3 {
		term.says("Task lines")
		answered("The end.", i+1)
		term.says("Task lens")
		answered("It turns three degrees.", i+1)
	}
	term.says("/quit")
	term.leaves(0)
	history := term.history()
	for _, text := range []string{"Task lines", "The end.", "Task lens", "It turns three degrees."} {
		require.Equal(m, 3, strings.Count(history, text), "%s in\n%s", text, history)
	}
	require.Equal(m, 1, strings.Count(history, strings.Repeat("─", 80)), "of the frame only its end remains")
	at := 0
	for _, text := range []string{"Task lines", "The end.", "Task lens", "read_file", "It turns three degrees.", "Task lines"} {
		next := strings.Index(history[at:], text)
		require.NotEqual(m, -1, next, "%s in its order in\n%s", text, history)
		at += next + len(text)
	}
}

// resizing while an answer comes leaves a screen as one that is drawn anew.
func resizing(m *machine) {
	term, _ := m.at()
	term.says("Task lines")
	for _, size := range [][2]string{{"60", "20"}, {"120", "40"}, {"40", "12"}, {"100", "30"}} {
		term.shows("wave")
		term.tmux("resize-window", "-x", size[0], "-y", size[1])
	}
	term.shows("The end.", "> Say something")
	term.until("lost the turn", func(s string) bool { return !strings.Contains(s, "interrupts") })
	before := term.screen()
	require.Len(m, strings.Split(strings.TrimRight(before, "\n"), "\n"), 30)
	tty, err := os.OpenFile(strings.TrimSpace(term.tmux("display-message", "-p", "#{pane_tty}")), os.O_WRONLY, 0)
	require.NoError(m, err)
	_, err = tty.WriteString("\x1b[5;5Hsomebody else writes here")
	require.NoError(m, err)
	require.NoError(m, tty.Close())
	term.shows("somebody else writes here")
	term.press("C-l")
	after := term.hides("somebody else writes here")
	require.Equal(m, strings.Split(before, "\n"), strings.Split(after, "\n"))
}

// colour sets a colour of the foreground or background.
var colour = regexp.MustCompile(`\x1b\[(?:[0-9;:]*[;:])?(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:[;:][0-9;:]*)?m`)

// colours are left out where a person or a terminal wants none; and lines are written as lines to a dumb terminal.
func colours(m *machine) {
	for _, each := range []struct {
		name  string
		env   []string
		args  []string
		lines bool // whether it writes lines only
		has   bool // whether it has colours
	}{
		{"usual", nil, nil, false, true},
		{"NO_COLOR", []string{"NO_COLOR=1"}, nil, false, false},
		{"inline", []string{"NO_COLOR=1"}, []string{"--inline"}, false, false},
		{"plain", nil, []string{"--plain"}, true, false},
		{"dumb", []string{"TERM=dumb"}, nil, true, false},
	} {
		m.Run(each.name, func(t *testing.T) {
			m := m.in(t)
			raw := filepath.Join(m.dir, "raw-"+each.name)
			term := m.open(t, 80, 24, append(m.apart(), each.env...), append([]string{"--workspace", m.folder(m.agent)}, each.args...)...)
			term.tmux("pipe-pane", "-O", "cat > "+raw)
			term.until("a prompt", func(string) bool {
				now := term.history()
				return strings.Contains(now, "> Say something") || strings.Contains(now, "is awake.")
			})
			term.says("Task markdown")
			term.until("an answer", func(string) bool { return strings.Contains(term.history(), "Done.") })
			term.says("/quit")
			term.leaves(0)
			text, err := os.ReadFile(raw)
			require.NoError(t, err)
			require.Contains(t, string(text), "Done.", "the pipe has what was written")
			require.Equal(t, each.has, colour.Match(text), "%q", text)
			if each.lines {
				require.NotContains(t, string(text), "\x1b", "%q", text)
			}
		})
	}
}
