package screen_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

var update = flag.Bool("update", false, "write the golden files anew")

var (
	evening = time.Date(2026, 3, 12, 3, 10, 0, 0, time.UTC)
	colours = regexp.MustCompile("\x1b\\[[0-9;]*m")
)

// golden compares with testdata/name, and writes it with -update.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "run with -update to accept %s", path)
}

// styles are the screens that everything is drawn on.
var styles = map[string]screen.Style{
	"80.txt": {Width: 80}, "200.txt": {Width: 200}, "80-colour.txt": {Width: 80, Colour: true},
	"200-colour.txt": {Width: 200, Colour: true}, "48.txt": {Width: 48},
}

func stripped(text string) string { return colours.ReplaceAllString(text, "") }

// tallies are the shares of a cap of fifty cents.
func tallies() []dream.Tally {
	plan := budget.Split(budget.Dollar/2, budget.DefaultShares)
	return []dream.Tally{
		{
			Phase:  dream.Onset,
			State:  "ran",
			Calls:  26,
			Spent:  21_400,
			Cap:    plan.Onset,
			In:     52_000,
			Cached: 33_280,
			Out:    1_900,
			Made:   12,
			Kept:   5,
			Cycles: 3,
			Failed: 1,
		},
		{
			Phase:  dream.NREM,
			State:  "ran",
			Calls:  12,
			Spent:  83_200,
			Cap:    plan.NREM,
			In:     30_000,
			Cached: 18_900,
			Out:    4_100,
			Made:   9,
			Kept:   3,
		},
		{
			Phase:  dream.REM,
			State:  "ran",
			Calls:  8,
			Spent:  110_050,
			Cap:    plan.REM,
			In:     21_000,
			Out:    5_200,
			Made:   3,
			Kept:   2,
			Reused: 1,
		},
		{
			Phase: dream.Integration,
			State: "ran",
			Calls: 1,
			Spent: 40_000,
			Cap:   plan.Integration,
			In:    6_000,
			Out:   700,
			Made:  2,
			Kept:  1,
		},
		{
			Phase: dream.Return,
			State: "ran",
			Calls: 1,
			Spent: 12_001,
			Cap:   plan.Return,
			In:    2_500,
			Out:   240,
			Made:  2,
			Kept:  2,
		},
	}
}

func hot(t float64) *float64 { return &t }

func night() screen.DreamReport {
	fragment := func(id, content, status, reason string, cycle int, v dream.Verdict) *dream.Fragment {
		return &dream.Fragment{
			Head:       dream.Head{ID: id, Sources: []string{"ep-1", "ep-7", "se-2"}, Phase: dream.Onset},
			Content:    content,
			Status:     status,
			Reason:     reason,
			Cycle:      cycle,
			Verdict:    v,
			Confidence: .15,
			Settings: dream.Settings{
				Model: "local/tiny", Temperature: hot(1.446),
				Effective: "temperature=1.446 min_p=0.1",
			},
		}
	}
	prompted := fragment("f-2", "潮水退去以后，市场像一条没有人的街；我听见她在问价格是不是也会做梦，而没有人回答，只有雨落在交易所的玻璃屋顶上。", dream.FragmentRaw, "", 0,
		dream.Verdict{
			Novelty:          .44,
			Relevance:        .91,
			Coherence:        1,
			Composite:        .645,
			DistancePlaybook: .7,
			DistanceMemory:   .5,
			Judge:            "embedder",
		})
	prompted.Settings.Effective = ""
	return screen.DreamReport{
		Agent: "echo",
		Record: dream.Record{
			Head:     dream.Head{ID: "dream/echo/0042", At: evening},
			Tier:     dream.Hardened,
			Theme:    "harbours",
			Seed:     7,
			Outcome:  dream.Completed,
			Ended:    evening.Add(134 * time.Second),
			Budget:   budget.Dollar / 2,
			Spent:    266_651,
			Paid:     true,
			Phases:   tallies(),
			Before:   mood.PAD{Pleasure: .2, Arousal: .35, Dominance: -.1},
			After:    mood.PAD{Pleasure: .26, Arousal: .2, Dominance: -.08},
			Selected: 412,
			Shown:    118,
			Models:   []string{"local/tiny", "local/embed"},
		},
		Fragments: []*dream.Fragment{
			prompted,
			fragment("f-1",
				"The harbour lights go out one by one, the way liquidity leaves a pool before anybody says so; and the last one to leave is never the one who knew.",
				dream.FragmentDeveloped, "promote: can be tested", 2,
				dream.Verdict{
					Novelty:          .62,
					Relevance:        .8,
					Coherence:        .95,
					Composite:        .7289,
					DistancePlaybook: 1,
					DistanceMemory:   .62,
					PlaybookEmpty:    true,
					Judge:            "embedder",
				}),
			fragment("f-3", "yes yes yes", dream.FragmentDiscarded, "below the floor", 1,
				dream.Verdict{Composite: .04}),
			fragment("f-4", "the pool the pool", dream.FragmentDiscarded, "below the floor", 1,
				dream.Verdict{Composite: .02}),
			fragment("f-5", "I moved half the stake", dream.FragmentDiscarded, "an echo of what it was shown", 3,
				dream.Verdict{Composite: 0}),
		},
		Predictions: []*dream.Prediction{
			{
				Head:      dream.Head{ID: "p-1", Phase: dream.NREM},
				Claim:     "When the quiet pools drain for two evenings running, the loud one follows within a week.",
				Criterion: "depth of the three pools, read daily",
				Horizon:   evening.AddDate(0, 0, 14), Confidence: .32, Status: dream.PredictionOpen,
			},
			{Head: dream.Head{ID: "p-2", Phase: dream.Onset}, Claim: "…", Confidence: .15},
		},
		Scenarios: []*dream.Scenario{
			{
				Content:        "Mina never closes the shop. The bridge is repaired first, and the crowd that came for the fair stays and pays.",
				Premise:        "what if the order of two decisions were turned round",
				Counterfactual: true,
				Synthetic:      true,
				Score:          .71,
				Kept:           true,
			},
			{Content: "dropped", Score: .3},
		},
		Hypotheses: []*dream.Hypothesis{
			{
				Claim:     "Leaving early costs less than leaving informed.",
				FirstStep: "note the depth each evening for two weeks", Confidence: .25,
				Status: dream.HypothesisStaged,
			},
		},
		Gists:    []*dream.Gist{{Content: "Crowds arrive late and pay for each other's fear."}},
		Playbook: []*dream.Playbook{{Content: "Ask who leaves first.", Confidence: .7}},
		Surfaced: []string{"The last to leave is never the one who knew."},
	}
}

func TestEveryScreenKeepsItsWidthAndItsCharacters(t *testing.T) {
	t.Parallel()
	for name, st := range styles {
		for _, drawn := range []string{screen.Timeline(tallies(), st), screen.Report(night(), st)} {
			for _, line := range strings.Split(stripped(drawn), "\n") {
				columns := 0
				for _, r := range line {
					require.Less(t, r, rune(0x10000), "only the Basic Multilingual Plane: %q", line)
					columns++
					if r > 0x2e80 {
						columns++
					}
				}
				require.LessOrEqual(t, columns, st.Width, "%s: %q", name, line)
				require.Equal(t, strings.TrimRight(line, " "), line)
			}
		}
		bare := st
		bare.Colour = false
		require.Equal(t, screen.Report(night(), bare), stripped(screen.Report(night(), st)),
			"colour changes no character")
	}
}
