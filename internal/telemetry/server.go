package telemetry

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// storeServer holds the metrics of the server that keeps the store.
type storeServer struct {
	ask func(context.Context) (memory.Condition, error)
	family

	used, limit, disk, evicts, evicted, replica, replicas, lag, faults, skew prometheus.Gauge
}

func newStoreServer(r prometheus.Registerer, ask func(context.Context) (memory.Condition, error)) *storeServer {
	s := &storeServer{ask: ask, family: family{to: r}}
	one := func(name, help string) prometheus.Gauge { return s.gauge("store_"+name, help).WithLabelValues() }
	s.used = one("memory_bytes", "Memory that the Redis server uses.")
	s.limit = one("memory_limit_bytes", "Its maxmemory; 0: it has no limit.")
	s.disk = one("disk_bytes", "Size of its append-only file.")
	s.evicts = one("evicts", "1 when a full server deletes keys (maxmemory-policy is not noeviction), else 0.")
	s.evicted = one("evicted_keys", "Keys that it deleted because it was full, since its start.")
	s.replica = one("replica", "1 when it is a replica, which takes no writes, else 0.")
	s.replicas = one("replicas", "Replicas that follow it.")
	s.lag = one("replica_lag_bytes", "Bytes of its writes that the last of them has not confirmed.")
	s.faults = one("persistence_faults", "What keeps it from writing to its disk; 0: nothing. oneiros doctor says what.")
	s.skew = one("clock_skew_seconds", "How far its clock is ahead of this machine's; negative: behind.")
	return s
}

// look asks the server. When it does not answer, the figures stay as they were.
func (s *storeServer) look(ctx context.Context) {
	before := time.Now()
	c, err := s.ask(ctx)
	if err != nil {
		return
	}
	middle := before.Add(time.Since(before) / 2)
	s.used.Set(float64(c.Used))
	s.limit.Set(float64(c.Limit))
	s.disk.Set(float64(c.Disk))
	s.evicts.Set(truth(c.Eviction != "" && c.Eviction != "noeviction"))
	s.evicted.Set(float64(c.Evicted))
	s.replica.Set(truth(c.Replica))
	s.replicas.Set(float64(c.Replicas))
	s.lag.Set(float64(c.Lag))
	s.faults.Set(float64(len(c.Faults)))
	s.skew.Set(c.Now.Sub(middle).Seconds())
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// ServerFigures lists the metrics of the store's server, for the handbook.
func (m *Meter) ServerFigures() []Figure {
	if m.server == nil {
		return nil
	}
	return m.server.list
}
