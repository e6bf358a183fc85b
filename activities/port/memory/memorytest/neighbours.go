package memorytest

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

var neighbours = []clause[memory.DreamStore]{
	{"NearIsExact", nearIsExact},
	{"EqualNeighboursComeById", equalNeighbours},
	{"OnlyLiveItemsOfTheRequestedKindsAreNear", nearIsLive},
	{"OnlyItemsThatPassTheFilterAreNear", nearIsFiltered},
	{"AnItemIsFoundByItsCurrentOwner", nearFollowsOwners},
	{"FilteredNeighboursAgreeWithAPlainScan", filteredAgreesWithScan},
	{"TheNewestVectorOfAnItemWins", newestVector},
	{"VectorsOfTwoSpacesNeverMix", spacesNeverMix},
	{"AVectorNeedsItsItem", vectorNeedsItem},
	{"BareListsItemsWithoutAVector", bareLists},
	{"VectorsAreReadAsTheyWereStored", vectorsComeBack},
}

const space = "test/1/12"

func vector(id string, v ...float32) memory.Vector {
	return memory.Vector{Item: id, Space: space, V: v}
}

func near(t *testing.T, s memory.DreamStore, v []float32, k int, kinds ...dream.Kind) []string {
	t.Helper()
	hits, err := s.Near(t.Context(), memory.Near{
		Agent:  echo,
		Space:  space,
		V:      v,
		Limit:  k,
		Filter: memory.Filter{Kinds: kinds},
	})
	require.NoError(t, err)
	out := []string{}
	for _, h := range hits {
		out = append(out, h.Item)
	}
	return out
}

func cosine(a, b []float32) float64 {
	var dot, x, y float64
	for i := range a {
		dot, x, y = dot+float64(a[i])*float64(b[i]), x+float64(a[i])*float64(a[i]), y+float64(b[i])*float64(b[i])
	}
	if x == 0 || y == 0 {
		return 0
	}
	return dot / math.Sqrt(x*y)
}

func nearIsExact(t *testing.T, s memory.DreamStore) {
	r := rand.New(rand.NewPCG(7, 7))
	throw := func() []float32 {
		v := make([]float32, 13) // not a multiple of any vector width
		for i := range v {
			v[i] = float32(r.NormFloat64()) * 3
		}
		return v
	}
	vectors := map[string][]float32{}
	for batch := range 5 { // search in between, so that a store's cache grows
		w := memory.Write{Cause: "import"}
		for i := range 60 {
			id := fmt.Sprintf("e%d-%d", batch, i)
			vectors[id] = throw()
			w.Add = append(w.Add, episode(id, id))
			w.Vectors = append(w.Vectors, vector(id, vectors[id]...))
		}
		commit(t, s, w)
		sought := throw()
		var want []memory.Hit
		for id, v := range vectors {
			want = append(want, memory.Hit{Item: id, Cosine: cosine(sought, v)})
		}
		slices.SortFunc(want, func(a, b memory.Hit) int { return cmp.Compare(b.Cosine, a.Cosine) })
		got, err := s.Near(t.Context(), memory.Near{Agent: echo, Space: space, V: sought, Limit: 25})
		require.NoError(t, err)
		require.Len(t, got, 25)
		for i, hit := range got {
			require.Equal(t, want[i].Item, hit.Item)
			require.InDelta(t, want[i].Cosine, hit.Cosine, 1e-5)
		}
		all, err := s.Near(t.Context(), memory.Near{Agent: echo, Space: space, V: sought, Limit: 10_000})
		require.NoError(t, err)
		require.Len(t, all, len(vectors))
	}
}

func equalNeighbours(t *testing.T, s memory.DreamStore) {
	add(t, s, episode("c", "x"), episode("a", "x"), episode("b", "x"), episode("z", "x"))
	commit(t, s,
		memory.Write{
			Vectors: []memory.Vector{vector("c", 2, 0), vector("a", 2, 0), vector("b", 2, 0), vector("z", 0, 0)},
		})
	require.Equal(t, []string{"a", "b"}, near(t, s, []float32{1, 0}, 2))
	require.Equal(t, []string{"a", "b", "c", "z"}, near(t, s, []float32{1, 0}, 9))
	hits, err := s.Near(t.Context(), memory.Near{Agent: echo, Space: space, V: []float32{3, 0}, Limit: 4})
	require.NoError(t, err)
	require.InDelta(t, 1, hits[0].Cosine, 1e-6)
	require.Zero(t, hits[3].Cosine) // a zero vector is similar to nothing
	require.Empty(t, near(t, s, []float32{1, 0}, 0))
}

func nearIsLive(t *testing.T, s memory.DreamStore) {
	add(t, s, episode("e", "x"), semantic("s", "x"))
	commit(t, s, memory.Write{Vectors: []memory.Vector{vector("e", 1, 0), vector("s", 1, 1)}})
	require.Equal(t, []string{"e", "s"}, near(t, s, []float32{1, 0}, 5))
	require.Equal(t, []string{"s"}, near(t, s, []float32{1, 0}, 5, dream.KindSemantic, dream.KindGist))
	archived := episode("e", "x")
	archived.State = dream.Archived
	commit(t, s, memory.Write{Change: []dream.Item{archived}})
	require.Equal(t, []string{"s"}, near(t, s, []float32{1, 0}, 5))
	commit(t, s, memory.Write{Change: []dream.Item{episode("e", "x")}})
	require.Equal(t, []string{"e", "s"}, near(t, s, []float32{1, 0}, 5))
}

func newestVector(t *testing.T, s memory.DreamStore) {
	add(t, s, episode("a", "x"), episode("b", "x"))
	commit(t, s, memory.Write{Vectors: []memory.Vector{vector("a", 1, 0), vector("b", 1, 1)}})
	require.Equal(t, []string{"a", "b"}, near(t, s, []float32{1, 0}, 5))
	commit(t, s, memory.Write{Vectors: []memory.Vector{vector("a", 0, 1)}})
	require.Equal(t, []string{"b", "a"}, near(t, s, []float32{1, 0}, 5))
}

// Vectors come back with the direction they were stored with; a store may have normalised them.
func vectorsComeBack(t *testing.T, s memory.DreamStore) {
	add(t, s, episode("a", "x"), episode("b", "x"), episode("c", "x"))
	none, err := s.Vectors(t.Context(), echo, space, "a")
	require.NoError(t, err)
	require.Empty(t, none)
	commit(t, s, memory.Write{Vectors: []memory.Vector{vector("a", 1, 0), vector("b", 3, -4)}})
	got, err := s.Vectors(t.Context(), echo, space, "b", "c", "nobody", "a")
	require.NoError(t, err)
	require.Len(t, got, 2)
	require.Equal(t, []string{"b", "a"}, []string{got[0].Item, got[1].Item})
	require.Equal(t, space, got[0].Space)
	require.InDelta(t, 1, cosine(got[0].V, []float32{3, -4}), 1e-6)
	require.InDelta(t, 1, cosine(got[1].V, []float32{1, 0}), 1e-6)
	for _, other := range []string{"", "test/2/2"} {
		none, err = s.Vectors(t.Context(), echo, other, "a")
		require.NoError(t, err)
		require.Empty(t, none)
	}
	none, err = s.Vectors(t.Context(), echo, space)
	require.NoError(t, err)
	require.Empty(t, none)
}

func spacesNeverMix(t *testing.T, s memory.DreamStore) {
	named, err := s.Space(t.Context(), echo)
	require.NoError(t, err)
	require.Empty(t, named)
	require.Empty(t, near(t, s, []float32{1, 0}, 5))
	add(t, s, episode("a", "x"), episode("b", "x"))
	commit(t, s, memory.Write{Vectors: []memory.Vector{vector("a", 1, 0)}})
	for _, w := range []memory.Vector{
		{Item: "b", Space: "other/1/2", V: []float32{1, 0}},
		{Item: "b", Space: space, V: []float32{1, 0, 0}},
	} {
		_, err := s.Commit(t.Context(), memory.Write{Agent: echo, Vectors: []memory.Vector{w}})
		require.ErrorIs(t, err, memory.ErrSpace)
		_, err = s.Near(t.Context(), memory.Near{Agent: echo, Space: w.Space, V: w.V, Limit: 3})
		require.ErrorIs(t, err, memory.ErrSpace)
	}
	named, err = s.Space(t.Context(), echo)
	require.NoError(t, err)
	require.Equal(t, space, named)
	if !forgets(t, s, "a") {
		return
	}
	// without vectors, an agent may choose another space
	commit(t, s, memory.Write{Vectors: []memory.Vector{{Item: "b", Space: "other/1/2", V: []float32{1, 0}}}})
	hits, err := s.Near(t.Context(), memory.Near{Agent: echo, Space: "other/1/2", V: []float32{1, 0}, Limit: 3})
	require.NoError(t, err)
	require.Len(t, hits, 1)
}

func vectorNeedsItem(t *testing.T, s memory.DreamStore) {
	_, err := s.Commit(t.Context(), memory.Write{Agent: echo, Vectors: []memory.Vector{vector("nobody", 1, 0)}})
	require.ErrorIs(t, err, memory.ErrNotFound)
	for _, v := range [][]float32{nil, {float32(math.NaN())}, {float32(math.Inf(1)), 0}} {
		_, err := s.Commit(t.Context(),
			memory.Write{
				Agent: echo, Add: []dream.Item{episode("a", "x")},
				Vectors: []memory.Vector{vector("a", v...)},
			})
		require.Error(t, err)
	}
	require.Empty(t, get(t, s, "a"))
}

func bareLists(t *testing.T, s memory.DreamStore) {
	bare := func(in string, limit int, kinds ...dream.Kind) []string {
		items, err := s.WithoutVector(t.Context(), echo, in, kinds, limit)
		require.NoError(t, err)
		return ids(items)
	}
	for i, id := range []string{"c", "b", "a"} {
		e := episode(id, "x")
		e.At = dawn.AddDate(0, 0, i)
		add(t, s, e)
	}
	archived := episode("gone", "x")
	archived.State = dream.Archived
	add(t, s, archived, semantic("s", "x"))
	require.Equal(t, []string{"c", "b", "a"}, bare(space, 0, dream.KindEpisode))
	commit(t, s, memory.Write{Vectors: []memory.Vector{vector("b", 1, 0)}})
	require.Equal(t, []string{"c", "a"}, bare(space, 0, dream.KindEpisode))
	require.Equal(t, []string{"c"}, bare(space, 1, dream.KindEpisode))
	require.ElementsMatch(t, []string{"c", "s", "a"}, bare(space, 0))
	require.Equal(t, []string{"c", "b", "a"}, bare("other/1/2", 9, dream.KindEpisode))
}

// nearTo lists the items nearest to [1, 0] that pass a filter.
func nearTo(t *testing.T, s memory.DreamStore, f memory.Filter) []string {
	t.Helper()
	hits, err := s.Near(t.Context(), memory.Near{
		Agent:  echo,
		Space:  space,
		V:      []float32{1, 0},
		Limit:  99,
		Filter: f,
	})
	require.NoError(t, err)
	out := []string{}
	for _, h := range hits {
		out = append(out, h.Item)
	}
	return out
}

// statement is an episode of an owner's conversation.
func statement(id, owner string) *dream.Episode {
	e := episode(id, id)
	e.Origin = owner
	return e
}

func nearIsFiltered(t *testing.T, s memory.DreamStore) {
	dreamtOf, wise := semantic("dreamt", "x"), &dream.Playbook{Head: head(dream.KindPlaybook, "wise"), Content: "x"}
	dreamtOf.Dream, dreamtOf.Taint = "echo/0001", dream.FromDream
	wise.Taint = dream.FromDream
	add(t, s, statement("ann's", ann), statement("bob's", bob), statement("diary", "diary.md:1"), dreamtOf, wise)
	w := memory.Write{}
	for i, id := range []string{"ann's", "bob's", "diary", "dreamt", "wise"} {
		w.Vectors = append(w.Vectors, vector(id, 1, float32(i)))
	}
	commit(t, s, w)
	for _, c := range []struct {
		filter memory.Filter
		want   []string
	}{
		{memory.Filter{}, []string{"ann's", "bob's", "diary", "dreamt", "wise"}},
		{memory.Filter{Owners: []string{"", ann}}, []string{"ann's", "diary", "dreamt", "wise"}},
		{memory.Filter{Owners: []string{bob, bob}}, []string{"bob's"}},
		{memory.Filter{Owners: []string{"talk/k9/nobody"}}, []string{}},
		{memory.Filter{Dreamt: memory.NoneDreamt}, []string{"ann's", "bob's", "diary"}},
		{memory.Filter{Dreamt: memory.PromotedDreamt}, []string{"ann's", "bob's", "diary", "wise"}},
		{memory.Filter{Except: []string{"bob's", "wise", "unknown"}}, []string{"ann's", "diary", "dreamt"}},
		{
			memory.Filter{
				Kinds:  []dream.Kind{dream.KindEpisode},
				Owners: []string{""},
				Dreamt: memory.NoneDreamt,
				Except: []string{"ann's"},
			},
			[]string{"diary"},
		},
	} {
		require.Equal(t, c.want, nearTo(t, s, c.filter), "%+v", c.filter)
	}
}

// When an item changes its owner in any way, only the new owner finds it from then on.
func nearFollowsOwners(t *testing.T, s memory.DreamStore) {
	only := func(owner string, want ...string) {
		t.Helper()
		if want == nil {
			want = []string{}
		}
		require.Equal(t, want, nearTo(t, s, memory.Filter{Owners: []string{owner}}), owner)
		n, err := s.Count(t.Context(), memory.Query{Agent: echo, Owners: []string{owner}})
		require.NoError(t, err)
		require.Equal(t, len(want), n, owner)
	}
	add(t, s, statement("e", ann), statement("f", ann))
	commit(t, s, memory.Write{Vectors: []memory.Vector{vector("e", 1, 0), vector("f", 1, 1)}})
	only(ann, "e", "f")
	commit(t, s, memory.Write{Cause: "operator", Change: []dream.Item{statement("e", bob)}})
	only(ann, "f")
	only(bob, "e")
	fence := sleep(t, s, "echo/0001")
	commit(t, s, memory.Write{Fence: fence, Change: []dream.Item{statement("e", "")}})
	wakeUp(t, s, fence)
	only(bob)
	only("", "e")
	_, err := s.Undo(t.Context(), echo, "echo/0001")
	require.NoError(t, err)
	only("")
	only(bob, "e")
	full, ok := s.(memory.Store)
	if !ok {
		return
	}
	forget(t, full, "f")
	only(ann)
	commit(t, s,
		memory.Write{
			Cause: "import", Add: []dream.Item{statement("g", ann)},
			Vectors: []memory.Vector{vector("g", 1, 2)},
		})
	only(ann, "g")
	collect := []memory.Vector{
		{Item: "e", Space: "other/1/2", V: []float32{1, 0}},
		{Item: "g", Space: "other/1/2", V: []float32{1, 0}},
	}
	require.NoError(t, full.Collect(t.Context(), echo, collect))
	missing, err := full.Move(t.Context(), echo, "other/1/2")
	require.NoError(t, err)
	require.Zero(t, missing)
	hits, err := s.Near(t.Context(), memory.Near{
		Agent:  echo,
		Space:  "other/1/2",
		V:      []float32{1, 0},
		Limit:  9,
		Filter: memory.Filter{Owners: []string{bob}},
	})
	require.NoError(t, err)
	require.Equal(t, []memory.Hit{{Item: "e", Cosine: 1}}, hits)
}

// filteredAgreesWithScan makes random changes and compares every search with a filter and sort over the results of
// Find.
func filteredAgreesWithScan(t *testing.T, s memory.DreamStore) {
	r := rand.New(rand.NewPCG(31, 7))
	owners := []string{"", ann, bob, "talk/k2/"}
	vectors := map[string][]float32{}
	for round := range 12 {
		w := memory.Write{Cause: "import"}
		for i := range 20 {
			id := fmt.Sprintf("%02d-%02d", round, i)
			e := statement(id, owners[r.IntN(len(owners))])
			e.Dream = []string{"", "", "echo/0001"}[r.IntN(3)]
			w.Add = append(w.Add, e)
			if r.IntN(5) > 0 {
				vectors[id] = []float32{r.Float32() - .5, r.Float32() - .5}
				w.Vectors = append(w.Vectors, vector(id, vectors[id]...))
			}
		}
		commit(t, s, w)
		w = memory.Write{Cause: "operator"}
		for _, item := range find(t, s, memory.Query{States: dream.States}) {
			if e, ok := item.(*dream.Episode); ok && r.IntN(8) == 0 {
				e.Origin, e.State = owners[r.IntN(len(owners))], dream.States[r.IntN(len(dream.States))]
				w.Change = append(w.Change, e)
			}
		}
		commit(t, s, w)
		if round%4 == 3 {
			forgets(t, s, fmt.Sprintf("%02d-%02d", round, r.IntN(20)))
		}
		filter := memory.Filter{Owners: owners[:r.IntN(len(owners)+1)], Dreamt: memory.Dreamt(r.IntN(3))}
		sought := []float32{r.Float32() - .5, r.Float32() - .5}
		want := []memory.Hit{}
		for _, item := range find(t, s, memory.Query{Owners: filter.Owners}) {
			h := item.Header()
			if v := vectors[h.ID]; v != nil && (h.Dream == "" || filter.Dreamt == memory.AllDreamt) {
				want = append(want, memory.Hit{Item: h.ID, Cosine: cosine(sought, v)})
			}
		}
		slices.SortFunc(want, func(a, b memory.Hit) int { return cmp.Compare(b.Cosine, a.Cosine) })
		got, err := s.Near(t.Context(), memory.Near{
			Agent:  echo,
			Space:  space,
			V:      sought,
			Limit:  1000,
			Filter: filter,
		})
		require.NoError(t, err)
		require.Len(t, got, len(want))
		for i := range got {
			require.Equal(t, want[i].Item, got[i].Item)
			require.InDelta(t, want[i].Cosine, got[i].Cosine, 1e-5)
		}
	}
}
