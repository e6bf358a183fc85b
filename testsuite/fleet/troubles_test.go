package fleet_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/testsuite/program"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

// How many troubles there are, and how many the reduced trial has.
const (
	troublesInAll   = 13
	reducedTroubles = 2
)

// trouble is what happens to a deployment while agents dream and people talk. It returns when the trouble is over.
type trouble struct {
	name   string
	happen func()
}

// troubles are those of the trial, in an order that the seed decides. The reduced trial has the first of that order,
// and ONEIROS_TROUBLE names one to try alone.
func (t *trial) troubles() []trouble {
	all := []trouble{
		{"workers are killed", t.killWorkers},
		{"Redis fails over without its newest writes", t.failOver},
		{"a server is killed", t.killServer},
		{"Redis is restarted", t.restartRedis},
		{"the machine of Redis loses power", t.cutPower},
		{"Redis is frozen", t.freezeRedis},
		{"Temporal is restarted", t.restartTemporal},
		{"Temporal is frozen", t.freezeTemporal},
		{"all processes are restarted with another build", t.roll},
		{"an archive is put back under the running Temporal", t.restore},
		{"Redis is full", t.fill},
		{"the clocks of two workers are wrong", t.skew},
		{"a server is killed while Redis fails over without its newest writes", t.killAndFailOver},
	}
	if only := os.Getenv("ONEIROS_TROUBLE"); only != "" {
		return slices.DeleteFunc(all, func(one trouble) bool { return !strings.Contains(one.name, only) })
	}
	t.dice.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
	if !full {
		all = all[:reducedTroubles]
	}
	return all
}

// through begins dreams, lets people talk, makes trouble, and looks at everything afterwards.
func (t *trial) through(one trouble) {
	t.Helper()
	t.beginDreams(2)
	leave := t.people()
	t.answered(t.principals)
	one.happen()
	t.answered(t.principals)
	leave()
	t.audit()
}

// calm looks at a deployment to which nothing happens.
func (t *trial) calm() {
	t.Helper()
	t.beginDreams(1)
	leave := t.people()
	t.answered(2 * t.principals)
	leave()
	t.audit()
}

func (t *trial) killWorkers() {
	first := t.dice.IntN(firstServer)
	for i := range firstServer - 1 {
		t.fleet.Kill((first + i) % firstServer)
	}
	t.answered(t.principals)
	for i := range firstServer - 1 {
		require.NoError(t, t.fleet.Start((first+i)%firstServer))
	}
}

func (t *trial) killServer() {
	place := firstServer + t.dice.IntN(servers)
	t.fleet.Kill(place)
	t.answered(2 * t.principals)
	require.NoError(t, t.fleet.Start(place))
}

// everysec is up to how much of its newest writes a server may lose that writes to its disk every second: while a write
// to the disk lasts, the next one waits for up to two seconds.
const everysec = 2 * time.Second

// restartRedis kills Redis. What it had acknowledged last may be lost.
func (t *trial) restartRedis() {
	lost := gap{from: time.Now().Add(-everysec), perhaps: true}
	t.store.Kill()
	t.requireNamed("doctor", "store")
	t.store.Restart()
	lost.to = time.Now()
	t.gaps = append(t.gaps, lost)
}

// cutPower takes the power from the machine of Redis, which had not written the last seconds to its disk.
func (t *trial) cutPower() {
	lost := gap{from: time.Now()}
	written := t.store.Written()
	t.answered(2 * t.principals)
	t.wait(everysec)
	t.store.LosePower(written)
	t.store.Restart()
	lost.to = time.Now()
	t.gaps = append(t.gaps, lost)
}

func (t *trial) freezeRedis() {
	t.store.Freeze()
	t.wait(5 * time.Second)
	t.store.Thaw()
}

func (t *trial) restartTemporal() {
	t.cluster.Kill()
	t.answered(2 * t.principals)
	t.requireNamed("doctor", "temporal")
	t.requireNamed("health", "temporal")
	t.cluster.Restart()
}

func (t *trial) freezeTemporal() {
	t.cluster.Freeze()
	t.answered(2 * t.principals)
	t.wait(5 * time.Second)
	t.cluster.Thaw()
}

// wait lets a trouble last. Nothing is measured by it.
func (t *trial) wait(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.ctx.Done():
	}
}

// roll replaces all processes by those of another build and then by those of this one, as docs/upgrading.md says: the
// workers of one build stop before those of the next start, and the servers follow one after another.
func (t *trial) roll() {
	this := t.fleet.Program
	other, version, what := program.Other(t)
	t.Logf("the other build is %s", what)
	t.replace(other)
	body, err := t.fleet.Ask(t.ctx, "--json", "version")
	require.NoError(t, err)
	require.Contains(t, string(body), version)
	t.beginDreams(2)
	t.answered(2 * t.principals)
	t.replace(this)
}

func (t *trial) replace(build string) {
	t.Helper()
	t.fleet.Program = build
	for place := range firstServer {
		require.NoError(t, t.fleet.End(place))
	}
	for place := range firstServer {
		require.NoError(t, t.fleet.Start(place))
	}
	for place := firstServer; place < len(places); place++ {
		require.NoError(t, t.fleet.End(place))
		require.NoError(t, t.fleet.Start(place))
	}
}

// restore puts back an archive that was made a while ago, as docs/backup.md says.
func (t *trial) restore() {
	kept := filepath.Join(t.TempDir(), "nightly.oneiros")
	lost := gap{from: time.Now()}
	_, err := t.fleet.Ask(t.ctx, "store", "export", kept) // while people talk and agents dream
	require.NoError(t, err)
	t.answered(2 * t.principals)
	for place := range places {
		require.NoError(t, t.fleet.End(place))
	}
	require.NoError(t, t.store.Dial(t).FlushDB(t.ctx).Err())
	_, err = t.fleet.Ask(t.ctx, "store", "import", kept)
	require.NoError(t, err)
	_, err = t.fleet.Ask(t.ctx, "store", "verify")
	require.NoError(t, err)
	for place := range places {
		require.NoError(t, t.fleet.Start(place))
	}
	lost.to = time.Now()
	for i := range t.gaps {
		t.gaps[i].inLogs = true
	}
	t.gaps = append(t.gaps, lost)
	t.beginDreams(2)
}

// failOver lets a replica take over that lacks the newest writes.
func (t *trial) failOver() { t.failOverWhile(func() {}) }

func (t *trial) failOverWhile(happen func()) {
	replica := redis.Start(t.T, redis.ReplicaOf(t.store))
	client := replica.Dial(t)
	require.Eventually(t, func() bool {
		state, err := client.Info(t.ctx, "replication").Result()
		return err == nil && strings.Contains(state, "master_link_status:up")
	}, time.Minute, often, "the replica does not follow")
	t.answered(t.principals)
	lost := gap{from: time.Now()}
	replica.Promote()
	t.answered(2 * t.principals)
	happen()
	t.store.Kill()
	t.name.to(replica.Address)
	t.store = replica
	lost.to = time.Now()
	t.gaps = append(t.gaps, lost)
}

// killAndFailOver kills a server with the primary. Only its journal knows what it had bought last.
func (t *trial) killAndFailOver() {
	place := firstServer + t.dice.IntN(servers)
	t.failOverWhile(func() { t.fleet.Kill(place) })
	require.NoError(t, t.fleet.Start(place))
}

// fill leaves Redis no memory for anything more.
func (t *trial) fill() {
	client := t.store.Dial(t)
	require.NoError(t, client.ConfigSet(t.ctx, "maxmemory-policy", "noeviction").Err())
	require.NoError(t, client.ConfigSet(t.ctx, "maxmemory", "1mb").Err())
	for place := firstServer; place < len(places); place++ {
		require.Eventually(t, func() bool { return t.readiness(place) == http.StatusServiceUnavailable }, time.Minute,
			often, "a full store is ready")
	}
	t.requireRefused()
	t.requireNamed("doctor", "redis")
	t.requireNamed("health", "redis")
	require.NoError(t, client.ConfigSet(t.ctx, "maxmemory", "0").Err())
}

// readiness is what /readyz of a server answers; 0 when it does not.
func (t *trial) readiness(place int) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.ctx, http.MethodGet, t.fleet.At(place).Base+"/readyz", nil)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	_ = res.Body.Close()
	return res.StatusCode
}

// requireRefused requires that a store that takes no writes is told to clients, and that what only reads works.
func (t *trial) requireRefused() {
	t.Helper()
	p := &person{t: t, dice: t.dice, http: &http.Client{}}
	refused := p.say(0)
	require.Equal(t, http.StatusServiceUnavailable, refused.Status, refused.Fault)
	require.NotEmpty(t, refused.RetryAfter, refused.Fault)
	_, err := t.fleet.Ask(t.ctx, "--json", "dreams", "list", "--all")
	require.NoError(t, err, "what only reads works on a full store")
}

// finding is a line of doctor or health.
type finding struct{ Agent, Name, State, Found string }

func (f finding) bad() bool { return f.State == "wrong" || f.State == "ill" || f.State == "failed" }

// findings are what a command says about the deployment.
func (t *trial) findings(command string) []finding {
	t.Helper()
	body, err := t.fleet.Ask(t.ctx, "--json", command)
	if command == "health" {
		var all struct{ Lines []finding }
		require.NoError(t, json.Unmarshal(body, &all), "%s: %v", body, err)
		return all.Lines
	}
	var all []finding
	require.NoError(t, json.Unmarshal(body, &all), "%s: %v", body, err)
	return all
}

// requireNamed requires that a command names the trouble that stands.
func (t *trial) requireNamed(command, name string) {
	t.Helper()
	found := t.findings(command)
	require.True(t, slices.ContainsFunc(found, func(f finding) bool { return f.Name == name && f.bad() }),
		"%s does not name the trouble of %s: %v", command, name, found)
}

// wrongBy is how far the clocks of skewed workers are ahead and behind: longer than leases, locks and the age at which a
// record counts as abandoned.
const wrongBy = 10 * time.Minute

// skew runs one worker whose clock is ahead and one whose clock is behind, and sets them right again.
func (t *trial) skew() {
	right := t.fleet.Program
	t.fleet.Program = program.Skewed(t)
	first := t.dice.IntN(firstServer)
	for i, by := range []time.Duration{wrongBy, -wrongBy} {
		place := (first + i) % firstServer
		require.NoError(t, t.fleet.End(place))
		t.fleet.Env = []string{fmt.Sprintf("%s=%d", program.SkewVariable, int(by.Seconds()))}
		require.NoError(t, t.fleet.Start(place))
		found := t.findings("doctor")
		require.True(t, slices.ContainsFunc(found, func(f finding) bool {
			return f.Name == "redis" && strings.Contains(f.Found, "its clock and this machine's are 10m0s apart")
		}), "on a machine whose clock is wrong by %s doctor does not say so: %v", by, found)
	}
	t.fleet.Program, t.fleet.Env = right, nil
	t.beginDreams(2)
	t.answered(2 * t.principals)
	t.wait(5 * time.Second)
	for i := range 2 {
		place := (first + i) % firstServer
		require.NoError(t, t.fleet.End(place))
		require.NoError(t, t.fleet.Start(place))
	}
}

// Every trouble is played by the reduced trials of some seeds, and by the full trial.
func TestSeedsPlayEveryTrouble(t *testing.T) {
	t.Parallel()
	if os.Getenv("ONEIROS_TROUBLE") != "" {
		t.Skip("one trouble is tried alone")
	}
	played := map[string]bool{}
	for seed := range uint64(100) {
		all := (&trial{dice: rand.New(rand.NewPCG(seed, 1))}).troubles()
		require.True(t, full || len(all) == reducedTroubles)
		for _, one := range all {
			played[one.name] = true
		}
	}
	require.Len(t, played, troublesInAll)
}
