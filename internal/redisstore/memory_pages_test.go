package redisstore_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

// manyItems writes items that take several pages to read, with many ties: few times, few saliences, texts that begin
// alike.
func manyItems(t *testing.T, s *redisstore.Store, n int) []*dream.Episode {
	t.Helper()
	r := rand.New(rand.NewPCG(8, 15))
	var all []*dream.Episode
	for from := 0; from < n; from += 500 {
		w := memory.Write{Cause: "import"}
		for i := from; i < min(n, from+500); i++ {
			e := episode(fmt.Sprintf("%05d", r.IntN(1e5)*1e5+i),
				strings.Repeat("the same beginning ", 2)+fmt.Sprint(r.IntN(200)))
			e.At, e.Salience = noon.Add(time.Duration(r.IntN(3))*time.Hour), float64(r.IntN(3))/2
			e.Session = fmt.Sprint("s", i%7)
			all = append(all, e)
			w.Add = append(w.Add, e)
		}
		write(t, s, w)
	}
	return all
}

func TestResultsOfManyPagesAgreeWithAPlainScan(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	all := manyItems(t, s, 3300)
	newest := func(a, b *dream.Episode) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Content, b.Content), cmp.Compare(a.ID, b.ID))
	}
	salient := func(a, b *dream.Episode) int { return cmp.Or(cmp.Compare(b.Salience, a.Salience), newest(a, b)) }
	for _, c := range []struct {
		sort memory.SortOrder
		by   func(a, b *dream.Episode) int
	}{{memory.Newest, newest}, {memory.MostSalient, salient}} {
		for _, q := range []memory.Query{
			{},
			{Limit: 1},
			{Limit: 999},
			{Limit: 1000},
			{Limit: 1001},
			{Limit: 2500},
			{SalientFrom: .5},
			{SalientFrom: 1, Limit: 700},
			{Since: noon.Add(time.Hour), Limit: 1200},
			{Until: noon.Add(time.Hour), SalientFrom: .5},
			{Session: "s3"},
			{Session: "s3", Limit: 20},
		} {
			q.Agent, q.Sort = echo, c.sort
			want := slices.DeleteFunc(slices.Clone(all), func(e *dream.Episode) bool {
				return e.Salience < q.SalientFrom || e.At.Before(q.Since) ||
					!q.Until.IsZero() && !e.At.Before(q.Until) || q.Session != "" && e.Session != q.Session
			})
			n, err := s.Count(t.Context(), q)
			require.NoError(t, err)
			require.Equal(t, len(want), n)
			slices.SortFunc(want, c.by)
			if q.Limit > 0 {
				want = want[:min(q.Limit, len(want))]
			}
			items, err := s.Find(t.Context(), q)
			require.NoError(t, err)
			require.Equal(t, names(want), names(memory.As[*dream.Episode](items)), "%+v", q)
		}
	}
}

func names(items []*dream.Episode) []string {
	out := make([]string, len(items))
	for i, e := range items {
		out[i] = e.ID
	}
	return out
}

// A result of several pages is as of one moment, although others write while it is read: here every write archives one
// memory and adds another, so that their number is constant.
func TestResultsOfManyPagesAreConsistent(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	const n = 2400
	all := manyItems(t, s, n)
	ctx, stop := context.WithCancel(t.Context())
	fault := make(chan error, 1)
	go func() {
		defer close(fault)
		for i := 0; ctx.Err() == nil && i < n; i++ {
			archived := *all[i]
			archived.State = dream.Archived
			_, err := s.Commit(ctx,
				memory.Write{
					Agent: echo, Cause: "d1", Change: []dream.Item{&archived},
					Add: []dream.Item{episode(fmt.Sprint("new ", i), "x")},
				})
			if err != nil && ctx.Err() == nil {
				fault <- err
				return
			}
		}
	}()
	for range 12 {
		items, err := s.Find(t.Context(), memory.Query{Agent: echo})
		require.NoError(t, err)
		require.Len(t, items, n)
		count, err := s.Count(t.Context(), memory.Query{Agent: echo, SalientFrom: -1})
		require.NoError(t, err)
		require.Equal(t, n, count)
	}
	stop()
	require.NoError(t, <-fault)
}

// Vectors of several pages are of one moment too: each write moves one item nearer and another away.
func TestASearchLoadedInPagesSeesCompleteWrites(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	const n = 2600
	crowded := manyItems(t, s, n)
	at := func(id string, near bool) memory.Vector {
		return memory.Vector{Item: id, Space: "flat/2", V: map[bool][]float32{true: {1, 0}, false: {0, 1}}[near]}
	}
	w := memory.Write{Cause: "import"}
	for i, e := range crowded {
		w.Vectors = append(w.Vectors, at(e.ID, i == 0))
	}
	write(t, s, w)
	for i := 1; i < 40; i++ {
		written := make(chan error, 1)
		go func() {
			_, err := s.Commit(t.Context(),
				memory.Write{
					Agent:   echo,
					Vectors: []memory.Vector{at(crowded[i-1].ID, false), at(crowded[i].ID, true)},
				})
			written <- err
		}()
		hits, err := s.Near(t.Context(), memory.Near{Agent: echo, Space: "flat/2", V: []float32{1, 0}, Limit: 2})
		require.NoError(t, err)
		require.InDelta(t, 1, hits[0].Cosine, 1e-6)
		require.InDelta(t, 0, hits[1].Cosine, 1e-6)
		require.NoError(t, <-written)
	}
	all, err := s.Near(t.Context(), memory.Near{Agent: echo, Space: "flat/2", V: []float32{1, 0}, Limit: n + 1})
	require.NoError(t, err)
	require.Len(t, all, n)
}

// A deployment from before items had owners and were in the set of changes: its rows name no owner, and both sets are
// missing.
func TestItemsOfAnOlderDeploymentGetTheirOwners(t *testing.T) {
	t.Parallel()
	server, prefix := redis.Shared(t), redis.Prefix(t)
	s := open(t, server.URL, prefix)
	w := memory.Write{Agent: echo, Cause: "import"}
	for i := range 1200 {
		e := episode(fmt.Sprintf("%04d", i), "x")
		e.Origin = []string{"talk/k/ann", "talk/k/bob", "diary.md"}[i%3]
		w.Add = append(w.Add, e)
		w.Vectors = append(w.Vectors, memory.Vector{Item: e.ID, Space: "flat/2", V: []float32{1, float32(i)}})
	}
	write(t, s, w)
	c := server.Dial(t)
	base := prefix + "a:" + echo + ":"
	rows, err := c.HGetAll(t.Context(), base+"items").Result()
	require.NoError(t, err)
	for id, row := range rows {
		older := ownerMark.ReplaceAllString(row, "")
		require.NotEqual(t, row, older)
		require.NoError(t, c.HSet(t.Context(), base+"items", id, older).Err())
	}
	require.NoError(t, c.Del(t.Context(), base+"changes", base+"owner:talk/k/ann", base+"owner:talk/k/bob").Err())
	require.NoError(t, c.Del(t.Context(), base+"owners", base+"live:talk/k/ann", base+"live:talk/k/bob").Err())
	require.NoError(t, c.HDel(t.Context(), base+"life", "fed", "tallied").Err())

	count := func(s *redisstore.Store, owners ...string) int {
		n, err := s.Count(t.Context(), memory.Query{Agent: echo, Owners: owners})
		require.NoError(t, err)
		return n
	}
	near := func(s *redisstore.Store, owner string) int {
		hits, err := s.Near(t.Context(), memory.Near{
			Agent:  echo,
			Space:  "flat/2",
			V:      []float32{1, 0},
			Limit:  9999,
			Filter: memory.Filter{Owners: []string{owner}},
		})
		require.NoError(t, err)
		return len(hits)
	}
	other := open(t, server.URL, prefix)
	moved := episode("0000", "x") // changed before the first query
	moved.Origin = "talk/k/bob"
	write(t, other, memory.Write{Agent: echo, Cause: "operator", Change: []dream.Item{moved}})
	require.Equal(t, 399, near(other, "talk/k/ann"))
	require.Equal(t, 401, near(other, "talk/k/bob"))
	require.Equal(t, 400, near(other, ""))
	require.Equal(t, 399, count(other, "talk/k/ann"))
	require.Equal(t, 800, count(other, "talk/k/ann", "talk/k/bob"))
	require.Equal(t, 400, count(other, ""))

	for _, each := range []*redisstore.Store{other, s} {
		counts, err := each.Owners(t.Context(), echo)
		require.NoError(t, err)
		require.Equal(t, map[string]int{"talk/k/ann": 399, "talk/k/bob": 401}, counts)
	}
	tallied, err := c.HGet(t.Context(), base+"life", "tallied").Result()
	require.NoError(t, err)
	require.Equal(t, "1", tallied, "old items are counted once")
}

// While the items of an older deployment are counted, others write: no count is lost and none is made twice.
func TestOwnersAreCountedWhileOthersWrite(t *testing.T) {
	t.Parallel()
	server, prefix := redis.Shared(t), redis.Prefix(t)
	s, other := open(t, server.URL, prefix), open(t, server.URL, prefix)
	w := memory.Write{Agent: echo, Cause: "import"}
	for i := range 3000 {
		e := episode(fmt.Sprintf("%04d", i), "x")
		e.Origin = []string{"talk/k/ann", "talk/k/bob"}[i%2]
		w.Add = append(w.Add, e)
	}
	write(t, s, w)
	c := server.Dial(t)
	base := prefix + "a:" + echo + ":"
	require.NoError(t, c.Del(t.Context(), base+"owners", base+"live:talk/k/ann", base+"live:talk/k/bob").Err())
	require.NoError(t, c.HDel(t.Context(), base+"life", "tallied").Err())
	written := make(chan error, 1)
	go func() {
		var err error
		for i := 0; i < 3000 && err == nil; i += 30 { // from ann to bob, and every other one archived
			e := episode(fmt.Sprintf("%04d", i), "x")
			e.Origin = "talk/k/bob"
			if i%60 == 0 {
				e.State = dream.Archived
			}
			_, err = other.Commit(t.Context(), memory.Write{Agent: echo, Cause: "operator", Change: []dream.Item{e}})
		}
		written <- err
	}()
	for done := false; !done; {
		select {
		case err := <-written:
			require.NoError(t, err)
			done = true
		default:
		}
		_, err := s.Owners(t.Context(), echo)
		require.NoError(t, err)
	}
	counts, err := s.Owners(t.Context(), echo)
	require.NoError(t, err)
	require.Equal(t, map[string]int{"talk/k/ann": 1400, "talk/k/bob": 1550}, counts)
}

var ownerMark = regexp.MustCompile(`,"o":"[^"]*"`)
