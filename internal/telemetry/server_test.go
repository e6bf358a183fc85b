package telemetry_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/telemetry"
)

func TestTheHandbookListsTheMetricsOfTheStoresServer(t *testing.T) {
	t.Parallel()
	const page, head = "../../docs/redis.md", "| figure | labels | what it counts |\n|---|---|---|\n"
	o := telemetry.Options{
		Server: func(context.Context) (memory.Condition, error) { return memory.Condition{}, nil },
	}
	requireRows(t, page, head, setup(t).meter(o).ServerFigures())
}

func TestEachScrapeAsksTheStoresServer(t *testing.T) {
	t.Parallel()
	c, fault := memory.Condition{
		Used:     50e6,
		Limit:    100e6,
		Disk:     3e6,
		Eviction: "allkeys-lru",
		Evicted:  7,
		Replica:  true,
		Replicas: 2,
		Lag:      2048,
		Faults:   []string{"aof_last_write_status is err"},
	}, error(nil)
	m := setup(t).meter(telemetry.Options{Server: func(context.Context) (memory.Condition, error) {
		c.Now = time.Now().Add(time.Hour)
		return c, fault
	}})
	page := scrape(t, m)
	for _, line := range []string{
		"oneiros_store_memory_bytes 5e+07", "oneiros_store_memory_limit_bytes 1e+08", "oneiros_store_disk_bytes 3e+06",
		"oneiros_store_evicts 1", "oneiros_store_evicted_keys 7", "oneiros_store_replica 1", "oneiros_store_replicas 2",
		"oneiros_store_replica_lag_bytes 2048", "oneiros_store_persistence_faults 1",
		"oneiros_store_clock_skew_seconds 3", // an hour, to the microsecond
	} {
		require.Contains(t, page, line)
	}
	c.Evicted, fault = 8, errors.New("away")
	require.Contains(t, scrape(t, m), "oneiros_store_evicted_keys 7", "the figures of the scrape before")
}
