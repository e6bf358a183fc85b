package redisstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// Condition asks the server for its clock, memory, eviction policy, replication, persistence and rights.
func (s *Store) Condition(ctx context.Context) (memory.Condition, error) {
	missing, err := askRights(ctx, s.server)
	if err != nil {
		return memory.Condition{}, store.Wrap(err, "condition of ", s.name)
	}
	var text *redis.StringCmd
	var now *redis.TimeCmd
	err = s.together(ctx, func(ctx context.Context, p redis.Pipeliner) {
		text, now = p.Info(ctx), p.Time(ctx)
	})
	if err != nil && len(missing) == 0 {
		return memory.Condition{}, store.Wrap(err, "condition of ", s.name)
	}
	c := conditionOf(parseInfo(text.Val()), now.Val())
	c.Missing = missing
	return c, nil
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
		Disk:     number("aof_current_size"),
		Eviction: info["maxmemory_policy"],
		Evicted:  number("evicted_keys"),
		Replica:  info["role"] == "slave",
		Replicas: int(number("connected_slaves")),
		Lag:      lag(info, number("master_repl_offset")),
		Faults:   unpersisted(info),
	}
}

// lag is how many bytes the last replica is behind the end of what was written. INFO has a line
// slave0:ip=127.0.0.1,port=6380,state=online,offset=28,lag=0 for each.
func lag(info map[string]string, end int64) (most int64) {
	for i := 0; ; i++ {
		line, ok := info["slave"+strconv.Itoa(i)]
		if !ok {
			return most
		}
		_, rest, _ := strings.Cut(line, "offset=")
		text, _, _ := strings.Cut(rest, ",")
		offset, err := strconv.ParseInt(text, 10, 64)
		if err == nil {
			most = max(most, end-offset)
		}
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
