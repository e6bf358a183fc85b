package main

import (
	"context"
	"time"

	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/importer"
	"github.com/seed-56a03226/oneiros/internal/inference"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/starter"
)

// relays are the providers that pass bodies on.
func relays(models map[string]inference.Model) map[string]inference.Relay {
	able := map[string]inference.Relay{}
	for name, m := range models {
		if r, ok := m.(inference.Relay); ok {
			able[name] = r
		}
	}
	return able
}

// Relay says why nothing is passed on.
func (u unready) Relay(context.Context, inference.RelayRequest) (*inference.RelayResponse, error) {
	return nil, u.failure()
}

// being is every agent of the house awake. It must be closed.
func (h *deployment) being(s *starter.Starter) *psyche.Being {
	c := h.config
	o := psyche.Options{
		MemoriesPerPrincipal: c.Serve.MemoriesPerPrincipal,
		MemoriesPerUser:      c.Serve.MemoriesPerUser,
		Talker:               c.Serve.Model,
		Models:               h.roles,
		Hold:                 c.Agent.ClientTimeout,
		Within:               c.Serve.RecallBudget,
		Items:                c.Serve.RecallItems,
		FleetDay:             c.Money.FleetDay,
		KeyDay:               keyDay(c.Serve.KeyDay),
		Switches:             psyche.Switches{Recall: &c.Serve.Recall, Store: &c.Serve.Store, Affect: &c.Serve.Affect},
		Agents:               apart(c.Serve),
		Persona:              c.Serve.Persona,
		Joined:               c.Serve.Joined,
		MoodSampling:         c.Serve.MoodSampling,
		Digest:               c.Agent.Digest,
		Private:              c.Agent.Private,
		Shared:               c.Agent.Shared,
		Allowed:              config.Listed(c.Serve.AllowFields),
	}
	return psyche.New(psyche.Ports{
		Memory:    h.store,
		Talks:     h.store,
		Jobs:      h.store,
		Guard:     h.guard,
		Relay:     h.relay,
		Dreams:    s.ForPsyche(),
		Log:       h.log,
		Restoring: s.ForRestoring(),
		Render:    importer.PlaybookMarkdown,
	}, o)
}

// apart are the switches of the agents that are not as the rest.
func apart(s config.Serve) map[string]psyche.Switches {
	agents := map[string]psyche.Switches{}
	for handle, e := range s.Excepted() {
		turned := func(on, otherwise bool) *bool {
			on = on != otherwise
			return &on
		}
		agents[handle] = psyche.Switches{
			Recall: turned(s.Recall, e.Recall), Store: turned(s.Store, e.Store), Affect: turned(s.Affect, e.Affect),
		}
		if e.Digest {
			result := agents[handle]
			result.Digest = turned(false, false)
			agents[handle] = result
		}
	}
	return agents
}

// dreams are the dreams of the house as callers may see and direct them.
func (h *deployment) dreams(s *starter.Starter) *psyche.Dreams {
	silent := map[string]bool{}
	for handle, e := range h.config.Serve.Excepted() {
		silent[handle] = e.Digest
	}
	return &psyche.Dreams{
		Memory: h.store, Events: h.store, Carries: s.ForDreams(), Now: time.Now,
		Digest: h.config.Agent.Digest, Private: h.config.Agent.Private, Shared: h.config.Agent.Shared, Except: silent,
	}
}

// keyDay is what a key may cost a day; nil where nobody set a bound.
func keyDay(m budget.Micros) *budget.Micros {
	if m == budget.Unlimited {
		return nil
	}
	return &m
}
