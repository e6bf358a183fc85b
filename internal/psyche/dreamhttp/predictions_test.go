package dreamhttp_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/internal/review"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

// observer is a model that finds the boat sunk, and counts its calls.
type observer struct{ calls atomic.Int64 }

func (m *observer) Generate(context.Context, inference.Request, func(string) bool) (inference.Answer, error) {
	m.calls.Add(1)
	return inference.Answer{
		Text: `{"outcomes":[{"ref":"p1","verdict":"correct","memory":"e1",` +
			`"quotation":"The old boat sank in the harbour."}]}`,
		Finish:    inference.Stopped,
		Tokens:    budget.Tokens{In: 1000, Out: 40},
		UsageFrom: inference.ByProvider,
	}, nil
}

func (m *observer) Embed(context.Context, string, []string, string) (inference.Vectors, error) {
	return inference.Vectors{}, errors.New("it does not embed")
}

// observed gives the rig's judge a model.
func (r *rig) observed() *observer {
	r.t.Helper()
	model, price := &observer{}, budget.Price{In: 1_000_000, Out: 1_000_000}
	var ledger spend.Ledger
	switch s := r.store.(type) {
	case *sqlitestore.Store:
		ledger = s.Ledger()
	case *redisstore.Store:
		ledger = s.Ledger()
	}
	r.handler.Dreams.Judge = func() review.Judge {
		return review.Judge{
			Resolver: review.Resolver{
				Memory: r.store,
				Now:    r.now,
				Rules:  dream.PredictionRules{JudgeDaily: 20_000},
			},
			Guard: &spend.Guard{
				Ledger: ledger,
				Model:  model,
				Now:    r.now,
				Catalog: inference.Table{"house/small": {
					Name:           "house/small",
					Provider:       "house",
					Wire:           "small",
					Price:          &price,
					Context:        8000,
					MaxTemperature: 2,
					JSON:           inference.JSONSchema,
					Judges:         true,
				}},
			},
			Model:  "house/small",
			Holder: "test",
		}
	}
	return model
}

// foretold puts a prediction of a day ago into the store.
func (r *rig) foretold(id, claim string, check *dream.Check) {
	r.t.Helper()
	p := &dream.Prediction{
		Head:       head(id, dream.KindPrediction, ""),
		Claim:      claim,
		Criterion:  "Somebody says so.",
		Horizon:    dawn.AddDate(0, 0, 7),
		Confidence: .3,
		Status:     dream.PredictionOpen,
		Check:      check,
	}
	p.At, p.Taint = dawn.AddDate(0, 0, -1), dream.FromHuman
	r.keep("id-iris", p)
}

func TestACheckResolvesWhatWasLivedAndSaysWhatItCost(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, r *rig) {
		model := r.observed()
		r.foretold("pr_leak", "It leaks.", &dream.Check{Then: "leak"})
		r.foretold("pr_boat", "The old boat sinks.", nil)
		e := &dream.Episode{
			Head:    head("ep_1", dream.KindEpisode, ""),
			Content: "There is a leak. The old boat sank in the harbour.",
		}
		e.At, e.Taint = dawn.Add(-time.Hour), dream.FromHuman
		r.keep("id-iris", e)

		const path = "/v1/agents/iris/predictions/check"
		looked := as[psyche.PredictionCheck](t, r.post(operator, path, `{"look_only":true}`), 200)
		require.Equal(t, "prediction_check", looked.Object)
		require.Equal(t, "iris", looked.Agent)
		require.Len(t, looked.Decided, 1)
		require.Equal(t, "pr_leak", looked.Decided[0].ID)
		require.Equal(t, dream.PredictionRight, looked.Decided[0].Status)
		require.Nil(t, looked.Judged)
		require.Zero(t, model.calls.Load())

		judged := as[psyche.PredictionCheck](t, r.post(operator, path, ""), 200)
		require.Len(t, judged.Decided, 1)
		require.Equal(t, "pr_boat", judged.Decided[0].ID)
		require.Equal(t, "judge/house/small", judged.Decided[0].ResolvedBy)
		require.Equal(t, &psyche.PredictionJudging{
			Model:    "house/small",
			Compared: 1,
			Calls:    1,
			Cost:     1040,
			Ignored:  []review.IgnoredVerdict{},
		}, judged.Judged)
		again := as[psyche.PredictionCheck](t, r.post(operator, path, "{}"), 200)
		require.Empty(t, again.Decided)
		require.Zero(t, again.Judged.Calls)
		require.EqualValues(t, 1, model.calls.Load())
	})
}

func TestACheckIsForOperatorsOfItsAgentAndTakesOneField(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, r *rig) {
		model := r.observed()
		far, secret := access.New("far", access.Operator, []string{"tally_0001"}, dawn)
		require.NoError(t, r.store.PutKey(t.Context(), far))
		r.keys["far"] = secret
		r.foretold("pr_boat", "The old boat sinks.", nil)
		const path = "/v1/agents/iris/predictions/check"
		refused(t, r.post(client, path, ""), 403, "role_too_low", "", "operator")
		refused(t, r.post("far", path, ""), 404, "agent_not_found", "agent", "iris")
		refused(t, r.post(operator, "/v1/agents/nobody/predictions/check", ""), 404, "agent_not_found", "agent", "nobody")
		for body, want := range map[string][2]string{
			`{"look_only":"yes"}`:                     {"look_only", "look_only must be true or false"},
			`{"model":"house/small"}`:                 {"model", "fields are look_only"},
			`{"look_only":true,"look_only":false}`:    {"look_only", "given twice"},
			`{"look_only":1,"agent":"iris","a":null}`: {"a", "look_only must be true or false"},
		} {
			refused(t, r.post(operator, path, body), 400, "invalid_value", want[0], want[1])
		}
		refused(t, r.post(operator, path, "[]"), 400, "invalid_json", "", "no JSON object")
		require.Zero(t, model.calls.Load())
	})
}

func TestAVerdictByHandMovesHypothesesAndIsGivenOnce(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, r *rig) {
		r.foretold("pr_boat", "The old boat sinks.", nil)
		r.keep("id-iris", &dream.Hypothesis{
			Head:       head("h_boat", dream.KindHypothesis, ""),
			Claim:      "The sea takes what is old.",
			Confidence: .2,
			Status:     dream.HypothesisStaged,
		})
		h := &dream.Hypothesis{
			Head:       head("h_wood", dream.KindHypothesis, ""),
			Claim:      "Wood gives way.",
			Confidence: .2,
			Status:     dream.HypothesisStaged,
		}
		h.Sources = []string{"pr_boat"}
		r.keep("id-iris", h)

		const path = "/v1/agents/iris/predictions/resolve"
		const sank = `{"id":"pr_boat","verdict":"correct","because":"It sank on Sunday."}`
		done := as[psyche.PredictionResolution](t, r.post(operator, path, sank), 200)
		require.Equal(t, "prediction_resolution", done.Object)
		require.Equal(t, "iris", done.Agent)
		require.True(t, done.Changed)
		require.Equal(t, dream.PredictionRight, done.Prediction.Status)
		require.Equal(t, dream.ByPerson, done.Prediction.ResolvedBy)
		require.Equal(t, "It sank on Sunday.", done.Prediction.Evidence)
		require.InDelta(t, .7, *done.Prediction.Residual, 1e-9)
		require.Len(t, done.Moved, 1)
		require.Equal(t, "h_wood", done.Moved[0].ID)
		require.InDelta(t, .3, done.Moved[0].Confidence, 1e-9)

		again := as[psyche.PredictionResolution](t, r.post(operator, path, sank), 200)
		require.False(t, again.Changed)
		require.Empty(t, again.Moved)

		const wrong = `{"id":"pr_boat","verdict":"incorrect"`
		refused(t, r.post(operator, path, wrong+"}"), 409, "prediction_resolved", "", "resolved already as correct by person")
		turned := as[psyche.PredictionResolution](t, r.post(operator, path, wrong+`,"again":true,"tool":"sonar"}`), 200)
		require.Equal(t, dream.PredictionWrong, turned.Prediction.Status)
		require.Equal(t, "tool/sonar", turned.Prediction.ResolvedBy)
		require.InDelta(t, .15, turned.Moved[0].Confidence, 1e-9, "the first step is taken back")
	})
}

func TestAVerdictByHandIsForOperatorsAndNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, r *rig) {
		far, secret := access.New("far", access.Operator, []string{"tally_0001"}, dawn)
		require.NoError(t, r.store.PutKey(t.Context(), far))
		r.keys["far"] = secret
		r.foretold("pr_boat", "The old boat sinks.", nil)
		r.foretold("pr_undone", "The new boat sinks.", nil)
		undone, err := memory.One[*dream.Prediction](t.Context(), r.store, "id-iris", "pr_undone")
		require.NoError(t, err)
		undone.State = dream.Archived
		_, err = r.store.Commit(t.Context(),
			memory.Write{Agent: "id-iris", Cause: "test", Change: []dream.Item{undone}})
		require.NoError(t, err)

		const path, fine = "/v1/agents/iris/predictions/resolve", `{"id":"pr_boat","verdict":"void"}`
		refused(t, r.post(client, path, fine), 403, "role_too_low", "", "operator")
		refused(t, r.post("far", path, fine), 404, "agent_not_found", "agent", "iris")
		refused(t, r.post(operator, path, `{"id":"pr_none","verdict":"void"}`), 404, "prediction_not_found", "id",
			`iris has no prediction "pr_none"`)
		refused(t, r.post(operator, path, `{"id":"pr_undone","verdict":"void"}`), 409, "prediction_undone", "",
			"the dream that made it was undone")
		for body, want := range map[string][2]string{
			`{"verdict":"void"}`:                         {"id", "id is missing"},
			`{"id":"pr_boat"}`:                           {"verdict", `verdict is ""; it must be correct, incorrect or void`},
			`{"id":"pr_boat","verdict":"yes"}`:           {"verdict", `verdict is "yes"; it must be correct, incorrect or void`},
			`{"id":"pr_boat","verdict":true}`:            {"verdict", "verdict must be a string"},
			`{"id":"pr_boat","verdict":"void","note":1}`: {"note", "fields are again, because, id, tool, verdict"},
			`{"id":"pr_boat","verdict":"void","tool":"My Tool"}`: {
				"tool", `tool is "My Tool"; a tool's name is made of a-z, 0-9, - and _, 32 at most`,
			},
			`{"id":"pr_boat","verdict":"void","because":"` + strings.Repeat("x", 2001) + `"}`: {
				"because", "because is 2001 bytes long; 2000 at most",
			},
		} {
			refused(t, r.post(operator, path, body), 400, "invalid_value", want[0], want[1])
		}
		p, err := memory.One[*dream.Prediction](t.Context(), r.store, "id-iris", "pr_boat")
		require.NoError(t, err)
		require.Equal(t, dream.PredictionOpen, p.Status)
	})
}

func TestAClaimIsExplainedWithTheSentencesBehindIt(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, r *rig) {
		r.foretold("pr_leak", "A storm brings a leak.", nil)
		e := &dream.Episode{
			Head:    head("ep_1", dream.KindEpisode, ""),
			Content: "We had soup. After the storm there was a leak. Then we slept.",
		}
		r.keep("id-iris", e)
		c := &dream.Claim{
			Head:   head("cl_1", dream.KindClaim, ""),
			Check:  dream.Check{When: "storm", Then: "leak"},
			Says:   "Where storm comes up, leak comes up too.",
			Status: dream.ClaimTried,
			Hits:   1,
			Chance: .1,
			Wealth: 3,
			Outcomes: []dream.ClaimOutcome{
				{At: dawn, Right: true, Evidence: []string{"ep_1", "ep_forgotten"}, Wealth: 3},
			},
		}
		c.Sources = []string{"pr_leak"}
		r.keep("id-iris", c)
		const path = "/v1/agents/iris/claims/cl_1"
		found := as[psyche.ClaimExplanation](t, r.get(operator, path), 200)
		require.Equal(t, "claim_explanation", found.Object)
		require.Equal(t, c.Outcomes, found.Claim.Outcomes)
		require.Equal(t, []review.SourceText{{ID: "pr_leak", Text: "A storm brings a leak."}}, found.SaidBy)
		require.Equal(t, []review.SourceText{
			{ID: "ep_1", Text: "After the storm there was a leak."}, {ID: "ep_forgotten"},
		}, found.Evidence)
		refused(t, r.get(client, path), 403, "role_too_low", "", "operator")
		refused(t, r.get(operator, "/v1/agents/iris/claims/cl_2"), 404, "claim_not_found", "claim", `iris has no claim "cl_2"`)
	})
}

func TestHypothesesAreListedAndExplained(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, r *rig) {
		r.foretold("pr_boat", "The old boat sinks.", nil)
		hypothesis := func(id, status string, confidence float64) *dream.Hypothesis {
			return &dream.Hypothesis{
				Head:       head(id, dream.KindHypothesis, ""),
				Claim:      "Wood gives way.",
				Confidence: confidence,
				Status:     status,
			}
		}
		const staged = "dream/iris/0001/integration/1"
		h := hypothesis(staged, dream.HypothesisStaged, .2)
		h.Confirmed = []string{"pr_boat"}
		h.Outcomes = []dream.HypothesisOutcome{
			{Prediction: "pr_boat", Right: true, At: dawn, Dependent: "its sources were guessed"},
		}
		lapsed := hypothesis("h_lapsed", dream.HypothesisLapsed, .3)
		lapsed.State, lapsed.Reason = dream.Archived, "it had no outcome for 90 days"
		undone := hypothesis("h_undone", dream.HypothesisStaged, .3)
		undone.State = dream.Archived
		for _, each := range []*dream.Hypothesis{h, hypothesis("h_promoted", dream.HypothesisPromoted, .8), lapsed, undone} {
			r.keep("id-iris", each)
		}
		const path = "/v1/agents/iris/hypotheses"
		for query, want := range map[string][]string{
			"":                          {"h_promoted", staged},
			"?limit=1":                  {"h_promoted"},
			"?limit=1&after=h_promoted": {staged},
			"?status=staged":            {staged},
			"?status=lapsed":            {"h_lapsed"},
			"?status=refuted":           nil,
		} {
			var ids []string
			for _, found := range as[psyche.Page[*dream.Hypothesis]](t, r.get(operator, path+query), 200).Data {
				ids = append(ids, found.ID)
			}
			require.Equal(t, want, ids, query)
		}
		one := path + "/dream%2Firis%2F0001%2Fintegration%2F1"
		e := as[psyche.HypothesisExplanation](t, r.get(operator, one), 200)
		require.Equal(t, "hypothesis_explanation", e.Object)
		require.Equal(t, staged, e.Hypothesis.ID)
		require.Equal(t, []int{0, 0}, []int{e.Held, e.Of}, "a guessed source gives no independence")
		require.True(t, e.Independent)
		require.Contains(t, e.Awaits, "it is not promoted")
		require.Equal(t, []review.SourceText{{ID: "pr_boat", Text: "The old boat sinks."}}, e.Predictions)
		require.Empty(t, e.Claims)
		refused(t, r.get(client, one), 403, "role_too_low", "", "operator")
		refused(t, r.get(operator, path+"/h_none"), 404, "hypothesis_not_found", "hypothesis", `iris has no hypothesis "h_none"`)
	})
}
