package redisstore_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

// requireReadable fails unless a store refuses writes for one reason, and still opens and can be read and exported.
func requireReadable(t *testing.T, s *redisstore.Store, address string, why memory.Unwritability) {
	t.Helper()
	refuses := func(err error) {
		t.Helper()
		require.ErrorIs(t, err, memory.ErrUnwritable)
		found, _ := memory.WhyUnwritable(err)
		require.Equal(t, why, found, err)
	}
	_, err := s.Arrive(t.Context(), visitNow())
	refuses(err)
	_, err = s.Reserve(t.Context(), askFor("another"))
	refuses(err)
	_, err = s.Commit(t.Context(), memory.Write{
		Agent: echo, Cause: "d2", Add: []dream.Item{episode("e2", "the harbour")},
		Events: []event.Event{event.New("n2", echo, "d2", noon, event.PatternFound{})},
	})
	refuses(err)
	refuses(s.PutAgent(t.Context(), dream.Agent{ID: "other", Handle: "other"}))
	again, err := redisstore.Open(t.Context(), address, redisstore.Timeout(300*time.Millisecond))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, again.Close()) })
	for _, one := range []*redisstore.Store{s, again} {
		n, err := one.Count(t.Context(), memory.Query{Agent: echo})
		require.NoError(t, err)
		require.Equal(t, 1, n)
		for _, err := range one.Export(t.Context()) {
			require.NoError(t, err)
		}
	}
	_, err = again.Verify(t.Context())
	require.NoError(t, err)
}

// holding opens a store with one memory.
func holding(t *testing.T, address string) *redisstore.Store {
	t.Helper()
	s := open(t, address, "oneiros:", redisstore.Timeout(300*time.Millisecond))
	write(t, s, memory.Write{Cause: "d1", Add: []dream.Item{episode("e1", "a boat")}})
	return s
}

func TestAFullServerRefusesWritesAndIsRead(t *testing.T) {
	t.Parallel()
	server := redis.Start(t, redis.Config("maxmemory-policy", "noeviction"))
	s := holding(t, server.URL)
	require.NoError(t, server.Dial(t).ConfigSet(t.Context(), "maxmemory", "100kb").Err())
	requireReadable(t, s, server.URL, memory.Full)
	require.NoError(t, server.Dial(t).ConfigSet(t.Context(), "maxmemory", "0").Err())
	_, err := s.Arrive(t.Context(), visitNow())
	require.NoError(t, err, "with room again it writes again")
}

func TestAReplicaIsReadAndRefusesWrites(t *testing.T) {
	t.Parallel()
	primary := redis.Start(t)
	s := holding(t, primary.URL)
	host, port, _ := strings.Cut(primary.Address, ":")
	replica := redis.Start(t, redis.Config("replicaof", host, port))
	client := replica.Dial(t)
	require.Eventually(t, func() bool {
		return client.Exists(t.Context(), "oneiros:schema").Val() == 1
	}, 20*time.Second, 5*time.Millisecond)
	reader := open(t, replica.URL, "oneiros:", redisstore.Timeout(300*time.Millisecond))
	requireReadable(t, reader, replica.URL, memory.ReadOnly)
	require.NoError(t, primary.Dial(t).Do(t.Context(), "REPLICAOF", "127.0.0.1", "1").Err())
	requireReadable(t, s, primary.URL, memory.ReadOnly) // a failover left it behind
}

func TestAServerWithoutReplicasRefusesWritesAndIsRead(t *testing.T) {
	t.Parallel()
	server := redis.Start(t)
	s := holding(t, server.URL)
	require.NoError(t, server.Dial(t).ConfigSet(t.Context(), "min-replicas-to-write", "1").Err())
	requireReadable(t, s, server.URL, memory.NoReplicas)
}

func TestAServerThatCannotWriteItsSnapshotIsReadAndRefusesWrites(t *testing.T) {
	t.Parallel()
	server := redis.Start(t, redis.Config("dbfilename", "taken.rdb"))
	s := holding(t, server.URL)
	admin := server.Dial(t)
	require.NoError(t, os.Mkdir(filepath.Join(server.Dir, "taken.rdb"), 0o700)) // a folder where the file should be
	require.NoError(t, admin.ConfigSet(t.Context(), "save", "3600 1").Err())
	require.NoError(t, admin.BgSave(t.Context()).Err())
	require.Eventually(t, func() bool {
		return strings.Contains(admin.Info(t.Context(), "persistence").Val(), "rdb_last_bgsave_status:err")
	}, 20*time.Second, 5*time.Millisecond)
	requireReadable(t, s, server.URL, memory.DiskFails)
}
