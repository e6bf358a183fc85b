package memorytest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// importUntil names the environment variable with the record after which the child process waits to be killed.
const importUntil = "ONEIROS_TEST_FILLS_UNTIL"

// killedSize is the content that the killed process imports.
var killedSize = Size{
	Agents:   2,
	Items:    700,
	Events:   100,
	Attempts: 200,
	Dim:      16,
}

// ImportIfRequested makes a test binary the process that KillWhileImporting kills. A test package calls it from an init
// function, with a function that opens the store that the environment names.
func ImportIfRequested(open func(ctx context.Context) (memory.Movable, error)) {
	at, err := strconv.Atoi(os.Getenv(importUntil))
	if err != nil {
		return
	}
	s, err := open(context.Background())
	if err == nil {
		_, err = s.Import(context.Background(), waiting(at, Deployment(1, killedSize)))
	}
	fmt.Println("ended", err)
	os.Exit(0)
}

// waiting yields records. After some or all of them it reports that and waits for its input to end.
func waiting(at int, records []memory.Record) memory.Records {
	return func(yield func(memory.Record, error) bool) {
		for i, r := range records {
			if i == at {
				fmt.Println("waits")
				_, _ = io.Copy(io.Discard, os.Stdin)
			}
			if !yield(r, nil) {
				return
			}
		}
		fmt.Println("told")
	}
}

// KillWhileImporting imports an archive in another process, configured by env, and kills it: before the first record,
// in the middle, before the last, and at a random moment after all of them. After each kill the store must be empty, or
// complete if all records had been read. At last the import runs to its end.
func KillWhileImporting(t *testing.T, env []string, look func(t *testing.T) (memory.Movable, []memory.Record)) {
	t.Helper()
	made := Deployment(1, killedSize)
	whole := written(t, Fill(made))
	for _, at := range []int{0, 1, len(made) / 3, len(made) * 2 / 3, len(made) - 1, len(made)} {
		killAt(t, env, at)
		_, found := look(t)
		if at == len(made) && len(found) > 0 {
			require.Equal(t, whole, written(t, Fill(found)), "the import is incomplete")
			return // it had finished before it was killed
		}
		require.Empty(t, found, "killed at record %d of %d", at, len(made))
	}
	s, _ := look(t)
	_, err := s.Import(t.Context(), Fill(made))
	require.NoError(t, err)
	require.Equal(t, whole, written(t, s.Export(t.Context())))
}

func killAt(t *testing.T, env []string, at int) {
	t.Helper()
	binary, err := os.Executable()
	require.NoError(t, err)
	child := exec.CommandContext(t.Context(), binary)
	child.Env = append(append(os.Environ(), env...), importUntil+"="+strconv.Itoa(at))
	in, err := child.StdinPipe()
	require.NoError(t, err)
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	text, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err, "the process ended before it was killed")
	require.Contains(t, []string{"waits\n", "told\n"}, text)
	require.NoError(t, child.Process.Kill()) // SIGKILL
	_ = child.Wait()
	_ = in.Close()
}
