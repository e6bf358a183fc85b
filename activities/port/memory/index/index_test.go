package index_test

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/memory/index"
	"github.com/seed-56a03226/oneiros/activities/port/rank"
	"github.com/seed-56a03226/oneiros/internal/recall/words"
)

const space = "test/1/5"

// fill brings an index to a version with these entries.
func fill(t *testing.T, x *index.Index, v index.Version, entries ...index.Entry) {
	t.Helper()
	require.NoError(t, x.CatchUp(v, func(_ int64, put func(index.Entry)) (int64, error) {
		for _, e := range entries {
			put(e)
		}
		return v.VectorRevision, nil
	}))
}

// Searches of one block and of many, by one goroutine and by all, of some owners and of all, agree with a plain scan.
func TestSearchAgreesWithAPlainScan(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 84))
	owners := []string{"", "talk/a", "talk/b"}
	for _, n := range []int{0, 1, 40, 1024, 9000} {
		x := index.New()
		all := map[string]index.Entry{}
		var entries []index.Entry
		for i := range n + n/4 { // some change their place, kind, owner or state
			e := index.Entry{
				ID:     fmt.Sprintf("%04d", i%max(n, 1)),
				Kind:   dream.Kinds[r.IntN(3)],
				Owner:  owners[r.IntN(len(owners))],
				Live:   r.IntN(4) > 0,
				Dreamt: r.IntN(3) == 0,
				Vector: randomVector(r),
			}
			all[e.ID] = e
			entries = append(entries, e)
		}
		fill(t, x, index.Version{Space: space, Numbers: 5, VectorRevision: 1}, entries...)
		sought := randomVector(r)
		for _, f := range []memory.Filter{
			{},
			{Kinds: []dream.Kind{dream.Kinds[1]}},
			{Owners: []string{"", "talk/b"}, Dreamt: memory.NoneDreamt},
			{
				Owners: []string{"talk/a"}, Kinds: []dream.Kind{dream.Kinds[0], dream.Kinds[2]},
				Except: []string{"0000", "0007"},
			},
		} {
			want := []memory.Hit{}
			live := 0
			for id, e := range all {
				if e.Live {
					live++
				}
				if e.Live && fits(e, f) {
					want = append(want, memory.Hit{Item: id, Cosine: cosine(sought, e.Vector)})
				}
			}
			require.Equal(t, live, x.Len())
			slices.SortFunc(want, func(a, b memory.Hit) int { return cmp.Compare(b.Cosine, a.Cosine) })
			for _, k := range []int{0, 1, 7, n + 1} {
				got, same := x.Near(memory.Near{Space: space, V: sought, Limit: k, Filter: f})
				require.True(t, same)
				require.Len(t, got, min(k, len(want)))
				for i, hit := range got {
					require.InDelta(t, want[i].Cosine, hit.Cosine, 1e-5)
				}
			}
		}
	}
}

// BM25 and the share of a question's words are weighed among the kinds that are searched, whatever was written over,
// moved and removed before.
func TestWordsAreScoredAsAPlainBM25ScoresThem(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(9, 1))
	vocabulary := []string{"harbour", "lantern", "quince", "painted", "rope", "gull", "anchor", "bread", "storm", "net"}
	say := func(n int) string {
		var text strings.Builder
		for range n {
			text.WriteString(vocabulary[min(r.IntN(10), r.IntN(10))] + " ")
		}
		return text.String()
	}
	for _, n := range []int{1, 60, 7000} {
		x := index.New()
		all := map[string]index.Entry{}
		var entries []index.Entry
		for i := range n + n/2 {
			e := index.Entry{
				ID:     fmt.Sprintf("%04d", i%n),
				Kind:   dream.Kinds[r.IntN(3)],
				Owner:  []string{"", "talk/a"}[r.IntN(2)],
				Live:   r.IntN(4) > 0,
				Dreamt: r.IntN(3) == 0,
				Text:   say(r.IntN(9)),
			}
			all[e.ID] = e
			entries = append(entries, e)
		}
		fill(t, x, index.Version{VectorRevision: 1}, entries...)
		for _, f := range []memory.Filter{
			{},
			{Kinds: []dream.Kind{dream.Kinds[1]}, Except: []string{"0003"}},
			{Owners: []string{"talk/a"}, Dreamt: memory.NoneDreamt},
		} {
			question := say(4)
			found, same := x.Search(memory.Search{Text: question, Limit: n, Filter: f, Blend: rank.Blend{Words: 1}})
			require.True(t, same)
			want := plainBM25(all, f, question)
			require.Len(t, found.Hits, len(want))
			for _, h := range found.Hits {
				require.InDelta(t, want[h.Item], h.Words, 1e-4, h.Item)
			}
		}
	}
}

// plainBM25 scores the texts that a filter leaves and that hold a word of the question.
func plainBM25(all map[string]index.Entry, f memory.Filter, question string) map[string]float64 {
	searched, length := 0, 0
	holding := map[string]int{}
	counted := f
	counted.Except = nil
	for _, e := range all {
		terms := words.Of(e.Text).Terms
		if !e.Live || !fits(e, counted) || len(terms) == 0 {
			continue
		}
		searched++
		length += len(terms)
		slices.Sort(terms)
		for _, term := range slices.Compact(terms) {
			holding[term]++
		}
	}
	out := map[string]float64{}
	for id, e := range all {
		if !e.Live || !fits(e, f) {
			continue
		}
		terms := words.Of(e.Text).Terms
		for _, sought := range words.Question(question) {
			times := 0.0
			for _, term := range terms {
				if term == sought.Forms[0] {
					times++
				}
			}
			if times == 0 {
				continue
			}
			n := float64(holding[sought.Forms[0]])
			rarity := math.Log(1 + (float64(searched)-n+.5)/(n+.5))
			long := 1 - .75 + .75*float64(len(terms))*float64(searched)/float64(length)
			out[id] += rarity * times * 2.2 / (times + 1.2*long)
		}
	}
	return out
}

func fits(e index.Entry, f memory.Filter) bool {
	return (len(f.Kinds) == 0 || slices.Contains(f.Kinds, e.Kind)) &&
		(len(f.Owners) == 0 || slices.Contains(f.Owners, e.Owner)) &&
		(f.Dreamt == memory.AllDreamt || !e.Dreamt) && !slices.Contains(f.Except, e.ID)
}

func randomVector(r *rand.Rand) []float32 {
	v := make([]float32, 5)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

func cosine(a, b []float32) float64 {
	var dot, x, y float64
	for i := range a {
		dot, x, y = dot+float64(a[i])*float64(b[i]), x+float64(a[i])*float64(a[i]), y+float64(b[i])*float64(b[i])
	}
	return dot / math.Sqrt(x*y)
}

func TestAnIndexStartsAgainAfterAnErasureAndInAnotherSpace(t *testing.T) {
	t.Parallel()
	entry := func(id string) index.Entry {
		return index.Entry{ID: id, Kind: dream.KindEpisode, Live: true, Vector: []float32{1, 0, 0, 0, 0}}
	}
	x := index.New()
	first := index.Version{Space: space, Numbers: 5, VectorRevision: 4}
	require.False(t, x.Current(first))
	fill(t, x, first, entry("a"), entry("b"))
	require.True(t, x.Current(first))
	require.Positive(t, x.Bytes())
	since := func(v index.Version) int64 {
		at := int64(-2) // not asked
		require.NoError(t, x.CatchUp(v, func(since int64, _ func(index.Entry)) (int64, error) {
			at = since
			return v.VectorRevision, nil
		}))
		return at
	}
	require.EqualValues(t, -2, since(first))
	require.EqualValues(t, 4, since(index.Version{Space: space, Numbers: 5, VectorRevision: 6}))
	require.Equal(t, 2, x.Len())
	erased := index.Version{Space: space, Numbers: 5, VectorRevision: 6, Erasures: 1}
	require.EqualValues(t, -1, since(erased))
	require.Zero(t, x.Len())
	require.EqualValues(t, -2, since(index.Version{Space: space, Numbers: 5, VectorRevision: 9}),
		"a reader of before the erasure")
	earlier := index.Version{Space: space, Numbers: 5, VectorRevision: 3, Source: "a server that lost its newest writes"}
	require.EqualValues(t, -1, since(earlier))
	fill(t, x, index.Version{Space: "other", Numbers: 5, VectorRevision: 6, Erasures: 1}, entry("a"))
	_, same := x.Near(memory.Near{Space: space, V: []float32{1, 0, 0, 0, 0}, Limit: 1})
	require.False(t, same)
}

// Many entries at once are read by several goroutines; what they make is the same as one after the other.
func TestManyEntriesAtOnceMakeTheSameIndexAsOneByOne(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	vocabulary := []string{
		"harbours", "lanterns", "running", "Häuser", "maisons", "tides", "ADR-17", "10.0.0.1",
		"quince", "painted", "and", "the",
	}
	say := func(n int) string {
		var text strings.Builder
		for range n {
			text.WriteString(vocabulary[r.IntN(len(vocabulary))] + " ")
		}
		return text.String()
	}
	var entries []index.Entry
	for i := range 4000 {
		entries = append(entries, index.Entry{
			ID:     fmt.Sprintf("%04d", i%3000), // a thousand of them change
			Kind:   dream.KindEpisode,
			Live:   r.IntN(8) > 0,
			Text:   say(r.IntN(12)),
			Vector: randomVector(r),
		})
	}
	together, apart := index.New(), index.New()
	v := index.Version{Space: space, Numbers: 5}
	for i, e := range entries {
		v.VectorRevision = int64(i + 1)
		fill(t, apart, v, e)
	}
	fill(t, together, v, entries...)
	require.Equal(t, apart.Len(), together.Len())
	for range 50 {
		q := memory.Search{
			Agent: "a",
			Text:  say(4),
			Space: space,
			V:     randomVector(r),
			Blend: rank.Blend{Words: .7, Meaning: .3},
			Limit: 30,
		}
		want, same := apart.Search(q)
		require.True(t, same)
		got, same := together.Search(q)
		require.True(t, same)
		require.Equal(t, want, got)
	}
}

func TestAnIndexThatCouldNotBeReadIsEmpty(t *testing.T) {
	t.Parallel()
	x := index.New()
	fault := errors.New("the disk is gone")
	v := index.Version{Space: space, Numbers: 5, VectorRevision: 1}
	require.ErrorIs(t, x.CatchUp(v, func(_ int64, put func(index.Entry)) (int64, error) {
		put(index.Entry{ID: "a", Kind: dream.KindEpisode, Live: true})
		return 0, fault
	}), fault)
	require.Zero(t, x.Len())
	require.False(t, x.Current(v))
}
