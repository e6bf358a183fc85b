package redisstore_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/activities/port/room/roomtest"
	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

func TestTheStoreKeepsTheContractOfRooms(t *testing.T) {
	t.Parallel()
	roomtest.Run(t, func(t *testing.T) room.Store { return fresh(t).Rooms() })
}

func TestTheStoresOfTwoProcessesShareTheirRooms(t *testing.T) {
	t.Parallel()
	roomtest.RunShared(t, func(t *testing.T) (room.Store, room.Store) {
		here, there := pair(t)
		return here.Rooms(), there.Rooms()
	})
}

func TestUpkeepReachesRooms(t *testing.T) {
	t.Parallel()
	open := func(t *testing.T) roomtest.Deployment { return fresh(t) }
	roomtest.RunUpkeep(t, open, open)
}

func TestRoomsMoveFromAFileToRedisAndBack(t *testing.T) {
	t.Parallel()
	file := func(t *testing.T) roomtest.Deployment {
		s, err := sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "oneiros.db"))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		return s
	}
	server := func(t *testing.T) roomtest.Deployment { return fresh(t) }
	roomtest.RunUpkeep(t, file, server)
	roomtest.RunUpkeep(t, server, file)
}

func TestDamagedRecordsOfRoomsAreFound(t *testing.T) {
	t.Parallel()
	server, prefix := redis.Shared(t), redis.Prefix(t)
	s := open(t, server.URL, prefix)
	roomtest.Fill(t, s.Rooms())
	c := server.Dial(t)
	require.NoError(t, c.ZRem(t.Context(), prefix+"room_names", "x/thread/hall/0000000000000001/0000000000000002").Err())
	require.NoError(t, c.HDel(t.Context(), prefix+"room_records", "r/hall/post/0000000000000001").Err())
	found, err := s.Verify(t.Context())
	require.NoError(t, err)
	require.Contains(t, strings.Join(found.Faults, "\n"), "0000000000000002\" of rooms is missing")
	require.Contains(t, strings.Join(found.Faults, "\n"), `"r/hall/post/0000000000000001": unexpected end`)
}

// The server is killed while four goroutines post and answer. A step that failed is made again under the same name.
func TestAServerKilledWhileRoomsAreUsedAnswersEveryMentionOnce(t *testing.T) {
	t.Parallel()
	const workers, kills = 4, 5
	server := redis.Start(t, redis.Fsync("always"))
	s := open(t, server.URL, "oneiros:", redisstore.Timeout(30*time.Second))
	roomtest.Furnish(t, s.Rooms())
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	steps := make(chan string, 1000)
	var working sync.WaitGroup
	for worker := range workers {
		working.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				id := fmt.Sprintf("%d-%d", worker, i)
				for roomtest.Work(ctx, s.Rooms(), id, func(step string) { steps <- step }) != nil && ctx.Err() == nil {
				}
			}
		})
	}
	var done []string
	for range kills {
		for range 40 {
			done = append(done, <-steps)
		}
		server.Kill()
		server.Restart()
	}
	for range 40 {
		done = append(done, <-steps)
	}
	stop()
	go func() {
		working.Wait()
		close(steps)
	}()
	for step := range steps {
		done = append(done, step)
	}
	server.Restart()
	roomtest.CheckWork(t, s, done)
}

func BenchmarkRooms(b *testing.B) {
	roomtest.Bench(b, fresh(b), 100_000)
}
