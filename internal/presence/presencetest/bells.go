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

// again is how often a ring that another process may have lost is rung once more.
const again = 20 * time.Millisecond

// RunBell holds a bell to everything the port promises. open gives the bells of two processes of one new deployment, and
// sees to their end; there is nil when a deployment has one process only.
func RunBell(t *testing.T, open func(t *testing.T) (here, there presence.Bell)) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(t *testing.T, here, there presence.Bell)
	}{
		{"ARingIsHeardHereBeforeItReturns", heardHere},
		{"EverybodyHereHears", everybodyHears},
		{"WhoStopsHearsNoMore", stopped},
		{"AListenerMayStopItselfAndListenAgain", stopsItself},
		{"ABadRingIsHeardByNobody", badRing},
		{"ManyRingAtOnce", manyRing},
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

func ring(epoch int64) presence.Ring {
	return presence.Ring{Agent: echo, Epoch: epoch, Cause: presence.Connect, At: at(time.Duration(epoch)), Raised: at(time.Duration(epoch) + 1)}
}

// ear keeps what it heard.
type ear struct {
	mu    sync.Mutex
	rings []presence.Ring
	news  chan presence.Ring
}

func (e *ear) hear(r presence.Ring) {
	e.mu.Lock()
	e.rings = append(e.rings, r)
	e.mu.Unlock()
	select {
	case e.news <- r:
	default:
	}
}

func (e *ear) heard() []presence.Ring {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]presence.Ring(nil), e.rings...)
}

func listen(t *testing.T, b presence.Bell) (heard *ear, stop func()) {
	t.Helper()
	e := &ear{news: make(chan presence.Ring, 1024)}
	stop, err := b.Listen(e.hear)
	require.NoError(t, err)
	t.Cleanup(stop)
	return e, stop
}

func toll(t *testing.T, b presence.Bell, r presence.Ring) {
	t.Helper()
	require.NoError(t, b.Ring(t.Context(), r))
}

func local(r presence.Ring) presence.Ring { r.Local = true; return r }

func heardHere(t *testing.T, here, _ presence.Bell) {
	e, _ := listen(t, here)
	for n := range int64(3) {
		toll(t, here, ring(n+1))
		require.Contains(t, e.heard(), local(ring(n+1)))
	}
}

func everybodyHears(t *testing.T, here, _ presence.Bell) {
	one, _ := listen(t, here)
	other, _ := listen(t, here)
	toll(t, here, ring(1))
	require.Contains(t, one.heard(), local(ring(1)))
	require.Contains(t, other.heard(), local(ring(1)))
}

func stopped(t *testing.T, here, _ presence.Bell) {
	one, stop := listen(t, here)
	other, _ := listen(t, here)
	stop()
	stop() // twice is harmless
	toll(t, here, ring(1))
	require.NotContains(t, one.heard(), local(ring(1)))
	require.Contains(t, other.heard(), local(ring(1)))
}

func stopsItself(t *testing.T, here, _ presence.Bell) {
	var heard atomic.Int64
	var stop func()
	stop, err := here.Listen(func(presence.Ring) {
		heard.Add(1)
		stop()
	})
	require.NoError(t, err)
	toll(t, here, ring(1))
	toll(t, here, ring(2))
	require.EqualValues(t, 1, heard.Load())
	e, _ := listen(t, here)
	toll(t, here, ring(3))
	require.Contains(t, e.heard(), local(ring(3)))
}

func badRing(t *testing.T, here, _ presence.Bell) {
	e, _ := listen(t, here)
	require.ErrorContains(t, here.Ring(t.Context(), presence.Ring{Epoch: 1}), "agent")
	require.ErrorContains(t, here.Ring(t.Context(), presence.Ring{Agent: echo}), "epoch")
	require.Empty(t, e.heard())
}

func manyRing(t *testing.T, here, _ presence.Bell) {
	e, _ := listen(t, here)
	together(t, 8, func(ctx context.Context, i int) error {
		for n := range 20 {
			other, err := here.Listen(func(presence.Ring) {})
			if err != nil {
				return err
			}
			if err := here.Ring(ctx, ring(int64(1+20*i+n))); err != nil {
				return err
			}
			other()
		}
		return nil
	})
	heard := e.heard()
	for n := range 160 {
		require.Contains(t, heard, local(ring(int64(n+1))))
	}
}

// until rings from one bell until the listener of another has heard it, since a ring may be lost.
func until(t *testing.T, from presence.Bell, heard *ear, r presence.Ring) {
	t.Helper()
	tick := time.NewTicker(again)
	defer tick.Stop()
	for {
		toll(t, from, r)
		for waiting := true; waiting; {
			select {
			case got := <-heard.news:
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

func heardThere(t *testing.T, here, there presence.Bell) {
	if there == nil {
		t.Skip("a deployment of one process")
	}
	e, stop := listen(t, there)
	second, _ := listen(t, there)
	until(t, here, e, ring(1))
	unknown := ring(2)
	unknown.At, unknown.Raised, unknown.Cause = time.Time{}, time.Time{}, ""
	until(t, here, e, unknown)
	r := local(ring(3))
	toll(t, here, r)
	r.Local = false
	until(t, here, e, r)
	stop()
	until(t, here, second, ring(4))
	require.NotContains(t, e.heard(), ring(4))
}

func bothHear(t *testing.T, here, there presence.Bell) {
	if there == nil {
		t.Skip("a deployment of one process")
	}
	a, _ := listen(t, here)
	b, _ := listen(t, there)
	until(t, here, b, ring(1))
	until(t, there, a, ring(2))
	require.Contains(t, a.heard(), local(ring(1)))
	require.Contains(t, b.heard(), local(ring(2)))
}

func nobodyListens(t *testing.T, here, there presence.Bell) {
	toll(t, here, ring(1))
	if there != nil {
		toll(t, there, ring(1))
		_, stop := listen(t, there)
		stop()
		toll(t, here, ring(2))
	}
}
