package workflows

import (
	"path"
	"strconv"
	"time"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/dream"
)

// A memo is what Temporal's own tools show of a workflow beside its input, so that an operator need not open the history. It is
// written once, when the workflow starts, and holds no text of memories or dreams.

// DreamMemo is the memo of a dream.
func DreamMemo(order activities.Order) map[string]any {
	memo := map[string]any{
		"agent":  order.Handle,
		"number": path.Base(order.Dream),
		"tier":   string(order.Tier),
		"cap":    capText(order.Budget, order.Free),
		"as_of":  order.AsOf.UTC().Format(time.RFC3339),
		"day":    order.Day,
		"seed":   strconv.FormatUint(order.Seed, 10), // as text: a web page rounds numbers of 64 bits
		"model":  order.Models[dream.Generator],
		"begun":  "asked for",
	}
	if order.Alone {
		memo["begun"] = "by itself"
	}
	if order.Review != "" {
		memo["review"] = string(order.Review)
	}
	if order.Redreams != nil {
		memo["anew_from"] = order.Redreams.Dream
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
	return map[string]any{"agent": agent.Handle, "id": agent.ID}
}

// FeedMemo is the memo of a feed's probe.
func FeedMemo(feed string) map[string]any { return map[string]any{"feed": feed} }
