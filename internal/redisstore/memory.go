package redisstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// Keys of memory, each of one agent (keys.go names those shared with presence):
//
//	items                     hash    id -> newest row (items.go)
//	revisions                 hash    id, NUL, number -> older row
//	by:<order>:<kind>:<state> zset    all with one score; members sort by their bytes: key, beginning of the text, id
//	by:status:<status>:<state> zset   as by:newest, of records of dreams; since schema 6
//	by:status:<status>:<kind>:<state> zset as by:newest, of open predictions, and of hypotheses staged or promoted;
//	                          since schema 8
//	by:proposed               set     ids of the items that wait for a review; since schema 6
//	by:replaced               zset    live items with older revisions, by when the oldest was replaced (aging.go)
//	bare:<kind>:<state>       zset    as by:oldest, of items without a vector in the agent's space
//	cause: dream: session:    set     ids of the items that a cause made or changed, that a dream made, of a session
//	owner:<owner>             set     ids of the items that were said in this owner's conversations
//	live:<owner>, owners      set     those of them that are live, and the owners that have any: what Owners counts
//	changes                   zset    id of every item by the vector revision of its newest change, or of its vector's
//	refers:<id>               set     ids of the items that name this one
//	vectors:<space>           hash    id -> live (0 or 1), kind, newline, float32 numbers in little endian
//	tides:<space>             zset    id by the vector revision of its vector; 0 while it is collected
//	spaces                    hash    space -> dimension, of the spaces that are being collected
//	events, announced         stream  <seq>-0 -> envelope, data; and the set of the events' ids
//	notes:<dream>             hash    key -> value
//	talk:<talk>               list    backgrounds of a conversation, oldest first (talks.go)
//
// Fields of the life hash: pulse rises with every write except those of events alone, so that a read in several steps
// can detect writes in between. fed is 1 once every item is in changes and has its owner sets, which older programs
// did not write. tallied is 1 once the live items of the owners are counted. unsettled is 1 once the agent's
// predictions and hypotheses are sorted by status. removing holds the counts of a removal in progress. removed is 1
// when the agent is removed and only its counters are left (remove.go). undofrom and detailsfrom are dates:
// memory.Aged; scanned as well (aging.go).
//
// Keys of the deployment: the hashes agents, handles, slots and feeds; done:<token>, the reply of a step, for a minute;
// sweep, the JSON of memory.SweepState; sorted, which is 1 once by:status and by:proposed of every agent are whole;
// raised, for an hour after keys of an older schema were opened; and the channel events, where an agent's id announces new events.

// A read in several steps that finds that others wrote in between starts over, after a pause that grows up to the
// longest. It fails after so many tries.
const (
	tornTries   = 100
	tornLongest = 20 * time.Millisecond
)

var (
	errTorn    = errors.New("others kept writing in between")
	errNoAgent = errors.New("the agent's id is empty")
	errNoSpace = errors.New("the space is empty; a space names embedder, version and dimension")
)

// retryTorn repeats do until it is not torn by other writers.
func (s *server) retryTorn(ctx context.Context, do func(try int) (torn bool, err error)) error {
	pause := time.Millisecond
	for try := range tornTries {
		torn, err := do(try)
		if err != nil || !torn {
			return err
		}
		if err := store.Pause(ctx, pause, s.closed); err != nil {
			return err
		}
		pause = min(2*pause, tornLongest)
	}
	return fmt.Errorf("%w, %d times", errTorn, tornTries)
}

// runMemory runs a script of memory: ARGV is prefix, the agent's prefix, the plan as JSON, and values that JSON cannot
// carry.
func (s *server) runMemory(ctx context.Context, script *redis.Script, agent string, plan any,
	blobs ...any,
) ([]any, error) {
	if agent == "" {
		return nil, errNoAgent
	}
	wire, err := json.Marshal(plan)
	if err != nil {
		return nil, err
	}
	args := append([]any{s.key(agent, ""), string(wire)}, blobs...)
	reply, err := s.run(ctx, script, nil, args...)
	if err != nil {
		return nil, err
	}
	values, ok := reply.([]any)
	if !ok {
		return nil, fmt.Errorf("the server replied with %T; expected a list", reply)
	}
	return values, nil
}

// apply runs a script of memory that writes or refuses, and returns its reply.
func (s *server) apply(ctx context.Context, script *redis.Script, agent string, plan any, blobs ...any) ([]any, error) {
	args, err := s.runMemory(ctx, script, agent, plan, blobs...)
	if err == nil {
		err = refusal(args)
	}
	return args, err
}

// integer reads an integer of a reply, and text a string; a missing value or one of another type is zero.
func integer(args []any, i int) int64 {
	if i < len(args) {
		if n, ok := args[i].(int64); ok {
			return n
		}
	}
	return 0
}

func text(args []any, i int) string {
	if i < len(args) {
		switch v := args[i].(type) {
		case string:
			return v
		case int64:
			return fmt.Sprint(v)
		}
	}
	return ""
}

// refusals are what a script refuses by a word: what is said, with the values behind the word, and the error to branch on.
var refusals = map[string]struct {
	says string
	err  error
}{
	"fenced": {"the writer does not hold the slot, dream %[1]q run %[2]q does", memory.ErrFenced},
	"slotless": {
		"dream %[1]q does not hold the slot, and no dream does: it was ended, or the store was put back to an earlier state",
		memory.ErrFenced,
	},
	"ahead": {
		"the writer began at a later epoch than the agent's, which is %[1]s: the store was put back to an earlier state, or " +
			"lost its newest writes",
		memory.ErrFenced,
	},
	"woken":     {"the agent's epoch is %[1]s now", memory.ErrWoken},
	"forgotten": {"it is based on memories that were read before forgetting %[1]s of the agent", memory.ErrForgotten},
	"missing":   {"change %[1]s", memory.ErrNotFound},
	"stale":     {"change %[1]s: it was read at revision %[2]s and the newest is %[3]s", memory.ErrStale},
	"homeless":  {"vector of %[1]s", memory.ErrNotFound},
	"space":     {"vector of %[1]s: the agent's vectors are in %[2]s", memory.ErrSpace},
	"own":       {"vector of %[1]s: %[2]s is the agent's own space", memory.ErrSpace},
	"length":    {"vector of %[1]s: it has %[4]s numbers and those in %[2]s have %[3]s", memory.ErrSpace},
}

// refusal turns a script's refusal into an error; nil for "ok".
func refusal(args []any) error {
	word := text(args, 0)
	switch word {
	case "ok":
		return nil
	case "removed":
		return fmt.Errorf("the agent was %w", memory.ErrRemoved)
	case "removing":
		return fmt.Errorf("the agent is %w; remove it again to complete that", memory.ErrRemoving)
	case "kind":
		return fmt.Errorf("change %s: it is a %s and cannot become a %s", text(args, 1), text(args, 2), text(args, 3))
	}
	r, found := refusals[word]
	if !found {
		return fmt.Errorf("the server replied with %q, which this program does not know", word)
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(r.says, text(args, 1), text(args, 2), text(args, 3), text(args, 4)), r.err)
}
