package psyche

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/inference"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/presence"
)

// trusted is how long a record of an agent is used without asking again: a change of its caps holds after that.
const trusted = 2 * time.Second

// meetWithin is how long an agent is looked for (W3: a caller is answered within a second, whatever is broken).
const meetWithin = 300 * time.Millisecond

// known keeps the records of agents for a moment, by every name they were asked for by.
type known struct {
	mu  sync.Mutex
	all map[string]*acquaintance
}

type acquaintance struct {
	agent  dream.Agent
	forgot int64 // how often something of it was forgotten
	until  time.Time
}

const mostKnown = 4096

// recall gives a record, nil where there is none, and whether it is fresh.
func (k *known) recall(name string, now time.Time) (a *acquaintance, fresh bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	found := k.all[name]
	return found, found != nil && now.Before(found.until)
}

// meet keeps a record, and says whether something of the agent was forgotten since it was last met.
func (k *known) meet(name string, a dream.Agent, forgot int64, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.all == nil || len(k.all) >= mostKnown {
		k.all = map[string]*acquaintance{}
	}
	before := k.all[name]
	k.all[name] = &acquaintance{a, forgot, now.Add(trusted)}
	return before == nil || before.agent.ID != a.ID || before.forgot != forgot
}

// drop lets go of what is known of an agent, by whatever name.
func (k *known) drop(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	maps.DeleteFunc(k.all, func(_ string, a *acquaintance) bool { return a.agent.ID == id })
}

// Reread has the next request for an agent ask the store for its record and its lease. It hears rings of the bell: a
// ring of presence.EveryEpoch says that more of the agent has changed than its epoch, as when it was removed.
func (b *Service) Reread(r presence.WakeNotice) {
	if r.Epoch < presence.EveryEpoch {
		return
	}
	b.agents.drop(r.Agent)
	b.visits.drop(r.Agent)
}

// reach finds an agent that the caller may deal with in a role.
func (b *Service) reach(ctx context.Context, c Caller, name string, need access.Role) (dream.Agent, error) {
	a, err := b.meet(ctx, name)
	if err != nil {
		return a, err
	}
	if !c.Key.Reaches(a.Handle) {
		return dream.Agent{}, unknownAgent(name)
	}
	if !c.May(need, a.Handle) {
		return dream.Agent{}, &Fault{
			Status: http.StatusForbidden, Type: forbidden, Code: "role_required",
			Message: "This needs a key of the role " + string(need) + ".",
		}
	}
	return a, nil
}

// meet finds an agent. While the store is away, one that was met before is known by its last record: it can be talked
// with, and what that may cost the ledger says, or nobody.
func (b *Service) meet(ctx context.Context, name string) (dream.Agent, error) {
	now := b.now()
	before, fresh := b.agents.recall(name, now)
	if fresh {
		return before.agent, nil
	}
	return b.lookUp(ctx, name, before, now)
}

func (b *Service) lookUp(ctx context.Context, name string, before *acquaintance, now time.Time) (dream.Agent, error) {
	soon, cancel := context.WithTimeout(ctx, meetWithin)
	defer cancel()
	a, err := b.Memory.Agent(soon, name)
	if errors.Is(err, memory.ErrNotFound) {
		return a, unknownAgent(name)
	}
	var forgot int64
	if err == nil {
		forgot, err = b.Memory.Forgettings(soon, a.ID)
	}
	switch {
	case err != nil && before != nil && ctx.Err() == nil:
		b.Log.WarnContext(ctx, "an agent is known by its last record", "agent", before.agent.Handle, "error", err)
		return before.agent, nil
	case err != nil:
		return a, stored("look up the agent", err)
	}
	if b.agents.meet(name, a, forgot, now) {
		b.talks.forget(a.ID, forgot)
	}
	return a, nil
}

// Agents lists those the caller reaches, by handle.
func (b *Service) Agents(ctx context.Context, c Caller) ([]dream.Agent, error) {
	all, err := b.Memory.Agents(ctx)
	if err != nil {
		return nil, stored("list the agents", err)
	}
	return slices.DeleteFunc(all, func(a dream.Agent) bool { return !c.May(access.Client, a.Handle) }), nil
}

// modelOf names the model that an agent uses in a role.
func (b *Service) modelOf(a *dream.Agent, role dream.Role) string {
	return or(a.Models[role], b.o.Models[role])
}

// talker is the model that talks for an agent.
func (b *Service) talker(ctx context.Context, a *dream.Agent) (inference.Spec, error) {
	spec, err := b.Guard.Catalog.Lookup(or(b.o.Talker, b.modelOf(a, dream.Generator)))
	if err != nil {
		return spec, passed(ctx, err)
	}
	return spec, nil
}

// zones keeps the time zones of agents: time.LoadLocation reads a file each time.
type zones struct{ all sync.Map } // of *time.Location, by name

// of is a zone; UTC where there is none of the name.
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

// accounts are the caps that everything an agent does awake must fit under: those of its day, as a dream's, and the
// key's.
func (b *Service) accounts(a *dream.Agent, c *Caller, now time.Time) (day string, accounts []budget.Account) {
	day = now.In(b.zones.of(a.Zone)).Format(time.DateOnly)
	accounts = []budget.Account{
		{Scope: "day:" + a.ID + "/" + day, Limit: a.Caps.Day},
		{Scope: "month:" + a.ID + "/" + day[:len("2006-01")], Limit: a.Caps.Month},
		{Scope: "fleet:" + day, Limit: b.o.FleetDay},
	}
	limit := budget.Unlimited // what it cost is told all the same
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
