package eval_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/eval"
)

func TestNightsAreSpreadEvenlyOverThePast(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		days, nights, judging int
		want                  []int
		fault                 string
	}{
		{days: 42, nights: 4, judging: 14, want: []int{6, 13, 20, 27}},
		{days: 42, nights: 1, judging: 14, want: []int{27}},
		{days: 10, nights: 3, judging: 2, want: []int{1, 4, 7}},
		{days: 5, nights: 4, judging: 1, want: []int{0, 1, 2, 3}},
		{days: 2, nights: 1, judging: 1, want: []int{0}},
		{days: 5, nights: 5, judging: 1, fault: "at most 4 nights fit, or give 6 days"},
		{days: 5, nights: 1, judging: 5, fault: "at most 4 can judge"},
		{days: 0, nights: 1, judging: 1, fault: "at most 0 can judge"},
		{days: 5, nights: 0, judging: 1, fault: "0 nights; at least 1"},
		{days: 5, nights: 1, judging: 0, fault: "0 judging days; at least 1"},
		{days: 5, nights: 1, judging: -3, fault: "-3 judging days"},
	} {
		got, err := eval.Spread(c.days, c.nights, c.judging)
		if c.fault != "" {
			require.ErrorContains(t, err, c.fault)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
	for past := 1; past < 60; past++ {
		for nights := 1; nights <= past; nights++ {
			at, err := eval.Spread(past+7, nights, 7)
			require.NoError(t, err)
			require.Len(t, at, nights)
			require.Equal(t, past-1, at[nights-1], "the last past day ends with a night")
			last := -1
			for _, day := range at {
				gap := day - last
				require.GreaterOrEqual(t, gap, past/nights)
				require.LessOrEqual(t, gap, (past+nights-1)/nights)
				last = day
			}
		}
	}
}

// diary has one entry with so many sentences on each day, but two on every third.
func diary(sentences ...int) []eval.Entry {
	var entries []eval.Entry
	for day, n := range sentences {
		e := eval.Entry{Day: fmt.Sprintf("2026-09-%02d", day+1)}
		for i := range n {
			e.Sentences = append(e.Sentences, fmt.Sprintf("%s/%d", e.Day, i))
		}
		if day%3 == 0 && n > 1 {
			entries = append(entries, eval.Entry{Day: e.Day, Sentences: e.Sentences[:1]})
			e.Sentences = e.Sentences[1:]
		}
		entries = append(entries, e)
	}
	return entries
}

func sentencesOf(entries []eval.Entry) []string {
	var all []string
	for _, e := range entries {
		all = append(all, e.Sentences...)
	}
	slices.Sort(all)
	return all
}

// stay counts the sentences of diary that stand in an entry of their own day.
func stay(entries []eval.Entry) int {
	n := 0
	for _, e := range entries {
		for _, s := range e.Sentences {
			if s[:len(e.Day)] == e.Day {
				n++
			}
		}
	}
	return n
}

func TestAShuffledPastKeepsItsWordsAndLosesItsDays(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(1, 1))
	for seed := range uint64(300) {
		sizes := make([]int, 1+dice.IntN(9))
		all, most := 0, 0
		for i := range sizes {
			sizes[i] = dice.IntN(8)
			all, most = all+sizes[i], max(most, sizes[i])
		}
		entries := diary(sizes...)
		before := sentencesOf(entries)
		shuffled := eval.Shuffle(entries, seed)
		require.Equal(t, before, sentencesOf(shuffled), "no sentence is lost or doubled")
		require.Equal(t, before, sentencesOf(entries), "what was given is not changed")
		require.Len(t, shuffled, len(entries))
		for i, e := range shuffled {
			require.Equal(t, entries[i].Day, e.Day)
			require.Len(t, e.Sentences, len(entries[i].Sentences))
		}
		require.Equal(t, max(0, 2*most-all), stay(shuffled), "%v: as few stay in their day as possible", sizes)
		require.Equal(t, shuffled, eval.Shuffle(entries, seed), "the same seed gives the same past")
	}
	require.Empty(t, eval.Shuffle(nil, 1))
	many := diary(5, 5, 5, 5, 5, 5)
	require.NotEqual(t, eval.Shuffle(many, 1), eval.Shuffle(many, 2))
}

// What stands together on one day is spread: a past that is moved as a whole would keep its regularities.
func TestSentencesOfOneDayDoNotStayTogether(t *testing.T) {
	t.Parallel()
	sizes := make([]int, 40)
	for i := range sizes {
		sizes[i] = 10
	}
	pairs, together := 0, 0
	for _, e := range eval.Shuffle(diary(sizes...), 7) {
		for i, a := range e.Sentences {
			for _, b := range e.Sentences[:i] {
				pairs++
				if a[:10] == b[:10] {
					together++
				}
			}
		}
	}
	require.Greater(t, pairs, 1000)
	require.Less(t, float64(together)/float64(pairs), .06, "one in forty by chance")
}

func TestAShortHistoryHasFewerNightsAndJudgingDays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ days, nights, judging, wantNights, wantJudging int }{
		{days: 42, wantNights: 14, wantJudging: 14},
		{days: 100, wantNights: 14, wantJudging: 14},
		{days: 15, wantNights: 10, wantJudging: 5},
		{days: 2, wantNights: 1, wantJudging: 1},
		{days: 42, nights: 7, wantNights: 7, wantJudging: 14},
		{days: 15, judging: 14, wantNights: 1, wantJudging: 14},
		{days: 15, nights: 14, wantNights: 14, wantJudging: 5}, // which Spread then refuses
	} {
		nights, judging := eval.Fit(c.days, c.nights, c.judging)
		require.Equal(t, [2]int{c.wantNights, c.wantJudging}, [2]int{nights, judging}, "%+v", c)
	}
}
