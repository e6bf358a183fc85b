package activities_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/integration"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/claims"
)

var gullsBeforeRain = dream.Check{When: "gulls", Then: "rain", Within: 24 * time.Hour}

// foretells adds a prediction of a dream, in prose or with a check.
func (r *rig) foretells(s activities.Stretch, id string, check *dream.Check) string {
	r.t.Helper()
	h := newRun(r.ports, r.spec(1, tonight), s).Head(dream.NREM, dream.KindPrediction, id, []string{"e1"})
	p := &dream.Prediction{
		Head:       h,
		Source:     dream.Creative,
		Claim:      "gulls, " + id,
		Horizon:    tonight.Add(14 * 24 * time.Hour),
		Confidence: .3,
		Session:    s.Dream,
		Status:     dream.PredictionOpen,
		Check:      check,
	}
	_, err := r.store.Commit(context.Background(), memory.Write{Agent: "a", Cause: s.Dream, Add: []dream.Item{p}})
	require.NoError(r.t, err)
	return h.ID
}

// consolidates runs integration twice, as after a crash, over items with the references r1, r2, …
func (r *rig) consolidates(s activities.Stretch, items []string, answer string) []*dream.Hypothesis {
	r.t.Helper()
	ctx := context.Background()
	r.model.say["hypotheses"] = answer
	for range 2 {
		_, err := (&integration.Integration{Ports: r.ports}).Consolidate(ctx,
			activities.ConsolidateRequest{StepRequest: step(s, .4), Items: items})
		require.NoError(r.t, err)
	}
	found, err := r.store.Find(ctx, memory.Query{
		Agent: "a", Kinds: []dream.Kind{dream.KindHypothesis}, Statuses: []string{dream.HypothesisStaged},
		Sort: memory.Oldest,
	})
	require.NoError(r.t, err)
	return memory.As[*dream.Hypothesis](found)
}

func TestAHypothesisIsDecidedByTheClaimsOfItsPredictions(t *testing.T) {
	t.Parallel()
	claim := claims.ID("a", gullsBeforeRain)
	for name, c := range map[string]struct {
		sources string
		want    []string
	}{
		"a check":               {`"r1"`, []string{claim}},
		"the same check twice":  {`"r1","r2"`, []string{claim}},
		"one of two in prose":   {`"r1","r3"`, nil},
		"nothing but prose":     {`"r3"`, nil},
		"a check too long":      {`"r4"`, nil},
		"an episode, no source": {`"r5"`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.live(3)
			s := r.begin(r.spec(1, tonight))
			twin := dream.Check{When: "gull", Then: "the rain", Within: 24 * time.Hour}
			long := dream.Check{Then: "grey gulls sit before heavy rain"}
			items := []string{
				r.foretells(s, "1", &gullsBeforeRain), r.foretells(s, "2", &twin), r.foretells(s, "3", nil),
				r.foretells(s, "4", &long), "e1",
			}
			all := r.consolidates(s, items,
				`{"hypotheses":[{"claim":"gulls sit before rain","first_step":"look","confidence":0.3,"sources":[`+c.sources+`]}]}`)
			require.Len(t, all, 1)
			require.Equal(t, c.want, all[0].Claims)
		})
	}
}

func TestALaterDreamSupportsWhatIsOnTrial(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		claim  string
		review dream.Review
		same   bool
	}{
		"word for word":        {"Claim A: gulls sit before rain!", "", true},
		"in other words":       {"claim a: rain follows sitting gulls", "", false},
		"denied":               {"claim a: gulls do not sit before rain", "", false},
		"under review, as new": {"claim a: gulls sit before rain", dream.ReviewAsk, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.live(3)
			spec := r.spec(1, tonight)
			spec.Review = c.review
			s := r.begin(spec)
			o := r.spec(99, tonight.Add(-24*time.Hour))
			h := newRun(r.ports, o, activities.Stretch{}).Head(dream.Integration, dream.KindHypothesis, "1", []string{"e2"})
			_, err := r.store.Commit(context.Background(), memory.Write{Agent: "a", Cause: o.Dream, Add: []dream.Item{
				&dream.Hypothesis{
					Head: h, Claim: "claim a: gulls sit before rain", Confidence: .2, Status: dream.HypothesisStaged,
				},
			}})
			require.NoError(t, err)
			pattern := r.foretells(s, "1", nil)
			all := r.consolidates(s, []string{pattern}, `{"hypotheses":[{"claim":"`+c.claim+
				`","first_step":"look","confidence":0.3,"sources":["r1"]}]}`)
			prompt := r.model.requests[len(r.model.requests)-1].Messages[1].Content
			require.Contains(t, prompt, "- [h1] claim a: gulls sit before rain")
			if !c.same {
				require.Equal(t, []string{"e2"}, all[0].Sources)
				require.Equal(t, 1, all[0].Revision)
				return
			}
			require.Len(t, all, 1, "it is not staged again")
			require.Equal(t, []string{"e2", pattern}, all[0].Sources)
			require.Equal(t, 2, all[0].Revision, "once, however often the activity is done")
			r.finish(s)
			_, err = r.store.Undo(context.Background(), "a", s.Dream)
			require.NoError(t, err)
			left, err := memory.One[*dream.Hypothesis](context.Background(), r.store, "a", h.ID)
			require.NoError(t, err)
			require.Equal(t, []string{"e2"}, left.Sources, "undoing the dream takes its support back")
		})
	}
}

func TestAFullStagingSaysWhyInTheRecord(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(3)
	s := r.begin(r.spec(100, tonight))
	r.stages(10, tonight.Add(-3*24*time.Hour), .2)
	result, err := (&integration.Integration{Ports: r.ports}).Consolidate(context.Background(),
		activities.ConsolidateRequest{StepRequest: step(s, .4), Items: []string{"e1"}})
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(result.Reason, "10 hypotheses are staged already, no more than 10 may be"))
	require.Contains(t, result.Reason, "dream.max_staged")
}
