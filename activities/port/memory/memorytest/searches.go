package memorytest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/rank"
)

var searches = []clause[memory.DreamStore]{
	{"WordsFindItemsThatContainThem", wordsFind},
	{"SearchFollowsEveryChange", searchFollows},
	{"SearchIsExact", searchIsExact},
	{"WordWeightsDependOnTheFilteredItemsOnly", searchWeighsVisible},
	{"SearchInAnotherSpaceIsRefused", searchNeedsSpace},
	{"SearchFiltersByTime", searchInTime},
}

var byWords = rank.Blend{Words: 1}

func searched(t *testing.T, s memory.DreamStore, q memory.Search) []string {
	t.Helper()
	q.Agent = echo
	if q.Limit == 0 {
		q.Limit = 99
	}
	if q.Blend == (rank.Blend{}) {
		q.Blend = byWords
	}
	found, err := s.Search(t.Context(), q)
	require.NoError(t, err)
	out := []string{}
	for _, h := range found.Hits {
		out = append(out, h.Item)
	}
	return out
}

func wordsFind(t *testing.T, s memory.DreamStore) {
	require.Empty(t, searched(t, s, memory.Search{Text: "anything"}))
	later := episode("b", "The ferry leaves Tallinn at noon; gangway 5434 is open.")
	later.At = dawn.AddDate(0, 0, 3)
	add(t, s, episode("a", "Ferries to Helsinki were late."), later, semantic("c", "Bakers knead dough."))
	require.Equal(t, []string{"b"}, searched(t, s, memory.Search{Text: "5434"}))
	require.ElementsMatch(t, []string{"a", "b"}, searched(t, s, memory.Search{Text: "Which ferry is late?"}),
		"words are stemmed")
	require.Empty(t, searched(t, s, memory.Search{Text: "What is the?"}), "stop words find nothing")
	require.Equal(t, []string{"c"},
		searched(t, s,
			memory.Search{Text: "ferry dough", Filter: memory.Filter{Kinds: []dream.Kind{dream.KindSemantic}}}))
	found, err := s.Search(t.Context(), memory.Search{Agent: echo, Text: "Tallinn ferry", Limit: 1, Blend: byWords})
	require.NoError(t, err)
	require.Equal(t, 3, found.Items)
	require.True(t, later.At.Equal(found.Newest))
	require.Len(t, found.Hits, 1)
	require.InDelta(t, 1, found.Hits[0].Share, 1e-6)
	require.InDelta(t, 1, found.Hits[0].Score, 1e-6)
	require.Positive(t, found.Hits[0].Words)
	require.False(t, found.Hits[0].Placed)
}

func searchInTime(t *testing.T, s memory.DreamStore) {
	for day := range 4 {
		e := episode(fmt.Sprint("day-", day), "The ferry was late.")
		e.At = dawn.AddDate(0, 0, day)
		add(t, s, e)
	}
	for _, c := range []struct {
		since, until time.Time
		want         []string
	}{
		{dawn.AddDate(0, 0, 1), dawn.AddDate(0, 0, 3), []string{"day-1", "day-2"}},
		{dawn.AddDate(0, 0, 3), time.Time{}, []string{"day-3"}},
		{time.Time{}, dawn.AddDate(0, 0, 1), []string{"day-0"}},
		{dawn.AddDate(1, 0, 0), time.Time{}, []string{}},
	} {
		q := memory.Search{Text: "ferry", Filter: memory.Filter{Since: c.since, Until: c.until}}
		require.Equal(t, c.want, searched(t, s, q))
	}
}

func searchFollows(t *testing.T, s memory.DreamStore) {
	lantern := memory.Search{Text: "lantern"}
	add(t, s, statement("e", ann))
	require.Empty(t, searched(t, s, lantern))
	e := statement("e", ann)
	e.Content = "A lantern."
	commit(t, s, memory.Write{Cause: "operator", Change: []dream.Item{e}})
	require.Equal(t, []string{"e"}, searched(t, s, lantern))
	require.Empty(t, searched(t, s, memory.Search{Text: "lantern", Filter: memory.Filter{Owners: []string{"", bob}}}))
	fence := sleep(t, s, "echo/0001")
	archived := statement("e", ann)
	archived.Content, archived.State = "A lantern.", dream.Archived
	commit(t, s, memory.Write{Fence: fence, Change: []dream.Item{archived}})
	wakeUp(t, s, fence)
	require.Empty(t, searched(t, s, lantern))
	_, err := s.Undo(t.Context(), echo, "echo/0001")
	require.NoError(t, err)
	require.Equal(t, []string{"e"}, searched(t, s, lantern))
	add(t, s, episode("f", "Another lantern."))
	require.ElementsMatch(t, []string{"e", "f"}, searched(t, s, lantern))
	if forgets(t, s, "f") {
		require.Equal(t, []string{"e"}, searched(t, s, lantern))
	}
}

// searchIsExact compares with BM25 and cosine computed over the whole texts.
func searchIsExact(t *testing.T, s memory.DreamStore) {
	r := rand.New(rand.NewPCG(11, 5))
	vocabulary := strings.Fields("tide glass lantern ferry rope harbour bread violin comet orchard kiln river")
	texts, places := map[string][]string{}, map[string][]float32{}
	for batch := range 4 {
		w := memory.Write{Cause: "import"}
		for i := range 40 {
			id := fmt.Sprintf("%d-%02d", batch, i)
			for range 1 + r.IntN(12) {
				texts[id] = append(texts[id], vocabulary[min(r.IntN(len(vocabulary)), r.IntN(len(vocabulary)))])
			}
			w.Add = append(w.Add, episode(id, strings.Join(texts[id], " ")))
			if i%5 > 0 {
				places[id] = []float32{r.Float32() - .5, r.Float32() - .5, r.Float32() - .5}
				w.Vectors = append(w.Vectors, vector(id, places[id]...))
			}
		}
		commit(t, s, w)
		sought := []string{vocabulary[r.IntN(4)], vocabulary[4+r.IntN(8)]}
		place := []float32{r.Float32() - .5, r.Float32() - .5, r.Float32() - .5}
		blend := rank.Blend{Words: .7, Meaning: .3}
		want := plainSearch(texts, places, sought, place, blend)
		found, err := s.Search(t.Context(), memory.Search{
			Agent: echo,
			Text:  strings.Join(sought, " "),
			Space: space,
			V:     place,
			Blend: blend,
			Limit: 10,
		})
		require.NoError(t, err)
		require.Len(t, found.Hits, 10)
		for i, h := range found.Hits {
			require.InDelta(t, want[i], h.Score, 1e-4, "place %d", i+1)
		}
	}
}

// plainSearch returns the scores, best first.
func plainSearch(texts map[string][]string, places map[string][]float32, sought []string, place []float32,
	blend rank.Blend,
) []float64 {
	total := 0
	for _, words := range texts {
		total += len(words)
	}
	average, n := float64(total)/float64(len(texts)), float64(len(texts))
	words, of := map[string]float64{}, rank.Bounds{Lowest: math.Inf(1), Highest: math.Inf(-1)}
	for _, word := range sought {
		holding := 0.0
		for _, text := range texts {
			if slices.Contains(text, word) {
				holding++
			}
		}
		weight := math.Log(1 + (n-holding+.5)/(holding+.5))
		for id, text := range texts {
			times := 0.0
			for _, w := range text {
				if w == word {
					times++
				}
			}
			words[id] += weight * times * 2.2 / (times + 1.2*(.25+.75*float64(len(text))/average))
			of.MostWords = max(of.MostWords, words[id])
		}
	}
	for _, v := range places {
		c := cosine(place, v)
		of.Lowest, of.Highest = min(of.Lowest, c), max(of.Highest, c)
	}
	var scores []float64
	for id := range texts {
		c, placed := 0.0, places[id] != nil
		if placed {
			c = cosine(place, places[id])
		}
		if placed || words[id] > 0 {
			scores = append(scores, blend.Score(words[id], c, placed, of))
		}
	}
	slices.SortFunc(scores, func(a, b float64) int { return int(math.Copysign(1, b-a)) })
	return scores
}

// Items of other owners are not found, and do not change how rare a word is for this owner.
func searchWeighsVisible(t *testing.T, s memory.DreamStore) {
	ask := func() []rank.Hit {
		found, err := s.Search(t.Context(), memory.Search{
			Agent: echo, Text: "lantern rope", Limit: 9, Blend: byWords,
			Filter: memory.Filter{Owners: []string{"", ann}, Dreamt: memory.NoneDreamt},
		})
		require.NoError(t, err)
		return found.Hits
	}
	tell := func(id, owner, text string) dream.Item {
		e := statement(id, owner)
		e.Content = text
		return e
	}
	add(t, s, tell("a", ann, "A rope."), tell("b", "", "A lantern and a rope."))
	before := ask()
	require.Len(t, before, 2)
	for i := range 50 {
		add(t, s, tell(fmt.Sprint("x", i), bob, "Lantern after lantern."))
	}
	require.Equal(t, before, ask())
	for i := range 50 { // nor do items that dreams made
		made := episode(fmt.Sprint("y", i), "Rope, rope and rope again.")
		made.Dream = "echo/0001"
		add(t, s, made)
	}
	require.Equal(t, before, ask())
}

func searchNeedsSpace(t *testing.T, s memory.DreamStore) {
	add(t, s, episode("a", "A lantern."))
	require.Equal(t, []string{"a"}, searched(t, s, memory.Search{Text: "lantern", Space: space, V: []float32{1, 0}}),
		"no item has a vector yet")
	commit(t, s, memory.Write{Vectors: []memory.Vector{vector("a", 1, 0)}})
	for _, q := range []memory.Search{{Space: "other/1/2", V: []float32{1, 0}}, {Space: space, V: []float32{1, 0, 0}}} {
		q.Agent, q.Text, q.Limit = echo, "lantern", 9
		_, err := s.Search(t.Context(), q)
		require.ErrorIs(t, err, memory.ErrSpace)
	}
}
