package presencetest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/presence"
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
		{"ARingIsHeardHereBeforeItReturns", heardHere},
		{"EverybodyHereHears", everybodyHears},
		{"WhoStopsHearsNoMore", stopped},
		{"AListenerMayStopItselfAndListenAgain", stopsItself},
		{"ABadRingIsHeardByNobody", badNotice},
		{"ManyRingAtOnce", manyNotice},
		{"ARingIsHeardThere", heardThere},
		{"BothRingAndHear", bothHear},
		{"NobodyListeningIsNoFault", nobodyListens},
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

// ear records the notices it receives.
type ear struct {
	mu      sync.Mutex
	notices []presence.WakeNotice
	news    chan presence.WakeNotice
}

func (e *ear) hear(r presence.WakeNotice) {
	e.mu.Lock()
	e.notices = append(e.notices, r)
	e.mu.Unlock()
	select {
	case e.news <- r:
	default:
	}
}

func (e *ear) heard() []presence.WakeNotice {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]presence.WakeNotice(nil), e.notices...)
}

func listen(t *testing.T, b presence.WakeBus) (received *ear, stop func()) {
	t.Helper()
	e := &ear{news: make(chan presence.WakeNotice, 1024)}
	stop, err := b.Listen(e.hear)
	require.NoError(t, err)
	t.Cleanup(stop)
	return e, stop
}

func toll(t *testing.T, b presence.WakeBus, r presence.WakeNotice) {
	t.Helper()
	require.NoError(t, b.Publish(t.Context(), r))
}

func local(r presence.WakeNotice) presence.WakeNotice { r.Local = true; return r }

func heardHere(t *testing.T, here, _ presence.WakeBus) {
	e, _ := listen(t, here)
	for n := range int64(3) {
		toll(t, here, notice(n+1))
		require.Contains(t, e.heard(), local(notice(n+1)))
	}
}

func everybodyHears(t *testing.T, here, _ presence.WakeBus) {
	one, _ := listen(t, here)
	other, _ := listen(t, here)
	toll(t, here, notice(1))
	require.Contains(t, one.heard(), local(notice(1)))
	require.Contains(t, other.heard(), local(notice(1)))
}

func stopped(t *testing.T, here, _ presence.WakeBus) {
	one, stop := listen(t, here)
	other, _ := listen(t, here)
	stop()
	stop() // a second stop changes nothing
	toll(t, here, notice(1))
	require.NotContains(t, one.heard(), local(notice(1)))
	require.Contains(t, other.heard(), local(notice(1)))
}

func stopsItself(t *testing.T, here, _ presence.WakeBus) {
	var received atomic.Int64
	var stop func()
	stop, err := here.Listen(func(presence.WakeNotice) {
		received.Add(1)
		stop()
	})
	require.NoError(t, err)
	toll(t, here, notice(1))
	toll(t, here, notice(2))
	require.EqualValues(t, 1, received.Load())
	e, _ := listen(t, here)
	toll(t, here, notice(3))
	require.Contains(t, e.heard(), local(notice(3)))
}

func badNotice(t *testing.T, here, _ presence.WakeBus) {
	e, _ := listen(t, here)
	require.ErrorContains(t, here.Publish(t.Context(), presence.WakeNotice{Epoch: 1}), "agent")
	require.ErrorContains(t, here.Publish(t.Context(), presence.WakeNotice{Agent: echo}), "epoch")
	require.Empty(t, e.heard())
}

func manyNotice(t *testing.T, here, _ presence.WakeBus) {
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
	received := e.heard()
	for n := range 160 {
		require.Contains(t, received, local(notice(int64(n+1))))
	}
}

// until publishes on one bus until the listener of another has received the notice, since one may be lost.
func until(t *testing.T, from presence.WakeBus, received *ear, r presence.WakeNotice) {
	t.Helper()
	tick := time.NewTicker(again)
	defer tick.Stop()
	for {
		toll(t, from, r)
		for waiting := true; waiting; {
			select {
			case got := <-received.news:
				if got.Agent == r.Agent && got.Epoch == r.Epoch {
					require.Equal(t, r, got, "from elsewhere it is not local, whatever it says")
					return
				}
			case <-tick.C:
				waiting = false
			case <-t.Context().Done():
				require.FailNow(t, fmt.Sprintf("ring %d was never heard there", r.Epoch))
			}
		}
	}
}

func heardThere(t *testing.T, here, there presence.WakeBus) {
	if there == nil {
		t.Skip("a deployment of one process")
	}
	e, stop := listen(t, there)
	second, _ := listen(t, there)
	until(t, here, e, notice(1))
	unknown := notice(2)
	unknown.At, unknown.Raised, unknown.Cause = time.Time{}, time.Time{}, ""
	until(t, here, e, unknown)
	r := local(notice(3))
	toll(t, here, r)
	r.Local = false
	until(t, here, e, r)
	stop()
	until(t, here, second, notice(4))
	require.NotContains(t, e.heard(), notice(4))
}

func bothHear(t *testing.T, here, there presence.WakeBus) {
	if there == nil {
		t.Skip("a deployment of one process")
	}
	a, _ := listen(t, here)
	b, _ := listen(t, there)
	until(t, here, b, notice(1))
	until(t, there, a, notice(2))
	require.Contains(t, a.heard(), local(notice(1)))
	require.Contains(t, b.heard(), local(notice(2)))
}

func nobodyListens(t *testing.T, here, there presence.WakeBus) {
	toll(t, here, notice(1))
	if there != nil {
		toll(t, there, notice(1))
		_, stop := listen(t, there)
		stop()
		toll(t, here, notice(2))
	}
}
