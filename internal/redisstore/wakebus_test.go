package redisstore_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

func noticeFor(agent string) presence.WakeNotice {
	return presence.WakeNotice{
		Agent:  agent,
		Epoch:  1,
		Cause:  presence.Connect,
		At:     noon,
		Raised: noon,
	}
}

// noticesOf returns a channel of notices; those that are not read in time are dropped.
func noticesOf(t testing.TB, b presence.WakeBus) <-chan presence.WakeNotice {
	t.Helper()
	received := make(chan presence.WakeNotice, 4096)
	stop, err := b.Listen(func(r presence.WakeNotice) {
		select {
		case received <- r:
		default:
		}
	})
	require.NoError(t, err)
	t.Cleanup(stop)
	return received
}

func TestAProcessReceivesItsOwnNoticeOnce(t *testing.T) {
	t.Parallel()
	here, there := pair(t)
	mine, theirs := noticesOf(t, here), noticesOf(t, there)
	for i := range 20 {
		require.NoError(t, here.Publish(t.Context(), noticeFor(fmt.Sprint(i))))
		r := <-mine
		require.True(t, r.Local)
		require.Equal(t, fmt.Sprint(i), r.Agent)
		r = <-theirs
		require.False(t, r.Local)
		require.Equal(t, fmt.Sprint(i), r.Agent)
	}
	require.NoError(t, there.Publish(t.Context(), noticeFor("last")))
	require.Equal(t, "last", (<-mine).Agent, "the notices in between are not repeated by the server")
	require.Empty(t, mine)
}

// The epoch and the notice are one step: a listener that receives the notice finds the epoch, and no second request to
// the server can fail.
func TestAVisitThatRaisesTheEpochPublishesInTheSameStep(t *testing.T) {
	t.Parallel()
	here, there := pair(t)
	mine, theirs := noticesOf(t, here), noticesOf(t, there)
	visit := presence.Visit{
		Agent:  "echo:1",
		Client: "web",
		Cause:  presence.Connect,
		Now:    noon,
		For:    time.Minute,
		Notify: true,
	}
	arrive := func(v presence.Visit) presence.Arrival {
		a, err := here.Arrive(t.Context(), v)
		require.NoError(t, err)
		return a
	}
	require.True(t, arrive(visit).Notified)
	r := <-mine
	require.True(t, r.Local)
	require.True(t, r.Raised.After(noon))
	r.Local, r.Raised = false, time.Time{}
	require.Equal(t, presence.WakeNotice{Agent: "echo:1", Epoch: 1, Cause: presence.Connect, At: noon}, r)
	require.Equal(t, r, <-theirs)
	epoch, err := there.Epoch(t.Context(), "echo:1")
	require.NoError(t, err)
	require.Equal(t, r.Epoch, epoch)

	again := arrive(visit)
	require.False(t, again.Raised || again.Notified, "a visit to an awake agent publishes nothing")
	silent := visit
	silent.Agent, silent.Notify = "vega", false
	require.True(t, arrive(silent).Raised)
	require.NoError(t, here.Publish(t.Context(), noticeFor("last")))
	require.Equal(t, "last", (<-mine).Agent)
	require.Equal(t, "last", (<-theirs).Agent)
}

func TestInvalidMessagesAreIgnored(t *testing.T) {
	t.Parallel()
	server, prefix := redis.Shared(t), redis.Prefix(t)
	received := noticesOf(t, open(t, server.URL, prefix))
	forger := server.Dial(t)
	for _, wire := range []string{
		"", "{}", "null", "[]", "\x00\xff", `{"from":"x","agent":"echo","epoch":0}`,
		`{"from":"","agent":"echo","epoch":1}`,
		`{"from":"x","agent":"","epoch":1}`, `{"from":"x","agent":"echo","epoch":1,"cause":"boredom"}`,
		`{"from":"x","agent":"echo","epoch":1}{}`,
		`{"from":"x","agent":"echo","epoch":1,"local":true}`, `{"from":"x","agent":"echo","epoch":1e99}`,
		fmt.Sprintf(`{"from":"x","agent":"%04096d","epoch":1}`, 1),
	} {
		require.NoError(t, forger.Publish(t.Context(), prefix+"bell", wire).Err())
	}
	require.NoError(t, forger.Publish(t.Context(), prefix+"bell", `{"from":"x","agent":"echo","epoch":7}`).Err())
	require.Equal(t, presence.WakeNotice{Agent: "echo", Epoch: 7}, <-received)
}

// publishUntilReceived publishes until the listener receives the notice: after a lost connection, notices are missed at
// first.
func publishUntilReceived(t *testing.T, from presence.WakeBus, received <-chan presence.WakeNotice, agent string) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		_ = from.Publish(t.Context(), noticeFor(agent))
		select {
		case r := <-received:
			if r.Agent == agent {
				return
			}
		case <-tick.C:
		case <-t.Context().Done():
			require.FailNow(t, "the notice was never received")
		}
	}
}

func TestTheBusReconnectsAfterTheServersReturn(t *testing.T) {
	t.Parallel()
	server := redis.Start(t)
	here, there := open(t, server.URL, "oneiros:"), open(t, server.URL, "oneiros:")
	received := noticesOf(t, there)
	publishUntilReceived(t, here, received, "before")
	server.Restart()
	publishUntilReceived(t, here, received, "after a restart")
	require.NoError(t, server.Dial(t).Do(t.Context(), "CLIENT", "KILL", "TYPE", "pubsub").Err())
	publishUntilReceived(t, here, received, "after a lost subscription")
	local := noticesOf(t, here)
	server.Freeze()
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	require.Error(t, here.Publish(short, noticeFor("frozen")))
	require.Equal(t, "frozen", (<-local).Agent, "this process receives its notice although the server does not respond")
	server.Thaw()
	publishUntilReceived(t, here, received, "after a frost")
}

// A thousand dreams are woken at once while their activities run in another process. Figures: -v.
func TestAThousandNoticesReachAThousandActivitiesOfAnotherProcess(t *testing.T) {
	t.Parallel()
	here, there := pair(t)
	began := time.Now()
	notices, latest := thousandNotices(t, here, there)
	t.Logf("%d notices were received in %v; the slowest took %v", notices, time.Since(began), latest)
}

// thousandNotices publishes for a thousand agents from 16 goroutines. It returns how long the slowest notice took to
// reach its activity.
func thousandNotices(t testing.TB, here, there *redisstore.Store) (notices int, slowest time.Duration) {
	t.Helper()
	const agents, knockers = 1000, 16
	var received, latest atomic.Int64
	all := make(chan struct{})
	activities := map[string]func(presence.WakeNotice){}
	for i := range agents {
		activities[fmt.Sprint("agent-", i)] = func(r presence.WakeNotice) {
			took := int64(time.Since(r.Raised))
			for old := latest.Load(); took > old && !latest.CompareAndSwap(old, took); old = latest.Load() {
			}
			if received.Add(1) == agents {
				close(all)
			}
		}
	}
	stop, err := there.Listen(func(r presence.WakeNotice) { activities[r.Agent](r) })
	require.NoError(t, err)
	defer stop()
	faults := make(chan error, knockers)
	for k := range knockers {
		go func() {
			for i := k; i < agents; i += knockers {
				r := noticeFor(fmt.Sprint("agent-", i))
				r.Raised = time.Now()
				if err := here.Publish(context.WithoutCancel(t.Context()), r); err != nil {
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
	return int(received.Load()), time.Duration(latest.Load())
}
