package redisstore

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/store"
)

var (
	putAgentScript  = script("memory", "putagent")
	agentScript     = script("agent")
	nextDreamScript = script("memory", "nextdream")
)

// agents keeps the records of agents, their affects, and the counters of their dreams and forgettings.
type agents struct{ *server }

// PutAgent creates or replaces an agent's record.
func (s agents) PutAgent(ctx context.Context, a dream.Agent) error {
	body, err := json.Marshal(a)
	if err == nil {
		err = store.CheckNames("id and handle", a.ID, a.Handle)
	}
	if err != nil {
		return store.Wrap(err, "put agent ", a.Handle)
	}
	plan := map[string]string{"agent": a.ID, "handle": a.Handle}
	args, err := s.runMemory(ctx, putAgentScript, a.ID, plan, body)
	switch {
	case err != nil:
	case text(args, 0) == "taken":
		err = fmt.Errorf("handle %q belongs to agent %s: %w", a.Handle, text(args, 1), memory.ErrTaken)
	case text(args, 0) == "dreamt":
		err = memory.Renamed(text(args, 1), a.Handle)
	default:
		err = refusal(args)
	}
	return store.Wrap(err, "put agent ", a.ID)
}

// Agent finds an agent by id, then by handle.
func (s agents) Agent(ctx context.Context, idOrHandle string) (dream.Agent, error) {
	var a dream.Agent
	reply, err := s.run(ctx, agentScript, nil, idOrHandle, s.key(idOrHandle, countersPart))
	body, found := reply.(string)
	switch {
	case err != nil:
	case found:
		err = json.Unmarshal([]byte(body), &a)
	case reply == int64(1):
		err = memory.ErrRemoved
	default:
		err = memory.ErrNotFound
	}
	return store.Result(a, err, fmt.Sprintf("agent %q", idOrHandle))
}

// Agents lists all agents by handle.
func (s agents) Agents(ctx context.Context) ([]dream.Agent, error) {
	agents, err := list(ctx, s.server, s.root(agentsKey),
		func(a, b dream.Agent) int { return strings.Compare(a.Handle, b.Handle) })
	return store.Result(agents, err, "list agents")
}

// NextDream returns the agent's next dream number.
func (s agents) NextDream(ctx context.Context, agent string) (int64, error) {
	args, err := s.apply(ctx, nextDreamScript, agent, map[string]string{"token": rand.Text()})
	return store.Result(integer(args, 1), err, "number the next dream of ", agent)
}

// Affect returns the agent's newest affect.
func (s agents) Affect(ctx context.Context, agent string) (dream.Affect, error) {
	body, err := ask(ctx, s.server, func(ctx context.Context) (string, error) {
		return s.client.LIndex(ctx, s.key(agent, affectsPart), -1).Result()
	})
	p := parser{err: ignoreMissing(err)}
	newest := store.Affect{Affect: store.NewAffect()}
	p.json(body, &newest)
	return store.Result(newest.Affect, p.err, "affect of ", agent)
}

// Forgettings counts how often something of the agent was forgotten.
func (s agents) Forgettings(ctx context.Context, agent string) (int64, error) {
	n, err := s.counter(ctx, agent, "scrubs")
	return store.Result(n, err, "forgettings of ", agent)
}
