package sqlitestore_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/activities/port/presence/presencetest"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

// When this environment variable names a file, the test binary is the second process: it listens for the notices of
// that file until it is killed.
const listenerOf = "ONEIROS_TEST_LISTENER_OF"

// echoed is what the second process adds to the epoch of a notice before it publishes it again.
const echoed = 1_000_000

// listenUntilKilled prints every notice of another process and publishes it again.
func listenUntilKilled(ctx context.Context, path string) error {
	s, err := sqlitestore.Open(ctx, path)
	if err != nil {
		return err
	}
	faults := make(chan error)
	_, err = s.Listen(func(r presence.WakeNotice) {
		if r.Local {
			return
		}
		line, err := json.Marshal(r)
		fmt.Printf("%s\n", line)
		r.Epoch += echoed
		if err == nil {
			err = s.Publish(ctx, r)
		}
		if err != nil {
			faults <- err
		}
	})
	if err != nil {
		return err
	}
	fmt.Println("listening")
	return <-faults
}

// startListener starts the second process and waits until it listens. answer yields its output lines.
func startListener(t *testing.T, path string) (child *exec.Cmd, answer <-chan string) {
	t.Helper()
	binary, err := os.Executable()
	require.NoError(t, err)
	socketDir(t, path) // removed at the end: a killed process leaves its socket behind
	child = exec.Command(binary)
	child.Env = append(os.Environ(), listenerOf+"="+path)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	t.Cleanup(func() { _ = child.Process.Kill() })
	lines := make(chan string, 10_000)
	go func() {
		for scan := bufio.NewScanner(out); scan.Scan(); {
			lines <- scan.Text()
		}
		close(lines)
	}()
	require.Equal(t, "listening", <-lines)
	return child, lines
}

func kill(t *testing.T, child *exec.Cmd) {
	t.Helper()
	require.NoError(t, child.Process.Kill())
	_, err := child.Process.Wait()
	require.NoError(t, err)
}

// socketDir is the folder of a file's sockets: beside the file, if the path is short enough.
func socketDir(t *testing.T, path string) string {
	t.Helper()
	folder := sqlitestore.SocketDir(path)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(folder)) })
	return folder
}

func sockets(t *testing.T, path string) []string {
	t.Helper()
	names, err := filepath.Glob(socketDir(t, path) + "/*")
	require.NoError(t, err)
	return names
}

func noticeOf(epoch int64) presence.WakeNotice {
	return presence.WakeNotice{
		Agent:  echo,
		Epoch:  epoch,
		Cause:  presence.Connect,
		At:     dawn,
		Raised: dawn.Add(time.Millisecond),
	}
}

// listenRemote returns the notices of other processes, at most 10,000 that nobody reads: a listener that waited for a
// reader would keep the store from closing.
func listenRemote(t *testing.T, s *sqlitestore.Store) <-chan presence.WakeNotice {
	t.Helper()
	received := make(chan presence.WakeNotice, 10_000)
	stop, err := s.Listen(func(r presence.WakeNotice) {
		if r.Local {
			return
		}
		select {
		case received <- r:
		default:
		}
	})
	require.NoError(t, err)
	t.Cleanup(stop)
	return received
}

func onUnix(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" || runtime.GOOS == "plan9" {
		t.Skip("the bell stays in its process here")
	}
}

func TestTheBusOfAFileKeepsItsContract(t *testing.T) {
	t.Parallel()
	onUnix(t)
	presencetest.RunWakeBus(t, func(t *testing.T) (presence.WakeBus, presence.WakeBus) { return onOneFile(t) })
}

func TestTheBusOfAPrivateStoreKeepsItsContract(t *testing.T) {
	t.Parallel()
	presencetest.RunWakeBus(t, func(t *testing.T) (presence.WakeBus, presence.WakeBus) { return inMemory(t), nil })
}

func TestANoticeReachesAnotherProcessAndComesBack(t *testing.T) {
	t.Parallel()
	onUnix(t)
	path := filepath.Join(t.TempDir(), "oneiros.db")
	s := open(t, path)
	received := listenRemote(t, s)
	_, answer := startListener(t, path)
	for n := range int64(20) {
		require.NoError(t, s.Publish(t.Context(), noticeOf(n+1)))
		var r presence.WakeNotice
		require.NoError(t, json.Unmarshal([]byte(<-answer), &r))
		require.Equal(t, noticeOf(n+1), r)
		require.Equal(t, noticeOf(n+1+echoed), <-received)
	}
}

func TestAThousandNoticesReachAnotherProcess(t *testing.T) {
	t.Parallel()
	onUnix(t)
	path := filepath.Join(t.TempDir(), "oneiros.db")
	s := open(t, path)
	_, answer := startListener(t, path)
	for n := range int64(1000) {
		require.NoError(t, s.Publish(t.Context(), noticeOf(n+1)))
	}
	lost := func() int64 { n, _ := s.DroppedNotices(); return n }
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for received := int64(0); received+lost() < 1000; { // every lost notice must be counted
		select {
		case line := <-answer:
			require.Contains(t, line, `"epoch":`)
			received++
		case <-look.C: // count again
		}
	}
	t.Logf("%d lost", lost())
}

func TestTheSocketOfAKilledProcessIsRemoved(t *testing.T) {
	t.Parallel()
	onUnix(t)
	path := filepath.Join(t.TempDir(), "oneiros.db")
	s := open(t, path)
	child, answer := startListener(t, path)
	require.Len(t, sockets(t, path), 1)
	require.Contains(t, sockets(t, path)[0], fmt.Sprint("/", child.Process.Pid, "-"))
	kill(t, child)
	for range answer { // read its remaining output
	}
	require.Len(t, sockets(t, path), 1, "a killed process leaves its socket behind")
	received := listenRemote(t, s)
	passer, err := sqlitestore.Open(t.Context(), path)
	require.NoError(t, err)
	require.NoError(t, passer.Publish(t.Context(), noticeOf(7)))
	require.NoError(t, passer.Close(), "waiting notices are sent before Close returns")
	require.Equal(t, noticeOf(7), <-received)
	require.Len(t, sockets(t, path), 1)
	require.Contains(t, sockets(t, path)[0], fmt.Sprint("/", os.Getpid(), "-"))
	require.NoError(t, s.Close())
	require.NoDirExists(t, socketDir(t, path), "the last process removes the folder")
	_, err = s.Listen(func(presence.WakeNotice) {})
	require.ErrorIs(t, err, sqlitestore.ErrClosed)
	require.ErrorIs(t, s.Publish(t.Context(), noticeOf(8)), sqlitestore.ErrClosed)
}

func TestAClosingProcessRemovesTheSocketsOfDeadOnes(t *testing.T) {
	t.Parallel()
	onUnix(t)
	path := filepath.Join(t.TempDir(), "oneiros.db")
	s, other := open(t, path), open(t, path)
	received := listenRemote(t, other)
	child, answer := startListener(t, path)
	kill(t, child)
	for range answer { // read its remaining output
	}
	require.Len(t, sockets(t, path), 2)
	listenRemote(t, s)
	require.NoError(t, s.Close())
	require.Len(t, sockets(t, path), 1, "sockets of living processes stay")
	require.Empty(t, received)
	_, garbled := other.DroppedNotices()
	require.Zero(t, garbled)
	require.NoError(t, other.Close())
	require.NoDirExists(t, socketDir(t, path))
}

func TestInvalidDatagramsAreCountedAndDropped(t *testing.T) {
	t.Parallel()
	onUnix(t)
	path := filepath.Join(t.TempDir(), "oneiros.db")
	s := open(t, path)
	received := listenRemote(t, s)
	info, err := os.Stat(socketDir(t, path))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	conn, err := net.Dial("unixgram", sockets(t, path)[0])
	require.NoError(t, err)
	defer conn.Close()
	good, err := json.Marshal(noticeOf(3))
	require.NoError(t, err)
	garbage := []string{
		"", "ring", "null", "[]", "{}", `{"agent":"a"}`, `{"agent":"a","epoch":0}`,
		`{"agent":"a","epoch":1,"Local":true}`,
		string(good) + "x", string(good) + "null", string(good[:20]),
		`{"agent":"` + strings.Repeat("a", 600) + `","epoch":1}`,
		string(good) + strings.Repeat(" ", 17<<10), "\x00\xff\xfe",
	}
	for _, g := range garbage {
		_, err := conn.Write([]byte(g))
		require.NoError(t, err)
	}
	_, err = conn.Write(good)
	require.NoError(t, err)
	require.Equal(t, noticeOf(3), <-received)
	_, garbled := s.DroppedNotices()
	require.EqualValues(t, len(garbage), garbled)
	require.Empty(t, received)
}

func TestAProcessThatDoesNotReadBlocksNobody(t *testing.T) {
	t.Parallel()
	onUnix(t)
	path := filepath.Join(t.TempDir(), "oneiros.db")
	s, other := open(t, path), open(t, path)
	received := listenRemote(t, other)
	frozen, err := net.ListenUnixgram("unixgram",
		&net.UnixAddr{Name: socketDir(t, path) + "/1-0000beef.sock", Net: "unixgram"})
	require.NoError(t, err)
	defer frozen.Close()
	for epoch := int64(1); ; epoch++ {
		require.NoError(t, s.Publish(t.Context(), noticeOf(epoch)))
		if lost, _ := s.DroppedNotices(); lost > 0 {
			break
		}
	}
	require.Positive(t, (<-received).Epoch)
	require.NoError(t, s.Close())
}

func TestForeignFilesInTheSocketFolderAreKept(t *testing.T) {
	t.Parallel()
	onUnix(t)
	path := filepath.Join(t.TempDir(), "oneiros.db")
	s, other := open(t, path), open(t, path)
	received := listenRemote(t, other)
	for _, name := range []string{"notes.txt", "1-0000beef.sock"} {
		require.NoError(t, os.WriteFile(filepath.Join(socketDir(t, path), name), nil, 0o600))
	}
	stranger, err := net.ListenUnixgram("unixgram",
		&net.UnixAddr{Name: socketDir(t, path) + "/stranger.sock", Net: "unixgram"})
	require.NoError(t, err)
	require.NoError(t, stranger.Close())
	require.NoError(t, s.Publish(t.Context(), noticeOf(1)))
	require.Equal(t, noticeOf(1), <-received)
	require.NoError(t, s.Close())
	require.Len(t, sockets(t, path), 4)
}

func TestASocketFolderThatOthersMayWriteToIsRefused(t *testing.T) {
	t.Parallel()
	onUnix(t)
	for name, spoil := range map[string]func(folder string) error{
		"AnOpenFolder": func(folder string) error { return os.Mkdir(folder, 0o755) },
		"AFile":        func(folder string) error { return os.WriteFile(folder, nil, 0o700) },
		"ALink":        func(folder string) error { return os.Symlink(filepath.Dir(folder), folder) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "oneiros.db")
			s := open(t, path)
			folder := socketDir(t, path)
			require.NoError(t, spoil(folder))
			_, err := s.Listen(func(presence.WakeNotice) {})
			require.ErrorContains(t, err, folder)
			require.ErrorContains(t, err, "drwx------")
			require.NoError(t, s.Publish(t.Context(), noticeOf(1)))
		})
	}
}

func TestALongPathUsesTheTemporaryFolderForSockets(t *testing.T) {
	t.Parallel()
	onUnix(t)
	path := filepath.Join(t.TempDir(), strings.Repeat("deep/", 20), "oneiros.db")
	s := open(t, path)
	received := listenRemote(t, s)
	require.Len(t, sockets(t, path), 1)
	require.NotContains(t, socketDir(t, path), "deep")
	link := filepath.Join(t.TempDir(), "short.db")
	require.NoError(t, os.Symlink(path, link))
	passer, err := sqlitestore.Open(t.Context(), link)
	require.NoError(t, err)
	require.NoError(t, passer.Publish(t.Context(), noticeOf(5)))
	require.Equal(t, noticeOf(5), <-received, "both find the folder by the file's resolved path")
	require.NoError(t, passer.Close())
}
