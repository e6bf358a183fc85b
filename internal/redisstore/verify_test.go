package redisstore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

func TestVerifyFindsNamesWithoutRecords(t *testing.T) {
	t.Parallel()
	server, prefix := redis.Shared(t), redis.Prefix(t)
	s := open(t, server.URL, prefix)
	k, _ := access.New("laptop", access.Client, nil, noon)
	require.NoError(t, s.PutKey(t.Context(), k))
	require.NoError(t, s.PutAgent(t.Context(), dream.Agent{
		ID:      "a1",
		Handle:  "echo",
		Tier:    dream.Core,
		Zone:    "UTC",
		Created: noon,
	}))
	faults := func() []string {
		found, err := s.Verify(t.Context())
		require.NoError(t, err)
		require.Contains(t, found.Checked, "persistence")
		return found.Faults
	}
	require.Empty(t, faults())
	client := server.Dial(t)
	require.NoError(t, client.HDel(t.Context(), prefix+"handles", "echo").Err())
	require.Equal(t, []string{`agent "a1" is not found by its Handle`}, faults())
	require.NoError(t, client.HDel(t.Context(), prefix+"keys", k.ID).Err())
	require.Contains(t, faults(), `a Hash of key "`+k.ID+`" leads to nothing`)
	require.NoError(t, client.Del(t.Context(), prefix+"schema").Err())
	require.Len(t, faults(), 3)
}
