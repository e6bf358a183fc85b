package workflows

import (
	"path"
	"strconv"
	"time"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Memos show in Temporal's tools what a workflow is for, without opening its history. They are written once, at the
// start, and hold no text of memories or dreams.

// MemoContract is the key under which a memo holds the contract that its execution was begun under.
const MemoContract = "contract"

// DreamMemo is the memo of a dream.
func DreamMemo(spec activities.Spec) map[string]any {
	memo := map[string]any{
		"agent":  spec.Handle,
		"number": path.Base(spec.Dream),
		"tier":   string(spec.Tier),
		"cap":    capText(spec.Budget, spec.Free),
		"as_of":  spec.AsOf.UTC().Format(time.RFC3339),
		"day":    spec.Day,
		"seed":   strconv.FormatUint(spec.Seed, 10), // as text: a web page rounds numbers of 64 bits
		"model":  spec.Models[dream.Generator],
		"begun":  "asked for",

		MemoContract: Contract,
	}
	if spec.Alone {
		memo["begun"] = "by itself"
	}
	if spec.Review != "" {
		memo["review"] = string(spec.Review)
	}
	if spec.Redreams != nil {
		memo["anew_from"] = spec.Redreams.Dream
	}
	return memo
}

func capText(limit budget.Micros, free bool) string {
	if free {
		return "free"
	}
	return limit.String()
}

// AgentMemo is the memo of an agent's workflow: what its settings cannot change.
func AgentMemo(agent dream.Agent) map[string]any {
	return map[string]any{"agent": agent.Handle, "id": agent.ID, MemoContract: Contract}
}

// FeedMemo is the memo of a feed's probe.
func FeedMemo(feed string) map[string]any {
	return map[string]any{"feed": feed, MemoContract: Contract}
}

// ListedAtOnce is how many executions one request lists. A thousand, as many as a server gives by itself, take
// temporald seconds on a busy machine, and a request ends after ten.
const ListedAtOnce = 100
