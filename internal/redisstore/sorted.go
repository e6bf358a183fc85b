package redisstore

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

var (
	sortDreamsScript    = script("status", "sortdreams")
	sortUnsettledScript = script("memory", "sortunsettled")
)

// sortedAtOnce is how many agents one step of sortDreams sorts: some milliseconds for each hundred dreams of one.
const sortedAtOnce = 50

const (
	statusOrder = "by:status:"
	proposedSet = "by:proposed"
)

// dreamStatuses are the statuses that a record of a dream can have.
var dreamStatuses = []string{
	string(dream.Dreaming), string(dream.Completed), string(dream.Empty), string(dream.Exhausted), string(dream.Aborted),
	string(dream.Canceled), string(dream.Undone), string(dream.Interrupted), dream.RecordWaits,
}

// sortDreams makes the orders of schema 6 whole, once, which an older program has not written, and reports whether they
// are.
func (s fleet) sortDreams(ctx context.Context) bool {
	return s.whole(ctx, sortedKey, func() error {
		agents, err := ask(ctx, s.server, func(ctx context.Context) ([]string, error) {
			return s.client.HKeys(ctx, s.root(agentsKey)).Result()
		})
		if err != nil {
			return err
		}
		return s.sortAll(ctx, agents)
	})
}

// whole reports whether what a newer schema keeps is whole, which a key of the deployment says once complete has made it
// so. For an hour after the keys were raised it does not try, since processes of the older program may run beside this
// one. Where the server takes no writes, or anything else goes wrong, it is not whole, and not needed: it can be read
// elsewhere, more slowly.
func (s *server) whole(ctx context.Context, key string, complete func() error) bool {
	var done, raised *redis.IntCmd
	err := s.exchange(ctx, func(ctx context.Context) error {
		_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			done, raised = p.Exists(ctx, s.root(key)), p.Exists(ctx, s.root(raisedKey))
			return nil
		})
		return err
	})
	if err != nil || done.Val() == 1 || raised.Val() == 1 {
		return err == nil && done.Val() == 1
	}
	if complete() != nil {
		return false
	}
	return s.exchange(ctx, func(ctx context.Context) error {
		return s.client.Set(ctx, s.root(key), 1, 0).Err()
	}) == nil
}

// sortAll sorts the dreams of agents.
func (s fleet) sortAll(ctx context.Context, agents []string) error {
	plan, err := json.Marshal(map[string]any{"states": dream.States, "statuses": dreamStatuses, "kinds": dream.Kinds})
	if err != nil {
		return err
	}
	for part := range slices.Chunk(agents, sortedAtOnce) {
		args := []any{plan}
		for _, agent := range part {
			args = append(args, s.key(agent, ""))
		}
		_, err := s.run(ctx, sortDreamsScript, nil, args...)
		if err != nil {
			return err
		}
	}
	return nil
}

// sortUnsettled sorts an agent's unsettled predictions and hypotheses, which a program before schema 8 has not, and
// reports whether they are. As whole, it does not try for an hour, or where the server takes no writes.
func (s items) sortUnsettled(ctx context.Context, agent string) bool {
	_, err := s.apply(ctx, sortUnsettledScript, agent, map[string]any{"states": dream.States})
	return err == nil
}
