package importer_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/forgetting"
	"github.com/seed-56a03226/oneiros/internal/importer"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

var update = flag.Bool("update", false, "write the golden files anew")

// now is the time of every test's import.
var now = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func someone(id string) dream.Agent {
	return dream.Agent{
		ID:      id,
		Handle:  id,
		Zone:    "UTC",
		Tier:    dream.Hardened,
		Caps:    dream.DefaultCaps,
		Created: now,
	}
}

func store(t testing.TB, agents ...dream.Agent) memory.Store {
	t.Helper()
	s, err := sqlitestore.Open(context.Background(), ":memory:")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	for _, a := range agents {
		require.NoError(t, s.PutAgent(context.Background(), a))
	}
	return s
}

func text(name, body string) importer.File {
	return importer.File{
		Name: name, Size: int64(len(body)), ModTime: now.Add(-48 * time.Hour),
		Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(body)), nil },
	}
}

func testdata(t testing.TB, name string) importer.File {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return text(name, string(body))
}

func due(at time.Time, strength float64) time.Time {
	return forgetting.Due(at, strength, 30*24*time.Hour, 0, .2)
}

func options() importer.Options { return importer.Options{Now: now, Due: due, FileTime: true} }

// importFiles imports and expects no error.
func importFiles(t testing.TB, s memory.Store, a dream.Agent, opts importer.Options, files ...importer.File) importer.Report {
	t.Helper()
	report, err := importer.Import(context.Background(), s, a, files, opts)
	require.NoError(t, err)
	return report
}

func find[T dream.Item](t testing.TB, s memory.Store, agent string, kind dream.Kind) []T {
	t.Helper()
	items, err := s.Find(context.Background(),
		memory.Query{Agent: agent, Kinds: []dream.Kind{kind}, Sort: memory.Oldest})
	require.NoError(t, err)
	return memory.As[T](items)
}

func episodes(t testing.TB, s memory.Store, agent string) []*dream.Episode {
	t.Helper()
	return find[*dream.Episode](t, s, agent, dream.KindEpisode)
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

// letters is a small embedder that records its calls.
type letters struct {
	space string
	calls [][]string
}

func (l *letters) embed(_ context.Context, texts []string) ([][]float32, string, error) {
	l.calls = append(l.calls, texts)
	out := make([][]float32, len(texts))
	for i, s := range texts {
		h := fnv.New64a()
		h.Write([]byte(s))
		v := h.Sum64()
		out[i] = []float32{1, float32(v % 97), float32(v % 89), float32(v % 83)}
	}
	return out, l.space, nil
}

func (l *letters) texts() int {
	n := 0
	for _, c := range l.calls {
		n += len(c)
	}
	return n
}

// year is n small invented episodes.
func year(n int) string {
	who := []string{"Ada", "Bruno", "Cleo"}
	what := []string{
		"mended the north window", "lost the ledger near Harbour Street",
		"found 12 letters in the attic", "argued about the winter market", "planted quince trees",
		"read the tide tables aloud",
	}
	how := []string{
		"It rained all day.", "I want to understand why the clock stopped.", "Nobody expected that!",
		"The old lighthouse was dark again.", "I used to be afraid of the cellar stairs.",
	}
	var b bytes.Buffer
	step := min(time.Hour, 290*24*time.Hour/time.Duration(n)).Truncate(time.Second)
	for i := range n {
		at := now.AddDate(0, 0, -300).Add(time.Duration(i) * step)
		fmt.Fprintf(&b, `{"at":%q,"content":"%s %s. %s Note %d.","speaker":%q,"session":"s-%d"}`+"\n",
			at.Format(time.RFC3339), who[i%3], what[i%6], how[(i*7+i/5)%5], i, who[(i+1)%3], i/8)
	}
	return b.String()
}
