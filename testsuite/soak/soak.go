// Package soak keeps a whole deployment busy with clients that come and go while its servers are killed, and judges
// what was left behind.
package soak

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
	"github.com/seed-56a03226/oneiros/testsuite/serving/talker"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/workflows"
)

// Size is how much of it there is.
type Size struct {
	Clients, Agents, Replicas int
	For                       time.Duration // clients come and go for so long
	Kill                      time.Duration // from one kill of a replica to the next
	Away                      time.Duration // the longest that a client stays away
	Seed                      uint64
}

// The hours of the agents: as short as the configuration allows.
const (
	clientTimeout = 2 * time.Second
	wakeLock      = time.Second
	resumeAfter   = 3 * time.Second
	idleTimeout   = 10 * time.Second
	minGap        = time.Minute
	jitter        = time.Second
)

// settings are the same for every replica.
const settings = `providers:
  talk:
    profile: generic
    base_url: %s
    local: true
    models: [{name: talker, context: 100000}]
  night:
    profile: generic
    base_url: %s
    models:
      - {name: script, price: {in: "0.15", cached_in: "0.075", out: "0.60"}, context: 32000, json: json_schema}
roles: {generator: night/script, observer: night/script, replay: night/script, imagination: night/script, integration: night/script}
store: {url: %q}
temporal: {address: %q, namespace: %q, task_queue: %q}
serve: {listen: "127.0.0.1:0", model: talk/talker, rate: 0, key_streams: 1000}
consent: {auto_paid: true}
agent: {idle_timeout: 10s, urgent_idle: 10s, min_gap: 60s, jitter: 1s, client_timeout: 2s, wake_lock: 1s, resume_after: 3s}
dream: {cycles: 2}
feed: {listen: ""}
`

// Soak is a deployment under way: servers as processes, over one Redis and one Temporal, with a model that talks and
// one that dreams.
type Soak struct {
	Size
	t        testing.TB
	dir      string
	Fleet    *Fleet
	Talker   *talker.Talker
	Provider *provider.Server
	Company  *testdeploy.Deployment // reads the same store; works on nothing
	Agents   []dream.Agent

	mu    sync.Mutex
	turns []Turn
	loads []Load
}

// Prepare starts everything but the clients.
func Prepare(ctx context.Context, t testing.TB, program string, size Size) *Soak {
	t.Helper()
	s := &Soak{Size: size, t: t, dir: t.TempDir()}
	cluster, store := temporal.Shared(t), redis.Start(t)
	var err error
	s.Talker, err = talker.Start(talker.Options{Each: 8 * time.Millisecond, Say: everything})
	require.NoError(t, err)
	t.Cleanup(s.Talker.Close)
	s.Provider, err = provider.Start(provider.Options{Seed: size.Seed, Each: 15 * time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(s.Provider.Close)
	s.Company, err = testdeploy.Open(ctx, testdeploy.Config{
		Redis:       store.URL,
		Prefix:      "oneiros:",
		Address:     cluster.Address,
		Namespace:   cluster.Namespace,
		Queue:       cluster.TaskQueue,
		Knobs:       dream.DefaultKnobs(),
		DropAnswers: true,
		Settings: workflows.Settings{
			IdleTimeout:   idleTimeout,
			MinGap:        minGap,
			Jitter:        jitter,
			ClientTimeout: clientTimeout,
			WakeLock:      wakeLock,
			ResumeAfter:   resumeAfter,
		},
	}, cluster.Dial(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Company.Close()) })
	text := fmt.Sprintf(settings, s.Talker.URL, s.Provider.URL, store.URL, cluster.Address, cluster.Namespace,
		cluster.TaskQueue)
	s.Fleet = &Fleet{program: program, dir: s.dir, settings: text, places: make([]*Replica, size.Replicas)}
	t.Cleanup(s.Fleet.End)
	for place := range size.Replicas {
		require.NoError(t, s.Fleet.Start(place))
	}
	s.hire(ctx)
	return s
}

// everything says back all that the model was sent: what the server put before it too.
func everything(a talker.Request) string {
	var all bytes.Buffer
	for _, m := range a.Messages {
		all.WriteString(m.Text + "\n")
	}
	return all.String()
}

// hire makes the agents as a user does, each with the diary of the handbook. A third of them dream in one call.
func (s *Soak) hire(ctx context.Context) {
	s.t.Helper()
	diary, err := filepath.Abs("../../docs/examples/diary.md")
	require.NoError(s.t, err)
	for i := range s.Size.Agents {
		name, tier := fmt.Sprintf("agent-%02d", i), "hardened"
		if i%5 == 4 {
			tier = "core"
		}
		require.NoError(s.t,
			s.Fleet.Run(ctx, "agents", "add", name, "--auto", "--tier", tier, "--persona", "a quiet companion"))
		require.NoError(s.t, s.Fleet.Run(ctx, "memory", "import", "--agent", name, diary))
	}
	s.Agents, err = s.Company.Store.Agents(ctx)
	require.NoError(s.t, err)
	require.Len(s.t, s.Agents, s.Size.Agents)
}

// Play lets clients come and go, and kills. The agents dream when the first come.
func (s *Soak) Play(ctx context.Context) error {
	for _, agent := range s.Agents {
		if err := s.Fleet.Dream(ctx, agent.Handle); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, s.For)
	defer cancel()
	var all sync.WaitGroup
	for i := range s.Clients {
		all.Go(func() { s.newClient(i).live(ctx) })
	}
	all.Go(func() { s.kill(ctx) })
	all.Wait()
	return nil
}

// kill ends a replica at once, again and again, and starts it anew as a supervisor would. The first is spared, so that
// what it holds can be told over the whole time.
func (s *Soak) kill(ctx context.Context) {
	dice := rand.New(rand.NewPCG(s.Seed, 1))
	tick := time.NewTicker(s.Size.Kill)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if ctx.Err() != nil {
			return
		}
		place := 1 + dice.IntN(s.Replicas-1)
		s.Fleet.Kill(place)
		if err := s.Fleet.Start(place); err != nil {
			s.t.Errorf("a killed replica is started again: %v", err)
			return
		}
	}
}

func (s *Soak) note(t Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turns = append(s.turns, t)
}

// Turns are all requests so far.
func (s *Soak) Turns() []Turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Turn(nil), s.turns...)
}
