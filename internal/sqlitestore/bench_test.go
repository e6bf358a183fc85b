//go:build unix

package sqlitestore_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/rank"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/activities/port/spend/spendtest"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

// batch is how many memories an importer commits at a time.
const batch = 500

// laps times each turn of a benchmark. It reports the median and the 99th percentile in milliseconds, and the processor
// time of a turn, which other load on the machine changes least.
func laps(b *testing.B, turn func(i int)) {
	b.Helper()
	var times []time.Duration
	worked := processorTime(b)
	for i := 0; b.Loop(); i++ {
		begun := time.Now()
		turn(i)
		times = append(times, time.Since(begun))
	}
	worked = processorTime(b) - worked
	slices.Sort(times)
	at := func(share float64) float64 {
		return float64(times[int(share*float64(len(times)-1))].Microseconds()) / 1000
	}
	b.ReportMetric(at(.5), "p50-ms")
	b.ReportMetric(at(.99), "p99-ms")
	b.ReportMetric(float64(worked.Microseconds())/1000/float64(len(times)), "cpu-ms")
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used unix.Rusage
	require.NoError(b, unix.Getrusage(unix.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// memoryOf returns the i-th memory of a benchmark: four episodes to one semantic entry, some 300 characters each.
func memoryOf(r *rand.Rand, i int) dream.Item {
	id := fmt.Sprintf("%08x-%06d", r.Uint32(), i)
	at := dawn.Add(time.Duration(i) * time.Minute)
	text := fmt.Sprintf("memory %d: %s", i, strings.Repeat("the tide went out over glass, ", 4+r.IntN(12)))
	h := dream.Head{
		ID:    id,
		Agent: echo,
		Kind:  dream.KindEpisode,
		At:    at,
		State: dream.Live,
		Taint: dream.FromHuman,
	}
	if i%5 == 4 {
		h.Kind = dream.KindSemantic
		return &dream.Semantic{Head: h, Content: text, Strength: r.Float64(), Due: at.AddDate(0, 0, r.IntN(60))}
	}
	return &dream.Episode{
		Head:     h,
		Content:  text,
		Context:  "by the sea",
		Action:   "walked",
		Outcome:  "came home",
		Salience: r.Float64(),
		Surprise: r.Float64(),
		Session:  fmt.Sprint("session ", i/40),
		Origin:   fmt.Sprint("diary:", i),
	}
}

func throw(r *rand.Rand, dim int) []float32 {
	v := make([]float32, dim)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

// filledStore returns a store on a file with n memories, with vectors of dimension dim unless that is zero.
func filledStore(b *testing.B, n, dim int) *sqlitestore.Store {
	b.Helper()
	s := open(b, filepath.Join(b.TempDir(), "oneiros.db"))
	r := rand.New(rand.NewPCG(1, 2))
	for from := 0; from < n; from += batch {
		w := memory.Write{Agent: echo, Cause: "import"}
		for i := from; i < min(n, from+batch); i++ {
			item := memoryOf(r, i)
			w.Add = append(w.Add, item)
			if dim > 0 {
				w.Vectors = append(w.Vectors, memory.Vector{Item: item.Header().ID, Space: "bench", V: throw(r, dim)})
			}
		}
		_, err := s.Commit(b.Context(), w)
		require.NoError(b, err)
	}
	return s
}

// BenchmarkSelect10k and 100k select the 270 memories of a dream: goals p99 5 ms and 40 ms.
func BenchmarkSelect10k(b *testing.B)  { benchmarkSelect(b, 10_000) }
func BenchmarkSelect100k(b *testing.B) { benchmarkSelect(b, 100_000) }

func benchmarkSelect(b *testing.B, n int) {
	s := filledStore(b, n, 0)
	laps(b, func(int) {
		chosen := 0
		for _, q := range []memory.Query{
			{Kinds: []dream.Kind{dream.KindEpisode}, Sort: memory.Newest, Limit: 200},
			{Kinds: []dream.Kind{dream.KindEpisode}, Sort: memory.MostSalient, SalientFrom: .7, Limit: 50},
			{Kinds: []dream.Kind{dream.KindSemantic}, Sort: memory.SoonestDue, Limit: 20},
		} {
			q.Agent = echo
			items, err := s.Find(b.Context(), q)
			require.NoError(b, err)
			chosen += len(items)
		}
		require.Equal(b, 270, chosen)
	})
}

// BenchmarkNear100k searches 100,000 vectors of dimension 384 in memory: goal p99 12 ms on two cores.
func BenchmarkNear100k(b *testing.B) {
	s := filledStore(b, 100_000, 384)
	r := rand.New(rand.NewPCG(3, 4))
	begun := time.Now()
	_, err := s.Near(b.Context(), memory.Near{Agent: echo, Space: "bench", V: throw(r, 384), Limit: 20})
	require.NoError(b, err)
	loading := time.Since(begun)
	sought := throw(r, 384)
	laps(b, func(int) {
		hits, err := s.Near(b.Context(), memory.Near{Agent: echo, Space: "bench", V: sought, Limit: 20})
		require.NoError(b, err)
		require.Len(b, hits, 20)
	})
	b.ReportMetric(float64(loading.Milliseconds()), "load-ms")
}

// BenchmarkReserveSettle makes the two durable steps around one paid call, under six caps.
func BenchmarkReserveSettle(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "oneiros.db"))
	var caps []budget.Account
	for _, scope := range []string{"step", "phase", "dream", "day", "month", "fleet"} {
		caps = append(caps, budget.Account{Scope: scope, Limit: budget.Unlimited})
	}
	laps(b, func(i int) {
		h, err := s.Reserve(b.Context(), spend.Ask{
			Step:     fmt.Sprint("step ", i),
			Agent:    "echo",
			Dream:    "d",
			Amount:   100,
			Accounts: caps,
			At:       dawn,
		})
		require.NoError(b, err)
		require.NoError(b,
			s.Settle(b.Context(), h,
				spend.Bill{State: spend.Settled, Amount: 60, Answer: []byte("an answer of some length"), At: dawn}))
	})
}

// BenchmarkSearch10k and 100k compare a question of eight words with that many memories of fifty words each, with word
// frequencies as in a natural language (Zipf), by words and vectors of dimension 384: goals p99 3 ms and 12 ms on two
// cores.
func BenchmarkSearch10k(b *testing.B)  { benchmarkSearch(b, 10_000) }
func BenchmarkSearch100k(b *testing.B) { benchmarkSearch(b, 100_000) }

func benchmarkSearch(b *testing.B, n int) {
	s := open(b, filepath.Join(b.TempDir(), "oneiros.db"))
	r := rand.New(rand.NewPCG(7, 8))
	zipf := rand.NewZipf(r, 1.1, 8, 40_000)
	say := func(words int) string {
		var text strings.Builder
		for range words {
			fmt.Fprintf(&text, "w%dx ", zipf.Uint64())
		}
		return text.String()
	}
	for from := 0; from < n; from += batch {
		w := memory.Write{Agent: echo, Cause: "import"}
		for i := from; i < min(n, from+batch); i++ {
			h := dream.Head{
				ID:    fmt.Sprintf("%08x-%06d", r.Uint32(), i),
				Agent: echo,
				Kind:  dream.KindEpisode,
				At:    dawn,
				State: dream.Live,
				Taint: dream.FromHuman,
			}
			w.Add = append(w.Add, &dream.Episode{Head: h, Content: say(50)})
			w.Vectors = append(w.Vectors, memory.Vector{Item: h.ID, Space: "bench", V: throw(r, 384)})
		}
		_, err := s.Commit(b.Context(), w)
		require.NoError(b, err)
	}
	search := func() {
		found, err := s.Search(b.Context(), memory.Search{
			Agent: echo,
			Text:  say(8),
			Space: "bench",
			V:     throw(r, 384),
			Blend: rank.Blend{Words: .7, Meaning: .3},
			Limit: 40,
		})
		require.NoError(b, err)
		require.Len(b, found.Hits, 40)
	}
	begun := time.Now()
	search()
	loading := time.Since(begun)
	laps(b, func(int) { search() })
	b.ReportMetric(float64(loading.Milliseconds()), "load-ms")
}

// BenchmarkFirstSearch20k and 100k are the first search after a start, which reads the agent's whole memory: goal 1.5 s
// at 100,000 memories. BenchmarkNearOwner below searches what one of 1,000 owners said among 100,000 memories of one
// agent, and the same memories alone: the ratio of the 99th percentiles should be 2 at most.
func BenchmarkFirstSearch20k(b *testing.B)  { benchmarkFirstSearch(b, 20_000) }
func BenchmarkFirstSearch100k(b *testing.B) { benchmarkFirstSearch(b, 100_000) }

func benchmarkFirstSearch(b *testing.B, n int) {
	path := filepath.Join(b.TempDir(), "oneiros.db")
	s := open(b, path)
	r := rand.New(rand.NewPCG(9, 10))
	zipf := rand.NewZipf(r, 1.1, 8, 40_000)
	endings := []string{"", "s", "ing", "ed", "ation", "ly"}
	say := func(words int) string {
		text := []byte("We were at the harbour and it was a ")
		for range words {
			for k := zipf.Uint64() + 400; k > 0; k /= 20 {
				text = append(text, "bcdfghjklmnprstvwxyz"[k%20], "aeiou"[k%5])
			}
			text = append(append(text, endings[r.IntN(len(endings))]...), ' ')
		}
		return string(text)
	}
	for from := 0; from < n; from += batch {
		w := memory.Write{Agent: echo, Cause: "import"}
		for i := from; i < min(n, from+batch); i++ {
			h := dream.Head{
				ID:    fmt.Sprintf("%08x-%06d", r.Uint32(), i),
				Agent: echo,
				Kind:  dream.KindEpisode,
				At:    dawn,
				State: dream.Live,
				Taint: dream.FromHuman,
			}
			w.Add = append(w.Add, &dream.Episode{Head: h, Content: say(45)})
			w.Vectors = append(w.Vectors, memory.Vector{Item: h.ID, Space: "bench", V: throw(r, 256)})
		}
		_, err := s.Commit(b.Context(), w)
		require.NoError(b, err)
	}
	laps(b, func(int) {
		fresh := open(b, path)
		found, err := fresh.Search(b.Context(),
			memory.Search{Agent: echo, Text: say(8), Blend: rank.Blend{Words: 1}, Limit: 40})
		require.NoError(b, err)
		require.Len(b, found.Hits, 40)
	})
}

func BenchmarkNearOwner(b *testing.B) {
	const owners, each = 1000, 100
	s := open(b, filepath.Join(b.TempDir(), "oneiros.db"))
	r := rand.New(rand.NewPCG(7, 8))
	alone := memory.Write{Agent: "alone", Cause: "import"}
	for i := range owners {
		w := memory.Write{Agent: echo, Cause: "import"}
		for j := range each {
			h := dream.Head{
				ID:    fmt.Sprintf("%04d-%03d", i, j),
				Agent: echo,
				Kind:  dream.KindEpisode,
				At:    dawn,
				State: dream.Live,
				Taint: dream.FromHuman,
			}
			e := &dream.Episode{Head: h, Content: fmt.Sprint("memory ", i, j), Origin: fmt.Sprint("talk/k/", i)}
			v := memory.Vector{Item: h.ID, Space: "bench", V: throw(r, 384)}
			w.Add, w.Vectors = append(w.Add, e), append(w.Vectors, v)
			if i == 0 {
				own := *e
				own.Agent = alone.Agent
				alone.Add, alone.Vectors = append(alone.Add, &own), append(alone.Vectors, v)
			}
		}
		_, err := s.Commit(b.Context(), w)
		require.NoError(b, err)
	}
	_, err := s.Commit(b.Context(), alone)
	require.NoError(b, err)
	sought := throw(r, 384)
	search := func(agent string) time.Duration {
		begun := time.Now()
		hits, err := s.Near(b.Context(), memory.Near{
			Agent:  agent,
			Space:  "bench",
			V:      sought,
			Limit:  20,
			Filter: memory.Filter{Owners: []string{"", "talk/k/0"}},
		})
		require.NoError(b, err)
		require.Len(b, hits, 20)
		return time.Since(begun)
	}
	search(echo) // builds the index
	search(alone.Agent)
	var among, by []time.Duration
	for b.Loop() {
		among, by = append(among, search(echo)), append(by, search(alone.Agent))
	}
	slices.Sort(among)
	slices.Sort(by)
	p99 := func(times []time.Duration) float64 {
		return float64(times[int(.99*float64(len(times)-1))].Microseconds()) / 1000
	}
	b.ReportMetric(p99(among), "p99-ms")
	b.ReportMetric(p99(by), "alone-p99-ms")
	b.ReportMetric(p99(among)/p99(by), "ratio")
}

// BenchmarkCommit imports memories, 500 to a write.
func BenchmarkCommit(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "oneiros.db"))
	r := rand.New(rand.NewPCG(5, 6))
	items := 0
	begun := time.Now()
	laps(b, func(i int) {
		w := memory.Write{Agent: echo, Cause: "import"}
		for j := range batch {
			w.Add = append(w.Add, memoryOf(r, i*batch+j))
		}
		receipt, err := s.Commit(b.Context(), w)
		require.NoError(b, err)
		require.Equal(b, batch, receipt.Added)
		items += batch
	})
	b.ReportMetric(float64(items)/time.Since(begun).Seconds(), "items/s")
}

func BenchmarkFolding(b *testing.B) {
	spendtest.BenchmarkFolding(b, open(b, filepath.Join(b.TempDir(), "oneiros.db")).Ledger())
}
