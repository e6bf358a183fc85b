package importer_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/rank"
	"github.com/seed-56a03226/oneiros/internal/importer"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

// fixture is a store with one agent, and processes that embed its memories.
type fixture struct {
	*sqlitestore.Store
	t     *testing.T
	agent dream.Agent
	at    time.Time
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	s := &fixture{t: t, agent: someone("a"), at: now}
	s.Store = store(t, s.agent).(*sqlitestore.Store)
	return s
}

// imports brings memories without vectors, and asks for them to be embedded.
func (s *fixture) imports(n int) {
	s.t.Helper()
	opts := options()
	opts.Storing = func(ctx context.Context) error { return importer.RequestEmbedding(ctx, s, s.agent, s.at) }
	importFiles(s.t, s, s.agent, opts, text("year.jsonl", year(n)))
}

func (s *fixture) worker(name string, e importer.Embedder) *importer.EmbedWorker {
	return &importer.EmbedWorker{
		Store:   s,
		Holder:  name,
		Now:     func() time.Time { return s.at },
		Serving: func(context.Context, dream.Agent) (importer.Embedder, error) { return e, nil },
	}
}

func (s *fixture) bare() int {
	s.t.Helper()
	items, err := s.WithoutVector(s.t.Context(), "a", old, nil, 0)
	require.NoError(s.t, err)
	return len(items)
}

func (s *fixture) job() memory.EmbedJob {
	s.t.Helper()
	j, err := s.EmbedJob(s.t.Context(), "a")
	require.NoError(s.t, err)
	return j
}

func (s *fixture) noJob() {
	s.t.Helper()
	_, err := s.EmbedJob(s.t.Context(), "a")
	require.ErrorIs(s.t, err, memory.ErrNotFound)
}

func TestAnImportIsFoundByWordsAtOnceAndEmbeddedAfterwards(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.imports(300)
	require.Equal(t, alive(t, s), s.bare(), "nothing was embedded in the foreground")
	found, err := s.Search(t.Context(),
		memory.Search{Agent: "a", Text: "quince trees", Blend: rank.Blend{Words: 1}, Limit: 3})
	require.NoError(t, err)
	require.Len(t, found.Hits, 3)

	l := &letters{space: old}
	require.NoError(t, s.worker("server", embedder(l)).Round(t.Context()))
	require.Zero(t, s.bare())
	require.Equal(t, alive(t, s), l.texts())
	s.noJob()
	events, err := s.Events(t.Context(), "a", 0, 10)
	require.NoError(t, err)
	require.Len(t, events, 1)
	require.Equal(t, event.MemoriesEmbedded{}.EventType(), events[0].Type)
	require.NoError(t, s.worker("server", embedder(l)).Round(t.Context()))
	require.Equal(t, alive(t, s), l.texts(), "and nothing twice")
}

// The claim of a process that was killed ends by itself, and the next one goes on with what has no vector.
func TestAProcessThatWasKilledLosesNothing(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.imports(300)
	ctx, kill := context.WithCancel(t.Context())
	l := &letters{space: old}
	e := embedder(l)
	var last memory.EmbedJob
	e.Embed = func(ctx context.Context, texts []string) ([][]float32, string, error) {
		if len(l.calls) == 2 {
			last = s.job()
			kill()
			return nil, "", ctx.Err()
		}
		return l.embed(ctx, texts)
	}
	require.NoError(t, s.worker("first", e).Round(ctx))
	require.Equal(t, alive(t, s)-2*importer.MaxEmbed, s.bare(), "what was embedded is kept")
	require.True(t, last.Live(s.at))
	_, err := s.PutEmbedJob(t.Context(), last, s.at) // one that is killed gives nothing up
	require.NoError(t, err)

	next := s.worker("second", embedder(l))
	require.NoError(t, next.Round(t.Context()))
	require.Len(t, l.calls, 2, "the claim still lasts")
	var held *importer.EmbedHeld
	_, err = next.Embed(t.Context(), s.agent, embedder(l), nil)
	require.ErrorAs(t, err, &held)
	require.Equal(t, "first", held.Job.Holder)
	s.at = last.Until
	require.NoError(t, next.Round(t.Context()))
	require.Zero(t, s.bare())
	require.Equal(t, alive(t, s), l.texts(), "nothing is embedded twice")
	s.noJob()
}

func TestAStoppingProcessReleasesItsJobAtOnce(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.imports(100)
	ctx, stop := context.WithCancel(t.Context())
	e := embedder(&letters{space: old})
	e.Embed = func(ctx context.Context, _ []string) ([][]float32, string, error) {
		stop()
		return nil, "", ctx.Err()
	}
	require.NoError(t, s.worker("first", e).Round(ctx))
	require.False(t, s.job().Live(s.at))
	require.Empty(t, s.job().Failure)
	require.NoError(t, s.worker("second", embedder(&letters{space: old})).Round(t.Context()))
	require.Zero(t, s.bare())
}

func TestAFailedJobIsRetriedLaterAndSoonerOnRequest(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.imports(100)
	calls := 0
	e := embedder(&letters{space: old})
	e.Embed = func(context.Context, []string) ([][]float32, string, error) {
		calls++
		return nil, "", errors.New("the day's cap is reached")
	}
	w := s.worker("server", e)
	for i, wait := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute} {
		require.NoError(t, w.Round(t.Context()))
		require.Equal(t, i+1, calls)
		require.Contains(t, s.job().Failure, "the day's cap is reached")
		require.Equal(t, s.at.Add(wait), s.job().Next)
		s.at = s.at.Add(wait - time.Second)
		require.NoError(t, w.Round(t.Context()))
		require.Equal(t, i+1, calls, "not before its time")
		s.at = s.at.Add(time.Second)
	}
	s.at = s.at.Add(-time.Second)
	require.NoError(t, importer.RequestEmbedding(t.Context(), s, s.agent, s.at))
	require.NoError(t, w.Round(t.Context()))
	require.Equal(t, 4, calls)
}

func TestARequestWhileAJobEndsIsNotLost(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.imports(20)
	l := &letters{space: old}
	w := s.worker("server", embedder(l))
	late := &interferingStore{EmbedStore: s, before: func() {
		s.at = s.at.Add(time.Second)
		s.imports(60)
	}}
	w.Store = late
	require.NoError(t, w.Round(t.Context()))
	require.Zero(t, s.bare())
	s.noJob()
}

// interferingStore does something in the moment before a job ends for the first time.
type interferingStore struct {
	importer.EmbedStore
	before func()
	once   sync.Once
}

func (l *interferingStore) EndEmbedJob(ctx context.Context, j memory.EmbedJob) (bool, error) {
	l.once.Do(l.before)
	return l.EmbedStore.EndEmbedJob(ctx, j)
}

func TestTheJobOfAnAgentThatWasRemovedEnds(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	removed := memory.EmbedJob{Agent: "gone", Requested: s.at}
	_, err := s.PutEmbedJob(t.Context(), removed, s.at)
	require.NoError(t, err)
	s.imports(20)
	require.NoError(t, s.worker("server", embedder(&letters{space: old})).Round(t.Context()))
	require.Zero(t, s.bare(), "and holds up no other")
	jobs, err := s.EmbedJobs(t.Context())
	require.NoError(t, err)
	require.Empty(t, jobs)
	_, err = s.PutEmbedJob(t.Context(), memory.EmbedJob{Agent: "a", Requested: s.at}, s.at)
	require.NoError(t, err)
	_, err = s.DropAgent(t.Context(), "a", s.at)
	require.NoError(t, err)
	jobs, err = s.EmbedJobs(t.Context())
	require.NoError(t, err)
	require.Empty(t, jobs)
}

func TestTheBackgroundMovesNoMemoryAndDropsNothingOfAMove(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.imports(100)
	l := &letters{space: old}
	require.NoError(t, s.worker("server", embedder(l)).Round(t.Context()))
	ctx, stop := context.WithCancel(t.Context())
	e := embedder(&letters{space: next})
	there := e.Embed
	e.Embed = func(ctx context.Context, texts []string) ([][]float32, string, error) {
		defer stop()
		return there(ctx, texts)
	}
	_, err := s.worker("command", e).Embed(ctx, s.agent, e, nil)
	require.ErrorIs(t, err, context.Canceled)
	s.noJob()
	require.NoError(t, importer.RequestEmbedding(t.Context(), s, s.agent, s.at))
	require.NoError(t, s.worker("server", embedder(l)).Round(t.Context()))
	spaces, err := s.Spaces(t.Context(), "a")
	require.NoError(t, err)
	require.Positive(t, spaces[next], "what a person's move has collected stays")

	require.NoError(t, importer.RequestEmbedding(t.Context(), s, s.agent, s.at))
	request := &letters{space: next}
	require.NoError(t, s.worker("server", embedder(request)).Round(t.Context()))
	require.Empty(t, request.calls, "an embedder of another space is not even asked")
	require.Contains(t, s.job().Failure, "oneiros memory embed --agent a")
	require.Equal(t, old, spaceOf(t, s))
}
