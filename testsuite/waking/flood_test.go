package waking_test

import (
	"bytes"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/workflows"
)

const (
	// flooders write into a socket at once: whenever its reader takes a datagram, one of them adds another. A queue takes
	// 10 or, under systemd, 512 datagrams, and each flooder has a buffer of some six.
	flooders = 96
	// drowned is how many wake notices must be lost for the proof to count.
	drowned = 5
	// stopMost is how long a wake may take to stop the last stream (docs/waking.md), with a notice or without, in
	// milliseconds.
	stopMost = 500
)

// The socket of a worker is flooded with notices for no agent, so that the real notice finds it full and is lost. The
// wake then comes through Temporal, within the bound that holds for every wake.
func TestANoticeLostInAFloodIsCaughtByTheWayThroughTemporal(t *testing.T) {
	t.Parallel()
	near, err := os.MkdirTemp("", "flood") // a short path: the sockets lie beside the file
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(near)) })
	r := openScene(t, options{edit: func(p *testdeploy.Config) { p.Store = filepath.Join(near, "memory.db") }})
	bus := r.deployment.Store.(interface{ DroppedNotices() (lost, garbled int64) })
	agent := r.addAgent()
	id := first(agent)
	var stops []float64 // of the wakes whose notice was lost
	rounds := 0
	for ; len(stops) < drowned; rounds++ {
		require.Less(t, rounds, 40, "no wake notice was lost")
		moment := r.await(provider.HangMiddle, id, dream.NREM, "forward")
		if rounds == 0 {
			r.begin(agent)
		} else {
			r.resume(agent)
		}
		r.receive(moment)
		before, _ := bus.DroppedNotices()
		ebb := r.flood()
		woken := r.connect(agent)
		require.True(t, woken.Raised)
		awoken := r.recorded(woken)
		ebb()
		require.Equal(t, workflows.Awake, awoken.State)
		require.Equal(t, id, awoken.Dream)
		r.until(func() bool { return r.night(agent, id).Resumable() }, "%s is never interrupted", id)
		result := r.wakes(agent)
		require.Len(t, result, rounds+1)
		if after, _ := bus.DroppedNotices(); after > before {
			stops = append(stops, result[rounds].Stop)
		}
		r.release(agent)
	}
	r.resume(agent)
	r.requireOutcome(id, dream.Completed)
	r.audit(rounds)
	slices.Sort(stops)
	t.Logf(
		"%d of %d wake notices were lost in the flood; their streams stopped after %.1f ms, %.1f at most",
		len(stops),
		rounds,
		stops[len(stops)/2],
		stops[len(stops)-1],
	)
	require.LessOrEqual(t, stops[len(stops)/2], float64(stopMost))
}

// flood writes notices for no agent into every socket of the deployment, as fast as they are read, until stop is
// called.
func (r *scene) flood() (stop func()) {
	r.t.Helper()
	line, err := json.Marshal(presence.WakeNotice{
		Agent:  "nobody",
		Epoch:  1,
		Cause:  presence.Connect,
		At:     time.Now().UTC(),
		Raised: time.Now().UTC(),
	})
	require.NoError(r.t, err)
	water := bytes.Repeat(append(line, '\n'), (16<<10)/(len(line)+1))
	sockets, err := filepath.Glob(filepath.Join(filepath.Dir(r.deployment.Config.Store), "*.bell", "*.sock"))
	require.NoError(r.t, err)
	require.NotEmpty(r.t, sockets)
	var pouring sync.WaitGroup
	var hoses []net.Conn
	for _, name := range sockets {
		full := make(chan struct{}, flooders)
		for range flooders {
			hose, err := net.Dial("unixgram", name)
			require.NoError(r.t, err)
			hoses = append(hoses, hose)
			pouring.Go(func() {
				for n := 0; ; n++ {
					if _, err := hose.Write(water); err != nil {
						return
					}
					if n == 2 {
						full <- struct{}{}
					}
				}
			})
		}
		for range flooders {
			<-full
		}
	}
	return func() {
		for _, hose := range hoses {
			_ = hose.Close()
		}
		pouring.Wait()
	}
}
