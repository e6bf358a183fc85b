package review_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/fabric"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/internal/review"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

const day = 24 * time.Hour

var evening = time.Date(2026, 3, 20, 20, 0, 0, 0, time.UTC)

// scene is an agent with a store, and a Resolver at a time of its own.
type scene struct {
	*testing.T
	review.Resolver
	store interface {
		memory.Store
		memory.Feeds
		fabric.Log
	}
	now   time.Time
	agent dream.Agent
}

func onBoth(t *testing.T, test func(l *scene)) {
	t.Helper()
	t.Parallel()
	for _, name := range []string{"sqlite", "redis"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &scene{T: t, now: evening, agent: dream.Agent{ID: "a1", Handle: "echo", Zone: "UTC"}}
			if name == "redis" {
				s, err := redisstore.Open(t.Context(), redis.Shared(t).URL, redisstore.Prefix(redis.Prefix(t)),
					redisstore.Timeout(time.Minute))
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, s.Close()) })
				l.store = s
			} else {
				s, err := sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "memory.db"))
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, s.Close()) })
				l.store = s
			}
			l.Resolver = review.Resolver{Memory: l.store, Feeds: l.store, Now: func() time.Time { return l.now }}
			require.NoError(t, l.store.PutAgent(t.Context(), l.agent))
			test(l)
		})
	}
}

// lives adds an episode some days after the evening.
func (l *scene) lives(id string, days float64, taint dream.Taint, text string) {
	l.Helper()
	e := &dream.Episode{
		Head: dream.Head{
			ID:    id,
			Agent: "a1",
			Kind:  dream.KindEpisode,
			At:    evening.Add(time.Duration(days * float64(day))),
			State: dream.Live,
			Taint: taint,
		},
		Content: text, Salience: .5,
	}
	if taint == dream.FromDream {
		e.Dream = "dream/echo/0001"
	}
	_, err := l.store.Commit(l.Context(), memory.Write{Agent: "a1", Cause: "test", Add: []dream.Item{e}})
	require.NoError(l, err)
}

func (l *scene) foretells(claim string, c dream.Check, due time.Duration) string {
	l.Helper()
	p, _, err := l.AddPrediction(l.Context(), l.agent, review.PredictionRequest{
		Claim:      claim,
		Horizon:    evening.Add(due),
		Confidence: .3,
		By:         dream.ByPerson,
		Check:      &c,
	})
	require.NoError(l, err)
	return p.ID
}

// becomes resolves as of some days later, and returns what became of a prediction.
func (l *scene) becomes(id string, days float64) *dream.Prediction {
	l.Helper()
	l.now = evening.Add(time.Duration(days * float64(day)))
	_, err := l.LookUp(l.Context(), "a1")
	require.NoError(l, err)
	p, err := memory.One[*dream.Prediction](l.Context(), l.store, "a1", id)
	require.NoError(l, err)
	return p
}

func TestWhatWasLivedResolvesAPrediction(t *testing.T) {
	onBoth(t, func(l *scene) {
		check := dream.Check{When: "storm", Then: "leaks", Within: 3 * day}
		id := l.foretells("A storm is followed by a leak.", check, 14*day)
		l.lives("ep_1", 1, dream.FromHuman, "It was quiet. The storm came at noon. We slept.")
		require.Equal(l, dream.PredictionOpen, l.becomes(id, 2).Status)
		l.lives("ep_2", 3, dream.FromTool, "Sensor 4: a leak under the sink.")
		p := l.becomes(id, 3.5)
		require.Equal(l, dream.PredictionRight, p.Status)
		require.Equal(l, dream.ByCheck, p.ResolvedBy)
		require.Equal(l, `"The storm came at noon." (ep_1); "Sensor 4: a leak under the sink." (ep_2)`, p.Evidence)
		require.InDelta(l, .7, *p.Residual, 1e-9)
		require.Equal(l, "a memory names leaks within 3 days of the next that names storm.", p.Criterion)
		again, err := l.LookUp(l.Context(), "a1")
		require.NoError(l, err)
		require.Empty(l, again.Decided, "it is resolved once")
	})
}

func TestOnlyWhatAPersonOrAToolGaveIsEvidence(t *testing.T) {
	onBoth(t, func(l *scene) {
		id := l.foretells("The leak comes back.", dream.Check{Then: "leak", Least: 2}, 7*day)
		l.lives("ep_d", 1, dream.FromDream, "A leak under the moon.")
		l.lives("ep_a", 2, dream.FromAgent, "I think there is a leak.")
		l.lives("ep_w", 3, dream.FromWeb, "Ten signs of a leak.")
		l.lives("ep_1", 4, dream.FromHuman, "There is a leak.")
		l.lives("ep_c", 4.1, dream.FromHuman, "There is a leak!")
		require.Equal(l, dream.PredictionOpen, l.becomes(id, 6).Status, "a copy shows nothing anew")
		p := l.becomes(id, 8)
		require.Equal(l, dream.PredictionWrong, p.Status)
		require.Equal(l, `"There is a leak." (ep_1); until 2026-03-27T20:00:00Z no 2 episodes named leak`, p.Evidence)
	})
}

func TestSilenceDecidesNothingWhereNobodyCouldHaveSeen(t *testing.T) {
	onBoth(t, func(l *scene) {
		for i := range 20 {
			l.lives("ep_old_"+strings.Repeat("x", i), -1-float64(i), dream.FromHuman, "rain "+strings.Repeat("x", i+1))
		}
		seen := l.foretells("The leak comes back.", dream.Check{Then: "leak"}, 4*day)
		unseen := l.foretells("It will be dry.", dream.Check{Then: "leak", Not: true}, 12*day)
		l.lives("ep_1", 1, dream.FromHuman, "fog")
		l.lives("ep_2", 2, dream.FromHuman, "sun")
		require.Equal(l, dream.PredictionWrong, l.becomes(seen, 5).Status, "half as many episodes as usual came")
		p := l.becomes(unseen, 13)
		require.Equal(l, dream.PredictionVoid, p.Status)
		require.Contains(l, p.Evidence, "too few episodes")
		require.Nil(l, p.Residual)
	})
}

func TestTheClockLeavesAPredictionWithACheckToIt(t *testing.T) {
	onBoth(t, func(l *scene) {
		check := dream.Check{When: "storm", Then: "leak", Within: 3 * day}
		id := l.foretells("A storm is followed by a leak.", check, 2*day)
		l.lives("ep_1", 1.5, dream.FromHuman, "A storm.")
		l.now = evening.Add(3 * day)
		n, err := l.ResolveOverdue(l.Context())
		require.NoError(l, err)
		require.Zero(l, n, "the wait that began before the horizon is not over")
		l.lives("ep_2", 4, dream.FromHuman, "A leak.")
		l.now = evening.Add(5 * day)
		n, err = l.ResolveOverdue(l.Context())
		require.NoError(l, err)
		require.Equal(l, 1, n)
		require.Equal(l, dream.PredictionRight, l.becomes(id, 5).Status)
	})
}

func TestNewEpisodesAreComparedOnce(t *testing.T) {
	onBoth(t, func(l *scene) {
		id := l.foretells("The leak comes back.", dream.Check{Then: "leak"}, 7*day)
		counting := &countingFinds{DreamStore: l.store}
		l.Memory = counting
		checker := review.Checker{Resolver: l.Resolver}
		pass := func(want int) {
			l.Helper()
			n, err := checker.Pass(l.Context(), []dream.Agent{l.agent})
			require.NoError(l, err)
			require.Equal(l, want, n)
		}
		pass(0)
		looked := counting.finds
		pass(0)
		require.Equal(l, looked, counting.finds, "nothing has come since")
		l.lives("ep_1", 1, dream.FromHuman, "A leak.")
		l.now = evening.Add(2 * day)
		checker.Now = func() time.Time { return l.now }
		pass(1)
		require.Equal(l, dream.PredictionRight, l.becomes(id, 2).Status)
	})
}

func TestACorrectionIsLookedAtAtOnce(t *testing.T) {
	onBoth(t, func(l *scene) {
		id := l.foretells("The leak comes back.", dream.Check{Then: "leak"}, 7*day)
		l.lives("ep_1", 1, dream.FromHuman, "The sink is dry.")
		l.now = evening.Add(2 * day)
		checker := review.Checker{Resolver: l.Resolver}
		_, err := checker.Pass(l.Context(), []dream.Agent{l.agent})
		require.NoError(l, err)
		old, err := memory.One[*dream.Episode](l.Context(), l.store, "a1", "ep_1")
		require.NoError(l, err)
		old.State, old.NewerID = dream.Superseded, "ep_2"
		corrected := &dream.Episode{Head: old.Head, Content: "There is a leak.", Salience: .5}
		corrected.ID, corrected.State, corrected.NewerID = "ep_2", dream.Live, ""
		_, err = l.store.Commit(l.Context(),
			memory.Write{Agent: "a1", Cause: "test", Change: []dream.Item{old}, Add: []dream.Item{corrected}})
		require.NoError(l, err)
		n, err := checker.Pass(l.Context(), []dream.Agent{l.agent})
		require.NoError(l, err)
		require.Equal(l, 1, n, "as many live episodes as before")
		require.Equal(l, dream.PredictionRight, l.becomes(id, 2).Status)
	})
}

func TestARuleThatWatchesDecidesInPlaceOfTheCheck(t *testing.T) {
	onBoth(t, func(l *scene) {
		require.NoError(l, l.store.PutFeed(l.Context(), dream.Feed{
			Name: "harbour", Rules: []dream.Rule{{Name: "flood", Kind: dream.Above, Number: 3}},
		}))
		l.agent.Feed = "harbour"
		id := l.foretells("The leak comes back.", dream.Check{Then: "leak"}, 7*day)
		watch := &dream.Watch{Feed: "harbour", Rule: "flood", Means: dream.PredictionRight}
		_, err := l.Watch(l.Context(), l.agent, id, watch)
		require.NoError(l, err)
		l.lives("ep_1", 1, dream.FromHuman, "A leak.")
		require.Equal(l, dream.PredictionOpen, l.becomes(id, 2).Status)
		_, err = l.Watch(l.Context(), l.agent, id, nil)
		require.NoError(l, err)
		require.Equal(l, dream.PredictionRight, l.becomes(id, 2).Status)
	})
}

// countingFinds counts the searches of a store.
type countingFinds struct {
	memory.DreamStore
	finds int
}

func (c *countingFinds) Find(ctx context.Context, q memory.Query) ([]dream.Item, error) {
	c.finds++
	return c.DreamStore.Find(ctx, q)
}

func TestACheckThatCannotBeLookedUpIsNotKept(t *testing.T) {
	onBoth(t, func(l *scene) {
		for want, f := range map[string]review.PredictionRequest{
			"the check: then is \"the\"": {Check: &dream.Check{Then: "the"}},
			"not by both": {
				Check: &dream.Check{Then: "leak"},
				Watch: &dream.Watch{Feed: "f", Rule: "r", Means: dream.PredictionRight},
			},
		} {
			f.Claim, f.Horizon = "A leak.", evening.Add(day)
			f.Confidence, f.By = .3, dream.ByPerson
			f.Criterion = "it leaks"
			_, _, err := l.AddPrediction(l.Context(), l.agent, f)
			require.ErrorContains(l, err, want)
		}
		kept, err := l.store.Find(l.Context(), memory.Query{Agent: "a1"})
		require.NoError(l, err)
		require.Empty(l, kept)
	})
}
