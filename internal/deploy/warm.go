package deploy

import (
	"context"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// mostWarmed bounds how many memories are read into the index when a server starts: some 500 MB.
const mostWarmed = 250_000

// warm reads the agents' memories into the index ahead of the first question: the agents active last first, up to
// mostWarmed memories. Until an agent's memories are read, its turns go on without them when their time is over.
func (h *Deployment) warm(ctx context.Context) {
	agents, err := h.store.Agents(ctx)
	if err != nil {
		return // a request reports the error itself
	}
	type agentState struct {
		agent dream.Agent
		last  time.Time
	}
	var agentStates []agentState
	for _, a := range agents {
		newest, err := h.store.Find(ctx, memory.Query{Agent: a.ID, Kinds: []dream.Kind{dream.KindEpisode}, Limit: 1})
		if err != nil {
			return
		}
		for _, item := range newest {
			agentStates = append(agentStates, agentState{a, item.Header().At})
		}
	}
	slices.SortStableFunc(agentStates, func(a, b agentState) int { return b.last.Compare(a.last) })
	room := mostWarmed
	for _, l := range agentStates {
		n, err := h.store.Count(ctx, memory.Query{Agent: l.agent.ID})
		room -= n
		if err != nil || room < 0 {
			return
		}
		began := time.Now()
		if _, err := h.store.Search(ctx, memory.Search{Agent: l.agent.ID, Limit: 1}); err != nil {
			if ctx.Err() == nil {
				h.log.Warn("an agent's memories could not be read ahead", "agent", l.agent.Handle, "error", err)
			}
			return
		}
		h.log.Debug("an agent's memories are read ahead", "agent", l.agent.Handle, "memories", n, "took",
			time.Since(began))
	}
}
