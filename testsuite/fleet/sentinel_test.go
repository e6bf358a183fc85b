package fleet_test

import (
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

// Three Sentinels promote a replica while agents dream and people talk. What the primary had acknowledged in its last
// moment may be lost, and then doctor and health say so; the books are equal either way.
func TestSentinelsPromoteAReplicaUnderATeamsDeployment(t *testing.T) {
	t.Parallel()
	skipShort(t)
	if !full {
		t.Skip("runs in full with PROVE=full")
	}
	primary := redis.Start(t, redis.Config("repl-diskless-sync-delay", "0"))
	for range 2 {
		redis.Start(t, redis.ReplicaOf(primary))
	}
	sentinels := redis.StartSentinels(t, primary, 3, 2)
	query := url.Values{"master_name": {redis.MasterName}}
	for _, s := range sentinels[1:] {
		query.Add("addr", s.Address)
	}
	r := openTrialOn(t, site{redis: sentinels[0].URL + "?" + query.Encode(), commands: places}, 9, 2)
	r.calm()
	began := time.Now()
	r.through(trouble{"Sentinels promote a replica", func() {
		lost := gap{from: time.Now(), perhaps: true}
		primary.Kill()
		r.answered(2 * r.principals)
		lost.to = time.Now()
		r.gaps = append(r.gaps, lost)
		r.beginDreams(2)
	}})
	t.Logf("Sentinels promote a replica: sound after %s; %d exchanges, %d of them lost; %d dreams",
		time.Since(began).Round(100*time.Millisecond), len(r.crowd.exchanges()), r.figures.lost, len(r.requested))
	require.NoError(t, r.fleet.Panics())
}
