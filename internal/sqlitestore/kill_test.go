package sqlitestore_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

// When this environment variable names a file, the test binary is the second process: it writes to that file until it
// is killed.
const writerOf = "ONEIROS_TEST_WRITER_OF"

func TestMain(m *testing.M) {
	if path := os.Getenv(listenerOf); path != "" {
		if err := listenUntilKilled(context.Background(), path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if path := os.Getenv(writerOf); path != "" {
		if err := writeUntilKilled(context.Background(), path, os.Getenv(writerOf+"_NAME")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if path := os.Getenv(roomsOf); path != "" {
		if err := workUntilKilled(context.Background(), path, os.Getenv(roomsOf+"_NAME")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// writeUntilKilled commits, reserves, settles and wakes from three goroutines, and prints a line after each step that
// the store reported as done.
func writeUntilKilled(ctx context.Context, path, name string) error {
	s, err := sqlitestore.Open(ctx, path)
	if err != nil {
		return err
	}
	var answer sync.Mutex
	say := func(format string, args ...any) {
		answer.Lock()
		defer answer.Unlock()
		fmt.Printf(format+"\n", args...)
	}
	faults := make(chan error)
	for g := range 3 {
		go func() {
			for i := 0; ; i++ {
				if err := writeOnce(ctx, s, fmt.Sprintf("%s-%d-%d", name, g, i), say); err != nil {
					faults <- err
					return
				}
			}
		}()
	}
	return <-faults
}

func writeOnce(ctx context.Context, s *sqlitestore.Store, id string, say func(string, ...any)) error {
	h, err := s.Reserve(ctx, spend.Ask{
		Step:     id,
		Agent:    "echo",
		Dream:    id[:strings.Index(id, "-")],
		Amount:   10,
		At:       dawn,
		Accounts: []budget.Account{{Scope: "fleet", Limit: budget.Unlimited}},
	})
	if err != nil {
		return err
	}
	say("reserved %s", id)
	if _, err := s.Commit(ctx, memory.Write{
		Agent: echo, Cause: "test", Add: []dream.Item{episode(id, id), episode(id+"-twin", id)},
		Events: []event.Event{event.New(id, echo, "", dawn, event.PatternFound{Prediction: id})},
	}); err != nil {
		return err
	}
	say("remembered %s", id)
	if err := s.Settle(ctx, h, spend.Bill{State: spend.Settled, Amount: 7, Answer: []byte(id), At: dawn}); err != nil {
		return err
	}
	say("settled %s", id)
	if _, err := s.Arrive(ctx, presence.Visit{
		Agent:  id,
		Client: "web",
		Cause:  presence.Connect,
		Now:    dawn,
		For:    time.Minute,
	}); err != nil {
		return err
	}
	say("woken %s", id)
	return nil
}

func TestAProcessKilledDuringWritesLosesNoCompletedWrite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "oneiros.db")
	s := open(t, path)
	var done []string
	for round, events := range []int64{1, 17, 60} {
		done = append(done, killAfter(t, s, path, fmt.Sprint("w", round), events)...)
		// a dead process holds no lock
		require.NoError(t, writeOnce(t.Context(), s, fmt.Sprintf("own-%d", round), func(string, ...any) {}))
	}
	checkBooks(t, s, done)
	require.NoError(t, s.Close())
	checkBooks(t, open(t, path), done)
	var verdict string
	require.NoError(t, raw(t, path).QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&verdict))
	require.Equal(t, "ok", verdict)
}

// killAfter starts a second process, follows its events through our own handle, kills it after n events, and returns
// what it had reported as done.
func killAfter(t *testing.T, s *sqlitestore.Store, path, name string, events int64) []string {
	t.Helper()
	binary, err := os.Executable()
	require.NoError(t, err)
	var out, faults bytes.Buffer
	child := exec.CommandContext(t.Context(), binary)
	child.Env = append(os.Environ(), writerOf+"="+path, writerOf+"_NAME="+name)
	child.Stdout, child.Stderr = &out, &faults
	require.NoError(t, child.Start())
	before := appendDigest(t, s)
	for seen := before; seen < before+events; seen = appendDigest(t, s) {
		require.NoError(t, s.Await(t.Context(), echo, seen))
	}
	require.NoError(t, child.Process.Kill()) // SIGKILL
	require.Error(t, child.Wait())
	require.Empty(t, faults.String())
	var done []string
	lines := bufio.NewScanner(&out)
	for lines.Scan() {
		done = append(done, lines.Text())
	}
	return done
}

func appendDigest(t *testing.T, s *sqlitestore.Store) int64 {
	t.Helper()
	r, err := s.Commit(t.Context(), memory.Write{Agent: echo})
	require.NoError(t, err)
	return r.LastSeq
}

// checkBooks checks that every reported step was done, that all transactions are complete, and that all sums are right.
func checkBooks(t *testing.T, s *sqlitestore.Store, done []string) {
	t.Helper()
	all, err := s.Rows(t.Context(), spend.Query{})
	require.NoError(t, err)
	state := map[string]spend.State{}
	var sums spend.Balance
	for _, r := range all {
		state[r.Step] = r.State
		if r.State == spend.Open {
			sums.Reserved += r.Counted
		} else {
			sums.Spent += r.Counted
		}
	}
	b, err := s.Balance(t.Context(), "fleet")
	require.NoError(t, err)
	require.Equal(t, sums, b)
	events, err := s.Events(t.Context(), echo, 0, 0)
	require.NoError(t, err)
	announced := map[string]bool{}
	for i, e := range events {
		require.EqualValues(t, i+1, e.Seq)
		announced[e.ID] = true
	}
	items, err := s.Find(t.Context(), memory.Query{Agent: echo})
	require.NoError(t, err)
	require.Len(t, items, 2*len(events)) // a write is complete or absent
	require.NotEmpty(t, done)
	for _, line := range done {
		activity, id, _ := strings.Cut(line, " ")
		switch activity {
		case "reserved":
			require.Contains(t, state, id)
		case "remembered":
			require.True(t, announced[id], id)
		case "settled":
			require.Equal(t, spend.Settled, state[id])
			answer, found, err := s.Ledger().Answer(t.Context(), id)
			require.NoError(t, err)
			require.True(t, found)
			require.Equal(t, id, string(answer))
		case "woken":
			epoch, err := s.Epoch(t.Context(), id)
			require.NoError(t, err)
			require.EqualValues(t, 1, epoch)
			st, err := s.Status(t.Context(), id, dawn)
			require.NoError(t, err)
			require.Len(t, st.Leases, 1)
		}
	}
}
