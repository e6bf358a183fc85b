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
	"github.com/seed-56a03226/oneiros/internal/psyche/rooms"
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
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(percentile(took, .5), "p50-ms")
	b.ReportMetric(percentile(took, .99), "p99-ms")
	b.ReportMetric(percentile(took, 1), "max-ms")
}

// percentile is a share of durations, in milliseconds.
func percentile(took []time.Duration, share float64) float64 {
	slices.Sort(took)
	return float64(took[int(share*float64(len(took)-1))]) / float64(time.Millisecond)
}

// BenchmarkMentionBesideChatter is how long it takes from a person's post in a room until the reply's request reaches
// the provider: in a quiet room, and beside three other agents of the room that are answering each other. Both are
// measured in turn, each time with agents that nobody has called before, because the guards bound how often they are.
func BenchmarkMentionBesideChatter(b *testing.B) {
	moments := new(chaos.Moments)
	s := openScene(b, moments.Plan(nil))
	took := map[string][]time.Duration{}
	for n := range max(b.N, fewest) {
		name := func(part string) string { return fmt.Sprintf("%s-%d-%d", part, b.N, n) }
		talkers := []string{name("one"), name("two"), name("three")}
		s.addAgents(talkers...)
		for _, part := range []string{"quiet", "busy"} {
			agent := s.addAgents(name(part))[0]
			if part == "busy" {
				s.hall(agent.Handle, talkers...)
			} else {
				s.hall(agent.Handle)
			}
			_, err := s.rooms.Join(s.ctx, owner, rooms.JoinRequest{Room: agent.Handle, Agent: agent.Handle})
			require.NoError(b, err)
			if part == "busy" {
				s.say(agent.Handle, "", "What do you make of it, @"+strings.Join(talkers, " @")+"?")
			}
			called := moments.Await(provider.None, func(_ int, a provider.Arrival) bool {
				return strings.HasPrefix(a.Key, "call/"+agent.ID+"/")
			})
			began := time.Now()
			s.say(agent.Handle, "", "@"+agent.Handle+" are you there?")
			<-called
			took[part] = append(took[part], time.Since(began))
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(percentile(took["quiet"], .5), "quiet-p50-ms")
	b.ReportMetric(percentile(took["quiet"], .99), "quiet-p99-ms")
	b.ReportMetric(percentile(took["busy"], .5), "busy-p50-ms")
	b.ReportMetric(percentile(took["busy"], .99), "busy-p99-ms")
	b.ReportMetric(percentile(took["busy"], .99)/percentile(took["quiet"], .99), "ratio-p99")
}
