package review_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/review"
)

func TestAgentsAreJudgedWhenTheirEpisodesChangeAndBeforeAHorizon(t *testing.T) {
	onBoth(t, func(l *scene) {
		c := l.court(budget.Price{})
		id := c.claims("The old boat sinks.")
		c.model.answer = says(outcome{"p1", "open", "", ""})
		queue := &review.JudgeQueue{Judge: c.Judge}
		queue.Now = func() time.Time { return c.now }
		checker := &review.Checker{Resolver: c.scene.Resolver, Changed: queue.Changed}
		checker.Now = queue.Now
		pass := func(at time.Duration, calls int) {
			l.Helper()
			c.now = evening.Add(at)
			_, err := checker.Pass(l.Context(), []dream.Agent{c.agent})
			require.NoError(l, err)
			before := c.model.calls()
			require.NoError(l, queue.Pass(l.Context()))
			require.Equal(l, calls, c.model.calls()-before)
		}
		pass(day, 0)
		c.lives("ep_1", 1, dream.FromHuman, "The old boat sails.")
		pass(day+59*time.Minute, 0)
		pass(day+60*time.Minute, 1)
		pass(day+180*time.Minute, 0) // nothing has come since
		c.lives("ep_2", 6, dream.FromHuman, "The old boat still sails.")
		c.model.answer = func(inference.Request) (string, error) {
			return "", &inference.Failure{Kind: inference.Unavailable}
		}
		pass(7*day-time.Minute, 1)
		pass(7*day+3*time.Minute, 0) // a provider that is away is not asked every minute
		c.model.answer = says(outcome{"p1", "open", "", ""})
		pass(7*day+4*time.Minute, 1)

		// what comes within the hour is judged once the horizon has passed
		c.lives("ep_3", 6.999, dream.FromHuman, "The old boat sank.")
		c.model.answer = says(outcome{"p1", "correct", "e1", "The old boat sank."})
		pass(7*day+8*time.Minute, 0)
		pass(7*day+9*time.Minute, 1)
		require.Equal(l, dream.PredictionRight, c.read(id).Status)
	})
}

func TestAnAgentWhoseObserverCannotJudgeIsNotQueued(t *testing.T) {
	onBoth(t, func(l *scene) {
		c := l.court(budget.Price{})
		id := c.claims("The old boat sinks.")
		c.lives("ep_1", 1, dream.FromHuman, "The old boat sank.")
		c.now = evening.Add(2 * day)
		queue := &review.JudgeQueue{Judge: c.Judge}
		c.agent.Models = map[dream.Role]string{dream.Observer: "builtin/associative"}
		queue.Changed(c.agent)
		require.NoError(l, queue.Pass(l.Context()))
		require.Equal(l, dream.PredictionOpen, c.read(id).Status)
		require.Zero(l, c.model.calls())
	})
}

func TestTheSlowModelOfOneAgentDelaysNoOther(t *testing.T) {
	onBoth(t, func(l *scene) {
		c := l.court(budget.Price{})
		c.claims("The old boat sinks.")
		c.lives("ep_1", 1, dream.FromHuman, "The old boat sank.")
		quick := dream.Agent{ID: "a2", Handle: "quick", Zone: "UTC", Caps: c.agent.Caps}
		require.NoError(l, c.store.PutAgent(l.Context(), quick))
		_, _, err := c.scene.AddPrediction(l.Context(), quick, review.PredictionRequest{
			Claim:      "The new vane turns.",
			Criterion:  "Somebody says so.",
			Horizon:    evening.Add(7 * day),
			Confidence: .3,
			By:         dream.ByPerson,
		})
		require.NoError(l, err)
		episode := &dream.Episode{
			Head: dream.Head{
				ID:    "ep_2",
				Agent: "a2",
				Kind:  dream.KindEpisode,
				At:    evening.Add(day),
				State: dream.Live,
				Taint: dream.FromHuman,
			},
			Content: "The new vane turned.",
		}
		_, err = c.store.Commit(l.Context(), memory.Write{Agent: "a2", Cause: "test", Add: []dream.Item{episode}})
		require.NoError(l, err)

		requested, answer := make(chan struct{}), make(chan struct{})
		c.model.answer = func(r inference.Request) (string, error) {
			if strings.Contains(r.Messages[1].Content, "The old boat sinks.") {
				close(requested)
				<-answer
			}
			return says(outcome{"p1", "open", "", ""})(r)
		}
		c.now = evening.Add(2 * day)
		judged := make(chan string, 2)
		queue := &review.JudgeQueue{Judge: c.Judge, Report: func(a dream.Agent, done review.Judgement) {
			if done.Compared == 1 {
				judged <- a.Handle
			}
		}}
		queue.Changed(c.agent)
		ctx, cancel := context.WithCancel(l.Context())
		ticks, over := make(chan time.Time), make(chan struct{})
		go func() {
			defer close(over)
			queue.Run(ctx, ticks, func(err error) { l.Error(err) })
		}()
		<-requested // the first pass waits for its answer
		queue.Changed(quick)
		ticks <- c.now
		require.Equal(l, "quick", <-judged)
		ticks <- c.now
		close(answer)
		require.Equal(l, "echo", <-judged, "and the slow one is asked once")
		cancel()
		<-over
		require.Equal(l, 2, c.model.calls())
	})
}
