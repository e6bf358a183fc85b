package resolving_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/review"
	"github.com/seed-56a03226/oneiros/testsuite/program"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
)

// full says whether the proof runs at its full size.
var full = os.Getenv("PROVE") == "full"

// patience bounds each wait; nothing is measured by it.
const patience = 2 * time.Minute

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// output collects what a process writes, for reading while it runs.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// machine is a deployment whose server is a process that a test kills.
type machine struct {
	*testing.T
	dir        string
	deployment *testdeploy.Deployment
	agent      dream.Agent
	made       time.Time // when everything was predicted
	ids        []string  // of the predictions
	server     *exec.Cmd
	out, err   output
}

func newMachine(t *testing.T, kind string) *machine {
	t.Helper()
	m := &machine{T: t, dir: t.TempDir(), made: time.Now().UTC().Add(-3 * time.Hour).Truncate(time.Second)}
	cluster := temporal.Shared(t)
	config := testdeploy.Config{
		Store:     filepath.Join(m.dir, "oneiros.db"),
		Address:   cluster.Address,
		Namespace: cluster.Namespace,
		Queue:     cluster.TaskQueue,
		Knobs:     dream.DefaultKnobs(),
	}
	store := fmt.Sprintf("path: %q", config.Store)
	if kind == "Redis" {
		config.Redis, config.Prefix = redis.Start(t).URL, "oneiros:"
		store = fmt.Sprintf("url: %q", config.Redis)
	}
	settings := fmt.Sprintf(`store: {%s}
temporal: {address: %q, namespace: %q, task_queue: %q}
serve: {listen: ""}
feed: {listen: ""}
`, store, cluster.Address, cluster.Namespace, cluster.TaskQueue)
	require.NoError(t, os.WriteFile(filepath.Join(m.dir, "oneiros.yaml"), []byte(settings), 0o600))
	require.NoError(t, os.Symlink(program.Oneiros(t), filepath.Join(m.dir, "oneiros")))
	var err error
	m.deployment, err = testdeploy.Open(t.Context(), config, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.deployment.Store.Close()) })
	m.agent = dream.Agent{
		ID:      "ag_1",
		Handle:  "iris",
		Zone:    "UTC",
		Tier:    dream.Hardened,
		Caps:    dream.DefaultCaps,
		Created: m.made,
	}
	require.NoError(t, m.deployment.Store.PutAgent(t.Context(), m.agent))
	t.Cleanup(m.kill)
	return m
}

// lives stores an episode.
func (m *machine) lives(id string, at time.Time, text string) {
	m.Helper()
	e := &dream.Episode{
		Head: dream.Head{
			ID:    id,
			Agent: m.agent.ID,
			Kind:  dream.KindEpisode,
			At:    at,
			State: dream.Live,
			Taint: dream.FromHuman,
		},
		Content: text, Salience: .5,
	}
	_, err := m.deployment.Store.Commit(m.Context(),
		memory.Write{Agent: m.agent.ID, Cause: "test", Add: []dream.Item{e}})
	require.NoError(m, err)
}

// foretells stores a prediction with a check, as it was made three hours ago.
func (m *machine) foretells(claim string, c dream.Check, horizon time.Time) {
	m.Helper()
	k := review.Resolver{Memory: m.deployment.Store, Now: func() time.Time { return m.made }}
	p, _, err := k.AddPrediction(m.Context(), m.agent, review.PredictionRequest{
		Claim:      claim,
		Horizon:    horizon,
		Confidence: .3,
		By:         dream.ByPerson,
		Check:      &c,
	})
	require.NoError(m, err)
	m.ids = append(m.ids, p.ID)
}

// storms is how often the planted claim comes true.
const storms = 9

// plant makes so many predictions that are due, a claim that will pass, and eight weeks before them.
func (m *machine) plant(n int) {
	m.Helper()
	things := strings.Fields("apple bread chair daisy eagle flute grape inlet jewel kayak lemon mango novel ocean piano " +
		"queen river spoon tiger uncle viola wagon storm")
	for i := range 120 {
		at := m.made.Add(-time.Duration(55*24-11*i) * time.Hour)
		m.lives(fmt.Sprintf("ep_past_%03d", i), at, things[i%len(things)]+" and "+things[(7*i+3)%len(things)])
	}
	m.foretells("A storm brings a leak.", dream.Check{When: "storm", Then: "leak"}, m.made.AddDate(0, 0, 7))
	for i := range n {
		horizon := m.made.AddDate(0, 0, 7)
		if i%2 == 0 { // due already
			horizon = m.made.Add(2 * time.Hour)
		}
		m.foretells(fmt.Sprintf("The boat %s comes.", boat(i)), dream.Check{Then: boat(i)}, horizon)
		m.lives(fmt.Sprintf("ep_boat_%03d", i), m.made.Add(time.Hour+time.Duration(i)*time.Second),
			"The boat "+boat(i)+" came today.")
	}
	for i := range 4 * len(things) { // so that chance can be measured
		m.lives(fmt.Sprintf("ep_thing_%03d", i), m.made.Add(time.Duration(20+i)*time.Minute/2),
			fmt.Sprintf("The %s again, number %d.", things[i%(len(things)-1)], i))
	}
	for i := range storms {
		m.lives(fmt.Sprintf("ep_storm_%d", i), m.made.Add(time.Duration(10+i)*time.Minute),
			fmt.Sprintf("Storm number %d came and there was a leak.", i))
	}
}

// boat is a name of one word.
func boat(i int) string {
	return "k" + string("bdfgklmnprstvz"[i%14]) + "a" + string("bdfgklmnprstvz"[i/14%14]) + "ok"
}

// start starts the server. It looks at what is due at once.
func (m *machine) start() {
	m.Helper()
	m.server = exec.Command(filepath.Join(m.dir, "oneiros"), "--json", "worker")
	m.server.Dir, m.server.Env = m.dir, []string{"HOME=" + m.dir, "PATH=" + os.Getenv("PATH")}
	m.server.Stdout, m.server.Stderr = &m.out, &m.err
	require.NoError(m, m.server.Start())
}

// kill ends the server at once, as a power cut would.
func (m *machine) kill() {
	if m.server != nil {
		_ = m.server.Process.Kill()
		_ = m.server.Wait()
		m.server = nil
	}
}

// progress counts what was announced of outcomes, claims and passes.
func (m *machine) progress() map[string]int {
	m.Helper()
	events, err := m.deployment.Store.Events(m.Context(), m.agent.ID, 0, 0)
	require.NoError(m, err)
	count := map[string]int{}
	for _, e := range events {
		count[e.Type]++
	}
	return count
}

// resolved is the type of the event of a resolved prediction.
var resolved = event.PredictionResolved{}.EventType()

// await waits until so many predictions are resolved.
func (m *machine) await(n int) {
	m.Helper()
	ctx, cancel := context.WithTimeout(m.Context(), patience)
	defer cancel()
	for m.progress()[resolved] < n {
		require.NoError(m, ctx.Err(), "%d of %d are resolved; the server wrote: %s", m.progress()[resolved], n, &m.err)
	}
}

// TestAKilledServerLosesAndDoublesNoOutcome kills the process of a server again and again while it resolves what is
// due, and lets another one finish.
func TestAKilledServerLosesAndDoublesNoOutcome(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts real servers")
	}
	n, kills := 60, 6
	if full {
		n, kills = 190, 40
	}
	for _, kind := range []string{"SQLite", "Redis"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, kind)
			m.plant(n)
			halfway := 0
			for i := range kills {
				m.start()
				m.await(i*n/kills + 1)
				m.kill()
				if m.progress()[resolved] < len(m.ids) {
					halfway++
				}
			}
			m.start()
			m.await(len(m.ids))
			m.kill()
			t.Logf("%d of %d kills came before all %d predictions were resolved", halfway, kills, len(m.ids))
			require.Positive(t, halfway)
			m.audit()
		})
	}
}

// audit checks that everything was resolved, counted and announced once, and that another look changes nothing.
func (m *machine) audit() {
	m.Helper()
	ctx, store := m.Context(), m.deployment.Store
	look := func() map[string]int {
		k := review.Resolver{Memory: store, Now: time.Now}
		_, err := k.LookUp(ctx, m.agent.ID)
		require.NoError(m, err)
		return m.progress()
	}
	count := m.progress()
	require.Equal(m, len(m.ids), count[resolved])
	require.Equal(m, 1, count[event.ClaimPassed{}.EventType()])
	require.Equal(m, count, look())

	announced, tried := map[string]int{}, map[string]int{}
	events, err := store.Events(ctx, m.agent.ID, 0, 0)
	require.NoError(m, err)
	for i, e := range events {
		require.EqualValues(m, i+1, e.Seq)
		var r event.PredictionResolved
		var c event.ClaimTried
		switch e.Type {
		case resolved:
			require.NoError(m, json.Unmarshal(e.Data, &r))
			announced[r.Prediction]++
		case c.EventType():
			require.NoError(m, json.Unmarshal(e.Data, &c))
			tried[c.Claim]++
		}
	}
	for _, id := range m.ids {
		p, err := memory.One[*dream.Prediction](ctx, store, m.agent.ID, id)
		require.NoError(m, err)
		require.Equal(m, dream.PredictionRight, p.Status, p.Claim)
		require.Equal(m, dream.ByCheck, p.ResolvedBy)
		require.Equal(m, 2, p.Revision, "%s was resolved once", p.Claim)
		require.Equal(m, 1, announced[id], p.Claim)
	}
	all, err := review.Claims(ctx, store, m.agent.ID)
	require.NoError(m, err)
	var passed []*dream.Claim
	for _, c := range all {
		require.Equal(m, c.Trials(), tried[c.ID], "%s was announced once for each outcome", c.Says)
		if c.Status == dream.ClaimPassed {
			passed = append(passed, c)
		}
	}
	require.Len(m, passed, 1)
	require.Equal(m, []int{storms, 0}, []int{passed[0].Hits, passed[0].Misses})
	entries, err := store.Find(ctx, memory.Query{
		Agent: m.agent.ID, Kinds: []dream.Kind{dream.KindPlaybook}, States: []dream.State{dream.Live, dream.Archived},
	})
	require.NoError(m, err)
	require.Len(m, entries, 1)
	require.Equal(m, passed[0].Playbook, entries[0].Header().ID)
}
