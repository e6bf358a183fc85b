package importer_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/importer"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

// BenchmarkImport is the speed of importing our JSONL: without a store (reading and deriving alone), into a SQLite
// file, and into a SQLite file with vectors of 384 numbers that cost nothing to make.
func BenchmarkImport(b *testing.B) {
	const items = 20_000
	file := text("year.jsonl", year(items))
	place := func(_ context.Context, texts []string) ([][]float32, string, error) {
		out := make([][]float32, len(texts))
		for i, s := range texts {
			out[i] = make([]float32, 384)
			for j := range s {
				out[i][j%384] += float32(s[j])
			}
		}
		return out, "bench/1/384", nil
	}
	for _, c := range []struct {
		name  string
		store func(b *testing.B) memory.Store
		embed importer.Embed
	}{
		{"deriving", func(*testing.B) memory.Store { return &memoryStore{items: map[string]dream.Item{}} }, nil},
		{"store", onDisk, nil},
		{"store-vectors", onDisk, place},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(file.Size)
			for range b.N {
				b.StopTimer()
				s := c.store(b)
				a := someone("a")
				opts := options()
				opts.Embed = c.embed
				b.StartTimer()
				report := importFiles(b, s, a, opts, file)
				require.Equal(b, items, report.Episodes)
			}
			b.ReportMetric(float64(items*b.N)/b.Elapsed().Seconds(), "items/s")
		})
	}
}

func onDisk(b *testing.B) memory.Store {
	b.Helper()
	s, err := sqlitestore.Open(context.Background(), filepath.Join(b.TempDir(), fmt.Sprintf("%d.db", b.N)))
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, s.Close()) })
	require.NoError(b, s.PutAgent(context.Background(), someone("a")))
	return s
}
