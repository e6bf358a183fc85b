package rooms_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/chaos"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/workflows"
)

// fewest is how many dreams a percentile is taken of at least.
const fewest = 100

// BenchmarkMentionOfADreamer is how long it takes from a person's post in a room until the reply's request reaches the
// provider, while the agent that it names dreams. The goal is 50 ms at the 99th percentile.
func BenchmarkMentionOfADreamer(b *testing.B) {
	moments := new(chaos.Moments)
	s := openScene(b, moments.Plan(nil))
	s.worker()
	handles := make([]string, max(b.N, fewest))
	for i := range handles {
		handles[i] = fmt.Sprintf("mentioned-%d-%d", b.N, i)
	}
	agents := s.addAgents(handles...)
	took := make([]time.Duration, 0, len(handles))
	for _, agent := range agents {
		id := "bench-" + agent.Handle
		_, err := s.deployment.Store.Rooms().Create(s.ctx, room.Room{
			ID: id, By: room.PersonID("local"), Created: time.Now(),
		}, room.Member{
			Room:   id,
			Who:    room.PersonID("local"),
			Name:   "local",
			Role:   room.Owner,
			Trust:  "own",
			Joined: time.Now(),
		})
		require.NoError(b, err)
		_, err = s.deployment.Store.Rooms().Join(s.ctx, room.Member{
			Room:   id,
			Who:    room.AgentID(agent.ID),
			Name:   agent.Handle,
			Role:   room.Writer,
			Trust:  "own",
			Joined: time.Now(),
		})
		require.NoError(b, err)
		night := workflows.DreamID(agent.Handle, 1)
		dreams := moments.Await(provider.None, func(_ int, a provider.Arrival) bool { return strings.HasPrefix(a.Key, night) })
		called := moments.Await(provider.None, func(_ int, a provider.Arrival) bool {
			return strings.HasPrefix(a.Key, "call/"+agent.ID+"/")
		})
		_, err = s.deployment.Starter.Begin(s.ctx, starter.DreamRequest{
			Agent: agent.Handle, Tier: dream.Hardened, AsOf: testdeploy.Night,
		})
		require.NoError(b, err)
		<-dreams
		began := time.Now()
		s.say(id, "", "@"+agent.Handle+" good morning")
		<-called
		took = append(took, time.Since(began))
		s.await(id, "Here I am.")
	}
	slices.Sort(took)
	at := func(share float64) float64 {
		return float64(took[int(share*float64(len(took)-1))]) / float64(time.Millisecond)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(at(.5), "p50-ms")
	b.ReportMetric(at(.99), "p99-ms")
	b.ReportMetric(at(1), "max-ms")
}
