package sqlitestore_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

const echo = "agent-echo"

var dawn = time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC)

func episode(id, content string) *dream.Episode {
	return &dream.Episode{
		Head:    dream.Head{ID: id, Agent: echo, Kind: dream.KindEpisode, At: dawn, State: dream.Live, Taint: dream.FromHuman},
		Content: content, Salience: .5,
	}
}

// TestNothingForgottenIsLeftInTheFile writes, rewrites and forgets memories of every length in random order, so that pages
// split, merge and overflow, and then reads the file and its log byte by byte.
func TestNothingForgottenIsLeftInTheFile(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(16, 10))
	path := filepath.Join(t.TempDir(), "oneiros.db")
	s := open(t, path)
	secret := func(i int) string { return fmt.Sprintf("%04d<marker>", i*7919%9973) } // in no order, so that indexes split too
	content := func(i int) string {
		return strings.Repeat("filler ", r.IntN(40)*r.IntN(12)) + secret(i) + strings.Repeat(" more filler", r.IntN(30))
	}
	var forgotten, kept []int
	alive := map[int]bool{}
	for i := range 400 {
		_, err := s.Commit(t.Context(), memory.Write{Agent: echo, Cause: "import", Add: []dream.Item{episode(secret(i), content(i))},
			Vectors: []memory.Vector{{Item: secret(i), Space: "s", V: []float32{float32(i), 1}}}})
		require.NoError(t, err)
		alive[i] = true
		if old := r.IntN(i + 1); alive[old] && r.IntN(3) == 0 {
			_, err := s.Commit(t.Context(), memory.Write{Agent: echo, Cause: "operator", Change: []dream.Item{episode(secret(old), content(old))}})
			require.NoError(t, err)
		}
		if gone := r.IntN(i + 1); alive[gone] && r.IntN(4) == 0 {
			n, err := s.Forget(t.Context(), echo, secret(gone))
			require.NoError(t, err)
			require.Equal(t, 1, n)
			delete(alive, gone)
			forgotten = append(forgotten, gone)
		}
	}
	for i := range alive {
		kept = append(kept, i)
	}
	require.Greater(t, len(forgotten), 30)
	require.Greater(t, len(kept), 200)
	bytesOf := onDisk(t, path)
	require.Contains(t, string(bytesOf), "<marker>", "the search itself must be able to find")
	for _, i := range forgotten {
		require.NotContains(t, escaped(bytesOf), secret(i))
	}
}

// escaped undoes the one escape that JSON has for the markers.
func escaped(b []byte) string {
	b = bytes.ReplaceAll(b, []byte(`\u003c`), []byte("<"))
	return string(bytes.ReplaceAll(b, []byte(`\u003e`), []byte(">")))
}

func onDisk(t *testing.T, path string) []byte {
	t.Helper()
	names, err := filepath.Glob(path + "*")
	require.NoError(t, err)
	var all []byte
	for _, name := range names {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		all = append(all, b...)
	}
	return all
}
