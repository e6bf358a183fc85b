package moving

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/memory/archive"
	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

// BenchmarkMove100k moves 100,000 memories with vectors of 384 numbers from a file to Redis, back to another file, and
// to and from an archive. Goal: each well under a minute.
func BenchmarkMove100k(b *testing.B) {
	const items = 100_000
	server := redis.Start(b)
	dir := b.TempDir()
	one := onFile(b, filepath.Join(dir, "one.db"))
	furnish(b, one, items, 384)
	for n := 0; b.Loop(); n++ {
		timed := func(what string, do func()) {
			begun := time.Now()
			do()
			b.ReportMetric(items/time.Since(begun).Seconds(), what+"-items/s")
		}
		there, err := redisstore.Open(b.Context(), server.URL, redisstore.Prefix(fmt.Sprint(n, ":")))
		require.NoError(b, err)
		back, in := onFile(b, filepath.Join(dir, fmt.Sprint(n, "-two.db"))),
			onFile(b, filepath.Join(dir, fmt.Sprint(n, "-three.db")))
		file := filepath.Join(dir, fmt.Sprint(n, ".archive"))
		timed("to-redis", func() { carry(b, one, there) })
		info, err := server.Dial(b).InfoMap(b.Context(), "memory").Result()
		require.NoError(b, err)
		used, err := strconv.ParseFloat(info["Memory"]["used_memory"], 64)
		require.NoError(b, err)
		b.ReportMetric(used/items, "redis-B/item")
		timed("to-sqlite", func() { carry(b, there, back) })
		timed("export", func() {
			f, err := os.Create(file)
			require.NoError(b, err)
			_, err = archive.Write(f, back.Export(b.Context()))
			require.NoError(b, err)
			require.NoError(b, f.Close())
		})
		timed("import", func() {
			f, err := os.Open(file)
			require.NoError(b, err)
			_, err = in.Import(b.Context(), archive.Read(f))
			require.NoError(b, err)
			require.NoError(b, f.Close())
		})
		require.NoError(b, there.Close())
	}
}

func onFile(t testing.TB, path string) *sqlitestore.Store {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func carry(t testing.TB, from, to memory.Movable) memory.Tally {
	t.Helper()
	moved, err := to.Import(t.Context(), from.Export(t.Context()))
	require.NoError(t, err)
	return moved
}

// furnish fills a store with an agent's memories, some 300 characters of text each.
func furnish(t testing.TB, s memory.Store, n, dim int) {
	t.Helper()
	const batch = 500
	for from := 0; from < n; from += batch {
		w := memory.Write{Agent: "echo", Cause: "import"}
		for i := from; i < min(n, from+batch); i++ {
			id := fmt.Sprintf("%08x-%06d", uint32(i)*2654435761, i)
			v := make([]float32, dim)
			for j := range v {
				v[j] = float32(i*31+j*17%97) / 1000
			}
			w.Add = append(w.Add, &dream.Episode{
				Head: dream.Head{
					ID:    id,
					Agent: "echo",
					Kind:  dream.KindEpisode,
					At:    noon.Add(time.Duration(i) * time.Minute),
					State: dream.Live,
					Taint: dream.FromHuman,
				},
				Content: fmt.Sprintf("memory %d: %0200d", i, i), Context: "by the sea",
				Salience: float64(i%100) / 100, Session: fmt.Sprint("session ", i/40),
			})
			w.Vectors = append(w.Vectors, memory.Vector{Item: id, Space: "bench/1/384", V: v})
		}
		_, err := s.Commit(t.Context(), w)
		require.NoError(t, err)
	}
}

var noon = time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
