package sqlitestore_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/activities/port/room/roomtest"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

func TestTheStoreKeepsTheContractOfRooms(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) *sqlitestore.Store{"InMemory": inMemory, "OnAFile": onFile} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			roomtest.Run(t, func(t *testing.T) room.Store { return open(t).Rooms() })
		})
	}
}

func TestTheStoresOfTwoProcessesShareTheirRooms(t *testing.T) {
	t.Parallel()
	roomtest.RunShared(t, func(t *testing.T) (room.Store, room.Store) {
		one, other := onOneFile(t)
		return one.Rooms(), other.Rooms()
	})
}

func TestUpkeepReachesRooms(t *testing.T) {
	t.Parallel()
	roomtest.RunUpkeep(t,
		func(t *testing.T) roomtest.Deployment { return onFile(t) },
		func(t *testing.T) roomtest.Deployment { return inMemory(t) })
}

func TestDamagedRecordsOfRoomsAreFound(t *testing.T) {
	t.Parallel()
	for want, damage := range map[string]string{
		`index "x/thread/hall/0000000000000001/0000000000000002" of rooms is missing`: "DELETE FROM room_records WHERE name GLOB 'x/thread/*'",
		`leads to nothing`:        "INSERT INTO room_records (name, body) VALUES ('x/held/ghost/0000000000000001', '')",
		`there is no room "hall"`: "DELETE FROM room_records WHERE name = 'r/hall/about'",
		"unexpected end":          "UPDATE room_records SET body = '{' WHERE name GLOB 'r/hall/post/*'",
		"its value is of":         "UPDATE room_records SET name = 'r/hall/post/0000000000000003x' WHERE name = 'r/hall/post/0000000000000003'",
	} {
		path := filepath.Join(t.TempDir(), "oneiros.db")
		s := open(t, path)
		roomtest.Fill(t, s.Rooms())
		do(t, raw(t, path), damage)
		found, err := s.Verify(t.Context())
		require.NoError(t, err)
		require.Contains(t, strings.Join(found.Faults, "\n"), want)
	}
}

// When this environment variable names a file, the test binary works in the rooms of that file until it is killed.
const roomsOf = "ONEIROS_TEST_ROOMS_OF"

// workUntilKilled posts and answers from three goroutines, and prints each step that the store acknowledged.
func workUntilKilled(ctx context.Context, path, name string) error {
	s, err := sqlitestore.Open(ctx, path)
	if err != nil {
		return err
	}
	var printing sync.Mutex
	faults := make(chan error)
	for g := range 3 {
		go func() {
			for i := 0; ; i++ {
				if err := roomtest.Work(ctx, s.Rooms(), fmt.Sprintf("%s-%d-%d", name, g, i), func(step string) {
					printing.Lock()
					defer printing.Unlock()
					fmt.Println(step)
				}); err != nil {
					faults <- err
					return
				}
			}
		}()
	}
	return <-faults
}

func TestAProcessKilledInARoomAnswersEveryMentionOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "oneiros.db")
	s := open(t, path)
	roomtest.Furnish(t, s.Rooms())
	binary, err := os.Executable()
	require.NoError(t, err)
	var steps []string
	for round, events := range []int64{1, 17, 60} {
		var out, faults bytes.Buffer
		child := exec.CommandContext(t.Context(), binary)
		child.Env = append(os.Environ(), roomsOf+"="+path, roomsOf+"_NAME="+fmt.Sprint("w", round))
		child.Stdout, child.Stderr = &out, &faults
		seen := roomtest.Feed(t, s.Rooms())
		require.NoError(t, child.Start())
		roomtest.AwaitFeed(t, s.Rooms(), seen+events)
		require.NoError(t, child.Process.Kill()) // SIGKILL
		require.Error(t, child.Wait())
		require.Empty(t, faults.String())
		steps = append(steps, strings.Split(strings.TrimSpace(out.String()), "\n")...)
	}
	require.Greater(t, len(steps), 20)
	roomtest.CheckWork(t, s, steps)
	require.NoError(t, s.Close())
	roomtest.CheckWork(t, open(t, path), steps)
}

func BenchmarkRooms(b *testing.B) {
	roomtest.Bench(b, open(b, filepath.Join(b.TempDir(), "oneiros.db")), 100_000)
}
