package redisstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

// An older program has neither sorted its dreams by their status nor collected what waits for a review.
func TestDreamsOfAnOlderProgramAreListedByTheirStatus(t *testing.T) {
	t.Parallel()
	prefix := redis.Prefix(t)
	s, client := open(t, redis.Shared(t).URL, prefix), redis.Shared(t).Dial(t)
	at := time.Date(2026, 7, 1, 3, 0, 0, 0, time.UTC)
	require.NoError(t, s.PutAgent(t.Context(), dream.Agent{ID: "iris", Handle: "iris", Zone: "UTC", Created: at}))
	item := func(kind dream.Kind, id string, state dream.State) dream.Head {
		return dream.Head{
			ID:    id,
			Kind:  kind,
			Agent: "iris",
			At:    at,
			State: state,
			Taint: dream.FromHuman,
		}
	}
	_, err := s.Commit(t.Context(), memory.Write{Agent: "iris", Cause: "import", Add: []dream.Item{
		&dream.Record{Head: item(dream.KindRecord, "good", dream.Live), Outcome: dream.Completed},
		&dream.Record{Head: item(dream.KindRecord, "bad", dream.Live), Outcome: dream.Aborted},
		&dream.Hypothesis{
			Head: item(dream.KindHypothesis, "so", dream.Proposed), Claim: "so",
			Status: dream.HypothesisStaged,
		},
	}})
	require.NoError(t, err)
	bad, waits := prefix+"a:iris:by:status:aborted:live", prefix+"a:iris:by:proposed"
	listed := func() {
		found, err := s.Dreams(t.Context(), memory.DreamsQuery{
			Agents: []string{"iris"}, Statuses: []string{string(dream.Aborted)}, Limit: 5,
		})
		require.NoError(t, err)
		require.Len(t, found, 1)
		require.Equal(t, "bad", found[0].ID)
		seen, err := s.Overview(t.Context(), []string{"iris"}, memory.OverviewQuery{Waits: true})
		require.NoError(t, err)
		require.True(t, seen[0].Waits)
	}
	require.EqualValues(t, 2, client.Exists(t.Context(), bad, waits).Val(), "a commit sorts")
	require.NoError(t, client.Del(t.Context(), bad, waits, prefix+"sorted").Err())

	require.NoError(t, client.Set(t.Context(), prefix+"schema", 5, 0).Err())
	newer := open(t, redis.Shared(t).URL, prefix)
	require.NoError(t, newer.Close())
	require.Equal(t, "8", client.Get(t.Context(), prefix+"schema").Val())
	listed()
	require.Zero(t, client.Exists(t.Context(), bad, waits).Val(), "processes of the older program may still write")

	require.Positive(t, client.TTL(t.Context(), prefix+"raised").Val())
	require.NoError(t, client.Del(t.Context(), prefix+"raised").Err())
	listed()
	require.EqualValues(t, 3, client.Exists(t.Context(), bad, waits, prefix+"sorted").Val())
	listed()
}

// A query by status finds what an older program wrote, and sorts it once that may no longer run.
func TestUnsettledItemsOfAnOlderProgramAreFound(t *testing.T) {
	t.Parallel()
	prefix := redis.Prefix(t)
	s := open(t, redis.Shared(t).URL, prefix)
	client := redis.Shared(t).Dial(t)
	at := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	prediction := func(id, status string) *dream.Prediction {
		return &dream.Prediction{
			Head: dream.Head{
				ID:    id,
				Kind:  dream.KindPrediction,
				Agent: "iris",
				At:    at,
				State: dream.Live,
				Taint: dream.FromDream,
			},
			Claim: "it rains", Status: status, Confidence: .5,
		}
	}
	_, err := s.Commit(t.Context(), memory.Write{Agent: "iris", Cause: "import", Add: []dream.Item{
		prediction("p", dream.PredictionOpen), prediction("q", dream.PredictionVoid),
	}})
	require.NoError(t, err)
	found := func() {
		q := memory.Query{
			Agent:    "iris",
			Kinds:    []dream.Kind{dream.KindPrediction},
			Statuses: []string{dream.PredictionOpen},
			Sort:     memory.Oldest,
			Limit:    5,
		}
		items, err := s.Find(t.Context(), q)
		require.NoError(t, err)
		require.Len(t, items, 1)
		require.Equal(t, "p", items[0].Header().ID)
		n, err := s.Count(t.Context(), q)
		require.NoError(t, err)
		require.Equal(t, 1, n)
	}
	open, counters := prefix+"a:iris:by:status:open:prediction:live", prefix+"a:iris:life"
	require.EqualValues(t, 1, client.Exists(t.Context(), open).Val(), "a commit sorts")
	found()
	require.NoError(t, client.Del(t.Context(), open).Err())
	require.NoError(t, client.HDel(t.Context(), counters, "unsettled").Err())
	require.NoError(t, client.Set(t.Context(), prefix+"raised", 8, time.Hour).Err())
	found()
	require.Zero(t, client.Exists(t.Context(), open).Val(), "processes of the older program may still write")
	require.NoError(t, client.Del(t.Context(), prefix+"raised").Err())
	found()
	require.EqualValues(t, 1, client.ZCard(t.Context(), open).Val())
	require.Equal(t, "1", client.HGet(t.Context(), counters, "unsettled").Val())
	found()
	_, err = s.Commit(t.Context(), memory.Write{
		Agent: "iris", Cause: "person", Change: []dream.Item{prediction("p", dream.PredictionRight)},
	})
	require.NoError(t, err)
	require.Zero(t, client.Exists(t.Context(), open).Val(), "what is settled leaves the order")
}
