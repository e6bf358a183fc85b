package psyche

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/access"
)

// cacheFor is how long an agent's record is used without reading it again; a change of its caps takes effect after
// that.
const cacheFor = 2 * time.Second

// agentCache keeps the records of agents for a moment, by every name used for them.
type agentCache struct {
	mu  sync.Mutex
	all map[string]*cachedAgent
}

type cachedAgent struct {
	agent  dream.Agent
	forgot int64 // the number of forgettings when the record was read
	until  time.Time
}

const mostKnown = 4096

// recall returns a cached record, nil when there is none, and whether it is fresh.
func (k *agentCache) recall(name string, now time.Time) (a *cachedAgent, fresh bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	found := k.all[name]
	return found, found != nil && now.Before(found.until)
}

// put caches a record and reports whether something of the agent was forgotten since it was last cached.
func (k *agentCache) put(name string, a dream.Agent, forgot int64, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.all == nil || len(k.all) >= mostKnown {
		k.all = map[string]*cachedAgent{}
	}
	before := k.all[name]
	k.all[name] = &cachedAgent{a, forgot, now.Add(cacheFor)}
	return before == nil || before.agent.ID != a.ID || before.forgot != forgot
}

// drop removes an agent from the cache, under every name.
func (k *agentCache) drop(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	maps.DeleteFunc(k.all, func(_ string, a *cachedAgent) bool { return a.agent.ID == id })
}

// Reread handles notices of the wake bus. Each makes the next request for an agent ask whether its lease still holds. A
// notice with presence.EveryEpoch says that more of the agent has changed, as when it was removed: then its record is
// read again, too.
func (s *Service) Reread(r presence.WakeNotice) {
	s.leases.doubt(r.Agent)
	if r.Epoch < presence.EveryEpoch {
		return
	}
	s.agents.drop(r.Agent)
	s.leases.drop(r.Agent)
}

// reach finds an agent that the caller may use in a role.
func (b *core) reach(ctx context.Context, c Caller, name string, need access.Role) (dream.Agent, error) {
	a, err := b.findAgent(ctx, name)
	if err != nil {
		return a, err
	}
	if !c.Key.Reaches(a.Handle) {
		return dream.Agent{}, unknownAgent(name)
	}
	if !c.May(need, a.Handle) {
		return dream.Agent{}, Refuse(http.StatusForbidden, "role_required", "",
			"This needs a key of the role %s.", need)
	}
	return a, nil
}

// findAgent finds an agent. While the store does not answer, the last record of an agent is used: clients can talk
// with it, as far as the ledger, if that answers, allows the cost.
func (b *core) findAgent(ctx context.Context, name string) (dream.Agent, error) {
	now := b.now()
	before, fresh := b.agents.recall(name, now)
	if fresh {
		return before.agent, nil
	}
	return readOnOwnStack(func() (dream.Agent, error) { return b.lookUp(ctx, name, before, now) })
}

// agentNamed reads an agent by its id or handle. A handle is found in another case, too: handles have small letters
// alone, so that there is one at most.
func agentNamed(ctx context.Context, agents interface {
	Agent(ctx context.Context, name string) (dream.Agent, error)
}, name string,
) (dream.Agent, error) {
	a, err := agents.Agent(ctx, name)
	if small := strings.ToLower(name); errors.Is(err, memory.ErrNotFound) && small != name {
		return agents.Agent(ctx, small)
	}
	return a, err
}

func (b *core) lookUp(ctx context.Context, name string, before *cachedAgent, now time.Time) (dream.Agent, error) {
	soon, cancel := context.WithTimeout(ctx, b.o.AgentWithin)
	defer cancel()
	a, err := agentNamed(soon, b.Memory, name)
	if errors.Is(err, memory.ErrNotFound) {
		return a, unknownAgent(name)
	}
	var forgot int64
	if err == nil {
		forgot, err = b.Memory.Forgettings(soon, a.ID)
	}
	switch {
	case err != nil && before != nil && ctx.Err() == nil:
		b.Log.WarnContext(ctx, "the last record of an agent is used; the store does not answer", "agent",
			before.agent.Handle, "error", err)
		return before.agent, nil
	case err != nil:
		return a, storeFault("look up the agent", err)
	}
	if b.agents.put(name, a, forgot, now) {
		b.talks.forget(a.ID, forgot)
	}
	return a, nil
}

// Agents lists the agents that the caller reaches, by handle.
func (s *Service) Agents(ctx context.Context, c Caller) ([]dream.Agent, error) {
	all, err := s.Memory.Agents(ctx)
	if err != nil {
		return nil, storeFault("list the agents", err)
	}
	return slices.DeleteFunc(all, func(a dream.Agent) bool { return !c.May(access.Client, a.Handle) }), nil
}

// modelOf names the agent's model for a role.
func (b *core) modelOf(a *dream.Agent, role dream.Role) string {
	return cmp.Or(a.Models[role], b.o.Models[role])
}

// TalkModel is the model that talks for an agent, by the name that the catalogue knows it by.
func (s *Service) TalkModel(ctx context.Context, a *dream.Agent) (inference.Spec, error) {
	return s.talkModel(ctx, a)
}

// ModelFor is the model that talks for an agent that a caller names.
func (s *Service) ModelFor(ctx context.Context, c Caller, agent string) (inference.Spec, string, error) {
	a, err := s.reach(ctx, c, agent, access.Client)
	if err != nil {
		return inference.Spec{}, "", err
	}
	spec, err := s.talkModel(ctx, &a)
	return spec, a.ID, err
}

// talkModel is the model that talks for an agent.
func (b *core) talkModel(ctx context.Context, a *dream.Agent) (inference.Spec, error) {
	spec, err := b.Guard.Catalog.Lookup(cmp.Or(b.o.Talker, b.modelOf(a, dream.Generator)))
	if err != nil {
		return spec, relayFault(ctx, err)
	}
	return spec, nil
}

// zones keeps the time zones of agents: time.LoadLocation reads a file each time.
type zones struct{ all sync.Map } // *time.Location by name

// of returns a zone; UTC for an unknown name.
func (z *zones) of(name string) *time.Location {
	if existing, ok := z.all.Load(name); ok {
		return existing.(*time.Location)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return time.UTC
	}
	z.all.Store(name, zone)
	return zone
}

// accounts are the caps on everything an agent does awake: those of its day and month, which dreams share, and the
// key's.
func (b *core) accounts(a *dream.Agent, c *Caller, now time.Time) (day string, accounts []budget.Account) {
	day = now.In(b.zones.of(a.Zone)).Format(time.DateOnly)
	accounts = []budget.Account{
		{Scope: "day:" + a.ID + "/" + day, Limit: a.Caps.Day},
		{Scope: "month:" + a.ID + "/" + day[:len("2006-01")], Limit: a.Caps.Month},
		{Scope: "fleet:" + day, Limit: b.o.FleetDay},
	}
	limit := budget.Unlimited // counted even without a cap
	for _, answer := range []*budget.Micros{b.o.KeyDay, c.Key.Day} {
		if answer != nil {
			limit = *answer
		}
	}
	if c.Key.ID != "" || c.Key.Principal != "" {
		accounts = append(accounts, budget.Account{Scope: c.Key.Account(now), Limit: limit})
	}
	return day, accounts
}
