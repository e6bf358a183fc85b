package deploy

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

func TestTheDoctorJudgesTheStoresServer(t *testing.T) {
	t.Parallel()
	now := time.Now()
	good := memory.Condition{
		Now:      now,
		Used:     50e6,
		Limit:    100e6,
		Disk:     3e6,
		Lag:      2e3,
		Eviction: "noeviction",
		Replicas: 1,
	}
	f := judge(good, now, now.Add(time.Second))
	require.Equal(t, Well, f.State, f.Found)
	require.Contains(t, f.Found, "memory 50 MB of 100 MB, disk 3 MB, eviction noeviction, replicas 1 (2 kB behind)")
	ill := map[string]bool{
		"it is a replica":       true,
		"100 % of its memory":   true,
		"it has deleted 3 keys": true,
		"lacks +zadd +xadd":     true,
	}
	for says, change := range map[string]func(*memory.Condition){
		"maxmemory-policy allkeys-lru": func(c *memory.Condition) { c.Eviction = "allkeys-lru" },
		"90 % of its memory":           func(c *memory.Condition) { c.Used = 90e6 },
		"100 % of its memory":          func(c *memory.Condition) { c.Used = 100e6 },
		"it has deleted 3 keys":        func(c *memory.Condition) { c.Evicted = 3 },
		"it is a replica":              func(c *memory.Condition) { c.Replica = true },
		"are 6s apart":                 func(c *memory.Condition) { c.Now = now.Add(-6 * time.Second) },
		"are 7s apart":                 func(c *memory.Condition) { c.Now = now.Add(8 * time.Second) },
		"lacks +zadd +xadd":            func(c *memory.Condition) { c.Missing = []string{"+zadd", "+xadd"} },
		"aof_last_write_status is err": func(c *memory.Condition) { c.Faults = []string{"aof_last_write_status is err"} },
	} {
		c := good
		change(&c)
		f := judge(c, now, now.Add(time.Second))
		require.Equal(t, ill[says], f.State == Ill, says)
		require.NotEqual(t, Well, f.State, says)
		require.Contains(t, f.Found, says)
		require.NotEmpty(t, f.Advice)
	}
	within := good
	within.Now = now.Add(-5 * time.Second)
	require.Equal(t, Well, judge(within, now, now).State)
}

func TestTheDoctorAsksARealServer(t *testing.T) {
	t.Parallel()
	server := redis.Start(t, redis.Config("maxmemory", "64mb"))
	s, err := openRedis(t.Context(), config.Config{Store: config.Store{URL: server.URL}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	h := &Deployment{store: s}
	f := lookAtStoreServer(t.Context(), h)
	require.Equal(t, Well, f.State, f.Found)
	require.Contains(t, f.Found, "of 67 MB, disk 0 MB, eviction noeviction, replicas 0")
	require.NoError(t, server.Dial(t).ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru").Err())
	require.Contains(t, lookAtStoreServer(t.Context(), h).Found, "maxmemory-policy allkeys-lru")
	require.NoError(t, server.Dial(t).ConfigSet(t.Context(), "maxmemory", "100kb").Err())
	require.Contains(t, lookAtStoreServer(t.Context(), h).Found, "% of its memory is used")
}
