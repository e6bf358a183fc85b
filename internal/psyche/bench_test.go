package psyche_test

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/localmodel"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

var nouns = []string{
	"lighthouse", "keeper", "lantern", "harbour", "rope", "baker", "bread", "tide", "captain", "map",
	"storm", "gull", "anchor", "quay", "net", "salt",
}

func (r *rig) fill(n int) {
	r.t.Helper()
	for from := 0; from < n; from += 1000 {
		w := memory.Write{Agent: r.agent.ID, Cause: "import"}
		for i := from; i < min(n, from+1000); i++ {
			e := lived(fmt.Sprintf("ep_%06d", i),
				fmt.Sprintf("The %s of the %s met the %s at number %d.", nouns[i%16], nouns[i/16%16], nouns[i/256%16],
					i))
			e.Agent, e.At, e.State = r.agent.ID, dawn, dream.Live
			w.Add = append(w.Add, e)
			w.Vectors = append(w.Vectors,
				memory.Vector{Item: e.ID, Space: localmodel.EmbedSpace, V: localmodel.Vector(e.Content)})
		}
		_, err := r.store.Commit(r.t.Context(), w)
		require.NoError(r.t, err)
	}
}

// BenchmarkTurn is a turn without HTTP: everything that a service adds to a provider that answers at once.
func BenchmarkTurn(b *testing.B) {
	for _, n := range []int{0, 1000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("%d_memories", n), func(b *testing.B) {
			r := setup(b)
			r.fill(n)
			t := turn(ann, chat("What did the keeper of the lighthouse do?"))
			t.Switches.Store = no()
			if n == 0 {
				t.Switches.Recall = no()
			}
			var took []time.Duration
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				i++
				began := time.Now()
				t.Conversation = fmt.Sprint(i)
				reply, err := r.Chat(b.Context(), t)
				if err != nil || n > 0 && reply.Report.Recalled == 0 {
					b.Fatal(err, reply)
				}
				if _, err := io.Copy(io.Discard, reply.Body); err != nil {
					b.Fatal(err)
				}
				_ = reply.Body.Close()
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-us")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-us")
		})
	}
}

// BenchmarkRecall is the search alone.
func BenchmarkRecall(b *testing.B) {
	for _, n := range []int{1000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("%d_memories", n), func(b *testing.B) {
			r := setup(b)
			r.fill(n)
			for b.Loop() {
				found, err := r.Recall(b.Context(), ann, "echo",
					psyche.RecallRequest{Query: "What did the keeper of the lighthouse do?", Limit: 6})
				if err != nil || len(found) != 6 {
					b.Fatal(err, found)
				}
			}
		})
	}
}

// BenchmarkIdleStream is the memory of a silent stream: of its request of 100 KB it holds nothing.
func BenchmarkIdleStream(b *testing.B) {
	const streams = 500
	message := `{"role":"user","content":"The lamp in the harbour flickered all evening and nobody came to fix it."},`
	body := `{"model":"echo","stream":true,"max_tokens":9,"messages":[` + strings.Repeat(message, 1000) +
		`{"role":"user","content":"Why?"}]}`
	for b.Loop() {
		r := setup(b, func(_ *psyche.Ports, o *psyche.Options) { o.Talker = "p/dear" })
		r.agent.Caps.Day, r.agent.Caps.Month = budget.Unlimited, budget.Unlimited
		require.NoError(b, r.store.PutAgent(b.Context(), r.agent))
		r.provider.answer = func(inference.RelayRequest) (int, string, io.ReadCloser) {
			pipe, _ := io.Pipe()
			return 200, "text/event-stream", pipe
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		replies := make([]*psyche.Reply, streams)
		for i := range replies {
			t := turn(caller("key", fmt.Sprint(i)), body)
			reply, err := r.Chat(b.Context(), t)
			require.NoError(b, err)
			replies[i] = reply
		}
		r.provider.mu.Lock()
		r.provider.bodies = nil
		r.provider.mu.Unlock()
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/streams, "bytes/stream")
		for _, reply := range replies {
			_ = reply.Body.Close()
		}
	}
}
