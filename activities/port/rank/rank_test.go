package rank_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/rank"
)

func TestScoresAreBlendedBetweenTheBoundsOfAllCandidates(t *testing.T) {
	t.Parallel()
	blend := rank.Blend{Words: .7, Meaning: .3}
	of := rank.Bounds{MostWords: 8, Lowest: -.2, Highest: .6}
	for _, c := range []struct {
		name          string
		words, cosine float64
		placed        bool
		of            rank.Bounds
		want          float64
	}{
		{"best in both", 8, .6, true, of, 1},
		{"half the words", 4, -.2, true, of, .35},
		{"near alone", 0, .6, true, of, .3},
		{"without a place", 8, 0, false, of, .7},
		{"no vector was sought", 4, 0, false, rank.Bounds{MostWords: 8}, .5},
		{"no word was found", 0, .2, true, rank.Bounds{Lowest: -.2, Highest: .6}, .5},
		{"nothing", 0, 0, false, rank.Bounds{}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.InDelta(t, c.want, blend.Score(c.words, c.cosine, c.placed, c.of), 1e-9)
		})
	}
}

func TestWhatSupportsAnAnswer(t *testing.T) {
	t.Parallel()
	c := rank.Thresholds{Near: .2, Sure: .46}
	for _, each := range []struct {
		name string
		hit  rank.Hit
		want bool
	}{
		{"many of the words", rank.Hit{Share: .3}, true},
		{"some of the words, unplaced", rank.Hit{Share: .25, Cosine: .9}, false},
		{"some of the words and near", rank.Hit{Share: .18, Cosine: .2, Placed: true}, true},
		{"some of the words, far", rank.Hit{Share: .29, Cosine: .19, Placed: true}, false},
		{"near without a word", rank.Hit{Cosine: .46, Placed: true}, true},
		{"nothing", rank.Hit{Placed: true}, false},
	} {
		require.Equal(t, each.want, c.Supports(each.hit), each.name)
	}
	weak, far := rank.Hit{Item: "weak", Share: .08}, rank.Hit{Item: "far", Share: .01}
	require.Empty(t, c.Supported([]rank.Hit{weak, far}), "nothing near: nothing found")
	require.Equal(t, []rank.Hit{weak, {Share: .9}}, c.Supported([]rank.Hit{weak, far, {Share: .9}}))
}

func TestOnlyNearEqualsAreMovedByRecencyWeightAndMood(t *testing.T) {
	t.Parallel()
	newest := time.Date(2020, 5, 1, 0, 0, 0, 0, time.UTC)
	hit := func(id string, score float64, age time.Duration) rank.Candidate {
		return rank.Candidate{Hit: rank.Hit{Item: id, Score: score}, At: newest.Add(-age)}
	}
	ids := func(all []rank.Candidate) (out []string) {
		for _, c := range all {
			out = append(out, c.Item)
		}
		return out
	}
	year := 365 * 24 * time.Hour
	require.Equal(t, []string{"new", "old"},
		ids(rank.Best([]rank.Candidate{hit("old", .505, year), hit("new", .5, 0)}, newest, 9)))
	require.Equal(t, []string{"old", "new"},
		ids(rank.Best([]rank.Candidate{hit("new", .5, 0), hit("old", .53, year)}, newest, 9)))
	heavy := hit("heavy", .5, 0)
	heavy.Weight = 1
	require.Equal(t, []string{"heavy", "a"}, ids(rank.Best([]rank.Candidate{hit("a", .5, 0), heavy}, newest, 9)))
	require.Equal(t, []string{"a", "b"}, ids(rank.Best([]rank.Candidate{hit("b", .5, 0), hit("a", .5, 0)}, newest, 9)))
	require.Equal(t, []string{"a"}, ids(rank.Best([]rank.Candidate{hit("b", .5, 0), hit("a", .5, 0)}, newest, 1)))
}

func TestWhatHappenedInTheNamedTimeGoesAhead(t *testing.T) {
	t.Parallel()
	hit := func(id string, score float64, timely bool) rank.Candidate {
		return rank.Candidate{Hit: rank.Hit{Item: id, Score: score}, Timely: timely}
	}
	got := rank.Best([]rank.Candidate{hit("near", .9, false), hit("timely", .8, true), hit("far", .5, true)},
		time.Time{}, 9)
	require.Equal(t, []string{"timely", "near", "far"}, []string{got[0].Item, got[1].Item, got[2].Item})
	require.LessOrEqual(t, rank.Best([]rank.Candidate{hit("best", 1, true)}, time.Time{}, 9)[0].Score, 1.0)
}

func TestDerivedKnowledgeGivesWayToItsSources(t *testing.T) {
	t.Parallel()
	made := rank.Candidate{Hit: rank.Hit{Item: "made", Score: .9}, Sources: []string{"ep", "gone"}}
	other := rank.Candidate{Hit: rank.Hit{Item: "other", Score: .8}, Sources: []string{"elsewhere"}}
	ep := rank.Candidate{Hit: rank.Hit{Item: "ep", Score: .1}}
	got := rank.Best([]rank.Candidate{made, other, ep}, time.Time{}, 9)
	require.Len(t, got, 2)
	require.Equal(t, "other", got[0].Item)
	require.Equal(t, "ep", got[1].Item)
}

func TestASourceInheritsTheScoreOfWhatWasDerivedFromIt(t *testing.T) {
	t.Parallel()
	candidate := func(id string, score float64, sources ...string) rank.Candidate {
		return rank.Candidate{Hit: rank.Hit{Item: id, Score: score}, Sources: sources}
	}
	for _, c := range []struct {
		name string
		all  []rank.Candidate
		want []string
	}{
		{
			"the derived is better",
			[]rank.Candidate{candidate("k", .9, "e"), candidate("o", .8), candidate("e", .1)},
			[]string{"e", "o"},
		},
		{
			"the source is better",
			[]rank.Candidate{candidate("e", .9), candidate("o", .8), candidate("k", .1, "e")},
			[]string{"e", "o"},
		},
		{"the best of two sources takes its half", []rank.Candidate{
			candidate("k", .9, "a", "b"), candidate("o", .8), candidate("p", .4), candidate("b", .3),
			candidate("a", .2),
		}, []string{"o", "b", "p", "a"}},
		{"a source that gives way itself", []rank.Candidate{
			candidate("k", .9, "m"), candidate("o", .8), candidate("m", .2, "e"), candidate("e", .1),
		}, []string{"e", "o"}},
		{"no source was found", []rank.Candidate{candidate("k", .9, "gone"), candidate("o", .8)}, []string{"k", "o"}},
		{"it names itself", []rank.Candidate{candidate("o", .8), candidate("k", .7, "k")}, []string{"o", "k"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, each := range rank.Best(c.all, time.Time{}, 9) {
				got = append(got, each.Item)
			}
			require.Equal(t, c.want, got)
		})
	}
}

func TestWhatWasSaidNearAnAnswerIsLiftedByIt(t *testing.T) {
	t.Parallel()
	at := time.Date(2020, 5, 1, 9, 0, 0, 0, time.UTC)
	hit := func(id string, score float64, talk string, minutes int) rank.Candidate {
		answer := at.Add(time.Duration(minutes) * time.Minute)
		return rank.Candidate{Hit: rank.Hit{Item: id, Score: score}, Talk: talk, At: answer}
	}
	for _, c := range []struct {
		name  string
		other rank.Candidate
		want  []string
	}{
		{"said near it", hit("other", .5, "one", 5), []string{"answer", "other", "alone"}},
		{"said before it", hit("other", .5, "one", -5), []string{"answer", "other", "alone"}},
		{"said too long after it", hit("other", .5, "one", 6), []string{"answer", "alone", "other"}},
		{"said in another talk", hit("other", .5, "two", 1), []string{"answer", "alone", "other"}},
		{"said in no talk", hit("other", .5, "", 1), []string{"answer", "alone", "other"}},
		{"far below the answer", hit("other", .3, "one", 1), []string{"answer", "alone", "other"}},
	} {
		got := rank.Best([]rank.Candidate{hit("answer", .9, "one", 0), hit("alone", .6, "", 0), c.other}, at, 9)
		ids := []string{got[0].Item, got[1].Item, got[2].Item}
		require.Equal(t, c.want, ids, c.name)
	}
	best := rank.Best([]rank.Candidate{hit("a", 1, "one", 0), hit("b", 1, "one", 1)}, at, 9)
	require.LessOrEqual(t, best[0].Score, 1.0)
}
