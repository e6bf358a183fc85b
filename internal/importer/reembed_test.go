package importer_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/importer"
)

// old is the space in which these tests begin, next the one they move to.
const (
	old  = "letters/1/4"
	next = "numbers/2/4"
)

// withMemories is a store with n episodes and some knowledge, with vectors in the old space.
func withMemories(t *testing.T, n int) (memory.Store, dream.Agent) {
	t.Helper()
	a := someone("a")
	s := store(t, a)
	opts := options()
	opts.Embed = (&letters{space: old}).embed
	importFiles(t, s, a, opts, text("year.jsonl", year(n)))
	return s, a
}

func embedder(l *letters) importer.Embedder {
	return importer.Embedder{Embed: l.embed, Makes: func(space string) bool {
		name, _, _ := strings.Cut(l.space, "/")
		return strings.HasPrefix(space, name+"/")
	}}
}

func spaceOf(t *testing.T, s memory.Store) string {
	t.Helper()
	space, err := s.Space(t.Context(), "a")
	require.NoError(t, err)
	return space
}

func alive(t *testing.T, s memory.Store) int {
	t.Helper()
	n, err := s.Count(t.Context(), memory.Query{Agent: "a"})
	require.NoError(t, err)
	return n
}

func TestAMemoryMovesToAnotherEmbedder(t *testing.T) {
	t.Parallel()
	s, a := withMemories(t, 300)
	l := &letters{space: next}
	e := embedder(l)
	request, err := importer.Survey(t.Context(), s, a, e)
	require.NoError(t, err)
	require.Equal(t, old, request.From)
	require.Empty(t, request.To)
	require.Equal(t, alive(t, s), request.Count())
	require.Empty(t, l.calls, "a survey asks nobody")

	var last, total int64
	moved, err := importer.Reembed(t.Context(), s, a, e, func(done, all int64) { last, total = done, all })
	require.NoError(t, err)
	require.Equal(t, importer.ReembedResult{From: old, To: next, Placed: alive(t, s)}, moved)
	require.EqualValues(t, alive(t, s), last)
	require.Equal(t, last, total)
	require.Equal(t, request.Calls, l.calls, "the survey foretells every call")
	for _, call := range l.calls {
		require.LessOrEqual(t, len(call), importer.MaxEmbed)
	}
	require.Equal(t, next, spaceOf(t, s))
	hits, err := s.Near(t.Context(), memory.Near{Agent: "a", Space: next, V: []float32{1, 1, 1, 1}, Limit: 0x7fff})
	require.NoError(t, err)
	require.Len(t, hits, alive(t, s))

	request, err = importer.Survey(t.Context(), s, a, e)
	require.NoError(t, err)
	require.Equal(t, importer.EmbeddingEstimate{From: next, To: next}, request)
	paid := l.texts()
	moved, err = importer.Reembed(t.Context(), s, a, e, nil)
	require.NoError(t, err)
	require.Equal(t, importer.ReembedResult{From: next, To: next}, moved)
	require.Equal(t, paid, l.texts())
}

func TestAMoveGoesOnWhereItWasInterruptedAndPlacesNothingTwice(t *testing.T) {
	t.Parallel()
	s, a := withMemories(t, 300)
	l := &letters{space: next}
	down := errors.New("down")
	for calls := 1; ; calls++ {
		left, e := 1, embedder(l)
		e.Embed = func(ctx context.Context, texts []string) ([][]float32, string, error) {
			left--
			if left < 0 {
				return nil, "", down
			}
			return l.embed(ctx, texts)
		}
		moved, err := importer.Reembed(t.Context(), s, a, e, nil)
		if err == nil {
			require.Greater(t, calls, 4)
			break
		}
		require.ErrorIs(t, err, down)
		require.Equal(t, old, spaceOf(t, s))
		require.Equal(t, importer.MaxEmbed, moved.Placed)
		request, err := importer.Survey(t.Context(), s, a, e)
		require.NoError(t, err)
		require.Equal(t, next, request.To, "what is collected names the space")
		require.Equal(t, alive(t, s)-calls*importer.MaxEmbed, request.Count())
	}
	require.Equal(t, alive(t, s), l.texts())
	require.Equal(t, next, spaceOf(t, s))
}

func TestWhatIsRememberedDuringAMoveMovesToo(t *testing.T) {
	t.Parallel()
	s, a := withMemories(t, 100)
	l := &letters{space: next}
	e := embedder(l)
	e.Embed = func(ctx context.Context, texts []string) ([][]float32, string, error) {
		if len(l.calls) == 0 {
			opts := options()
			opts.Embed = (&letters{space: old}).embed
			importFiles(t, s, a, opts, testdata(t, "diary.md"))
		}
		return l.embed(ctx, texts)
	}
	_, err := importer.Reembed(t.Context(), s, a, e, nil)
	require.NoError(t, err)
	require.Equal(t, alive(t, s), l.texts())
	bare, err := s.WithoutVector(t.Context(), "a", next, nil, 0)
	require.NoError(t, err)
	require.Empty(t, bare)
}

func TestAMoveWaitsForTheDreamThatMeasuresInTheOldSpace(t *testing.T) {
	t.Parallel()
	s, a := withMemories(t, 100)
	l := &letters{space: next}
	stretch := memory.Slot{Fence: memory.Fence{Dream: "d", Run: "r"}}
	_, err := s.TakeSlot(t.Context(), "a", stretch, memory.Fence{})
	require.NoError(t, err)
	moved, err := importer.Reembed(t.Context(), s, a, embedder(l), nil)
	require.ErrorIs(t, err, memory.ErrTaken)
	require.Equal(t, alive(t, s), moved.Placed)
	require.Equal(t, old, spaceOf(t, s))
	require.NoError(t, s.FreeSlot(t.Context(), "a", stretch.Fence))
	moved, err = importer.Reembed(t.Context(), s, a, embedder(l), nil)
	require.NoError(t, err)
	require.Equal(t, importer.ReembedResult{From: old, To: next}, moved)
}

func TestReturningToTheOldEmbedderDropsCollectedVectors(t *testing.T) {
	t.Parallel()
	s, a := withMemories(t, 100)
	ctx, cancel := context.WithCancel(t.Context())
	e := embedder(&letters{space: next})
	there := e.Embed
	e.Embed = func(ctx context.Context, texts []string) ([][]float32, string, error) {
		defer cancel()
		return there(ctx, texts)
	}
	_, err := importer.Reembed(ctx, s, a, e, nil)
	require.ErrorIs(t, err, context.Canceled)
	l := &letters{space: old}
	moved, err := importer.Reembed(t.Context(), s, a, embedder(l), nil)
	require.NoError(t, err)
	require.Equal(t, importer.ReembedResult{From: old, To: old}, moved)
	require.Empty(t, l.calls)
	spaces, err := s.Spaces(t.Context(), "a")
	require.NoError(t, err)
	require.Len(t, spaces, 1)
}

func TestAMemoryWithoutVectorsIsPlaced(t *testing.T) {
	t.Parallel()
	a := someone("a")
	s := store(t, a)
	l := &letters{space: next}
	moved, err := importer.Reembed(t.Context(), s, a, embedder(l), nil)
	require.NoError(t, err)
	require.Zero(t, moved)
	importFiles(t, s, a, options(), text("year.jsonl", year(100)))
	moved, err = importer.Reembed(t.Context(), s, a, embedder(l), nil)
	require.NoError(t, err)
	require.Equal(t, importer.ReembedResult{To: next, Placed: alive(t, s)}, moved)
	require.Equal(t, alive(t, s), l.texts())
}

func TestAnEmbedderThatChangesItsSpaceEndsTheMove(t *testing.T) {
	t.Parallel()
	s, a := withMemories(t, 100)
	l := &letters{space: next}
	e := embedder(l)
	e.Embed = func(ctx context.Context, texts []string) ([][]float32, string, error) {
		if len(l.calls) > 0 {
			l.space = "numbers/3/4"
		}
		return l.embed(ctx, texts)
	}
	_, err := importer.Reembed(t.Context(), s, a, e, nil)
	require.ErrorIs(t, err, memory.ErrSpace)
	require.ErrorContains(t, err, "answered in numbers/2/4 and now in numbers/3/4")
	require.Equal(t, old, spaceOf(t, s))
}

func TestWhatDreamsImagineIsNotPending(t *testing.T) {
	t.Parallel()
	s, a := withMemories(t, 5)
	pending := func() (pending, of int) {
		t.Helper()
		pending, of, err := importer.Pending(t.Context(), s, a.ID)
		require.NoError(t, err)
		return pending, of
	}
	left, all := pending()
	require.Zero(t, left)
	head := func(id string, kind dream.Kind) dream.Head {
		return dream.Head{
			ID:    id,
			Agent: a.ID,
			Kind:  kind,
			At:    now,
			State: dream.Live,
			Taint: dream.FromDream,
		}
	}
	_, err := s.Commit(t.Context(), memory.Write{Agent: a.ID, Cause: "dream", Add: []dream.Item{
		&dream.Fragment{Head: head("f", dream.KindFragment), Content: "a door in the sea"},
		&dream.Gist{Head: head("g", dream.KindGist), Content: "doors turn up at night"},
	}})
	require.NoError(t, err)
	left, of := pending()
	require.Equal(t, 1, left, "the gist")
	require.Equal(t, all+1, of)

	_, err = importer.Reembed(t.Context(), s, a, embedder(&letters{space: old}), nil)
	require.NoError(t, err)
	left, _ = pending()
	require.Zero(t, left)
	bare, err := s.WithoutVector(t.Context(), a.ID, old, nil, 0)
	require.NoError(t, err)
	require.Empty(t, bare, "a person who has the memory embedded has the dreams embedded, too")
}
