package hermes_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/testsuite/hermes"
)

// result is what hermes -p --json prints.
type result struct {
	Session, Outcome, Answer string
	Iterations               int
	Calls                    []struct{ Name, State, Result string }
}

// Thirty tasks are completed through Hermes and the server, over HTTP and over MCP.
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
					require.Equal(t, len(task.steps), r.Iterations)
					require.NoError(t, task.completed(dir, r))
				})
			}
		})
	}
}

// The control: a model that only talks completes no task that needs a tool.
func TestAModelThatOnlyTalksCompletesNothing(t *testing.T) {
	t.Parallel()
	script := map[string][]hermes.Step{}
	for _, task := range tasks {
		name, _, _ := strings.Cut(task.asks, ":")
		script[name] = []hermes.Step{says("Done: " + task.answer)}
	}
	m := build(t, script, "", "up")
	for _, task := range tasks[:8] {
		name, _, _ := strings.Cut(task.asks, ":")
		dir := m.folder(name)
		require.NoError(t, task.prepare(dir))
		var r result
		out := m.must(m.hermes("--workspace", dir, "--approval", "auto", "--json", "-p", task.asks)...)
		require.NoError(t, json.Unmarshal([]byte(out), &r))
		require.Error(t, task.completed(dir, r), name)
	}
}

// completed says what of a task was not done.
func (t task) completed(dir string, r result) error {
	if !strings.Contains(r.Answer, t.answer) {
		return fmt.Errorf("the answer is %q, without %q", r.Answer, t.answer)
	}
	var seen strings.Builder
	for _, c := range r.Calls {
		seen.WriteString(c.Result + "\n")
	}
	if !strings.Contains(seen.String(), t.seen) {
		return fmt.Errorf("no tool showed %q", t.seen)
	}
	if strings.Contains(seen.String(), "root:x:") {
		return errors.New("a file outside of the folder was read")
	}
	for name, want := range t.after {
		got, err := os.ReadFile(filepath.Join(dir, name))
		switch {
		case want == "" && errors.Is(err, os.ErrNotExist):
		case err != nil:
			return err
		case string(got) != want:
			return fmt.Errorf("%s is %q; it must be %q", name, got, want)
		}
	}
	return nil
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
