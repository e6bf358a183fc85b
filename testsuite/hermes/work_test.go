package hermes_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// result is what hermes -p --json prints.
type result struct {
	Session, Outcome, Answer string
	Iterations               int
	Calls                    []struct{ Name, State, Result string }
}

// Thirty tasks are completed through Hermes and the server, over HTTP and over MCP. The control is a model that does
// nothing: with it the tasks that change files fail.
func TestThirtyTasksAreCompleted(t *testing.T) {
	t.Parallel()
	require.Len(t, tasks, 30)
	m := build(t, script(), "", "up")
	for _, way := range []string{"http", "mcp"} {
		t.Run(way, func(t *testing.T) {
			for _, task := range tasks {
				name, _, _ := strings.Cut(task.asks, ":")
				t.Run(name, func(t *testing.T) {
					dir := m.folder(way + name)
					require.NoError(t, task.prepare(dir))
					args := m.hermes("--workspace", dir, "--approval", "auto", "--json", "-p", task.asks)
					if way == "mcp" {
						args = append(args, "--mcp")
					}
					out, beside, code := m.run(args...)
					require.Zero(t, code, "%s%s", out, beside)
					var r result
					require.NoError(t, json.Unmarshal([]byte(out), &r))
					require.Equal(t, "answered", r.Outcome)
					require.Contains(t, r.Answer, task.answer)
					require.Equal(t, len(task.steps), r.Iterations)
					var seen strings.Builder
					for _, c := range r.Calls {
						seen.WriteString(c.Result + "\n")
					}
					require.Contains(t, seen.String(), task.seen)
					require.NotContains(t, seen.String(), "root:x:", "nothing outside of the folder is read")
					for name, want := range task.after {
						got, err := os.ReadFile(filepath.Join(dir, name))
						if want == "" {
							require.ErrorIs(t, err, os.ErrNotExist)
							continue
						}
						require.NoError(t, err)
						require.Equal(t, want, string(got), name)
					}
				})
			}
		})
	}
}

func TestWithoutApprovalNothingIsWritten(t *testing.T) {
	t.Parallel()
	m := build(t, script(), "", "up")
	for mode, want := range map[string]string{"ask": "nobody is there to approve it", "read": "read only"} {
		dir := m.folder(mode)
		out := m.must(m.hermes("--workspace", dir, "--approval", mode, "--json", "-p", "Task 04")...)
		require.Contains(t, out, want)
		require.NoFileExists(t, filepath.Join(dir, "diary", "28.md"))
	}
}
