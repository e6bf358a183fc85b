package hypnagogia_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

var (
	reach = hypnagogia.SearchLimits{Branches: 3, Beam: 2, Rounds: 3, Seeds: 4}
	rich  = hypnagogia.SearchBudget{Left: budget.Unlimited}
)

func branch(seed int) hypnagogia.Move { return hypnagogia.Move{Op: dream.Branch, Seed: seed} }
func refine(a int) hypnagogia.Move {
	return hypnagogia.Move{Op: dream.Refine, Parents: []int{a}}
}

func merge(a, b int) hypnagogia.Move {
	return hypnagogia.Move{Op: dream.Merge, Parents: []int{a, b}}
}

// grow adds the moves of a plan with these scores; a negative score means made and not weighed, a missing one means
// failed.
func grow(s hypnagogia.Search, p hypnagogia.SearchPlan, scores ...float64) hypnagogia.Search {
	s.Round++
	for i, move := range p.Moves {
		if i < len(scores) {
			s.Thoughts = append(s.Thoughts, hypnagogia.Thought{
				Op:      move.Op,
				Round:   s.Round,
				Parents: move.Parents,
				Seed:    move.Seed,
				Weighed: scores[i] >= 0,
				Score:   max(0, scores[i]),
			})
		}
	}
	return s
}

func TestTheNextRoundFollowsFromTheGraph(t *testing.T) {
	t.Parallel()
	type round struct {
		moves []hypnagogia.Move
		left  []int
		score []float64
	}
	for name, c := range map[string]struct {
		reach  hypnagogia.SearchLimits
		rounds []round
		stop   hypnagogia.Stop
	}{
		"the best two are merged and the best is refined; both improved, so both continue": {reach, []round{
			{[]hypnagogia.Move{branch(0), branch(1), branch(2)}, nil, []float64{.6, .5, .4}},
			{[]hypnagogia.Move{merge(0, 1), refine(0)}, nil, []float64{.7, .65}},
			{[]hypnagogia.Move{refine(3), refine(4)}, nil, []float64{.8, .5}},
		}, hypnagogia.StopRounds},
		"a child below its parent is abandoned for a sibling": {reach, []round{
			{[]hypnagogia.Move{branch(0), branch(1), branch(2)}, nil, []float64{.6, .5, .4}},
			{[]hypnagogia.Move{merge(0, 1), refine(0)}, nil, []float64{.3, .2}},
			{[]hypnagogia.Move{refine(1), refine(2)}, []int{3, 4}, []float64{.6, .6}},
		}, hypnagogia.StopRounds},
		"an improved merger is merged with the remaining one": {reach, []round{
			{[]hypnagogia.Move{branch(0), branch(1), branch(2)}, nil, []float64{.6, .5, .4}},
			{[]hypnagogia.Move{merge(0, 1), refine(0)}, nil, []float64{.7, .2}},
			{[]hypnagogia.Move{merge(3, 2), refine(3)}, []int{4}, []float64{.9, .8}},
		}, hypnagogia.StopRounds},
		"a beam of one improves, then tries another": {hypnagogia.SearchLimits{
			Branches: 2, Beam: 1, Rounds: 5,
			Seeds: 2,
		}, []round{
			{[]hypnagogia.Move{branch(0), branch(1)}, nil, []float64{.6, .5}},
			{[]hypnagogia.Move{refine(0)}, nil, []float64{.7}},
			{[]hypnagogia.Move{refine(2)}, nil, []float64{.4}},
			{[]hypnagogia.Move{refine(1)}, []int{3}, []float64{.9}},
			{[]hypnagogia.Move{refine(4)}, nil, []float64{.95}},
		}, hypnagogia.StopRounds},
		"ties are ordered by creation, and a merged thought is not merged again": {reach, []round{
			{[]hypnagogia.Move{branch(0), branch(1), branch(2)}, nil, []float64{.5, .5, .5}},
			{[]hypnagogia.Move{merge(0, 1), refine(0)}, nil, []float64{.2, .5}},
			{[]hypnagogia.Move{refine(1), refine(2)}, []int{3}, []float64{.1, .1}},
		}, hypnagogia.StopRounds},
		"with nothing left to refine, an unused seed is developed": {
			hypnagogia.SearchLimits{Branches: 1, Beam: 2, Rounds: 4, Seeds: 3}, []round{
				{[]hypnagogia.Move{branch(0)}, nil, []float64{.5}},
				{[]hypnagogia.Move{refine(0), branch(1)}, nil, []float64{.1, 0}},
				{[]hypnagogia.Move{branch(2)}, []int{1}, []float64{0}},
			}, hypnagogia.StopNoGain,
		},
		"a failed call is repeated": {hypnagogia.SearchLimits{Branches: 2, Beam: 2, Rounds: 4, Seeds: 2}, []round{
			{[]hypnagogia.Move{branch(0), branch(1)}, nil, []float64{.5}},
			{[]hypnagogia.Move{refine(0), branch(1)}, nil, nil},
			{[]hypnagogia.Move{refine(0), branch(1)}, nil, []float64{.6, .1}},
			{[]hypnagogia.Move{merge(1, 2), refine(1)}, nil, []float64{.7, .7}},
		}, hypnagogia.StopRounds},
		"two rounds without gain end the search": {
			hypnagogia.SearchLimits{Branches: 4, Beam: 2, Rounds: 8, Seeds: 9},
			[]round{
				{[]hypnagogia.Move{branch(0), branch(1), branch(2), branch(3)}, nil, []float64{.6, .5, .4, .3}},
				{[]hypnagogia.Move{merge(0, 1), refine(0)}, nil, []float64{.3, .3}},
				{[]hypnagogia.Move{refine(1), refine(2)}, []int{4, 5}, []float64{.6, .3}},
			},
			hypnagogia.StopNoGain,
		},
		"nothing imagined": {
			reach,
			[]round{{[]hypnagogia.Move{branch(0), branch(1), branch(2)}, nil, nil}},
			hypnagogia.StopEmpty,
		},
		"all scores 0": {
			hypnagogia.SearchLimits{Branches: 2, Beam: 2, Rounds: 3},
			[]round{{[]hypnagogia.Move{branch(0), branch(1)}, nil, []float64{0, 0}}},
			hypnagogia.StopExhausted,
		},
		"not weighed": {
			reach,
			[]round{{[]hypnagogia.Move{branch(0), branch(1), branch(2)}, nil, []float64{-1, -1}}},
			hypnagogia.StopUnweighed,
		},
		"one round": {
			hypnagogia.SearchLimits{Branches: 1, Rounds: 1},
			[]round{{[]hypnagogia.Move{branch(0)}, nil, []float64{.5}}},
			hypnagogia.StopRounds,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s hypnagogia.Search
			for i, round := range c.rounds {
				p := s.Next(c.reach, rich)
				require.Equal(t, hypnagogia.GoOn, p.Stop, "round %d", i+1)
				require.Equal(t, round.moves, p.Moves, "round %d", i+1)
				require.Equal(t, round.left, p.Left, "round %d", i+1)
				s = grow(s, p, round.score...)
			}
			p := s.Next(c.reach, rich)
			require.Equal(t, c.stop, p.Stop)
			require.Empty(t, p.Moves)
		})
	}
}

func TestASearchSpendsNoMoreThanIsLeft(t *testing.T) {
	t.Parallel()
	prices := map[string]budget.Micros{"branch": 10, "refine": 8, "merge": 12, hypnagogia.PriceOfWeighing: 5}
	grown := grow(hypnagogia.Search{}, hypnagogia.Search{}.Next(reach, rich), .6, .5, .4)
	for _, c := range []struct {
		search hypnagogia.Search
		left   budget.Micros
		moves  int
		dear   int
		stop   hypnagogia.Stop
	}{
		{hypnagogia.Search{}, 35, 3, 0, ""},
		{hypnagogia.Search{}, 34, 2, 1, ""},
		{hypnagogia.Search{}, 15, 1, 2, ""},
		{hypnagogia.Search{}, 0, 1, 2, ""}, // the spend guard decides about the first call
		{grown, 25, 2, 0, ""},
		{grown, 24, 1, 1, ""},
		{grown, 17, 1, 1, ""},
		{grown, 16, 0, 2, hypnagogia.StopMoney},
		{grown, 0, 0, 2, hypnagogia.StopMoney},
	} {
		p := c.search.Next(reach, hypnagogia.SearchBudget{Left: c.left, Prices: prices})
		require.Len(t, p.Moves, c.moves, "%+v", c)
		require.Equal(t, c.dear, p.Unaffordable, "%+v", c)
		require.Equal(t, c.stop, p.Stop, "%+v", c)
	}
}

func TestTheBestThoughtsAreKeptAndOthersHaveAReason(t *testing.T) {
	t.Parallel()
	s := hypnagogia.Search{Round: 3, Thoughts: []hypnagogia.Thought{
		{Op: dream.Branch, Round: 1, Weighed: true, Score: .6},
		{
			Op:      dream.Branch,
			Round:   1,
			Seed:    1,
			Weighed: true,
			Score:   .5,
		},
		{
			Op:      dream.Branch,
			Round:   1,
			Seed:    2,
			Weighed: true,
			Score:   .4,
		},
		{Op: dream.Branch, Round: 1, Seed: 3, Weighed: true},
		{
			Op:      dream.Merge,
			Round:   2,
			Parents: []int{0, 1},
			Weighed: true,
			Score:   .55,
		},
		{
			Op:      dream.Refine,
			Round:   2,
			Parents: []int{0},
			Weighed: true,
			Score:   .7,
		},
		{Op: dream.Refine, Round: 3, Parents: []int{5}},
	}}
	require.Equal(t, []hypnagogia.KeepDecision{
		{Why: hypnagogia.DroppedReplaced, By: 5},
		{Kept: true},
		{Why: hypnagogia.DroppedByRank, Rank: 3, Of: 3},
		{Why: hypnagogia.DroppedWorthless},
		{Why: hypnagogia.DroppedBelowParents, By: 0},
		{Kept: true},
		{Why: hypnagogia.DroppedUnweighed},
	}, s.KeepDecisions(2))
	require.Empty(t, hypnagogia.Search{}.KeepDecisions(2))
}

// Searches with random scores, failures and caps are run to their end.
func TestASearchStaysWithinItsLimits(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3000) {
		dice := rand.New(rand.NewPCG(seed, 1))
		r := hypnagogia.SearchLimits{
			Branches: 1 + dice.IntN(6), Beam: 1 + dice.IntN(5), Rounds: 1 + dice.IntN(8),
			Seeds: dice.IntN(8),
		}
		left := budget.Micros(dice.IntN(400))
		if seed%3 == 0 {
			left = budget.Unlimited
		}
		prices := map[string]budget.Micros{"branch": 9, "refine": 11, "merge": 13, hypnagogia.PriceOfWeighing: 4}
		var s hypnagogia.Search
		for {
			m := hypnagogia.SearchBudget{Left: left, Prices: prices}
			p := s.Next(r, m)
			require.Equal(t, p, s.Next(r, m), "the same search, the same plan")
			if p.Stop != hypnagogia.GoOn {
				require.Empty(t, p.Moves)
				break
			}
			most := r.Beam
			if s.Round == 0 {
				most = r.Branches
			}
			require.NotEmpty(t, p.Moves)
			require.LessOrEqual(t, len(p.Moves), most)
			cost := prices[hypnagogia.PriceOfWeighing]
			for _, move := range p.Moves {
				cost += prices[string(move.Op)]
				for _, parent := range move.Parents {
					require.Positive(t, s.Thoughts[parent].Score)
				}
			}
			require.True(t, s.Round == 0 && len(p.Moves) == 1 || cost <= left)
			if left != budget.Unlimited {
				left = max(0, left-cost)
			}
			scores := make([]float64, dice.IntN(len(p.Moves)+1))
			for i := range scores {
				scores[i] = float64(dice.IntN(11))/10 - .1
			}
			if dice.IntN(3) > 0 {
				for len(scores) < len(p.Moves) {
					scores = append(scores, dice.Float64())
				}
			}
			s = grow(s, p, scores...)
			require.LessOrEqual(t, s.Round, r.Rounds, "it ends")
		}
		sound(t, s, fmt.Sprintf("seed %d", seed))
	}
}

// sound checks the invariants of every graph.
func sound(t *testing.T, s hypnagogia.Search, name string) {
	t.Helper()
	rooted := make([]bool, len(s.Thoughts))
	done := map[string]bool{}
	for i, thought := range s.Thoughts {
		require.Len(t, thought.Parents,
			map[dream.Operation]int{dream.Branch: 0, dream.Refine: 1, dream.Merge: 2}[thought.Op], name)
		rooted[i] = thought.Op == dream.Branch
		for _, parent := range thought.Parents {
			require.Less(t, parent, i, name)
			require.Less(t, s.Thoughts[parent].Round, thought.Round, name)
			rooted[i] = rooted[i] || rooted[parent]
		}
		require.True(t, rooted[i], "%s: every thought goes back to a branch", name)
		if thought.Op != dream.Branch {
			key := fmt.Sprint(thought.Op, thought.Parents)
			require.False(t, done[key], "%s: %s twice", name, key)
			done[key] = true
		}
	}
	kept := 0
	for i, fate := range s.KeepDecisions(2) {
		require.Equal(t, fate.Kept, fate.Why == "", name)
		if fate.Kept {
			kept++
			require.Positive(t, s.Thoughts[i].Score, name)
		}
	}
	require.LessOrEqual(t, kept, 2, name)
}

func TestAScenarioWithAZeroPartScoresZero(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		worth dream.Worth
		want  float64
	}{
		{dream.Worth{Novelty: 1, Plausible: 1, Relevance: 1}, 1},
		{dream.Worth{Novelty: .5, Plausible: .5, Relevance: .5}, .5},
		{dream.Worth{Novelty: 1, Plausible: .5, Relevance: .25}, .5},
		{dream.Worth{Plausible: 1, Relevance: 1}, 0},
		{dream.Worth{Novelty: 1, Relevance: 1}, 0},
		{dream.Worth{Novelty: 1, Plausible: 1}, 0},
		{dream.Worth{Novelty: 7, Plausible: 2, Relevance: 1}, 1},
		{dream.Worth{Novelty: -1, Plausible: 2, Relevance: 1}, 0},
	} {
		require.InDelta(t, c.want, hypnagogia.ScenarioWorth(c.worth), 1e-9, "%+v", c.worth)
	}
}

func TestTurnChangesOnePartAndPrefersSurprisingEpisodes(t *testing.T) {
	t.Parallel()
	episodes := []*dream.Episode{
		nil,
		{Head: dream.Head{ID: "bare"}, Content: "nothing was done"},
		{Head: dream.Head{ID: "half"}, Action: "she rowed"},
		{
			Head:     dream.Head{ID: "dull"},
			Context:  " night ",
			Action:   "she rowed",
			Outcome:  "it opened",
			Surprise: .1,
		},
		{Head: dream.Head{ID: "odd"}, Action: "he sang", Outcome: "it rained", Surprise: .9},
	}
	drawn, parts := map[string]int{}, map[string]int{}
	for seed := range uint64(2000) {
		one, ok := hypnagogia.ChangeEpisode(episodes, .6, hypnagogia.Dice(seed, dream.REM, 0, 1, "turn"))
		require.True(t, ok)
		again, _ := hypnagogia.ChangeEpisode(episodes, .6, hypnagogia.Dice(seed, dream.REM, 0, 1, "turn"))
		require.Equal(t, one, again)
		drawn[one.Source]++
		parts[one.Part]++
	}
	require.Len(t, drawn, 2)
	require.Greater(t, drawn["odd"], 2*drawn["dull"])
	require.Greater(t, parts[hypnagogia.ChangedAction], 800)
	require.Greater(t, parts[hypnagogia.ChangedOutcome], 800)
	_, ok := hypnagogia.ChangeEpisode(episodes[:3], .6, hypnagogia.Dice(1, dream.REM, 0, 1, "turn"))
	require.False(t, ok)
	require.Equal(t, []hypnagogia.WhatIf{"recombination", "counterfactual", "recombination"},
		[]hypnagogia.WhatIf{hypnagogia.WhatIfOf(1), hypnagogia.WhatIfOf(2), hypnagogia.WhatIfOf(3)})
}

func TestRepeats(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, before string
		want         bool
	}{
		{"The lamp floats away with the tide.", "The lamp floats away with the tide.", true},
		{"the tide. The lamp floats away with", "The lamp floats away with the tide.", true},
		{
			"The lamp floats away with the tide, and the harbour learns to read by it.",
			"The lamp floats away with the tide.", false,
		},
		{"", "", false},
		{"", "a word", false},
		{"one two three four five six seven", "one two three four five six seven eight", true},
	} {
		require.Equal(t, c.want, hypnagogia.Repeats(c.text, c.before), "%q after %q", c.text, c.before)
	}
}
