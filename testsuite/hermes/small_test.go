package hermes_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestASmallModelTriesTheTasks shows what a small real model makes of the thirty tasks, as it is: nothing is required of
// it. SMALL is where it answers, such as http://127.0.0.1:8089/v1 of `oneiros llama --name tiny`.
func TestASmallModelTriesTheTasks(t *testing.T) {
	address := os.Getenv("SMALL")
	if address == "" {
		t.Skip("make bench-hermes-small SMALL=http://127.0.0.1:8089/v1 lets a small real model try")
	}
	program, _ := small(t)
	m := &machine{T: t, dir: t.TempDir()}
	done := 0
	for _, task := range tasks {
		name, words, _ := strings.Cut(task.asks, ":")
		dir := m.folder(name)
		require.NoError(t, task.prepare(dir))
		cmd := m.command()
		cmd.Path, cmd.Args = program, []string{
			program, "--server", address, "--agent", "tiny", "--workspace", dir, "--approval", "auto", "--iterations", "3",
			"--json", "-p", strings.TrimSpace(words),
		}
		cmd.Env = []string{"HOME=" + m.dir, "PATH=" + os.Getenv("PATH")}
		out, err := cmd.Output()
		var r result
		if json.Unmarshal(out, &r) != nil {
			fmt.Printf("| %s | - | failed | %v |\n", strings.TrimSpace(words), err)
			continue
		}
		ok := len(task.after) > 0 || len(r.Calls) > 0
		for file, want := range task.after {
			got, err := os.ReadFile(filepath.Join(dir, file))
			ok = ok && (want == "" && os.IsNotExist(err) || string(got) == want)
		}
		if ok {
			done++
		}
		answer := strings.Join(strings.Fields(strings.ReplaceAll(r.Answer, "|", "/")), " ")
		fmt.Printf("| %s | %d | %s | %.160s |\n", strings.TrimSpace(words), len(r.Calls), r.Outcome, answer)
	}
	fmt.Printf("done: %d of %d\n", done, len(tasks))
}
