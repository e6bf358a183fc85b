package redisstore

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/seed-56a03226/oneiros/internal/store"
)

var (
	ownersScript = script("memory", "owners")
	tallyScript  = script("memory", "tally")
)

// Owners counts the agent's live items by owner, from sets that every write updates. For an agent of an older program
// these sets are built first, a page at a time.
func (s items) Owners(ctx context.Context, agent string) (map[string]int, error) {
	args, err := s.runMemory(ctx, ownersScript, agent, struct{}{})
	for err == nil && integer(args, 0) == 0 {
		err = s.addOldItems(ctx, tallyScript, agent)
		if err == nil {
			args, err = s.runMemory(ctx, ownersScript, agent, struct{}{})
		}
	}
	counts := map[string]int{}
	for i := 1; i+1 < len(args); i += 2 {
		counts[text(args, i)] = int(integer(args, i+1))
	}
	return store.Result(counts, err, "count the memories of ", agent, " by owner")
}

// addOldItems adds the items that an older program wrote to the sets that a script fills, a page at a time.
func (s *server) addOldItems(ctx context.Context, script *redis.Script, agent string) error {
	for cursor := "0"; ; {
		args, err := s.runMemory(ctx, script, agent, struct{}{}, cursor)
		cursor = text(args, 0)
		if err != nil || cursor == "0" {
			return store.Wrap(err, "add the items of an older deployment")
		}
	}
}
