package redisstore_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

func TestEveryUnreachableServerIsErrAway(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it never sends anything
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, silent.Close()) })
	closed, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is closed immediately
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	for _, address := range []string{silent.Addr().String(), closed.Addr().String()} {
		_, err := redisstore.Open(t.Context(), "redis://"+address, redisstore.Timeout(50*time.Millisecond))
		require.ErrorIs(t, err, memory.ErrAway)
		hurried, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, err = redisstore.Open(hurried, "redis://"+address)
		cancel()
		require.ErrorIs(t, err, memory.ErrAway)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = redisstore.Open(cancelled, "redis://"+silent.Addr().String())
	require.NotErrorIs(t, err, memory.ErrAway, "the caller gave up, so the server is not at fault")
}

func TestAPlainServerAtAnAddressWithTLSIsNamed(t *testing.T) {
	t.Parallel()
	address := strings.Replace(redis.Shared(t).URL, "redis://", "rediss://", 1)
	_, err := redisstore.Open(t.Context(), address, redisstore.Timeout(100*time.Millisecond))
	require.ErrorIs(t, err, memory.ErrAway)
	require.ErrorContains(t, err, "rediss:// uses TLS: if the server does not at that port")
}
