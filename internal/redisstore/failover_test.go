package redisstore_test

import (
	"context"
	"maps"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

// bySentinels is the address of a server by its Sentinels.
func bySentinels(sentinels []*redis.Server) string {
	query := url.Values{"master_name": {redis.MasterName}}
	for _, s := range sentinels[1:] {
		query.Add("addr", s.Address)
	}
	return sentinels[0].URL + "?" + query.Encode()
}

// replicated starts a primary with two replicas, which takes writes only while a replica follows, and three Sentinels.
func replicated(t *testing.T) (primary *redis.Server, address string) {
	t.Helper()
	follow := redis.Config("min-replicas-to-write", "1")
	primary = redis.Start(t, follow, redis.Config("repl-diskless-sync-delay", "0"))
	for range 2 {
		redis.Start(t, follow, redis.ReplicaOf(primary))
	}
	c := primary.Dial(t)
	require.Eventually(t, func() bool { // until then it takes no writes
		return c.Set(t.Context(), "began", 1, 0).Err() == nil && c.Wait(t.Context(), 2, time.Second).Val() == 2
	}, time.Minute, 20*time.Millisecond)
	return primary, bySentinels(redis.StartSentinels(t, primary, 3, 2))
}

// What a replica has is never lost. What the primary acknowledged in its last moment may be, and is counted.
func TestADeploymentGoesOnByItselfAfterAFailover(t *testing.T) {
	t.Parallel()
	primary, address := replicated(t)
	patient := redisstore.Timeout(30 * time.Second)
	s, there := open(t, address, "oneiros:", patient), open(t, address, "oneiros:", patient)
	received := noticesOf(t, there)
	publishUntilReceived(t, s, received, "before")
	d := &acknowledged{
		reserved: map[string]bool{}, settled: map[string]bool{}, raised: map[string]int64{},
		changed: make(chan struct{}, 1),
	}
	ctx, stop := context.WithCancel(t.Context())
	var working sync.WaitGroup
	for worker := range 4 {
		working.Go(func() { d.work(ctx, s, worker) })
	}
	d.await(t, 50)
	d.mu.Lock()
	before := maps.Clone(d.settled)
	d.mu.Unlock()
	c := primary.Dial(t)
	require.NoError(t, c.Set(t.Context(), "marker", 1, 0).Err())
	require.NotZero(t, c.Wait(t.Context(), 1, 20*time.Second).Val())
	primary.Kill() // while the workers write
	d.await(t, 50)
	publishUntilReceived(t, s, received, "after")
	stop()
	working.Wait()

	state := map[string]spend.State{}
	var sums spend.Balance
	rows, err := there.Rows(t.Context(), spend.Query{})
	require.NoError(t, err)
	for _, r := range rows {
		require.NotContains(t, state, r.Step, "one call books once, even if its reply was lost")
		state[r.Step] = r.State
		if r.State == spend.Open {
			sums.Reserved += r.Counted
		} else {
			sums.Spent += r.Counted
		}
	}
	require.Equal(t, sums, balanceOf(t, there.Ledger(), "day"))
	for step := range before {
		require.Equal(t, spend.Settled, state[step])
	}
	lost := 0
	for step := range d.settled {
		if state[step] != spend.Settled {
			lost++
		}
	}
	t.Logf("%d settled and acknowledged, %d of them lost; %d calls failed", len(d.settled), lost, d.failed)
}

// The old primary lives on as a replica, behind the connections that the store still holds.
func TestADemotedServerIsLeftForTheNewPrimary(t *testing.T) {
	t.Parallel()
	primary := redis.Start(t, redis.Config("repl-diskless-sync-delay", "0"))
	replica := redis.Start(t, redis.ReplicaOf(primary))
	sentinels := redis.StartSentinels(t, primary, 3, 1)
	s := open(t, bySentinels(sentinels), "oneiros:", redisstore.Timeout(30*time.Second))
	events := make(chan error, 1)
	go func() { events <- s.Await(t.Context(), echo, 1) }()
	write(t, s, memory.Write{Cause: "d1"})
	announce(t, s, "one")
	require.NoError(t, sentinels[0].Dial(t).Do(t.Context(), "SENTINEL", "FAILOVER", redis.MasterName).Err())
	c := replica.Dial(t)
	require.Eventually(t, func() bool { return c.Set(t.Context(), "probe", 1, 0).Err() == nil }, time.Minute,
		20*time.Millisecond)
	_, err := s.Arrive(t.Context(), visitNow())
	require.NoError(t, err)
	announce(t, s, "two")
	require.NoError(t, <-events)
}

// A managed service gives the address to another server, and may leave the old one running as a replica.
func TestAnAddressThatMovesToAnotherServerIsFollowed(t *testing.T) {
	t.Parallel()
	one := redis.Start(t, redis.Config("repl-diskless-sync-delay", "0"))
	w := newWire(t, one)
	s := open(t, w.url, "oneiros:", redisstore.Timeout(30*time.Second))
	warm(t, s)
	other := redis.Start(t, redis.ReplicaOf(one))
	c := other.Dial(t)
	require.Eventually(t, func() bool { return c.Exists(t.Context(), "oneiros:schema").Val() == 1 }, time.Minute,
		5*time.Millisecond)
	host, port, _ := strings.Cut(other.Address, ":")
	require.NoError(t, c.Do(t.Context(), "REPLICAOF", "NO", "ONE").Err())
	require.NoError(t, one.Dial(t).Do(t.Context(), "REPLICAOF", host, port).Err())
	w.to.Store(&other.Address)
	var visiting sync.WaitGroup
	for range 50 {
		visiting.Go(func() {
			_, err := s.Arrive(t.Context(), visitNow())
			assert.NoError(t, err)
			_, err = s.Reserve(t.Context(), askFor("step"))
			assert.NoError(t, err)
		})
	}
	visiting.Wait()
	require.EqualValues(t, 1, c.Exists(t.Context(), "oneiros:a:echo:leases").Val())
}

func TestSentinelsThatDoNotKnowTheServerAreSaidToBeSo(t *testing.T) {
	t.Parallel()
	sentinels := redis.StartSentinels(t, redis.Start(t), 1, 0)
	address := sentinels[0].URL + "?master_name=nobody"
	_, err := redisstore.Open(t.Context(), address, redisstore.Timeout(2*time.Second))
	require.ErrorContains(t, err, `know no server of the name "nobody"`)
	_, err = redisstore.Open(t.Context(), sentinels[0].URL, redisstore.Timeout(2*time.Second))
	require.ErrorContains(t, err, "is a Sentinel", "the address of a Sentinel without master_name")
}

func TestSentinelsWithAPasswordOfTheirOwn(t *testing.T) {
	t.Parallel()
	sentinels := redis.StartSentinels(t, redis.Start(t), 1, 0)
	c := sentinels[0].Dial(t)
	require.NoError(t, c.Do(t.Context(), documentedUser("watcher")...).Err())
	require.NoError(t, c.Do(t.Context(), "ACL", "SETUSER", "default", "off").Err())
	_, err := redisstore.Open(t.Context(), bySentinels(sentinels), redisstore.Timeout(2*time.Second))
	require.ErrorIs(t, err, redisstore.ErrCredentials)
	require.ErrorContains(t, err, "a Sentinel says")
	_, err = open(t, bySentinels(sentinels), "oneiros:", redisstore.SentinelCredentials("watcher", "PASSWORD")).
		Arrive(t.Context(), visitNow())
	require.NoError(t, err)
}

func TestAnAddressOfSentinelsIsRead(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"redis://s1:26379/0?addr=s2:26379":                 "master_name is missing",
		"redis://s1:26379/0?master_name=kept&addr=s2":      "addr=s2 must be the host and port of a Sentinel",
		"redis://s1:26379/0?master_name=kept&shard=1":      "unexpected option: shard",
		"redis://s1:26379/0?master_name=kept&addr=s2:2637": "",
	} {
		_, err := redisstore.Open(t.Context(), address, redisstore.Timeout(time.Millisecond))
		require.ErrorContains(t, err, want)
	}
}
