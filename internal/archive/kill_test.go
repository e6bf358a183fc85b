package archive_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/archive"
	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

// When this environment variable names a bucket, the test binary appends and archives events, again and again, until it
// is killed.
const (
	archiverOf = "ONEIROS_TEST_ARCHIVER_OF"
	storeOf    = archiverOf + "_STORE"
)

func openStore(ctx context.Context, where string) (log, error) {
	if url, prefix, ok := strings.Cut(where, "#"); ok {
		return redisstore.Open(ctx, url, redisstore.Prefix(prefix))
	}
	return sqlitestore.Open(ctx, where)
}

// archiveUntilKilled prints a line after each pass that wrote something.
func archiveUntilKilled(ctx context.Context, address string) error {
	s, err := openStore(ctx, os.Getenv(storeOf))
	if err != nil {
		return err
	}
	b, err := archive.Open(ctx, address)
	if err != nil {
		return err
	}
	a := &archive.Archive{Log: s, Bucket: b, Now: time.Now}
	for i := 0; ; i++ {
		if err := announce(ctx, s, "echo", fmt.Sprint("p", os.Getpid()), i, 1); err != nil {
			return err
		}
		done, err := a.Once(ctx)
		if err != nil {
			return err
		}
		if done.Objects > 0 {
			fmt.Println(done.Events)
		}
	}
}

// archiverProcess starts such a process and returns once it has written something, so that it can be killed during the
// next pass.
func archiverProcess(t *testing.T, address, store string) *exec.Cmd {
	t.Helper()
	p := exec.CommandContext(t.Context(), os.Args[0], "-test.run=NONE")
	p.Env = append(os.Environ(), archiverOf+"="+address, storeOf+"="+store)
	p.Stderr = os.Stderr
	out, err := p.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.Start())
	lines := bufio.NewScanner(out)
	for range 3 {
		require.True(t, lines.Scan(), "the archiver ended before it was killed")
	}
	return p
}

// writeInTurn appends one event for each event of another process, until over ends.
func writeInTurn(over, ctx context.Context, s log) error {
	for i := 0; over.Err() == nil; i++ {
		if err := announce(ctx, s, "echo", "w", i, 1); err != nil {
			return err
		}
		heads, err := s.Heads(ctx)
		if err != nil {
			return err
		}
		if err := s.Await(over, "echo", heads["echo"]); err != nil && over.Err() == nil {
			return err
		}
	}
	return nil
}

// inTurn requires that the events of every writer, also of killed ones, are in the order it wrote them, without gaps.
func inTurn(t *testing.T, s log) {
	t.Helper()
	events, err := s.Events(t.Context(), "echo", 0, 0)
	require.NoError(t, err)
	next := map[string]int{}
	for i, e := range events {
		require.EqualValues(t, i+1, e.Seq)
		writer, number, _ := strings.Cut(e.ID, "-")
		require.Equal(t, fmt.Sprint(next[writer]), number, "of %s", writer)
		next[writer]++
	}
	require.Greater(t, len(next), 4, "several writers have written")
}

// Two processes that append and archive are killed with SIGKILL, again and again, while another one writes. The log
// must have no gap, and each event must be in the archive once.
func TestKilledArchiversArchiveEachEventOnce(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts and kills processes")
	}
	for name, store := range map[string]string{
		"SQLite": filepath.Join(t.TempDir(), "oneiros.db"), "Redis": redis.Shared(t).URL + "#" + redis.Prefix(t),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := openStore(t.Context(), store)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, s.Close()) })
			record(t, s, "echo")
			address := filepath.Join(t.TempDir(), "archive")
			over, finish := context.WithCancel(t.Context())
			written := make(chan error, 1)
			go func() { written <- writeInTurn(over, t.Context(), s) }()
			for range 4 {
				one, other := archiverProcess(t, address, store), archiverProcess(t, address, store)
				for _, p := range []*exec.Cmd{one, other} {
					require.NoError(t, p.Process.Kill())
					_ = p.Wait() // it was killed, so the error is expected
				}
			}
			finish()
			require.NoError(t, <-written)
			b := opened(t, address)
			_, err = archiver(s, b).Once(t.Context())
			require.NoError(t, err)
			inTurn(t, s)
			whole(t, s, b, "echo")
		})
	}
}

// The store is unreachable for a while during archiving. Events from before and after are archived once.
func TestArchivingContinuesAfterTheStoreReturns(t *testing.T) {
	t.Parallel()
	server := redis.Start(t, redis.Fsync("always"))
	s, err := redisstore.Open(t.Context(), server.URL)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	record(t, s, "echo")
	b := opened(t, t.TempDir())
	a := archiver(s, b)
	require.NoError(t, announce(t.Context(), s, "echo", "w", 0, 20))
	_, err = a.Once(t.Context())
	require.NoError(t, err)
	server.Kill()
	away, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	_, err = a.Once(away)
	require.Error(t, err)
	server.Restart()
	require.NoError(t, announce(t.Context(), s, "echo", "w", 20, 20))
	_, err = a.Once(t.Context())
	require.NoError(t, err)
	whole(t, s, b, "echo")
}
