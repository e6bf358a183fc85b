package redisstore_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/presence"
	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

func ringFor(agent string) presence.Ring {
	return presence.Ring{Agent: agent, Epoch: 1, Cause: presence.Connect, At: noon, Raised: noon}
}

// hearing passes rings on; what nobody reads in time is let go.
func hearing(t testing.TB, b presence.Bell) <-chan presence.Ring {
	t.Helper()
	heard := make(chan presence.Ring, 4096)
	stop, err := b.Listen(func(r presence.Ring) {
		select {
		case heard <- r:
		default:
		}
	})
	require.NoError(t, err)
	t.Cleanup(stop)
	return heard
}

func TestAProcessHearsItsOwnRingOnce(t *testing.T) {
	t.Parallel()
	here, there := pair(t)
	mine, theirs := hearing(t, here), hearing(t, there)
	for i := range 20 {
		require.NoError(t, here.Ring(t.Context(), ringFor(fmt.Sprint(i))))
		r := <-mine
		require.True(t, r.Local)
		require.Equal(t, fmt.Sprint(i), r.Agent)
		r = <-theirs
		require.False(t, r.Local)
		require.Equal(t, fmt.Sprint(i), r.Agent)
	}
	require.NoError(t, there.Ring(t.Context(), ringFor("last")))
	require.Equal(t, "last", (<-mine).Agent, "what came in between were no echoes of its own")
	require.Empty(t, mine)
}

// The epoch and the ring are one step: whoever hears the ring finds the epoch, and no second way to the server can fail.
func TestAVisitThatRaisesTheEpochRingsInTheSameStep(t *testing.T) {
	t.Parallel()
	here, there := pair(t)
	mine, theirs := hearing(t, here), hearing(t, there)
	visit := presence.Visit{Agent: "echo:1", Client: "web", Cause: presence.Connect, Now: noon, For: time.Minute, Ring: true}
	arrive := func(v presence.Visit) presence.Arrival {
		a, err := here.Arrive(t.Context(), v)
		require.NoError(t, err)
		return a
	}
	require.True(t, arrive(visit).Rung)
	r := <-mine
	require.True(t, r.Local)
	require.True(t, r.Raised.After(noon))
	r.Local, r.Raised = false, time.Time{}
	require.Equal(t, presence.Ring{Agent: "echo:1", Epoch: 1, Cause: presence.Connect, At: noon}, r)
	require.Equal(t, r, <-theirs)
	epoch, err := there.Epoch(t.Context(), "echo:1")
	require.NoError(t, err)
	require.Equal(t, r.Epoch, epoch)

	again := arrive(visit)
	require.False(t, again.Raised || again.Rung, "who is awake is not rung for")
	silent := visit
	silent.Agent, silent.Ring = "vega", false
	require.True(t, arrive(silent).Raised)
	require.NoError(t, here.Ring(t.Context(), ringFor("last")))
	require.Equal(t, "last", (<-mine).Agent)
	require.Equal(t, "last", (<-theirs).Agent)
}

func TestWhatIsNoRingIsNotHeard(t *testing.T) {
	t.Parallel()
	server, prefix := redis.Shared(t), redis.Prefix(t)
	heard := hearing(t, open(t, server.URL, prefix))
	forger := server.Dial(t)
	for _, wire := range []string{
		"", "{}", "null", "[]", "\x00\xff", `{"from":"x","agent":"echo","epoch":0}`, `{"from":"","agent":"echo","epoch":1}`,
		`{"from":"x","agent":"","epoch":1}`, `{"from":"x","agent":"echo","epoch":1,"cause":"boredom"}`, `{"from":"x","agent":"echo","epoch":1}{}`,
		`{"from":"x","agent":"echo","epoch":1,"local":true}`, `{"from":"x","agent":"echo","epoch":1e99}`,
		fmt.Sprintf(`{"from":"x","agent":"%04096d","epoch":1}`, 1),
	} {
		require.NoError(t, forger.Publish(t.Context(), prefix+"bell", wire).Err())
	}
	require.NoError(t, forger.Publish(t.Context(), prefix+"bell", `{"from":"x","agent":"echo","epoch":7}`).Err())
	require.Equal(t, presence.Ring{Agent: "echo", Epoch: 7}, <-heard)
}

// rungUntilHeard rings until the listener hears it: while it finds the server again, rings are missed.
func rungUntilHeard(t *testing.T, from presence.Bell, heard <-chan presence.Ring, agent string) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		_ = from.Ring(t.Context(), ringFor(agent))
		select {
		case r := <-heard:
			if r.Agent == agent {
				return
			}
		case <-tick.C:
		case <-t.Context().Done():
			require.FailNow(t, "the ring was never heard")
		}
	}
}

func TestTheBellIsHeardAgainAfterTheServerWasGone(t *testing.T) {
	t.Parallel()
	server := redis.Start(t)
	here, there := open(t, server.URL, "oneiros:"), open(t, server.URL, "oneiros:")
	heard := hearing(t, there)
	rungUntilHeard(t, here, heard, "before")
	server.Restart()
	rungUntilHeard(t, here, heard, "after a restart")
	require.NoError(t, server.Dial(t).Do(t.Context(), "CLIENT", "KILL", "TYPE", "pubsub").Err())
	rungUntilHeard(t, here, heard, "after a lost subscription")
	local := hearing(t, here)
	server.Freeze()
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	require.Error(t, here.Ring(short, ringFor("frozen")))
	require.Equal(t, "frozen", (<-local).Agent, "this process hears although the server does not answer")
	server.Thaw()
	rungUntilHeard(t, here, heard, "after a frost")
}

// W2: 1000 dreams woken at once, their deeds running in another process. Figures: -v.
func TestAThousandRingsReachAThousandActivitiesOfAnotherProcess(t *testing.T) {
	t.Parallel()
	here, there := pair(t)
	began := time.Now()
	rings, latest := thousandRings(t, here, there)
	t.Logf("%d rings were heard in %v; the slowest took %v", rings, time.Since(began), latest)
}

// thousandRings rings for a thousand agents from 16 goroutines, and says how long the slowest ring took to reach its deed.
func thousandRings(t testing.TB, here, there *redisstore.Store) (rings int, slowest time.Duration) {
	t.Helper()
	const agents, knockers = 1000, 16
	var heard, latest atomic.Int64
	all := make(chan struct{})
	activities := map[string]func(presence.Ring){}
	for i := range agents {
		activities[fmt.Sprint("agent-", i)] = func(r presence.Ring) {
			took := int64(time.Since(r.Raised))
			for old := latest.Load(); took > old && !latest.CompareAndSwap(old, took); old = latest.Load() {
			}
			if heard.Add(1) == agents {
				close(all)
			}
		}
	}
	stop, err := there.Listen(func(r presence.Ring) { activities[r.Agent](r) })
	require.NoError(t, err)
	defer stop()
	faults := make(chan error, knockers)
	for k := range knockers {
		go func() {
			for i := k; i < agents; i += knockers {
				r := ringFor(fmt.Sprint("agent-", i))
				r.Raised = time.Now()
				if err := here.Ring(context.WithoutCancel(t.Context()), r); err != nil {
					faults <- err
					return
				}
			}
			faults <- nil
		}()
	}
	for range knockers {
		require.NoError(t, <-faults)
	}
	<-all
	return int(heard.Load()), time.Duration(latest.Load())
}
