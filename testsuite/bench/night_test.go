package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
)

// One measurement takes so many pairs, in turn, of so many dreams and bare workflows each. Of nine pairs the second and
// the second last ratio bound the median with a certainty of 96 %.
const (
	pairs         = 9
	dreamsPerPair = 2
)

// BenchmarkNightCPU measures the CPU of one dream at a provider without latency, in the worker and in worker and
// server together. It is compared with two bare workflows that run as many activities as the dream makes calls to a
// model, in turn on the same processes: in one the activities do nothing, in the other each makes one streamed call
// that is reserved before and settled after. It runs a dream of 27 calls and a dream with the default configuration.
// Goal: to-paying, the ratio to the workflow that buys as many durable answers, at most 1.3 in the median of the pairs;
// to-paying-low and -high bound the median. ratio-sum is the ratio to the workflow that does nothing, and ratio-paying
// the least that it can be while calls are made and paid for.
func BenchmarkNightCPU(b *testing.B) {
	b.Run("27calls", func(b *testing.B) { measureNights(b, knobs()) })
	b.Run("shipped", func(b *testing.B) { measureNights(b, dream.DefaultKnobs()) })
}

// measureNights runs dreams, each next to a bare workflow with as many activities as the dream made calls.
func measureNights(b *testing.B, k dream.Knobs) {
	th := open(b, k)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	n := th.dream(b, ctx, 1)
	th.bare(b, ctx, "Nothing", n)
	th.bare(b, ctx, "Call", n)
	var dreamt, idle, paid [2]float64
	var lasted, waited time.Duration
	var ratios []float64
	made, seed := 0, uint64(1)
	for range b.N * pairs {
		var pair, buying float64
		for range dreamsPerPair {
			seed++
			before, began := th.used(b), time.Now()
			n := th.dream(b, ctx, seed)
			middle, between := th.used(b), time.Now()
			th.bare(b, ctx, "Nothing", n)
			after := th.used(b)
			made += n
			lasted, waited = lasted+between.Sub(began), waited+time.Since(between)
			th.bare(b, ctx, "Call", n)
			last := th.used(b)
			for side := range dreamt {
				dreamt[side] += middle[side] - before[side]
				idle[side] += after[side] - middle[side]
				paid[side] += last[side] - after[side]
				pair += middle[side] - before[side]
				buying += last[side] - after[side]
			}
		}
		ratios = append(ratios, pair/buying)
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "to-paying")
	b.ReportMetric(ratios[len(ratios)/pairs], "to-paying-low")
	b.ReportMetric(ratios[len(ratios)-1-len(ratios)/pairs], "to-paying-high")
	all := float64(b.N * pairs * dreamsPerPair)
	b.ReportMetric(float64(made)/all, "calls/dream")
	b.ReportMetric(dreamt[0]/all, "worker-ms/dream")
	b.ReportMetric(dreamt[1]/all, "server-ms/dream")
	b.ReportMetric(idle[0]/all, "worker-ms/bare")
	b.ReportMetric(idle[1]/all, "server-ms/bare")
	b.ReportMetric(paid[0]/all, "worker-ms/paying")
	b.ReportMetric(paid[1]/all, "server-ms/paying")
	b.ReportMetric(dreamt[0]/idle[0], "ratio-worker")
	b.ReportMetric((paid[0]+paid[1])/(idle[0]+idle[1]), "ratio-paying")
	b.ReportMetric((dreamt[0]+dreamt[1])/(idle[0]+idle[1]), "ratio-sum")
	b.ReportMetric(float64(lasted.Milliseconds())/all, "wall-ms/dream")
	b.ReportMetric(float64(waited.Milliseconds())/all, "wall-ms/bare")
	b.ReportMetric(0, "ns/op")
}

// used is the CPU of worker and server so far, in ms.
func (th *processes) used(tb testing.TB) [2]float64 {
	return [2]float64{cpu(tb, th.worker.Process.Pid), cpu(tb, th.server.PID())}
}

// dream runs one dream and returns how many calls to a model it made, embeddings not counted.
func (th *processes) dream(b *testing.B, ctx context.Context, seed uint64) int {
	b.Helper()
	before := th.generations()
	begun, err := th.deployment.Starter.Begin(ctx,
		starter.DreamRequest{Agent: th.agent.Handle, Seed: &seed, AsOf: testdeploy.Night})
	require.NoError(b, err)
	result, err := th.deployment.Result(ctx, begun.Dream)
	require.NoError(b, err)
	require.Equal(b, dream.Completed, result.Outcome, result.Reason)
	return th.generations() - before
}

func (th *processes) generations() int {
	n := 0
	for _, c := range th.upstream.Billing.Calls() {
		if strings.HasSuffix(c.Path, "/chat/completions") {
			n++
		}
	}
	return n
}

func (th *processes) bare(b *testing.B, ctx context.Context, activity string, times int) {
	b.Helper()
	now := time.Now().UnixNano()
	run, err := th.deployment.Client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: fmt.Sprintf("bare-%d", now), TaskQueue: "bench",
	}, "Bare", activity, times, now)
	require.NoError(b, err)
	require.NoError(b, run.Get(ctx, nil))
}
