package deploy

import (
	"context"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/importer"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/ratelimit/bucket"
	"github.com/seed-56a03226/oneiros/starter"
)

// relays returns the providers that can pass request bodies on unchanged.
func relays(models map[string]inference.Model) map[string]inference.Relay {
	able := map[string]inference.Relay{}
	for name, m := range models {
		if r, ok := m.(inference.Relay); ok {
			able[name] = r
		}
	}
	return able
}

// Relay refuses with the reason why the provider cannot be used.
func (u unready) Relay(context.Context, inference.RelayRequest) (*inference.RelayResponse, error) {
	return nil, u.failure()
}

// service builds the service that answers for every agent of the deployment. The caller must close it.
func (h *Deployment) service(s *starter.Starter) *psyche.Service {
	c := h.config
	o := psyche.Options{
		MemoriesPerPrincipal: c.Serve.MemoriesPerPrincipal,
		MemoriesPerUser:      c.Serve.MemoriesPerUser,
		Talker:               c.Serve.Model,
		Gate:                 c.Rooms.Gate,
		Completions:          c.Serve.Completions,
		CompletionsWake:      c.Serve.CompletionsWake,
		Models:               h.Roles,
		Hold:                 c.Agent.ClientTimeout,
		Within:               c.Serve.RecallBudget,
		Items:                c.Serve.RecallItems,
		FleetDay:             c.Money.FleetDay,
		KeyDay:               keyDay(c.Serve.KeyDay),
		Switches:             psyche.Switches{Recall: &c.Serve.Recall, Store: &c.Serve.Store, Affect: &c.Serve.Affect},
		Agents:               switchesByAgent(c.Serve),
		Persona:              c.Serve.Persona,
		Joined:               c.Serve.Joined,
		MoodSampling:         c.Serve.MoodSampling,
		Digest:               c.Agent.Digest,
		Private:              c.Agent.Private,
		Shared:               c.Agent.Shared,
		Allowed:              config.SplitList(c.Serve.AllowFields),
	}
	return psyche.New(psyche.Ports{
		Memory: h.store,
		Talks:  h.store,
		Jobs:   h.store,
		Guard:  h.guard,
		Relay:  h.relay,
		Waker:  s.ForPsyche(),
		Log:    h.log,
		Tokens: bucket.New(time.Now),
		Render: importer.PlaybookMarkdown,
	}, o)
}

// switchesByAgent returns the switches of the agents that are configured otherwise than the rest.
func switchesByAgent(s config.Serve) map[string]psyche.Switches {
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

// dreams returns the deployment's dreams, as callers may list, watch and direct them.
func (h *Deployment) dreams(s *starter.Starter) *psyche.Dreams {
	silent := map[string]bool{}
	for handle, e := range h.config.Serve.Excepted() {
		silent[handle] = e.Digest
	}
	return &psyche.Dreams{
		Memory:  h.store,
		Fleet:   h.store,
		Events:  h.store,
		Carries: s.ForDreams(),
		Now:     time.Now,
		Digest:  h.config.Agent.Digest,
		Private: h.config.Agent.Private,
		Shared:  h.config.Agent.Shared,
		Except:  silent,
		Judge:   h.Judge,
	}
}

// keyDay is the most that one key may spend a day; nil for no limit.
func keyDay(m budget.Micros) *budget.Micros {
	if m == budget.Unlimited {
		return nil
	}
	return &m
}
