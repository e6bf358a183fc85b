package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/stage"
)

// nights is how many dreams and how many bare workflows one measurement takes.
const nights = 20

// BenchmarkNightCPU measures the CPU of one dream of 27 calls at a provider without latency, in the worker and in worker
// and server together, against a bare workflow of 27 activities that do nothing, run in turn on the same processes.
// Goal: ratio of the sum at most 1.25.
func BenchmarkNightCPU(b *testing.B) {
	th := open(b)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	th.dream(b, ctx, 1)
	th.bare(b, ctx, 1)
	var dreamt, idle [2]float64
	var lasted, waited time.Duration
	for range b.N {
		for i := range nights {
			before, began := th.used(b), time.Now()
			th.dream(b, ctx, uint64(2+i))
			middle, between := th.used(b), time.Now()
			th.bare(b, ctx, 1)
			after := th.used(b)
			lasted, waited = lasted+between.Sub(began), waited+time.Since(between)
			for side := range dreamt {
				dreamt[side] += middle[side] - before[side]
				idle[side] += after[side] - middle[side]
			}
		}
	}
	n := float64(b.N * nights)
	b.ReportMetric(dreamt[0]/n, "worker-ms/dream")
	b.ReportMetric(dreamt[1]/n, "server-ms/dream")
	b.ReportMetric(idle[0]/n, "worker-ms/bare")
	b.ReportMetric(idle[1]/n, "server-ms/bare")
	b.ReportMetric(dreamt[0]/idle[0], "ratio-worker")
	b.ReportMetric((dreamt[0]+dreamt[1])/(idle[0]+idle[1]), "ratio-sum")
	b.ReportMetric(float64(lasted.Milliseconds())/n, "wall-ms/dream")
	b.ReportMetric(float64(waited.Milliseconds())/n, "wall-ms/bare")
	b.ReportMetric(0, "ns/op")
}

// used is the CPU of worker and server so far, in ms.
func (th *theatre) used(tb testing.TB) [2]float64 {
	return [2]float64{cpu(tb, th.worker.Process.Pid), cpu(tb, th.server.PID())}
}

func (th *theatre) dream(b *testing.B, ctx context.Context, seed uint64) {
	b.Helper()
	begun, err := th.company.Starter.Begin(ctx, starter.Wish{Agent: th.agent.Handle, Seed: &seed, AsOf: stage.Night})
	require.NoError(b, err)
	result, err := th.company.Result(ctx, begun.Dream)
	require.NoError(b, err)
	require.Equal(b, dream.Completed, result.Outcome, result.Reason)
}

func (th *theatre) bare(b *testing.B, ctx context.Context, times int) {
	b.Helper()
	for range times {
		run, err := th.company.Client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
			ID: fmt.Sprintf("bare-%d", time.Now().UnixNano()), TaskQueue: "bench",
		}, "Bare")
		require.NoError(b, err)
		require.NoError(b, run.Get(ctx, nil))
	}
}
