package hermes_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/seed-56a03226/oneiros/testsuite/hermes"
)

// small builds the program that is only the client, as make hermes does, and says how big it is.
func small(tb testing.TB) (path string, bytes int64) {
	tb.Helper()
	path = filepath.Join(tb.TempDir(), "hermes")
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", path, "github.com/seed-56a03226/oneiros/cmd/hermes")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(tb, err, "%s", out)
	info, err := os.Stat(path)
	require.NoError(tb, err)
	return path, info.Size()
}

// The small program stays below 25 MB.
func TestTheSmallProgramIsSmall(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds a program")
	}
	_, size := small(t)
	require.Less(t, size, int64(25_000_000))
}

// pseudoTerminal opens a pseudo terminal of 80 by 24.
func pseudoTerminal(tb testing.TB) (master, slave *os.File) {
	tb.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(tb, err)
	fd := int(master.Fd())
	require.NoError(tb, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	require.NoError(tb, err)
	require.NoError(tb, unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}))
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(tb, err)
	return master, slave
}

// BenchmarkFirstFrame measures from the start of the small program to its first frame in a terminal, with a server that
// answers at once.
func BenchmarkFirstFrame(b *testing.B) {
	program, size := small(b)
	worker, err := hermes.Work(nil)
	require.NoError(b, err)
	b.Cleanup(worker.Close)
	home, folder := b.TempDir(), b.TempDir()
	var times []time.Duration
	for b.Loop() {
		master, slave := pseudoTerminal(b)
		cmd := exec.Command(program, "--server", worker.URL, "--agent", "worker", "--workspace", folder)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, os.Stderr
		cmd.Env = []string{"HOME=" + home, "TERM=xterm-256color", "PATH=" + os.Getenv("PATH")}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		begun := time.Now()
		require.NoError(b, cmd.Start())
		require.NoError(b, slave.Close())
		var seen []byte
		part := make([]byte, 4096)
		for !bytes.Contains(seen, []byte("Shift+Tab")) {
			n, err := master.Read(part)
			require.NoError(b, err, "%s", seen)
			seen = append(seen, part[:n]...)
		}
		times = append(times, time.Since(begun))
		require.NoError(b, cmd.Process.Kill())
		_ = cmd.Wait()
		require.NoError(b, master.Close())
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Milliseconds()), "p50-ms")
	b.ReportMetric(float64(times[len(times)*99/100].Milliseconds()), "p99-ms")
	b.ReportMetric(float64(size)/1e6, "MB")
}
