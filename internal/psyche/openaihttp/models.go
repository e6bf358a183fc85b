package openaihttp

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/psyche/turnhttp"
)

// model is an agent in OpenAI's form, with what OpenRouter adds to it.
type model struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"` // seconds since 1970
	OwnedBy string `json:"owned_by"`
	// Pricing is of the model that talks for the agent; nil where that has no price, and so refuses every call.
	Pricing *pricing `json:"pricing,omitempty"`
	Context int      `json:"context_length,omitempty"` // its tokens of prompt and answer together; 0: not known
}

// pricing is in dollars a token, in decimals.
type pricing struct {
	Prompt     string `json:"prompt"`
	Completion string `json:"completion"`
	Cached     string `json:"input_cache_read"`
}

func (f *Handler) modelOf(ctx context.Context, a dream.Agent) model {
	m := model{ID: a.Handle, Object: "model", Created: max(0, a.Created.Unix()), OwnedBy: "oneiros"}
	spec, err := f.Talk.TalkModel(ctx, &a)
	if err != nil {
		return m // an agent whose model is configured wrongly is there all the same
	}
	if !spec.Guessed {
		m.Context = spec.Context
	}
	if p := spec.Price; p != nil {
		m.Pricing = &pricing{perToken(p.In), perToken(p.Out), perToken(p.CachedIn)}
	}
	return m
}

// anthropicModel is an agent in Anthropic's form. What is not known of it is null, as Anthropic's libraries expect.
type anthropicModel struct {
	Type      string    `json:"type"`
	ID        string    `json:"id"`
	Name      string    `json:"display_name"`
	Created   time.Time `json:"created_at"`
	Input     *int      `json:"max_input_tokens"` // of prompt and answer together
	Lifecycle string    `json:"lifecycle"`
	unknown
}

// unknown are members of a model that are null for every agent.
type unknown struct {
	Capabilities *struct{}  `json:"capabilities"`
	Output       *int       `json:"max_tokens"`
	Line         *string    `json:"line"`
	Deprecated   *time.Time `json:"deprecated_at"`
	Retires      *time.Time `json:"retires_at"`
}

// anthropicModels is a list of them, which has one page.
type anthropicModels struct {
	Data  []anthropicModel `json:"data"`
	More  bool             `json:"has_more"`
	First *string          `json:"first_id"`
	Last  *string          `json:"last_id"`
}

// forAnthropic reports whether a request comes from a client of Anthropic's API. Each of them sends this header.
func forAnthropic(r *http.Request) bool { return r.Header.Get("Anthropic-Version") != "" }

func (m model) forAnthropic() anthropicModel {
	a := anthropicModel{
		Type:      m.Object,
		ID:        m.ID,
		Name:      m.ID,
		Created:   time.Unix(m.Created, 0).UTC(),
		Lifecycle: "active",
	}
	if m.Context > 0 {
		a.Input = &m.Context
	}
	return a
}

func listForAnthropic(all []model) anthropicModels {
	list := anthropicModels{Data: make([]anthropicModel, len(all))}
	for i, m := range all {
		list.Data[i] = m.forAnthropic()
	}
	if len(all) > 0 {
		list.First, list.Last = &all[0].ID, &all[len(all)-1].ID
	}
	return list
}

// perToken is a price of a million tokens as dollars a token.
func perToken(million budget.Micros) string {
	const places = 12 // a millionth of a millionth
	digits := fmt.Sprintf("%0*d", places+1, int64(million))
	whole, part := digits[:len(digits)-places], strings.TrimRight(digits[len(digits)-places:], "0")
	if part == "" {
		return whole
	}
	return whole + "." + part
}

// models lists the agents that the caller reaches.
func (f *Handler) models(r *http.Request) (any, error) {
	agents, err := f.Reached(r.Context(), front.CallerOf(r.Context()))
	if err != nil {
		return nil, err
	}
	list := make([]model, len(agents))
	for i, a := range agents {
		list[i] = f.modelOf(r.Context(), a)
	}
	if forAnthropic(r) {
		return listForAnthropic(list), nil
	}
	return map[string]any{"object": "list", "data": list}, nil
}

// model returns one of them.
func (f *Handler) model(r *http.Request) (any, error) {
	c, name := front.CallerOf(r.Context()), turnhttp.Handle(r.PathValue("id"))
	agents, err := f.Reached(r.Context(), c)
	if err != nil {
		return nil, err
	}
	for _, a := range agents {
		if a.Handle == strings.ToLower(name) || a.ID == name {
			m := f.modelOf(r.Context(), a)
			if forAnthropic(r) {
				return m.forAnthropic(), nil
			}
			return m, nil
		}
	}
	return nil, f.Unknown(r.Context(), &c, name, memory.ErrNotFound)
}
