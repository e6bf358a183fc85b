package redisstore

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/store"
	"github.com/seed-56a03226/oneiros/internal/store/rooms"
)

// persistence lists the fields of INFO that say whether the server could persist its writes, with their healthy values.
var persistence = map[string]string{
	"aof_last_write_status": "ok", "aof_last_bgrewrite_status": "ok", "rdb_last_bgsave_status": "ok", "loading": "0",
}

// Verify checks whether the server could persist its writes, and the relations between keys.
func (s archives) Verify(ctx context.Context) (memory.Integrity, error) {
	var found memory.Integrity
	var info, mark *redis.StringCmd
	var agents, handles, keys, hashes *redis.MapStringStringCmd
	err := s.together(ctx, func(ctx context.Context, p redis.Pipeliner) {
		info = p.Info(ctx, "persistence")
		agents, handles = p.HGetAll(ctx, s.root(agentsKey)), p.HGetAll(ctx, s.root(handlesKey))
		keys, hashes = p.HGetAll(ctx, s.root(keysKey)), p.HGetAll(ctx, s.root(keyHashesKey))
		mark = p.Get(ctx, s.root(schemaKey))
	})
	if err != nil {
		return found, store.Wrap(err, "verify ", s.name)
	}
	if mark.Val() == "" {
		found.Faults = append(found.Faults,
			"the mark of the schema is gone: keys were removed, or the server was emptied, while this program ran")
	}
	found.Faults = append(found.Faults, unpersisted(parseInfo(info.Val()))...)
	found.Faults = append(found.Faults, crossCheck("agent", agents.Val(), handles.Val(), "Handle")...)
	found.Faults = append(found.Faults, crossCheck("key", keys.Val(), hashes.Val(), "Hash")...)
	summed, faults, err := ledger{s.server}.verifySpent(ctx)
	if err != nil {
		return found, store.Wrap(err, "verify ", s.name)
	}
	found.Faults = append(found.Faults, faults...)
	if summed {
		found.Checked = append(found.Checked, store.DayChecked)
	}
	faults, err = s.verifyRooms(ctx)
	found.Faults = append(found.Faults, faults...)
	found.Checked = append(found.Checked, "schema "+mark.Val(), "persistence", "names of agents and keys", rooms.Checked)
	return found, store.Wrap(err, "verify ", s.name)
}

// crossCheck compares bodies by id with an index from a field of the body back to the id.
func crossCheck(what string, bodies, index map[string]string, field string) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	for _, id := range slices.Sorted(maps.Keys(bodies)) {
		var answer struct{ Handle, Hash string }
		if err := json.Unmarshal([]byte(bodies[id]), &answer); err != nil {
			fault("%s %q cannot be read: %v", what, id, err)
			continue
		}
		if index[answer.Handle+answer.Hash] != id { // it has one of them
			fault("%s %q is not found by its %s", what, id, field)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(index)) {
		if _, ok := bodies[index[name]]; !ok {
			fault("a %s of %s %q leads to nothing", field, what, index[name])
		}
	}
	return faults
}
