package redis

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// When this variable is set, the test binary is a program that starts the shared server and dies.
const dying = "ONEIROS_TEST_DIES_WITH_REDIS"

func TestMain(m *testing.M) {
	if os.Getenv(dying) != "" {
		s, err := common()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(s.Address, s.Dir)
		select {}
	}
	os.Exit(m.Run())
}

func TestAServerGoesOnFromItsFileOnTheSamePort(t *testing.T) {
	t.Parallel()
	s := Start(t, Fsync("always"))
	address, pid := s.Address, s.PID()
	require.NoError(t, s.Dial(t).Set(t.Context(), "kept", "yes", 0).Err())
	s.Kill()
	_, err := net.Dial("tcp", address)
	require.Error(t, err)
	s.Restart()
	require.Equal(t, address, s.Address)
	require.NotEqual(t, pid, s.PID())
	kept, err := s.Dial(t).Get(t.Context(), "kept").Result()
	require.NoError(t, err)
	require.Equal(t, "yes", kept)
	s.Stop()
	s.Restart()
}

func TestAServerThatLosesPowerLacksWhatItWroteLast(t *testing.T) {
	t.Parallel()
	s := Start(t, Fsync("always"))
	require.NoError(t, s.Dial(t).Set(t.Context(), "first", "kept", 0).Err())
	written := s.Written()
	require.NoError(t, s.Dial(t).Set(t.Context(), "second", "lost", 0).Err())
	s.LosePower(written)
	s.Restart()
	names, err := s.Dial(t).Keys(t.Context(), "*").Result()
	require.NoError(t, err)
	require.Equal(t, []string{"first"}, names)
}

func TestAServerIsStartedAsAsked(t *testing.T) {
	t.Parallel()
	port, err := freePort()
	require.NoError(t, err)
	s := Start(t, NoAppendOnly(), Fsync("no"), OnPort(port), Config("maxmemory", "10mb"))
	require.Equal(t, fmt.Sprint("127.0.0.1:", port), s.Address)
	for name, want := range map[string]string{"appendonly": "no", "appendfsync": "no", "maxmemory": "10485760"} {
		got, err := s.Dial(t).ConfigGet(t.Context(), name).Result()
		require.NoError(t, err)
		require.Equal(t, want, got[name])
	}
}

func TestAFrozenServerSaysNothingUntilItThaws(t *testing.T) {
	t.Parallel()
	s := Start(t)
	s.Freeze()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	require.Error(t, s.Dial(t).Ping(ctx).Err())
	s.Thaw()
	require.NoError(t, s.Dial(t).Ping(t.Context()).Err())
	s.Freeze() // and is ended all the same
}

func TestTheSharedServerLeavesWithTheProgramHoweverItDies(t *testing.T) {
	t.Parallel()
	skipShort(t)
	binary, err := os.Executable()
	require.NoError(t, err)
	child := exec.CommandContext(t.Context(), binary)
	child.Env = append(os.Environ(), dying+"=1")
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	address, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	require.NoError(t, child.Process.Kill())
	require.Error(t, child.Wait())
	_, err = conn.Read(make([]byte, 1)) // returns when the server is gone
	require.Error(t, err)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := os.Stat(dir); os.IsNotExist(err) {
			return
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			require.FailNow(t, "the folder stays: "+dir)
		}
	}
}
