package console_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

func ptr[T any](v T) *T { return &v }

// caught adds fragments with every kind of verdict, and what became of them.
func (d *fixture) caught() *fixture {
	d.Helper()
	made := func(kind dream.Kind, id string) dream.Head {
		return head(kind, dreamID+"/"+id, now.Add(-time.Hour), true)
	}
	surface := dream.Surface{
		Wordlike: 1,
		Fresh:    .93,
		Bearable: 1,
		Joined:   1,
		Spoken:   .96,
		Whole:    .89,
	}
	together := dream.Verdict{
		Novelty:          .7,
		Relevance:        .61,
		Coherence:        .84,
		Composite:        .75,
		DistancePlaybook: .8,
		DistanceMemory:   .55,
		Judge:            "house/judge",
		Floor:            ptr(.1),
		Parts: &dream.Parts{
			Measured:    dream.Scores{Novelty: .5, Relevance: .9, Coherence: .84},
			Judged:      &dream.Scores{Novelty: .7, Relevance: .52, Coherence: .9},
			Way:         dream.ByTogether,
			Together:    4,
			JudgeReason: "two ropes, one knot",
			Surface:     surface,
			Meaning:     &dream.Meaning{Cosine: .38, Between: .11, Share: .95},
			Marker: &dream.MarkerMatch{
				Marker:     dreamID + "/marker/5f1e",
				Deviations: 3.4,
				Threshold:  2.1,
				Strength:   .82,
				Valence:    dream.CameOutWell,
				Count:      3,
				Relevance:  .52,
				Boost:      .09,
			},
			Whole: .71,
			Bias:  1.06,
			Cost:  ptr(budget.Micros(42)),
		},
	}
	soup := dream.Verdict{
		Novelty:          .02,
		Relevance:        .4,
		Coherence:        .01,
		Composite:        .04,
		DistancePlaybook: 1,
		PlaybookEmpty:    true,
		DistanceMemory:   .9,
		Judge:            "embedder",
		Floor:            ptr(.1),
		Parts: &dream.Parts{
			Measured: dream.Scores{Novelty: .89, Relevance: .4, Coherence: .01}, Way: dream.ByMeasure,
			Why: "the judge left it out, or a score of it",
			Surface: dream.Surface{
				Wordlike: 1,
				Fresh:    1,
				Bearable: .9,
				Joined:   1,
				Spoken:   .01,
				Whole:    .01,
			}, Blind: "the built-in embedder sees words, not meaning",
			Whole: .04, Bias: 1, Cost: ptr(budget.Micros(42)), Together: 4,
		},
	}
	_, err := d.store.Commit(d.Context(), memory.Write{Agent: "echo", Cause: dreamID, Add: []dream.Item{
		&dream.Fragment{
			Head:       made(dream.KindFragment, "onset/1.2"),
			Content:    "Two ropes lie in one knot and neither knows which of them is older.",
			Verdict:    together,
			Cycle:      1,
			Stage:      dream.Peak,
			Confidence: .15,
			Status:     dream.FragmentPromoted,
			Reason:     "it holds",
			Scenario:   dreamID + "/rem/1",
			Hypothesis: dreamID + "/h1",
			Rating:     &dream.Rating{Rated: "promote", By: "house/judge", Reason: "it holds"},
			Settings:   dream.Settings{Model: "house/small"},
			Flags:      []dream.Flag{{By: "hook/harbourmaster", Reason: "look at it before you tell Mara"}},
		},
		&dream.Fragment{
			Head:       made(dream.KindFragment, "onset/1.3"),
			Content:    "At according the saw zagan freod tumieren",
			Verdict:    soup,
			Cycle:      1,
			Stage:      dream.Peak,
			Confidence: .15,
			Status:     dream.FragmentDiscarded,
			Reason:     "below the floor: it cannot be understood",
			Settings:   dream.Settings{Model: "house/small"},
		},
		&dream.Fragment{
			Head:     made(dream.KindFragment, "onset/2.1"),
			Content:  "cut short",
			Cycle:    2,
			Stage:    dream.Peak,
			Status:   dream.FragmentDiscarded,
			Reason:   "the dream ended before it was judged",
			Settings: dream.Settings{Model: "house/small"},
		},
		&dream.Scenario{
			Head:    made(dream.KindScenario, "rem/1"),
			Content: "The younger rope is spliced in.",
			Score:   .7,
			Kept:    true,
			Parent:  dreamID + "/onset/1.2",
		},
		&dream.Prediction{
			Head:       made(dream.KindPrediction, "onset/1.2/p"),
			Source:     dream.Creative,
			Claim:      "Two ropes",
			Criterion:  "Mara says which is older.",
			Horizon:    now.AddDate(0, 0, 14),
			Confidence: .15,
			Status:     dream.PredictionOpen,
			Fragment:   dreamID + "/onset/1.2",
		},
		&dream.Marker{
			Head:   made(dream.KindMarker, "marker/5f1e"),
			Affect: mood.PAD{Pleasure: .6, Arousal: .55}, Strength: .82, Valence: dream.CameOutWell, Count: 3,
		},
	}})
	require.NoError(d, err)
	return d
}

func TestAFragmentIsExplainedInWordsAndNumbers(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish().caught()
	for _, screen := range []struct{ name, line string }{
		{"fragments-explain-together", "fragments explain 0001/onset/1.2"},
		{"fragments-explain-soup", "fragments explain 0001/onset/1.3"},
		{"fragments-explain-unjudged", "fragments explain 0001/onset/2.1"},
		{"fragments-explain-old", "fragments explain 0001/f1"},
		{"fragments-show-parts", "fragments show 0001/onset/1.2"},
		{"fragments-bias-none", "fragments bias -a echo"},
		{"memory-list-markers", "memory list -a echo -k marker"},
		{"memory-show-marker", "memory show 0001/marker/5f1e"},
	} {
		for _, width := range []int{80, 200} {
			require.Equal(t, exit.OK, d.run(width, strings.Fields(screen.line)...), "%s: %s", screen.line,
				d.err.String())
			d.golden(fmt.Sprintf("%s-%d", screen.name, width))
			for _, line := range strings.Split(d.out.String(), "\n") {
				require.LessOrEqual(t, len([]rune(line)), width, "%s at %d: %q", screen.line, width, line)
			}
		}
	}
}

func TestAnExplanationInJSONNamesEveryStage(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish().caught()
	require.Equal(t, exit.OK, d.run(0, "fragments", "explain", "0001/onset/1.2", "--json"))
	var result struct {
		Kept        bool
		Why         string
		Fragment    dream.Fragment
		Marker      *dream.Marker
		Scenarios   []dream.Scenario
		Hypothesis  *dream.Hypothesis
		Predictions []dream.Prediction
	}
	require.NoError(t, json.Unmarshal(d.out.Bytes(), &result))
	require.True(t, result.Kept)
	require.Contains(t, result.Why, "0.75")
	require.Equal(t, 3.4, result.Fragment.Verdict.Parts.Marker.Deviations)
	require.Equal(t, budget.Micros(42), *result.Fragment.Verdict.Parts.Cost)
	require.NotNil(t, result.Marker)
	require.Len(t, result.Scenarios, 1)
	require.NotNil(t, result.Hypothesis)
	require.Len(t, result.Predictions, 1)

	require.Equal(t, exit.NotFound, d.run(80, "fragments", "explain", "e-0001"), "an episode is no fragment")
	require.Equal(t, exit.Usage, d.run(80, "fragments", "explain"))
	require.Equal(t, exit.Usage, d.run(80, "fragments", "list", "-a", "echo", "--status", "kept"),
		"a scenario's status")
}

// 50 outcomes, of which the ten that scored highest came true.
func TestTheBiasIsShownOnceFiftyOutcomesAreKnown(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	var add []dream.Item
	for i := range 52 {
		id := fmt.Sprintf("onset/9.%d", i)
		f := &dream.Fragment{
			Head: head(dream.KindFragment, dreamID+"/"+id, now.Add(-time.Hour), true), Content: id,
			Status:  dream.FragmentSelected,
			Verdict: dream.Verdict{Composite: .2, Judge: "embedder"},
		}
		p := &dream.Prediction{
			Head:       head(dream.KindPrediction, dreamID+"/"+id+"/p", now.Add(-time.Hour), true),
			Source:     dream.Creative,
			Claim:      id,
			Criterion:  "c",
			Horizon:    now,
			Confidence: .15,
			Fragment:   f.ID,
			Status:     dream.PredictionWrong,
			ResolvedAt: ptr(now.Add(-30 * time.Minute)),
		}
		if i%5 == 0 {
			f.Verdict.Composite, p.Status = .6, dream.PredictionRight
		}
		add = append(add, f, p)
	}
	_, err := d.store.Commit(d.Context(), memory.Write{Agent: "echo", Cause: dreamID, Add: add})
	require.NoError(t, err)
	require.Equal(t, exit.OK, d.run(80, "fragments", "bias", "-a", "echo"))
	d.golden("fragments-bias-80")
	require.Equal(t, exit.OK, d.run(0, "fragments", "bias", "-a", "echo", "--json"))
	var result struct {
		Factor   float64
		Outcomes int
		Blocks   int
		Alarms   []string
	}
	require.NoError(t, json.Unmarshal(d.out.Bytes(), &result))
	require.Equal(t, 52, result.Outcomes)
	require.Equal(t, 1, result.Blocks)
	require.Equal(t, 1.25, result.Factor)
	require.Len(t, result.Alarms, 1)
}
