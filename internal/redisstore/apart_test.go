package redisstore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/memory/memorytest"
	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

func TestDatabasesOfOneServerDoNotHearEachOther(t *testing.T) {
	t.Parallel()
	server := redis.Start(t)
	in := func(database string) *redisstore.Store {
		return open(t, strings.TrimSuffix(server.URL, "0")+database, "oneiros:")
	}
	zero, three := in("0"), in("3")
	all := server.Dial(t).PSubscribe(t.Context(), "*")
	defer all.Close()
	_, err := all.Receive(t.Context())
	require.NoError(t, err)
	channels := func(s *redisstore.Store) map[string]bool {
		visit := visitNow()
		visit.Notify = true
		_, err := s.Arrive(t.Context(), visit)
		require.NoError(t, err)
		announce(t, s, "one")
		seen := map[string]bool{}
		for range 2 {
			m, err := all.ReceiveMessage(t.Context())
			require.NoError(t, err)
			seen[m.Channel] = true
		}
		return seen
	}
	require.Equal(t, map[string]bool{"oneiros:bell": true, "oneiros:events": true}, channels(zero),
		"the names that earlier builds used")
	require.Equal(t, map[string]bool{"oneiros:db3:bell": true, "oneiros:db3:events": true}, channels(three))
	received := noticesOf(t, three)
	publishUntilReceived(t, in("3"), received, "three")
	require.NoError(t, zero.Publish(t.Context(), noticeFor("zero")))
	n, err := in("0").Listeners(t.Context())
	require.NoError(t, err)
	require.Zero(t, n, "the listener of the other database is not one of this")
	publishUntilReceived(t, in("3"), received, "last")
}

func TestDeploymentsWithTwoPrefixesDoNotSeeEachOther(t *testing.T) {
	t.Parallel()
	server := redis.Start(t)
	one, other := open(t, server.URL, "team-a:"), open(t, server.URL, "team-b:")
	_, err := other.Import(t.Context(), memorytest.Fill(memorytest.Deployment(7, few)))
	require.NoError(t, err)
	before := tallied(t, other.Export(t.Context()))
	_, err = one.Import(t.Context(), memorytest.Fill(memorytest.Deployment(8, few)))
	require.NoError(t, err, "the first prefix is still empty")
	received := noticesOf(t, other)

	agents, err := one.Agents(t.Context())
	require.NoError(t, err)
	theirs, err := other.Agents(t.Context())
	require.NoError(t, err)
	for _, a := range agents {
		visit := visitNow()
		visit.Agent, visit.Notify = a.ID, true
		_, err := one.Arrive(t.Context(), visit)
		require.NoError(t, err)
		_, err = one.NextDream(t.Context(), a.ID)
		require.NoError(t, err)
		items, err := one.Find(t.Context(), memory.Query{Agent: a.ID, Kinds: []dream.Kind{dream.KindEpisode}, Limit: 1})
		require.NoError(t, err)
		require.NotEmpty(t, items)
		_, err = one.Forget(t.Context(), a.ID, items[0].Header().ID)
		require.NoError(t, err)
		_, err = one.Dismiss(t.Context(), a.ID, noon)
		require.NoError(t, err)
		slots, err := one.Slots(t.Context())
		require.NoError(t, err)
		if slot, ok := slots[a.ID]; ok {
			require.NoError(t, one.FreeSlot(t.Context(), a.ID, slot.Fence))
		}
		_, err = one.DropAgent(t.Context(), a.ID, noon.AddDate(20, 0, 0))
		require.NoError(t, err)
	}
	left, err := one.Agents(t.Context())
	require.NoError(t, err)
	require.Empty(t, left)
	require.Equal(t, before, tallied(t, other.Export(t.Context())))
	still, err := other.Agents(t.Context())
	require.NoError(t, err)
	require.Equal(t, theirs, still)
	for _, s := range []*redisstore.Store{one, other} {
		found, err := s.Verify(t.Context())
		require.NoError(t, err)
		require.Empty(t, found.Faults)
	}
	n, err := one.Listeners(t.Context())
	require.NoError(t, err)
	require.Zero(t, n, "the listener of the other deployment is not one of this")
	publishUntilReceived(t, open(t, server.URL, "team-b:"), received, "last")
	require.Empty(t, received)
}

func TestAClusterOfThreeIsRefused(t *testing.T) {
	t.Parallel()
	var nodes []*redis.Server
	for i, slots := range [][2]int{{0, 5460}, {5461, 10922}, {10923, 16383}} {
		node := redis.Start(t, redis.Config("cluster-enabled", "yes"))
		nodes = append(nodes, node)
		c := node.Dial(t)
		require.NoError(t, c.ClusterAddSlotsRange(t.Context(), slots[0], slots[1]).Err())
		if i > 0 {
			host, port, _ := strings.Cut(nodes[0].Address, ":")
			require.NoError(t, c.ClusterMeet(t.Context(), host, port).Err())
		}
	}
	for _, node := range nodes {
		c := node.Dial(t)
		require.Eventually(t, func() bool {
			return strings.Contains(c.ClusterInfo(t.Context()).Val(), "cluster_state:ok")
		}, time.Minute, 20*time.Millisecond)
		_, err := redisstore.Open(t.Context(), node.URL, redisstore.TrustServer())
		require.ErrorContains(t, err, "Redis Cluster")
		require.ErrorContains(t, err, "use a single server (cluster-enabled no), with replicas and Sentinels")
		require.Zero(t, c.DBSize(t.Context()).Val(), "nothing was written")
	}
}
