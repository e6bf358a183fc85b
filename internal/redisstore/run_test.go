package redisstore_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

// A server comes back without its newest writes and gives their numbers to others: a search that runs on finds what the
// server has, and nothing that it has lost.
func TestASearchFollowsAServerThatLostItsNewestWrites(t *testing.T) {
	t.Parallel()
	server := redis.Start(t, redis.Fsync("always"))
	s, err := redisstore.Open(t.Context(), server.URL)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	remember := func(id string) {
		_, err := s.Commit(t.Context(), memory.Write{Agent: "echo", Cause: "import", Add: []dream.Item{&dream.Episode{
			Head: dream.Head{
				ID:    id,
				Agent: "echo",
				Kind:  dream.KindEpisode,
				At:    noon,
				State: dream.Live,
				Taint: dream.FromHuman,
			},
			Content: "the kettle of " + id,
		}}})
		require.NoError(t, err)
	}
	found := func() (ids []string) {
		hits, err := s.Search(t.Context(), memory.Search{Agent: "echo", Text: "kettle", Limit: 9})
		require.NoError(t, err)
		for _, hit := range hits.Hits {
			ids = append(ids, hit.Item)
		}
		return ids
	}
	remember("kept")
	written, kept := filepath.Join(server.Dir, "appendonlydir"), t.TempDir()
	require.NoError(t, os.CopyFS(kept, os.DirFS(written)))
	remember("lost")
	remember("lost too")
	require.ElementsMatch(t, []string{"kept", "lost", "lost too"}, found())
	server.Kill()
	require.NoError(t, os.RemoveAll(written))
	require.NoError(t, os.CopyFS(written, os.DirFS(kept)))
	server.Restart()
	remember("new")
	remember("newer")
	require.ElementsMatch(t, []string{"kept", "new", "newer"}, found())
}
