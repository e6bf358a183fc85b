package localmodel_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/claims"
	"github.com/seed-56a03226/oneiros/internal/prompt"
)

var counted = prompt.Lines("x",
	prompt.Regularity("the next memory that names rain also names the vane.", 7, 9, .12, 21),
	prompt.Regularity("a memory names ferry within 1 day of the next that names bell.", 5, 5, .1, 12))

type claim struct {
	Claim, Criterion, Trace string
	Days                    int
	Confidence              float64
	Sources                 []string
}

func TestWhatWasCountedIsClaimedInWordsThatAProgramReads(t *testing.T) {
	t.Parallel()
	p := prompt.Replay(prompt.ReplayInput{Lines: prompt.Lines("r", memories...), Counted: counted})
	for seed := range int64(20) {
		a, _ := generate(t, structured(p, .4, seed, 600))
		var got struct{ Patterns []claim }
		require.NoError(t, json.Unmarshal([]byte(a.Text), &got), a.Text)
		require.Len(t, got.Patterns, 2, "no more than was counted")
		first := got.Patterns[0]
		require.Equal(t, "The next memory that names rain also names the vane.", first.Claim)
		check, ok := claims.Read(first.Criterion)
		require.True(t, ok, first.Criterion)
		require.Equal(t, "the vane", check.Then)
		require.Equal(t, 21, first.Days)
		require.InDelta(t, .25+.15*7/9, first.Confidence, .006)
		require.Contains(t, first.Trace, "7 of 9 times")
		require.Equal(t, []string{"x1"}, first.Sources)
		require.Equal(t, "A memory names ferry within 1 day of the next that names bell.", got.Patterns[1].Claim)
		require.Equal(t, 12, got.Patterns[1].Days)
	}
}

func TestWithoutARegularityNothingIsClaimed(t *testing.T) {
	t.Parallel()
	for _, p := range []prompt.Text{
		prompt.Replay(prompt.ReplayInput{Lines: prompt.Lines("r", memories...)}),
		prompt.Imagine(prompt.ImagineInput{Seed: memories[3], Action: memories[5], Outcome: memories[6]}),
		prompt.Consolidate(prompt.ConsolidateInput{Lines: prompt.Lines("r", memories...), Most: 3}),
	} {
		a, _ := generate(t, structured(p, .4, 1, 600))
		require.NotRegexp(t, `"(claim|criterion)":"[^"]`, a.Text)
	}
}

func TestAClaimThatIsShownIsNotRepeated(t *testing.T) {
	t.Parallel()
	p := prompt.Refine(prompt.GrowInput{
		First:   "Mara rang the bell. The bell called Mara down to the quay, and Mara waited by the bell.",
		Claim:   "The next memory that names rain also names the vane.",
		Counted: counted,
	})
	for seed := range int64(10) {
		a, _ := generate(t, structured(p, .4, seed, 600))
		var got claim
		require.NoError(t, json.Unmarshal([]byte(a.Text), &got), a.Text)
		require.Equal(t, "A memory names ferry within 1 day of the next that names bell.", got.Claim)
	}
	p = prompt.Refine(prompt.GrowInput{
		First:   "Mara rang the bell.",
		Claim:   "The next memory that names rain also names the vane.",
		Counted: counted[:1],
	})
	a, _ := generate(t, structured(p, .4, 1, 600))
	require.Contains(t, a.Text, `"claim":""`, "none is left")
}

func TestAnEarlierClaimIsTakenUpInOtherWords(t *testing.T) {
	t.Parallel()
	p := prompt.Consolidate(prompt.ConsolidateInput{
		Lines: prompt.Lines("m",
			"Then the tide turned at the quay and the lamp went out.",
			"The next memory that names rain also names the vane.",
			"A memory names ferry within 1 day of the next that names bell.",
			"The sea was flat as a plate while the kettle sang in the hut."),
		Most: 3,
	})
	for seed := range int64(10) {
		a, _ := generate(t, structured(p, .4, seed, 600))
		var got struct{ Hypotheses []claim }
		require.NoError(t, json.Unmarshal([]byte(a.Text), &got), a.Text)
		require.Len(t, got.Hypotheses, 2)
		require.Equal(t, "Where rain is named, the vane is named as well.", got.Hypotheses[0].Claim)
		require.Equal(t, []string{"m2"}, got.Hypotheses[0].Sources)
		require.Equal(t, "After bell is named, ferry follows.", got.Hypotheses[1].Claim)
	}
}

func TestAnAnswerIsAboutWhatWasAsked(t *testing.T) {
	t.Parallel()
	text := "- " + strings.Join(memories, "\n- ") + "\n- What did the clock in the hall do?"
	about := 0
	for seed := range int64(60) {
		a, _ := generate(t, request(.7, .1, seed, text))
		if strings.Contains(strings.ToLower(a.Text), "the clock in the hall stopped") {
			about++
		}
		require.NotContains(t, a.Text, "What did")
	}
	require.Greater(t, about, 45, "of 60 answers")
}
