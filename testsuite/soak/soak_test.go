package soak_test

import (
	"context"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/testsuite/program"
	"github.com/seed-56a03226/oneiros/testsuite/soak"
)

// full says whether the proof runs at its full size.
var full = os.Getenv("PROVE") == "full"

// seed of the clients, the kills and the dreams; ONEIROS_SEED sets another.
var seed = func() uint64 {
	if n, err := strconv.ParseUint(os.Getenv("ONEIROS_SEED"), 10, 64); err == nil {
		return n
	}
	return 42
}()

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

func TestClientsComeAndGoOverKilledReplicasAndAgentsDreamInBetween(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts real servers")
	}
	size := soak.Size{
		Clients:  16,
		Agents:   6,
		Replicas: 3,
		For:      22 * time.Second,
		Kill:     8 * time.Second,
		Away:     28 * time.Second,
		Seed:     seed,
	}
	if full {
		size = soak.Size{
			Clients:  64,
			Agents:   20,
			Replicas: 3,
			For:      10 * time.Minute,
			Kill:     time.Minute,
			Away:     2 * time.Minute,
			Seed:     seed,
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute+size.For)
	defer cancel()
	s := soak.Prepare(ctx, t, program.Oneiros(t), size)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(s.Fleet.Output())
		}
	})
	ids := make([]string, len(s.Agents))
	for i, a := range s.Agents {
		ids[i] = a.ID
	}
	calm, err := soak.Measure(ctx, s.Fleet.First())
	require.NoError(t, err)
	watch := soak.NewWatch(s.Deployment.Store, ids)
	watching, stop := context.WithCancel(ctx)
	var beside sync.WaitGroup
	beside.Go(func() { watch.Poll(watching) })
	beside.Go(func() { s.MeasureFirst(watching, size.For/120) })

	require.NoError(t, s.Run(ctx))
	until, err := s.WaitForDreams(ctx, watch, full)
	require.NoError(t, err)
	stop()
	beside.Wait()
	require.NoError(t, s.EndDreams(ctx))
	after, err := soak.Measure(ctx, s.Fleet.First())
	require.NoError(t, err)
	require.NoError(t, s.Fleet.Stop())
	require.NoError(t, s.Fleet.Panics())
	require.Zero(t, s.Talker.UnderWay(), "no call to the talking model is left")

	e, books, err := s.Gather(ctx, watch, until)
	require.NoError(t, err)
	t.Log(soak.Report(s, e, books, calm, after))
	require.NoError(t, e.Judge())
	require.NoError(t, books.Audit())
	require.NoError(t, books.AuditOnce())
	require.LessOrEqual(t, after.Goroutines, calm.Goroutines+100,
		"goroutines of the first replica, before anybody came and after all went")
	f := soak.Count(e)
	require.NotEmpty(t, s.Fleet.Deaths())
	require.Positive(t, f.Woken, "dreams were woken")
	require.Positive(t, f.Stretches)
	require.Positive(t, f.Begun, "agents dreamt between visits")
	for _, wire := range soak.Wires {
		require.Positive(t, f.Answered[wire.Path], "clients were answered over %s", wire.Path)
	}
	paths, passed, answered := map[string]int{}, 0, 0
	for _, request := range s.Talker.Requests() {
		paths[request.Path]++
	}
	for _, wire := range soak.Wires[1:] {
		require.Positive(t, paths[wire.Path], "%s was passed on: %v", wire.Path, paths)
		passed, answered = passed+f.PassedOn[wire.Path], answered+f.Answered[wire.Path]
	}
	require.Positive(t, passed, "wires were passed on")
	require.Greater(t, answered, passed, "wires were translated")
	if full {
		require.Positive(t, f.WentOn, "clients went on from kept responses")
	}
	require.Positive(t, f.Own, "a client's own secret is found in its answers, so the search works")

	t.Run("the judge finds a lease that was not honoured", func(t *testing.T) {
		agent, night := dreamer(t, e)
		false1 := e
		false1.Leases = map[string][]soak.Lease{
			agent: append(slices.Clone(e.Leases[agent]),
				soak.Lease{Client: "forged", From: night.Add(-2 * time.Second), To: night.Add(time.Second)}),
		}
		require.ErrorIs(t, false1.Judge(), soak.ErrOverlap)
	})
}

// dreamer is an agent that has dreamt, and when its dream began.
func dreamer(t *testing.T, e soak.Evidence) (string, time.Time) {
	t.Helper()
	for agent, nights := range e.Nights {
		for _, n := range nights {
			if len(n.Stretches) > 0 {
				return agent, n.Stretches[0].From
			}
		}
	}
	require.Fail(t, "nobody dreamt")
	return "", time.Time{}
}
