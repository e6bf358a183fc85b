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

	"github.com/seed-56a03226/oneiros/internal/memory"
)

// fillerAt names the record after which the process of a test stops and waits to be killed.
const fillerAt = "ONEIROS_TEST_FILLS_UNTIL"

// deadly is what the process that is killed fills a store with.
var deadly = Size{
	Agents:   2,
	Items:    700,
	Events:   100,
	Attempts: 200,
	Dim:      16,
}

// FillIfSwitchedOn makes a test's program the process that DieFilling kills. A test's package calls it from an init,
// with how to open the store that the environment names.
func FillIfSwitchedOn(open func(ctx context.Context) (memory.Movable, error)) {
	at, err := strconv.Atoi(os.Getenv(fillerAt))
	if err != nil {
		return
	}
	s, err := open(context.Background())
	if err == nil {
		_, err = s.Import(context.Background(), waiting(at, Deployment(1, deadly)))
	}
	fmt.Println("ended", err)
	os.Exit(0)
}

// waiting hands records over, and after some of them, or after all, says so and waits for its input to end.
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

// DieFilling fills a store in another process, named by env, and kills it at some record: before any, in the middle,
// before the last, and whenever it comes after all were told. After each death look finds the store empty, or whole
// when all had been told; and at last the store is filled.
func DieFilling(t *testing.T, env []string, look func(t *testing.T) (memory.Movable, []memory.Record)) {
	t.Helper()
	made := Deployment(1, deadly)
	whole := written(t, Fill(made))
	for _, at := range []int{0, 1, len(made) / 3, len(made) * 2 / 3, len(made) - 1, len(made)} {
		killAt(t, env, at)
		_, found := look(t)
		if at == len(made) && len(found) > 0 {
			require.Equal(t, whole, written(t, Fill(found)), "half a deployment")
			return // it came to its end before it was killed
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
	child.Env = append(append(os.Environ(), env...), fillerAt+"="+strconv.Itoa(at))
	in, err := child.StdinPipe()
	require.NoError(t, err)
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	text, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err, "it ended by itself")
	require.Contains(t, []string{"waits\n", "told\n"}, text)
	require.NoError(t, child.Process.Kill()) // SIGKILL
	_ = child.Wait()
	_ = in.Close()
}
