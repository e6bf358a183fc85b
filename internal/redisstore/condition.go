package redisstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// Condition asks the server for its clock, memory, eviction policy, replication and persistence.
func (s *Store) Condition(ctx context.Context) (memory.Condition, error) {
	var text *redis.StringCmd
	var now *redis.TimeCmd
	err := s.together(ctx, func(ctx context.Context, p redis.Pipeliner) {
		text, now = p.Info(ctx), p.Time(ctx)
	})
	if err != nil {
		return memory.Condition{}, store.Wrap(err, "condition of ", s.name)
	}
	return conditionOf(parseInfo(text.Val()), now.Val()), nil
}

func conditionOf(info map[string]string, now time.Time) memory.Condition {
	number := func(name string) int64 {
		n, _ := strconv.ParseInt(info[name], 10, 64) // a server that leaves it out says nothing of it
		return n
	}
	return memory.Condition{
		Now:      now,
		Used:     number("used_memory"),
		Limit:    number("maxmemory"),
		Eviction: info["maxmemory_policy"],
		Replica:  info["role"] == "slave",
		Replicas: int(number("connected_slaves")),
		Faults:   unpersisted(info),
	}
}

// unpersisted says what keeps a server from persisting its writes, by its INFO.
func unpersisted(info map[string]string) (faults []string) {
	for _, name := range slices.Sorted(maps.Keys(persistence)) {
		if value, ok := info[name]; ok && value != persistence[name] {
			faults = append(faults, fmt.Sprintf("the server says %s is %s; %s is right", name, value, persistence[name]))
		}
	}
	return faults
}
