package activities_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/fabric"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/prediction"
	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/internal/review"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

// storage is what a Resolver needs to store.
type storage interface {
	memory.Store
	memory.Feeds
	fabric.Log
}

// ledger is a Resolver over a store, with an agent that follows the feed harbour, and a dream with two predictions
// and two hypotheses.
type ledger struct {
	*testing.T
	store storage
	now   time.Time
	agent dream.Agent
	review.Resolver
}

const nightly = "dream/echo/0001"

// onBoth runs a test with SQLite and with Redis.
func onBoth(t *testing.T, test func(l *ledger)) {
	t.Helper()
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) storage{
		"sqlite": func(t *testing.T) storage {
			s, err := sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "memory.db"))
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, s.Close()) })
			return s
		},
		"redis": func(t *testing.T) storage {
			s, err := redisstore.Open(t.Context(), redis.Shared(t).URL, redisstore.Prefix(redis.Prefix(t)),
				redisstore.Timeout(time.Minute))
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, s.Close()) })
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &ledger{
				T: t, store: open(t), now: night.Add(time.Hour),
				agent: dream.Agent{ID: "a1", Handle: "echo", Zone: "UTC", Feed: "harbour"},
			}
			l.Resolver = review.Resolver{Memory: l.store, Feeds: l.store, Now: func() time.Time { return l.now }}
			require.NoError(t, l.store.PutAgent(t.Context(), l.agent))
			require.NoError(t, l.store.PutFeed(t.Context(), dream.Feed{Name: "harbour", Rules: []dream.Rule{{
				Name:   "quay",
				Metric: "price",
				Kind:   dream.Above,
				Number: 5,
				Quiet:  true,
			}}}))
			l.dreamt()
			test(l)
		})
	}
}

// dreamt stores a dream with two predictions, a hypothesis on each, and a hypothesis without a prediction.
func (l *ledger) dreamt() {
	l.Helper()
	head := func(kind dream.Kind, id string, sources ...string) dream.Head {
		return dream.Head{
			ID:      nightly + "/" + id,
			Agent:   "a1",
			Kind:    kind,
			At:      night,
			State:   dream.Live,
			Taint:   dream.FromDream,
			Dream:   nightly,
			Phase:   dream.NREM,
			Sources: sources,
		}
	}
	foretold := func(id, fragment string) *dream.Prediction {
		return &dream.Prediction{
			Head:       head(dream.KindPrediction, id),
			Source:     dream.Creative,
			Claim:      "claim " + id,
			Criterion:  "it is seen",
			Fragment:   fragment,
			Horizon:    night.AddDate(0, 0, 14),
			Confidence: .3,
			Session:    nightly,
			Status:     dream.PredictionOpen,
		}
	}
	staged := func(id string, sources ...string) *dream.Hypothesis {
		return &dream.Hypothesis{
			Head: head(dream.KindHypothesis, id, sources...), Claim: "claim " + id,
			Confidence: .2, Status: dream.HypothesisStaged,
		}
	}
	_, err := l.store.Commit(l.Context(), memory.Write{Agent: "a1", Cause: nightly, Add: []dream.Item{
		foretold("p1", ""), foretold("p2", nightly+"/f2"),
		staged("h1", nightly+"/p1"), staged("h2", nightly+"/f2", nightly+"/p1"), staged("h3", nightly+"/f9"),
	}})
	require.NoError(l, err)
}

func (l *ledger) prediction(id string) *dream.Prediction {
	l.Helper()
	p, err := memory.One[*dream.Prediction](l.Context(), l.store, "a1", id)
	require.NoError(l, err)
	return p
}

// confidences are those of the three hypotheses.
func (l *ledger) confidences() []float64 {
	l.Helper()
	var all []float64
	for _, id := range []string{"h1", "h2", "h3"} {
		h, err := memory.One[*dream.Hypothesis](l.Context(), l.store, "a1", nightly+"/"+id)
		require.NoError(l, err)
		all = append(all, h.Confidence)
	}
	return all
}

// announced are the events of the log in short form.
func (l *ledger) announced() []string {
	l.Helper()
	events, err := l.store.Events(l.Context(), "a1", 0, 0)
	require.NoError(l, err)
	texts := []string{}
	for _, e := range events {
		texts = append(texts, e.Type+" "+strings.ReplaceAll(string(e.Data), nightly+"/", ""))
	}
	return texts
}

func (l *ledger) causes(id string) []string {
	l.Helper()
	revisions, err := l.store.Revisions(l.Context(), "a1", id)
	require.NoError(l, err)
	var all []string
	for _, r := range revisions {
		all = append(all, r.Cause+": "+r.Item.Marks().Status)
	}
	return all
}

func says(status string) prediction.Verdict {
	return prediction.Verdict{Status: status, By: dream.ByPerson, Evidence: "seen from the pier"}
}

func TestAVerdictMovesItsHypothesesAndIsAnnouncedInOneStep(t *testing.T) {
	onBoth(t, func(l *ledger) {
		done, err := l.Resolve(l.Context(), "a1", nightly+"/p1", says(dream.PredictionRight))
		require.NoError(l, err)
		require.True(l, done.Changed)
		require.Len(l, done.Moved, 2)
		p := l.prediction(nightly + "/p1")
		require.Equal(l, "correct person seen from the pier",
			strings.Join([]string{p.Status, p.ResolvedBy, p.Evidence}, " "))
		require.InDelta(l, .7, *p.Residual, 1e-12)
		require.True(l, p.ResolvedAt.Equal(l.now))
		require.InDeltaSlice(l, []float64{.3, .3, .2}, l.confidences(), 1e-9)
		texts := []string{
			`PredictionResolved {"prediction_id":"p1","source":"creative","phase":"nrem","status":"correct","confidence":0.3,"residual":0.7,"by":"person"}`,
			`HypothesisChanged {"hypothesis_id":"h1","prediction_id":"p1","confidence":0.3,"status":"staged"}`,
			`HypothesisChanged {"hypothesis_id":"h2","prediction_id":"p1","confidence":0.3,"status":"staged"}`,
		}
		require.Equal(l, texts, l.announced())

		done, err = l.Resolve(l.Context(), "a1", nightly+"/p1", says(dream.PredictionRight))
		require.NoError(l, err)
		require.False(l, done.Changed)
		_, err = l.Resolve(l.Context(), "a1", nightly+"/p1", says(dream.PredictionWrong))
		require.ErrorIs(l, err, prediction.ErrResolved)
		require.Equal(l, texts, l.announced(), "neither changes anything")
		require.Equal(l, []string{nightly + ": open", "operator: correct"}, l.causes(nightly+"/p1"))

		_, err = l.Resolve(l.Context(), "a1", nightly+"/p9", says(dream.PredictionRight))
		require.ErrorIs(l, err, memory.ErrNotFound)
		_, err = l.Resolve(l.Context(), "a1", nightly+"/p2",
			prediction.Verdict{Status: dream.PredictionRight, By: nightly})
		require.ErrorContains(l, err, "it must be person", "no dream resolves anything")
	})
}

func TestAReversedVerdictTakesItsStepBackAndBothAreKept(t *testing.T) {
	onBoth(t, func(l *ledger) {
		_, err := l.Resolve(l.Context(), "a1", nightly+"/p1", says(dream.PredictionRight))
		require.NoError(l, err)
		turned := prediction.Verdict{Status: dream.PredictionWrong, By: dream.ByTool + "bot", Again: true}
		_, err = l.Resolve(l.Context(), "a1", nightly+"/p1", turned)
		require.NoError(l, err)
		require.InDeltaSlice(l, []float64{.15, .15, .2}, l.confidences(), 1e-9)
		require.Equal(l, []string{nightly + ": open", "operator: correct", "tool/bot: incorrect"},
			l.causes(nightly+"/p1"))
		require.Len(l, l.announced(), 6)
		require.Contains(l, l.announced()[3], `"by":"tool/bot","again":true`)
		outcomes, err := review.Outcomes(l.Context(), l.store, "a1")
		require.NoError(l, err)
		require.Len(l, outcomes, 1)
		require.False(l, outcomes[0].Right)
	})
}

func TestConcurrentVerdictsEachMoveTheHypothesis(t *testing.T) {
	onBoth(t, func(l *ledger) {
		var all sync.WaitGroup
		faults := make(chan error, 8)
		for range 4 {
			for _, id := range []string{"p1", "p2"} {
				all.Go(func() {
					_, err := l.Resolve(l.Context(), "a1", nightly+"/"+id, says(dream.PredictionRight))
					faults <- err
				})
			}
		}
		all.Wait()
		close(faults)
		for err := range faults {
			require.NoError(l, err)
		}
		require.InDeltaSlice(l, []float64{.3, .4, .2}, l.confidences(), 1e-9)
		require.Len(l, l.announced(), 2+3)
	})
}

func TestARuleResolvesOnlyThePredictionsThatWatchIt(t *testing.T) {
	onBoth(t, func(l *ledger) {
		ctx := l.Context()
		w := &dream.Watch{Feed: "harbour", Rule: "quay", Means: dream.PredictionWrong}
		for range 2 {
			p, err := l.Watch(ctx, l.agent, nightly+"/p1", w)
			require.NoError(l, err)
			require.True(l, p.Watch.Since.Equal(l.now))
		}
		require.Len(l, l.causes(nightly+"/p1"), 2, "the same watch twice changes nothing")
		n, err := l.ApplyFiredRule(ctx, "a1", "harbour", "quay", "quay of price: 6", l.now.Add(-time.Minute))
		require.NoError(l, err)
		require.Zero(l, n, "it was not watched at that time")
		for want := range 2 {
			// a clock that runs ahead of ours
			n, err = l.ApplyFiredRule(ctx, "a1", "harbour", "quay", "quay of price: 6", l.now.Add(time.Second))
			require.NoError(l, err)
			require.Equal(l, 1-want, n)
		}
		p := l.prediction(nightly + "/p1")
		require.Equal(l, "incorrect rule/harbour/quay the rule fired at 2026-10-20T00:00:01Z (quay of price: 6)",
			strings.Join([]string{p.Status, p.ResolvedBy, p.Evidence}, " "))
		require.Equal(l, dream.PredictionOpen, l.prediction(nightly+"/p2").Status)
		require.InDeltaSlice(l, []float64{.15, .15, .2}, l.confidences(), 1e-9)
		_, err = l.Watch(ctx, l.agent, nightly+"/p1", w)
		require.ErrorIs(l, err, prediction.ErrResolved)
	})
}

func TestOnlyRulesOfTheAgentsFeedCanBeWatched(t *testing.T) {
	onBoth(t, func(l *ledger) {
		ctx := l.Context()
		for _, c := range []struct {
			w    dream.Watch
			is   error
			says string
		}{
			{dream.Watch{Feed: "harbour", Rule: "quay", Means: "maybe"}, nil, `it must mean correct or incorrect`},
			{
				dream.Watch{Feed: "pier", Rule: "quay", Means: dream.PredictionRight},
				memory.ErrNotFound,
				"there is no feed pier",
			},
			{
				dream.Watch{Feed: "harbour", Rule: "gate", Means: dream.PredictionRight},
				memory.ErrNotFound,
				"feed harbour has no rule gate",
			},
		} {
			_, err := l.Watch(ctx, l.agent, nightly+"/p1", &c.w)
			require.ErrorContains(l, err, c.says)
			if c.is != nil {
				require.ErrorIs(l, err, c.is)
			}
		}
		bystander := l.agent
		bystander.Feed = ""
		right := &dream.Watch{Feed: "harbour", Rule: "quay", Means: dream.PredictionRight}
		_, err := l.Watch(ctx, bystander, nightly+"/p1", right)
		require.ErrorIs(l, err, review.ErrNotFollowed)
		_, err = l.Watch(ctx, l.agent, nightly+"/p9", right)
		require.ErrorIs(l, err, memory.ErrNotFound)
		p, err := l.Watch(ctx, l.agent, nightly+"/p1", right)
		require.NoError(l, err)
		require.NotNil(l, p.Watch)
		p, err = l.Watch(ctx, l.agent, nightly+"/p1", nil)
		require.NoError(l, err)
		require.Nil(l, p.Watch)
		l.now = night.AddDate(0, 0, 14)
		_, err = l.Watch(ctx, l.agent, nightly+"/p1", right)
		require.ErrorIs(l, err, review.ErrOverdue)
	})
}

func TestAPassedHorizonResolvesTheOppositeOrNothing(t *testing.T) {
	onBoth(t, func(l *ledger) {
		ctx := l.Context()
		_, err := l.Watch(ctx, l.agent, nightly+"/p1",
			&dream.Watch{Feed: "harbour", Rule: "quay", Means: dream.PredictionWrong})
		require.NoError(l, err)
		lapse := func(want int) {
			l.Helper()
			n, err := l.ResolveOverdue(ctx)
			require.NoError(l, err)
			require.Equal(l, want, n)
		}
		l.now = night.AddDate(0, 0, 14).Add(-1)
		lapse(0)
		l.now = night.AddDate(0, 0, 14)
		lapse(1)
		lapse(0)
		require.Equal(l, dream.PredictionVoid, l.prediction(nightly+"/p2").Status)
		require.Nil(l, l.prediction(nightly+"/p2").Residual)
		require.Equal(l, dream.PredictionOpen, l.prediction(nightly+"/p1").Status, "an alarm may be on its way")
		l.now = l.now.Add(prediction.Grace)
		lapse(1)
		p := l.prediction(nightly + "/p1")
		require.Equal(l, "correct horizon the rule harbour/quay did not fire before its horizon",
			strings.Join([]string{p.Status, p.ResolvedBy, p.Evidence}, " "))
		require.InDeltaSlice(l, []float64{.3, .3, .2}, l.confidences(), 1e-9, "a void prediction moves nothing")
		require.Equal(l, []string{nightly + ": open", "operator: open", "horizon: correct"}, l.causes(nightly+"/p1"))
	})
}

func TestAPassedHorizonWithoutItsFeedIsVoid(t *testing.T) {
	onBoth(t, func(l *ledger) {
		ctx := l.Context()
		for _, id := range []string{"p1", "p2"} {
			_, err := l.Watch(ctx, l.agent, nightly+"/"+id,
				&dream.Watch{Feed: "harbour", Rule: "quay", Means: dream.PredictionRight})
			require.NoError(l, err)
		}
		require.NoError(l, l.store.DropFeed(ctx, "harbour"))
		l.now = night.AddDate(0, 0, 15)
		n, err := l.ResolveOverdue(ctx)
		require.NoError(l, err)
		require.Equal(l, 2, n)
		for _, id := range []string{"p1", "p2"} {
			p := l.prediction(nightly + "/" + id)
			require.Equal(l, dream.PredictionVoid, p.Status)
			require.Contains(l, p.Evidence, "it could not be watched: there is no feed harbour")
		}
	})
}

func TestAPredictionOfAPersonOrToolIsStoredOnce(t *testing.T) {
	onBoth(t, func(l *ledger) {
		ctx := l.Context()
		f := review.PredictionRequest{
			Claim:      " The quay price passes 5. ",
			Criterion:  "The feed says so.",
			Horizon:    l.now.Add(time.Hour),
			Confidence: .6,
			By:         dream.ByTool + "bot",
			Trace:      "It has risen all week.",
			Watch:      &dream.Watch{Feed: "harbour", Rule: "quay", Means: dream.PredictionRight},
		}
		p, fresh, err := l.AddPrediction(ctx, l.agent, f)
		require.NoError(l, err)
		require.True(l, fresh)
		require.Equal(l, []string{dream.Analytical, "The quay price passes 5.", "tool/bot", "tool", ""},
			[]string{p.Source, p.Claim, p.Session, string(p.Taint), p.Dream})
		again, fresh, err := l.AddPrediction(ctx, l.agent, f)
		require.NoError(l, err)
		require.False(l, fresh)
		require.Equal(l, p.ID, again.ID)
		n, err := l.ApplyFiredRule(ctx, "a1", "harbour", "quay", "", l.now.Add(time.Minute))
		require.NoError(l, err)
		require.Equal(l, 1, n)
		require.InDelta(l, .4, *l.prediction(p.ID).Residual, 1e-12, "resolved like a creative one")

		f.Episodes = []string{"e-nobody"}
		_, _, err = l.AddPrediction(ctx, l.agent, f)
		require.ErrorIs(l, err, memory.ErrNotFound)
		_, _, err = l.AddPrediction(ctx, l.agent, review.PredictionRequest{By: dream.ByPerson, Confidence: 2})
		require.ErrorContains(l, err,
			"the claim is empty; it must say what is predicted\nthe criterion is empty; it must say what would show it true or false\nthe confidence is 2;")
	})
}

func TestAForgottenVerdictLeavesNoTrace(t *testing.T) {
	onBoth(t, func(l *ledger) {
		ctx := l.Context()
		_, err := l.Resolve(ctx, "a1", nightly+"/p1", says(dream.PredictionRight))
		require.NoError(l, err)
		_, err = l.store.Forget(ctx, "a1", nightly+"/p1")
		require.NoError(l, err)
		h, err := memory.One[*dream.Hypothesis](ctx, l.store, "a1", nightly+"/h1")
		require.NoError(l, err)
		require.Empty(l, h.Confirmed)
		require.Empty(l, h.Sources)
	})
}

// crowded is a store in which another writer is always first.
type crowded struct{ memory.Store }

func (crowded) Commit(context.Context, memory.Write) (memory.Receipt, error) {
	return memory.Receipt{}, memory.ErrStale
}

// silent cannot read the predictions of one agent.
type silent struct {
	memory.Store
	of string
}

func (s silent) Find(ctx context.Context, q memory.Query) ([]dream.Item, error) {
	if q.Agent == s.of {
		return nil, errors.New("the disk is full")
	}
	return s.Store.Find(ctx, q)
}

func TestAnAgentThatCannotBeReadDoesNotDelayOthers(t *testing.T) {
	onBoth(t, func(l *ledger) {
		ctx := l.Context()
		require.NoError(l, l.store.PutAgent(ctx, dream.Agent{ID: "a0", Handle: "ada", Zone: "UTC"}))
		l.now, l.Memory = night.AddDate(0, 0, 15), silent{l.store, "a0"}
		n, err := l.ResolveOverdue(ctx)
		require.ErrorContains(l, err, "read the open predictions of a0: the disk is full")
		require.Equal(l, 2, n)
		l.Memory = crowded{l.store}
		_, err = l.Resolve(ctx, "a1", nightly+"/p1",
			prediction.Verdict{Status: dream.PredictionRight, By: dream.ByPerson, Again: true})
		require.ErrorIs(l, err, memory.ErrStale, "the retries are limited")
	})
}

func TestOnlyTheReckoningResolvesPredictions(t *testing.T) {
	t.Parallel()
	require.Equal(t, "PredictionResolved", event.PredictionResolved{}.EventType())
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "resolve") {
			continue
		}
		source, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, word := range []string{
			"prediction.Resolve", "dream.PredictionRight", "dream.PredictionWrong",
			"ResolvedAt", "Reckon(",
		} {
			if path == "feed.go" && word == "Reckon(" {
				continue // readings of feeds resolve predictions there
			}
			if path == "depth.go" && word == "ResolvedAt" {
				continue // reads when an outcome was known, and writes nothing
			}
			require.NotContains(t, string(source), word, "%s: no activity of a dream resolves a prediction", path)
		}
	}
}

func TestAFragmentsPredictionIsReturnedWithItsClaim(t *testing.T) {
	onBoth(t, func(l *ledger) {
		fragment := &dream.Fragment{Head: dream.Head{
			ID:    nightly + "/f7",
			Agent: "a1",
			Kind:  dream.KindFragment,
			At:    night,
			State: dream.Live,
			Taint: dream.FromDream,
			Dream: nightly,
		}, Content: "The vane sticks because the bearing dries."}
		p := &dream.Prediction{
			Head: dream.Head{
				ID:    nightly + "/p7",
				Agent: "a1",
				Kind:  dream.KindPrediction,
				At:    night,
				State: dream.Live,
				Taint: dream.FromDream,
				Dream: nightly,
			},
			Source: dream.Creative, Fragment: fragment.ID, Criterion: "it is seen", Horizon: night.AddDate(0, 0, 14),
			Confidence: .3, Status: dream.PredictionOpen,
		}
		_, err := l.store.Commit(l.Context(), memory.Write{Agent: "a1", Cause: nightly, Add: []dream.Item{fragment, p}})
		require.NoError(l, err)
		watched, err := l.Watch(l.Context(), l.agent, p.ID,
			&dream.Watch{Feed: "harbour", Rule: "quay", Means: dream.PredictionRight})
		require.NoError(l, err)
		require.Equal(l, fragment.Content, watched.Claim)
		for range 2 { // the second time changes nothing
			resolved, err := l.Resolve(l.Context(), "a1", p.ID, says(dream.PredictionRight))
			require.NoError(l, err)
			require.Equal(l, fragment.Content, resolved.Prediction.Claim)
		}
		require.Empty(l, l.prediction(p.ID).Claim, "the claim is not stored in the prediction")
	})
}
