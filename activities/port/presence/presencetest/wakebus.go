package presencetest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/presence"
)

// again is the interval at which a notice that may have been lost is published again.
const again = 20 * time.Millisecond

// RunWakeBus tests a wake bus against the whole contract. open returns the buses of two processes of one new deployment
// and closes them at the end of the test; there is nil for a bus that serves one process only.
func RunWakeBus(t *testing.T, open func(t *testing.T) (here, there presence.WakeBus)) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(t *testing.T, here, there presence.WakeBus)
	}{
		{"PublishReachesThisProcessBeforeItReturns", receivedHere},
		{"EveryListenerReceives", allListenersReceive},
		{"AStoppedListenerReceivesNothing", stopped},
		{"AListenerMayStopItselfAndListenAgain", stopsItself},
		{"AnInvalidNoticeIsRefused", badNotice},
		{"ManyPublishConcurrently", manyNotices},
		{"ANoticeReachesTheOtherProcess", receivedThere},
		{"BothProcessesPublishAndReceive", bothReceive},
		{"PublishingWithoutListenersIsNoError", nobodyListens},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			here, there := open(t)
			c.run(t, here, there)
		})
	}
}

func notice(epoch int64) presence.WakeNotice {
	return presence.WakeNotice{
		Agent:  echo,
		Epoch:  epoch,
		Cause:  presence.Connect,
		At:     at(time.Duration(epoch)),
		Raised: at(time.Duration(epoch) + 1),
	}
}

// listener records the notices it receives.
type listener struct {
	mu      sync.Mutex
	notices []presence.WakeNotice
	news    chan presence.WakeNotice
}

func (e *listener) receive(r presence.WakeNotice) {
	e.mu.Lock()
	e.notices = append(e.notices, r)
	e.mu.Unlock()
	select {
	case e.news <- r:
	default:
	}
}

func (e *listener) all() []presence.WakeNotice {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]presence.WakeNotice(nil), e.notices...)
}

func listen(t *testing.T, b presence.WakeBus) (received *listener, stop func()) {
	t.Helper()
	e := &listener{news: make(chan presence.WakeNotice, 1024)}
	stop, err := b.Listen(e.receive)
	require.NoError(t, err)
	t.Cleanup(stop)
	return e, stop
}

func publish(t *testing.T, b presence.WakeBus, r presence.WakeNotice) {
	t.Helper()
	require.NoError(t, b.Publish(t.Context(), r))
}

func local(r presence.WakeNotice) presence.WakeNotice { r.Local = true; return r }

func receivedHere(t *testing.T, here, _ presence.WakeBus) {
	e, _ := listen(t, here)
	for n := range int64(3) {
		publish(t, here, notice(n+1))
		require.Contains(t, e.all(), local(notice(n+1)))
	}
}

func allListenersReceive(t *testing.T, here, _ presence.WakeBus) {
	one, _ := listen(t, here)
	other, _ := listen(t, here)
	publish(t, here, notice(1))
	require.Contains(t, one.all(), local(notice(1)))
	require.Contains(t, other.all(), local(notice(1)))
}

func stopped(t *testing.T, here, _ presence.WakeBus) {
	one, stop := listen(t, here)
	other, _ := listen(t, here)
	stop()
	stop() // a second stop changes nothing
	publish(t, here, notice(1))
	require.NotContains(t, one.all(), local(notice(1)))
	require.Contains(t, other.all(), local(notice(1)))
}

func stopsItself(t *testing.T, here, _ presence.WakeBus) {
	var received atomic.Int64
	var stop func()
	stop, err := here.Listen(func(presence.WakeNotice) {
		received.Add(1)
		stop()
	})
	require.NoError(t, err)
	publish(t, here, notice(1))
	publish(t, here, notice(2))
	require.EqualValues(t, 1, received.Load())
	e, _ := listen(t, here)
	publish(t, here, notice(3))
	require.Contains(t, e.all(), local(notice(3)))
}

func badNotice(t *testing.T, here, _ presence.WakeBus) {
	e, _ := listen(t, here)
	require.ErrorContains(t, here.Publish(t.Context(), presence.WakeNotice{Epoch: 1}), "agent")
	require.ErrorContains(t, here.Publish(t.Context(), presence.WakeNotice{Agent: echo}), "epoch")
	require.Empty(t, e.all())
}

func manyNotices(t *testing.T, here, _ presence.WakeBus) {
	e, _ := listen(t, here)
	together(t, 8, func(ctx context.Context, i int) error {
		for n := range 20 {
			other, err := here.Listen(func(presence.WakeNotice) {})
			if err != nil {
				return err
			}
			if err := here.Publish(ctx, notice(int64(1+20*i+n))); err != nil {
				return err
			}
			other()
		}
		return nil
	})
	received := e.all()
	for n := range 160 {
		require.Contains(t, received, local(notice(int64(n+1))))
	}
}

// until publishes on one bus until the listener of another has received the notice, since one may be lost.
func until(t *testing.T, from presence.WakeBus, received *listener, r presence.WakeNotice) {
	t.Helper()
	tick := time.NewTicker(again)
	defer tick.Stop()
	for {
		publish(t, from, r)
		for waiting := true; waiting; {
			select {
			case got := <-received.news:
				if got.Agent == r.Agent && got.Epoch == r.Epoch {
					require.Equal(t, r, got, "a notice from another process is not local")
					return
				}
			case <-tick.C:
				waiting = false
			case <-t.Context().Done():
				require.FailNow(t, fmt.Sprintf("notice %d never reached the other process", r.Epoch))
			}
		}
	}
}

func receivedThere(t *testing.T, here, there presence.WakeBus) {
	if there == nil {
		t.Skip("this bus serves one process only")
	}
	e, stop := listen(t, there)
	second, _ := listen(t, there)
	until(t, here, e, notice(1))
	unknown := notice(2)
	unknown.At, unknown.Raised, unknown.Cause = time.Time{}, time.Time{}, ""
	until(t, here, e, unknown)
	r := local(notice(3))
	publish(t, here, r)
	r.Local = false
	until(t, here, e, r)
	stop()
	until(t, here, second, notice(4))
	require.NotContains(t, e.all(), notice(4))
}

func bothReceive(t *testing.T, here, there presence.WakeBus) {
	if there == nil {
		t.Skip("this bus serves one process only")
	}
	a, _ := listen(t, here)
	b, _ := listen(t, there)
	until(t, here, b, notice(1))
	until(t, there, a, notice(2))
	require.Contains(t, a.all(), local(notice(1)))
	require.Contains(t, b.all(), local(notice(2)))
}

func nobodyListens(t *testing.T, here, there presence.WakeBus) {
	publish(t, here, notice(1))
	if there != nil {
		publish(t, there, notice(1))
		_, stop := listen(t, there)
		stop()
		publish(t, here, notice(2))
	}
}
