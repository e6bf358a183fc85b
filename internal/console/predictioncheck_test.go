package console_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/review"
)

// quoting is a model that says of two predictions what it is given.
type quoting struct{ answer string }

func (m quoting) Generate(context.Context, inference.Request, func(string) bool) (inference.Answer, error) {
	return inference.Answer{
		Text: m.answer, Finish: inference.Stopped, UsageFrom: inference.ByProvider,
		Tokens: budget.Tokens{In: 900, Out: 100},
	}, nil
}

func (m quoting) Embed(context.Context, string, []string, string) (inference.Vectors, error) {
	return inference.Vectors{}, errNotSet
}

// judging sets the judge of the next commands.
func (d *fixture) judging(model, answer string) {
	d.resolves = dream.PredictionRules{JudgeDaily: 20_000}
	d.judge = func() review.Judge {
		return review.Judge{
			Resolver: review.Resolver{Memory: d.store, Now: func() time.Time { return now }, Rules: d.resolves},
			Guard: &spend.Guard{
				Ledger: d.store.Ledger(), Model: quoting{answer}, Now: func() time.Time { return now },
				Catalog: inference.Table{
					"house/small": {
						Name: "house/small", Price: &budget.Price{In: 150_000, Out: 600_000}, Judges: true,
						JSON: inference.JSONSchema,
					},
					"builtin/associative": models["builtin/associative"],
				},
			},
			Model: model, Holder: "console",
		}
	}
}

func TestProseIsJudgedByHand(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	require.NoError(t, d.store.PutAgent(t.Context(), dream.Agent{ID: "a1", Handle: "iris", Zone: "UTC"}))
	made := now.Add(-48 * time.Hour)
	for _, id := range []string{"pr_1", "pr_2"} {
		_, err := d.store.Commit(t.Context(), memory.Write{Agent: "a1", Cause: "test", Add: []dream.Item{&dream.Prediction{
			Head: dream.Head{
				ID:    id,
				Agent: "a1",
				Kind:  dream.KindPrediction,
				At:    made,
				State: dream.Live,
				Taint: dream.FromHuman,
			},
			Source: dream.Analytical, Claim: "The old boat sinks.", Criterion: "Somebody says so.", Confidence: .3,
			Horizon: now.Add(48 * time.Hour), Session: dream.ByPerson, Status: dream.PredictionOpen,
		}}})
		require.NoError(t, err)
	}
	_, err := d.store.Commit(t.Context(), memory.Write{Agent: "a1", Cause: "test", Add: []dream.Item{&dream.Episode{
		Head: dream.Head{
			ID:    "ep_1",
			Agent: "a1",
			Kind:  dream.KindEpisode,
			At:    now.Add(-24 * time.Hour),
			State: dream.Live,
			Taint: dream.FromHuman,
		},
		Content: "The old boat sank in the night.",
	}}})
	require.NoError(t, err)

	d.judging("builtin/associative", "")
	d.ok(80, "predictions", "check", "-a", "iris")
	d.golden("predictions-check-builtin-80")
	const answer = `{"outcomes":[
		{"ref":"p1","verdict":"correct","memory":"e1","quotation":"The old boat sank in the night."},
		{"ref":"p2","verdict":"correct","memory":"e1","quotation":"The old boat … night."}]}`
	d.judging("house/small", answer)
	d.ok(80, "predictions", "check", "-a", "iris", "--look-only", "--json")
	require.JSONEq(t, `{"decided":[]}`, d.out.String())
	d.ok(80, "predictions", "check", "-a", "iris")
	d.golden("predictions-check-judged-80")
	d.ok(80, "predictions", "show", "pr_1", "-a", "iris")
	require.Contains(t, d.out.String(), "judge/house/small")
	require.Contains(t, d.out.String(), `"The old boat sank in the night." (ep_1)`)
	d.ok(0, "predictions", "check", "-a", "iris", "--json")
	var got struct{ Judged review.Judgement }
	require.NoError(t, json.Unmarshal(d.out.Bytes(), &got))
	require.Zero(t, got.Judged.Calls)
	d.ok(80, "spend", "-a", "iris", "--by", "phase", "--phase", "judge")
	d.golden("spend-judge-80")
	require.Equal(t, exit.Usage, d.run(80, "spend", "--phase", "sleep"))
	require.Contains(t, d.err.String(), "judge")
}
