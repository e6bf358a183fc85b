package redisstore_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

func TestAnUnsafeServerIsRefusedUnlessTrusted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		server []redis.Option
		says   []string
	}{
		"NoFile":  {[]redis.Option{redis.NoAppendOnly()}, []string{"appendonly is no", "CONFIG SET appendonly yes"}},
		"NoFsync": {[]redis.Option{redis.Fsync("no")}, []string{"appendfsync is no", "appendfsync everysec"}},
		"Evicting": {
			[]redis.Option{redis.Config("maxmemory", "100mb"), redis.Config("maxmemory-policy", "allkeys-lru")},
			[]string{"maxmemory-policy is allkeys-lru", "CONFIG SET maxmemory-policy noeviction"},
		},
		"Everything": {
			[]redis.Option{redis.NoAppendOnly(), redis.Fsync("no"), redis.Config("maxmemory-policy", "volatile-ttl")},
			[]string{"appendonly is no", "appendfsync is no", "volatile-ttl"},
		},
		"ConfigForbidden": {
			[]redis.Option{redis.Config("rename-command", "CONFIG", "")},
			[]string{"does not reveal its appendfsync", "CONFIG GET is forbidden", "+config|get"},
		},
		"ConfigForbiddenAndNoFile": {
			[]redis.Option{redis.NoAppendOnly(), redis.Config("rename-command", "CONFIG", "")},
			[]string{"appendonly is no", "does not reveal its appendfsync"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redis.Start(t, c.server...)
			_, err := redisstore.Open(t.Context(), server.URL)
			require.ErrorIs(t, err, redisstore.ErrUnsafe)
			for _, words := range append(c.says, server.Address, "TrustServer") {
				require.ErrorContains(t, err, words)
			}
			s := open(t, server.URL, "oneiros:", redisstore.TrustServer())
			_, err = s.Epoch(t.Context(), "echo")
			require.NoError(t, err)
		})
	}
}

func TestAnUnusableServerIsRefusedEvenIfTrusted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		server []redis.Option
		says   string
	}{
		"Cluster": {[]redis.Option{redis.Config("cluster-enabled", "yes")}, "cluster-enabled no"},
		"Replica": {
			[]redis.Option{
				redis.Config("replicaof", "127.0.0.1", "1"),
				redis.Config("replica-serve-stale-data", "yes"),
			}, "address of the primary",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := redisstore.Open(t.Context(), redis.Start(t, c.server...).URL, redisstore.TrustServer())
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestKeysOfANewerProgramAreRefused(t *testing.T) {
	t.Parallel()
	server, prefix := redis.Shared(t), redis.Prefix(t)
	require.NoError(t, server.Dial(t).Set(t.Context(), prefix+"schema", "9", 0).Err())
	_, err := redisstore.Open(t.Context(), server.URL, redisstore.Prefix(prefix))
	require.ErrorContains(t, err, `of schema "9"`)
}

func TestUserPasswordAndDatabaseComeFromTheAddress(t *testing.T) {
	t.Parallel()
	server := redis.Start(t)
	admin := server.Dial(t)
	require.NoError(t,
		admin.Do(t.Context(), "ACL", "SETUSER", "dreamer", "on", ">s3cret", "~oneiros:*", "&oneiros:*", "+@all",
			"-@dangerous", "+info", "+config|get").Err())
	address := strings.Replace(server.URL, "redis://", "redis://dreamer:s3cret@", 1)
	s, err := redisstore.Open(t.Context(), strings.TrimSuffix(address, "0")+"3")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	stop, err := s.Listen(nil)
	require.NoError(t, err)
	stop()
	_, err = s.Arrive(t.Context(), visitNow())
	require.NoError(t, err)
	_, err = s.Reserve(t.Context(), askFor("step"))
	require.NoError(t, err)
	keys, err := admin.Keys(t.Context(), "*").Result()
	require.NoError(t, err)
	require.Empty(t, keys, "everything is in database 3")
	_, err = redisstore.Open(t.Context(), strings.Replace(address, "s3cret", "wr0ng", 1))
	require.ErrorContains(t, err, "WRONGPASS")
	require.ErrorIs(t, err, redisstore.ErrCredentials)
	require.NotContains(t, err.Error(), "wr0ng")
}

func TestAnInvalidAddressIsExplainedWithoutItsPassword(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"", "localhost:6379", "http://me:hunter2@localhost", "redis://me:hunter2@localhost:port",
		"redis://me:hunter2%zz@localhost", "redis://me:hunter2@localhost/db",
	} {
		_, err := redisstore.Open(t.Context(), address)
		require.ErrorContains(t, err, "redis://user:password@host:6379/0", address)
		require.NotContains(t, err.Error(), "hunter2")
	}
	_, err := redisstore.Open(t.Context(), "redis://localhost", redisstore.Timeout(0))
	require.ErrorContains(t, err, "timeout is 0s")
}

func TestAMissingServerTimesOut(t *testing.T) {
	t.Parallel()
	_, err := redisstore.Open(t.Context(), "redis://127.0.0.1:1", redisstore.Timeout(50*time.Millisecond))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "no answer within 50ms")
	require.ErrorContains(t, err, "127.0.0.1:1")
}

func TestAClosedStoreRefusesEveryCall(t *testing.T) {
	t.Parallel()
	s, err := redisstore.Open(t.Context(), redis.Shared(t).URL, redisstore.Prefix(redis.Prefix(t)))
	require.NoError(t, err)
	_, err = s.Listen(nil)
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, s.Close())
	}
	_, err = s.Reserve(t.Context(), askFor("step"))
	require.ErrorIs(t, err, redisstore.ErrClosed)
	_, err = s.Arrive(t.Context(), visitNow())
	require.ErrorIs(t, err, redisstore.ErrClosed)
	_, err = s.Listen(nil)
	require.ErrorIs(t, err, redisstore.ErrClosed)
}

func TestAStoreClosesAlthoughTheServerIsFrozen(t *testing.T) {
	t.Parallel()
	server := redis.Start(t)
	s, err := redisstore.Open(t.Context(), server.URL, redisstore.Timeout(time.Hour))
	require.NoError(t, err)
	_, err = s.Listen(nil)
	require.NoError(t, err)
	server.Freeze()
	require.NoError(t, s.Close())
}

func TestACancelledCallReturnsItsContextError(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Reserve(ctx, askFor("step"))
	require.ErrorIs(t, err, context.Canceled)
}
