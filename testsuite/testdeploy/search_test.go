package testdeploy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/prediction"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/chaos"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
)

// scoringProxy stands in front of a scripted provider and answers the calls that score scenarios with given scores,
// by step; other calls pass through. It records what it was asked to score.
type scoringProxy struct {
	scores  map[string][]float64
	mu      sync.Mutex
	weighed []string
}

func (j *scoringProxy) before(t *testing.T, behind string) string {
	t.Helper()
	to, err := url.Parse(strings.TrimSuffix(behind, "/v1"))
	require.NoError(t, err)
	honest := httputil.NewSingleHostReverseProxy(to)
	honest.FlushInterval = -1
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _ := chaos.ReadKey(r.Header.Get("Idempotency-Key"))
		scores, reported := j.scores[c.Activity]
		if c.Phase != dream.REM || !reported {
			honest.ServeHTTP(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		j.mu.Lock()
		j.weighed = append(j.weighed, c.Activity)
		j.mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		chunk := func(v map[string]any) {
			v["id"], v["object"], v["model"] = "j", "chat.completion.chunk", "script"
			line, _ := json.Marshal(v)
			_, _ = fmt.Fprintf(w, "data: %s\n\n", line)
		}
		text := answerOf(scores)
		chunk(
			map[string]any{
				"choices": []any{
					map[string]any{"index": 0, "delta": map[string]any{"content": text}, "finish_reason": nil},
				},
			})
		chunk(
			map[string]any{
				"choices": []any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": "stop"}},
			})
		chunk(
			map[string]any{
				"choices": []any{},
				"usage":   map[string]any{"prompt_tokens": len(body) / 3, "completion_tokens": len(text) / 2},
			})
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

func answerOf(scores []float64) string {
	var lines []string
	for i, score := range scores {
		lines = append(lines,
			fmt.Sprintf(`{"ref":"s%d","novelty":%v,"plausible":%v,"matters":%v,"reason":"as told"}`, i+1, score,
				score, score))
	}
	return `{"scores":[` + strings.Join(lines, ",") + `]}`
}

// searchNight dreams one night whose scenarios get the given scores, and returns what REM made of it.
func searchNight(t *testing.T, name string, scores map[string][]float64, edit func(*testdeploy.Config),
	w starter.DreamRequest,
) ([]*dream.Scenario, dream.Tally, *testdeploy.Deployment, dream.Agent) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	p := billedProvider(t, provider.Options{Seed: 1})
	judge := &scoringProxy{scores: scores}
	deployment := open(t, func(config *testdeploy.Config) {
		config.Provider = judge.before(t, p.URL)
		// The provider's words stand in no order. So few memories teach none, and the judge's scores count as they are.
		config.Knobs.Recent, config.Knobs.Salient = 10, 0
		if edit != nil {
			edit(config)
		}
	})
	agent, err := deployment.AddAgent(ctx, 1, name)
	require.NoError(t, err)
	seed := uint64(7)
	w.Agent, w.Seed, w.AsOf = agent.Handle, &seed, testdeploy.Night
	begun, err := deployment.Starter.Begin(ctx, w)
	require.NoError(t, err)
	result, err := deployment.Result(ctx, begun.Dream)
	require.NoError(t, err)
	require.Equal(t, dream.Completed, result.Outcome, result.Reason)
	items, err := deployment.Store.Find(ctx,
		memory.Query{
			Agent: agent.ID, Dream: begun.Dream, Kinds: []dream.Kind{dream.KindScenario},
			Sort: memory.Oldest,
		})
	require.NoError(t, err)
	all := make([]*dream.Scenario, len(items))
	for _, s := range memory.As[*dream.Scenario](items) {
		require.Positive(t, s.Turn)
		require.LessOrEqual(t, s.Turn, len(items), "no scenario was lost")
		all[s.Turn-1] = s
	}
	for _, tally := range result.Tallies {
		if tally.Phase == dream.REM {
			return all, tally, deployment, agent
		}
	}
	require.Fail(t, "the night had no REM")
	return nil, dream.Tally{}, nil, agent
}

func TestANightsSearchMergesTurnsBackAndKeepsTheBest(t *testing.T) {
	t.Parallel()
	needsServer(t)
	all, tally, deployment, agent := searchNight(t, "searcher", map[string][]float64{
		"weigh": {.6, .5, .4}, "weigh-2": {.7, .2}, "weigh-3": {.9, .3},
	}, nil, starter.DreamRequest{})
	ops := make([]string, len(all))
	for i, s := range all {
		ops[i] = fmt.Sprintf("%d %s", s.Round, s.Operation)
		for _, parent := range s.Parents {
			ops[i] += " " + parent[strings.LastIndex(parent, "/")+1:]
		}
	}
	require.Equal(t, []string{
		"1 branch", "1 branch", "1 branch",
		"2 merge 1 2", "2 refine 1",
		"3 merge 4 3", "3 refine 4", // 5 was dropped, and 3, the best outside the beam, took its place
	}, ops)
	t.Logf("%d calls, %d tokens in, %d out, %s of %s", tally.Calls, tally.In, tally.Out, tally.Spent, tally.Cap)
	require.Equal(t, "ran", tally.State, tally.Reason)
	require.Equal(t, 10, tally.Calls, "three branches, two moves in each of two rounds, three scorings")
	require.Equal(t, []int{7, 1}, []int{tally.Made, tally.Kept})
	require.Contains(t, all[4].Reason, "left: it scored 0.20")
	require.Contains(t, all[6].Reason, "left: it scored 0.30")
	require.True(t, all[5].Kept)
	require.InDelta(t, .9, all[5].Score, 1e-9)
	require.Equal(t, hypnagogia.StopRounds,
		hypnagogia.SearchOf(all).Next(hypnagogia.SearchLimits{Branches: 3, Beam: 2, Rounds: 3, Seeds: 9},
			hypnagogia.SearchBudget{Left: budget.Unlimited}).Stop)
	ctx := context.Background()
	for i, s := range all {
		items, err := deployment.Store.Get(ctx, agent.ID, s.ID+"/p")
		require.NoError(t, err)
		for _, p := range memory.As[*dream.Prediction](items) {
			require.InDelta(t, prediction.Clamp(dream.REM, p.Confidence), p.Confidence, 1e-9)
		}
		require.Len(t, items, 1, "scenario %d has a prediction", i+1)
	}
	seeds, err := deployment.Store.Get(ctx, agent.ID, all[5].Develops()...)
	require.NoError(t, err)
	require.Len(t, seeds, 3, "a merge of three branches has the seeds of all three")
	for _, f := range memory.As[*dream.Fragment](seeds) {
		require.NotEqual(t, dream.FragmentRaw, f.Status)
		require.Equal(t, all[5].ID, f.Scenario)
	}
}

func TestANightsSearchStopsWhenAnotherRoundMightCostTooMuch(t *testing.T) {
	t.Parallel()
	needsServer(t)
	little := budget.Dollar / 10
	all, tally, deployment, _ := searchNight(
		t,
		"thrifty",
		map[string][]float64{
			"weigh":   {.6, .5, .4},
			"weigh-2": {.7, .65},
			"weigh-3": {.8, .8},
		},
		func(config *testdeploy.Config) {
			config.Knobs.Shares = budget.Shares{
				Onset:       10,
				NREM:        40,
				REM:         4,
				Integration: 41,
				Return:      5,
			}
			config.Knobs.RemRounds = 8
		},
		starter.DreamRequest{Budget: &little},
	)
	require.Equal(t, "ran", tally.State, "it stopped before its cap, and did not meet it: %s", tally.Reason)
	require.LessOrEqual(t, tally.Spent, tally.Cap)
	last := all[len(all)-1].Round
	t.Logf("%d scenarios in %d rounds, %d calls, %s of %s", len(all), last, tally.Calls, tally.Spent, tally.Cap)
	require.Less(t, last, 8)
	require.Positive(t, tally.Kept)
	for _, s := range all {
		require.NotNil(t, s.Worth, "every scenario that was paid for has a score")
	}
	rows := rowsOf(t, context.Background(), deployment, all[0].Dream)
	for _, row := range rows {
		if strings.Contains(row.Step, "/rem/") {
			require.NotEqual(t, "refused", string(row.State), row.Step)
		}
	}
}
