package importer_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/importer"
)

func TestEveryItemGetsAVectorInSmallBatches(t *testing.T) {
	t.Parallel()
	a := someone("a")
	s := store(t, a)
	l := &letters{space: "letters/1/4"}
	opts := options()
	opts.Embed = l.embed
	report := importFiles(t, s, a, opts, text("year.jsonl", year(300)))
	require.Equal(t, report.Added, l.texts())
	for _, call := range l.calls {
		require.LessOrEqual(t, len(call), importer.MaxEmbed)
	}
	bare, err := s.WithoutVector(context.Background(), "a", l.space, nil, 0)
	require.NoError(t, err)
	require.Empty(t, bare)
	hits, err := s.Near(context.Background(), memory.Near{
		Agent:  "a",
		Space:  l.space,
		V:      []float32{1, 1, 1, 1},
		Limit:  5,
		Filter: memory.Filter{Kinds: []dream.Kind{dream.KindSemantic}},
	})
	require.NoError(t, err)
	require.Len(t, hits, 5)
}

func TestASecondImportEmbedsNothing(t *testing.T) {
	t.Parallel()
	a := someone("a")
	s := store(t, a)
	l := &letters{space: "letters/1/4"}
	opts := options()
	opts.Embed = l.embed
	importFiles(t, s, a, opts, text("year.jsonl", year(100)))
	paid := l.texts()
	importFiles(t, s, a, opts, text("year.jsonl", year(100)))
	require.Equal(t, paid, l.texts())
}

func TestItemsImportedWithoutVectorsGetThemLater(t *testing.T) {
	t.Parallel()
	a := someone("a")
	s := store(t, a)
	importFiles(t, s, a, options(), text("year.jsonl", year(100)))
	l := &letters{space: "letters/1/4"}
	opts := options()
	opts.Embed = l.embed
	require.Zero(t, importFiles(t, s, a, opts, text("year.jsonl", year(100))).Added)
	bare, err := s.WithoutVector(context.Background(), "a", l.space, nil, 0)
	require.NoError(t, err)
	require.Empty(t, bare)
}

func TestTwoEmbeddersAreNeverMixed(t *testing.T) {
	t.Parallel()
	a := someone("a")
	s := store(t, a)
	opts := options()
	opts.Embed = (&letters{space: "letters/1/4"}).embed
	importFiles(t, s, a, opts, text("one.jsonl", year(20)))
	opts.Embed = (&letters{space: "numbers/1/4"}).embed
	_, err := importer.Import(context.Background(), s, a, []importer.File{testdata(t, "diary.md")}, opts)
	require.ErrorIs(t, err, memory.ErrSpace)
	require.ErrorContains(t, err,
		"lies in space letters/1/4 and the embedder answers in numbers/1/4; move the memory with oneiros memory embed --agent a:")
	require.Greater(t, len(episodes(t, s, "a")), 20, "what was imported is kept, and found by its words")
	spaces, err := s.Spaces(context.Background(), "a")
	require.NoError(t, err)
	require.Len(t, spaces, 1)
}

func TestAFailingEmbedderIsReportedAfterTheImport(t *testing.T) {
	t.Parallel()
	a := someone("a")
	opts := options()
	down := errors.New("down")
	opts.Embed = func(context.Context, []string) ([][]float32, string, error) { return nil, "", down }
	_, err := importer.Import(context.Background(), store(t, a), a, []importer.File{testdata(t, "diary.md")}, opts)
	require.ErrorIs(t, err, down)
	opts.Embed = func(context.Context, []string) ([][]float32, string, error) { return nil, "x", nil }
	_, err = importer.Import(context.Background(), store(t, a), a, []importer.File{testdata(t, "diary.md")}, opts)
	require.ErrorContains(t, err, "the embedder gave 0 vectors")
	opts.Embed = (&letters{}).embed
	_, err = importer.Import(context.Background(), store(t, a), a, []importer.File{testdata(t, "diary.md")}, opts)
	require.ErrorContains(t, err, "does not name its space")
}
