package temporalchild_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/temporalchild"
)

// TestMain also plays the servers that these tests start: a temporald that is ready at once, one that cannot start, one
// that does not react to signals, and a temporal command.
func TestMain(m *testing.M) {
	switch os.Getenv("PLAY") {
	case "":
		os.Exit(runTests(m))
	case "ready":
		fmt.Fprintln(os.Stderr, strings.Join(os.Args[1:], " "))
		untilSignalled(func() {
			fmt.Printf("{\"ready\":true,\"address\":\"127.0.0.1:7\",\"ui\":\"http://127.0.0.1:8\",\"pid\":%d}\n",
				os.Getpid())
		})
	case "broken":
		fmt.Fprintln(os.Stderr, "{\"level\":\"info\"}\ntemporald: the file is locked\n{\"level\":\"info\"}")
		os.Exit(1)
	case "guarded":
		c, err := temporalchild.Start(context.Background(),
			temporalchild.Options{Binary: temporalchild.Binary{Path: os.Args[0], CLI: true}})
		if err == nil {
			fmt.Println(c.Address)
		}
		os.Exit(7) // without stopping it
	case "listen":
		listen()
	}
}

// listen does the part of `temporal server start-dev` that matters here.
func listen() {
	port := ""
	for i, arg := range os.Args {
		if arg == "--port" {
			port = os.Args[i+1]
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	untilSignalled(func() {})
	_ = l.Close()
}

// untilSignalled reports that it is ready once it handles signals, and waits for one.
func untilSignalled(ready func()) {
	result := make(chan os.Signal, 1)
	signal.Notify(result, syscall.SIGTERM)
	ready()
	<-result
}

// parts is the folder of the server binaries. They are written before the first test runs: a program that is written
// while another test starts a process can be "text file busy".
var parts string

func runTests(m *testing.M) int {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	parts, err = os.MkdirTemp("", "parts")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(parts)
	for _, part := range []string{"ready", "broken", "guarded", "listen"} {
		script := "#!/bin/sh\nPLAY=" + part + " exec " + self + " \"$@\"\n"
		if err := os.WriteFile(filepath.Join(parts, part), []byte(script), 0o700); err != nil {
			panic(err)
		}
	}
	return m.Run()
}

// serverFor returns a server that plays a part.
func serverFor(t *testing.T, part string, cli bool) temporalchild.Binary {
	t.Helper()
	return temporalchild.Binary{Path: filepath.Join(parts, part), CLI: cli}
}

func TestAServerIsStartedReadAndStopped(t *testing.T) {
	t.Parallel()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	c, err := temporalchild.Start(t.Context(), temporalchild.Options{
		Binary: serverFor(t, "ready", false),
		DB:     "x.db",
		Port:   12,
		UIPort: -1,
		Log:    log,
	})
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:7", c.Address)
	require.Equal(t, "http://127.0.0.1:8", c.UI)
	if runtime.GOOS == "linux" { // where the system call returns 20 minus the niceness
		own, err := syscall.Getpriority(syscall.PRIO_PROCESS, os.Getpid())
		require.NoError(t, err)
		its, err := syscall.Getpriority(syscall.PRIO_PROCESS, c.PID)
		require.NoError(t, err)
		require.Equal(t, min(own, 20-temporalchild.Niceness), its, "the server has a lower priority")
	}
	require.NoError(t, c.Stop())
	require.NoError(t, c.Stop(), "a second Stop does nothing")
	<-c.Done()
	body, err := os.ReadFile(log.Name())
	require.NoError(t, err)
	require.Contains(t, string(body),
		fmt.Sprintf("--port 12 --ui-port -1 --namespace default --parent-pid %d --db x.db", os.Getpid()))
}

func TestAServerThatCannotStartReportsTheReason(t *testing.T) {
	t.Parallel()
	_, err := temporalchild.Start(t.Context(), temporalchild.Options{Binary: serverFor(t, "broken", false)})
	require.ErrorContains(t, err, "ended before it was ready")
	require.ErrorContains(t, err, "the file is locked")
	require.NotContains(t, err.Error(), "level")
	_, err = temporalchild.Start(t.Context(), temporalchild.Options{Binary: serverFor(t, "broken", true)})
	require.ErrorContains(t, err, "the file is locked")
}

func TestAServerThatEndsUnexpectedlyIsNoticed(t *testing.T) {
	t.Parallel()
	c, err := temporalchild.Start(t.Context(), temporalchild.Options{Binary: serverFor(t, "ready", false)})
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(c.PID, syscall.SIGKILL))
	<-c.Done()
	require.ErrorContains(t, c.Err(), "killed")
	require.NoError(t, c.Stop())
}

func TestTheTemporalCommandIsUsedAndEndsWithUs(t *testing.T) {
	t.Parallel()
	c, err := temporalchild.Start(t.Context(), temporalchild.Options{Binary: serverFor(t, "listen", true), DB: "x.db"})
	require.NoError(t, err)
	conn, err := net.Dial("tcp", c.Address)
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	require.NoError(t, c.Stop())
	_, err = net.Dial("tcp", c.Address)
	require.Error(t, err)

	binary := serverFor(t, "listen", true)
	orphan := exec.Command(binary.Path)
	orphan.Path, orphan.Args = mustSelf(t), []string{binary.Path}
	orphan.Env = append(os.Environ(), "PLAY=guarded")
	address, err := orphan.Output()
	require.Error(t, err, "the process exits with 7 without stopping its child")
	require.NotEmpty(t, address)
	require.Eventually(t, func() bool {
		conn, err := net.DialTimeout("tcp", strings.TrimSpace(string(address)), time.Second)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	}, 30*time.Second, 50*time.Millisecond, "the guard stops the server")
}

func mustSelf(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return self
}

func TestAServerIsSearchedInTheDocumentedOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	nothing := func(name string) (string, error) { return "", exec.ErrNotFound }
	only := func(found string) func(string) (string, error) {
		return func(name string) (string, error) {
			if name == found {
				return "/path/" + name, nil
			}
			return "", exec.ErrNotFound
		}
	}
	_, err := temporalchild.Find("", filepath.Join(dir, "oneiros"), nothing)
	require.ErrorIs(t, err, temporalchild.ErrNoServer)
	b, err := temporalchild.Find("", filepath.Join(dir, "oneiros"), only("temporal"))
	require.NoError(t, err)
	require.Equal(t, temporalchild.Binary{Path: "/path/temporal", CLI: true}, b)
	b, err = temporalchild.Find("", filepath.Join(dir, "oneiros"), only("temporald"))
	require.NoError(t, err)
	require.Equal(t, temporalchild.Binary{Path: "/path/temporald"}, b)
	beside := filepath.Join(dir, "temporald")
	require.NoError(t, os.WriteFile(beside, nil, 0o700))
	b, err = temporalchild.Find("", filepath.Join(dir, "oneiros"), only("temporald"))
	require.NoError(t, err)
	require.Equal(t, temporalchild.Binary{Path: beside}, b)
	_, err = temporalchild.Find("/opt/absent", filepath.Join(dir, "oneiros"), only("temporald"))
	require.ErrorContains(t, err, "ONEIROS_TEMPORALD names /opt/absent")
}

func TestOtherProcessesFindTheServerUntilItEnds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, alive, err := temporalchild.ReadRecord(dir)
	require.NoError(t, err)
	require.False(t, alive)
	r := temporalchild.Record{Address: "127.0.0.1:7", Namespace: "default", PID: os.Getpid(), Owner: os.Getpid()}
	require.NoError(t, r.Announce(dir))
	found, alive, err := temporalchild.ReadRecord(dir)
	require.NoError(t, err)
	require.True(t, alive)
	require.Equal(t, r, found)
	require.NoError(t, temporalchild.Record{PID: 1}.Withdraw(dir), "another process's record stays")
	require.NoError(t, r.Withdraw(dir))

	removed := exec.Command("true")
	require.NoError(t, removed.Run())
	r.Owner = removed.Process.Pid
	require.NoError(t, r.Announce(dir))
	_, alive, err = temporalchild.ReadRecord(dir)
	require.NoError(t, err)
	require.False(t, alive, "a server whose owner has ended is not used")
	require.NoError(t, temporalchild.Record{PID: removed.Process.Pid}.AwaitEnd(t.Context()))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "temporal.json"), []byte("{"), 0o600))
	_, _, err = temporalchild.ReadRecord(dir)
	require.Error(t, err)
}

// A killed process stays in the process table until its parent waits for it, but no longer runs.
func TestAZombieProcessIsNotAlive(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("the state of a process is read from /proc")
	}
	dead := exec.Command(os.Args[0])
	dead.Env = append(os.Environ(), "PLAY=broken")
	require.NoError(t, dead.Start())
	t.Cleanup(func() { _ = dead.Wait() })
	dir := t.TempDir()
	for _, r := range []temporalchild.Record{
		{Address: "127.0.0.1:7", PID: os.Getpid(), Owner: dead.Process.Pid},
		{Address: "127.0.0.1:7", PID: dead.Process.Pid, Owner: os.Getpid()},
	} {
		require.NoError(t, r.Announce(dir))
		require.Eventually(t, func() bool {
			_, alive, err := temporalchild.ReadRecord(dir)
			return err == nil && !alive
		}, 10*time.Second, time.Millisecond)
	}
	require.NoError(t, temporalchild.Record{PID: dead.Process.Pid}.AwaitEnd(t.Context()))
}
