package review_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/review"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

// BenchmarkLookUp compares forty claims with sixteen decoys each with what an agent lived in eight weeks.
func BenchmarkLookUp(b *testing.B) {
	for _, episodes := range []int{1000, 10_000} {
		b.Run(fmt.Sprintf("episodes=%d", episodes), func(b *testing.B) {
			store, err := sqlitestore.Open(b.Context(), filepath.Join(b.TempDir(), "memory.db"))
			require.NoError(b, err)
			defer func() { require.NoError(b, store.Close()) }()
			agent := dream.Agent{ID: "a1", Handle: "echo", Zone: "UTC"}
			require.NoError(b, store.PutAgent(b.Context(), agent))
			dice := rand.New(rand.NewPCG(1, 2))
			word := func() string { return fmt.Sprintf("thing%03d", int(300*dice.Float64()*dice.Float64())) }
			live := func(id string, at time.Time) dream.Item {
				words := make([]string, 14)
				for i := range words {
					words[i] = word()
				}
				head := dream.Head{
					ID:    id,
					Agent: "a1",
					Kind:  dream.KindEpisode,
					At:    at,
					State: dream.Live,
				}
				head.Taint = dream.FromHuman
				return &dream.Episode{Head: head, Content: strings.Join(words, " "), Salience: .5}
			}
			var items []dream.Item
			for i := range episodes {
				items = append(items, live(fmt.Sprintf("ep_%06d", i), evening.Add(-time.Duration(i)*55*day/time.Duration(episodes))))
			}
			_, err = store.Commit(b.Context(), memory.Write{Agent: "a1", Cause: "test", Add: items})
			require.NoError(b, err)
			now := evening
			k := review.Resolver{Memory: store, Now: func() time.Time { return now }}
			for i := range 40 {
				check := dream.Check{When: word(), Then: word() + fmt.Sprint(i), Within: 3 * day}
				_, _, err := k.AddPrediction(b.Context(), agent, review.PredictionRequest{
					Claim:      fmt.Sprint(i),
					Horizon:    evening.Add(300 * day),
					Confidence: .3,
					By:         dream.ByPerson,
					Check:      &check,
				})
				require.NoError(b, err)
			}
			_, err = k.LookUp(b.Context(), "a1")
			require.NoError(b, err)
			n := 0
			for b.Loop() {
				b.StopTimer()
				n++
				now = now.Add(6 * time.Hour)
				_, err := store.Commit(b.Context(), memory.Write{
					Agent: "a1", Cause: "test", Add: []dream.Item{live(fmt.Sprintf("new_%d", n), now.Add(-time.Minute))},
				})
				require.NoError(b, err)
				b.StartTimer()
				_, err = k.LookUp(b.Context(), "a1")
				require.NoError(b, err)
			}
		})
	}
}
