// Package soak keeps a whole deployment busy with clients that connect and disconnect while its servers are killed,
// and judges what the run left behind.
package soak

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
	"github.com/seed-56a03226/oneiros/testsuite/serving/talker"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/workflows"
)

// Size is how large a run is.
type Size struct {
	Clients, Agents, Replicas int
	For                       time.Duration // clients connect for so long
	Kill                      time.Duration // from one kill of a replica to the next
	Away                      time.Duration // the longest time between two visits of a client
	Seed                      uint64
}

// The times of the agents: as short as the configuration allows.
const (
	clientTimeout = 2 * time.Second
	wakeLock      = time.Second
	resumeAfter   = 3 * time.Second
	idleTimeout   = 10 * time.Second
	minGap        = time.Minute
	jitter        = time.Second
)

// settings are the same for every replica but for the wires.
const settings = `providers:
  talk:
    profile: generic
    base_url: %s
    local: true
    wires: %s
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
predictions: {judge_daily: "0.02"}
`

// judgeDaily is what judging may cost an agent a day in these settings.
const judgeDaily = 2 * budget.Dollar / 100

// Soak is a running deployment: servers as processes, over one Redis and one Temporal, with one model that talks and
// one that dreams.
type Soak struct {
	Size
	t          testing.TB
	dir        string
	Fleet      *Fleet
	Talker     *talker.Talker
	Provider   *provider.Server
	Deployment *testdeploy.Deployment // reads the same store; runs no worker
	Agents     []dream.Agent

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
	s.Talker, err = talker.Start(talker.Options{Each: 8 * time.Millisecond, Say: echoPrompt})
	require.NoError(t, err)
	t.Cleanup(s.Talker.Close)
	s.Provider, err = provider.Start(provider.Options{Seed: size.Seed, Each: 15 * time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(s.Provider.Close)
	s.Deployment, err = testdeploy.Open(ctx, testdeploy.Config{
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
	t.Cleanup(func() { require.NoError(t, s.Deployment.Close()) })
	text := func(wires string) string {
		return fmt.Sprintf(settings, s.Talker.URL, wires, s.Provider.URL, store.URL, cluster.Address, cluster.Namespace,
			cluster.TaskQueue)
	}
	s.Fleet = &Fleet{
		Program:  program,
		Dir:      s.dir,
		Settings: text("[chat]"),
		Places:   map[int]string{},
		Commands: slices.Repeat([]string{"up"}, size.Replicas),
	}
	for place := range size.Replicas {
		if passesOn(place) {
			s.Fleet.Places[place] = text("[chat, responses, messages]")
		}
	}
	t.Cleanup(s.Fleet.KillAll)
	for place := range size.Replicas {
		require.NoError(t, s.Fleet.Start(place))
	}
	s.addAgents(ctx)
	return s
}

// passesOn says whether the replicas of a place pass every wire on; the others translate to chat completions. Clients
// change between both in the middle of a conversation, as they do while a changed setting is rolled out.
func passesOn(place int) bool { return place%2 == 0 }

// echoPrompt answers with all that the model was sent, including what the server put before it.
func echoPrompt(a talker.Request) string {
	var all bytes.Buffer
	for _, m := range a.Messages {
		all.WriteString(m.Text + "\n")
	}
	return all.String()
}

// addAgents makes the agents as a user does, each with the diary of the handbook. A third of them dream in one call.
func (s *Soak) addAgents(ctx context.Context) {
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
	s.Agents, err = s.Deployment.Store.Agents(ctx)
	require.NoError(s.t, err)
	require.Len(s.t, s.Agents, s.Size.Agents)
}

// Run lets clients come and go, and kills replicas. The agents dream when the first clients come.
func (s *Soak) Run(ctx context.Context) error {
	for _, agent := range s.Agents {
		if err := s.Fleet.Dream(ctx, agent.Handle); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, s.For)
	defer cancel()
	var all sync.WaitGroup
	for i := range s.Clients {
		all.Go(func() { s.newClient(i).run(ctx) })
	}
	all.Go(func() { s.kill(ctx) })
	all.Wait()
	return nil
}

// kill kills a replica again and again, and starts it anew as a supervisor would. The first is spared, so that its
// memory can be measured over the whole time.
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
			s.t.Errorf("restart a killed replica: %v", err)
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
