package openaihttp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
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
	agents, err := f.reached(r.Context(), front.CallerOf(r.Context()))
	if err != nil {
		return nil, err
	}
	list := make([]model, len(agents))
	for i, a := range agents {
		list[i] = f.modelOf(r.Context(), a)
	}
	return map[string]any{"object": "list", "data": list}, nil
}

// model returns one of them.
func (f *Handler) model(r *http.Request) (any, error) {
	c, name := front.CallerOf(r.Context()), strings.TrimPrefix(r.PathValue("id"), prefix)
	agents, err := f.reached(r.Context(), c)
	if err != nil {
		return nil, err
	}
	for _, a := range agents {
		if a.Handle == name || a.ID == name {
			return f.modelOf(r.Context(), a), nil
		}
	}
	return nil, f.unknown(r.Context(), &c, name, memory.ErrNotFound)
}

func (f *Handler) reached(ctx context.Context, c psyche.Caller) ([]dream.Agent, error) {
	agents, err := f.Talk.Agents(ctx, c)
	slices.SortFunc(agents, func(a, b dream.Agent) int { return cmp.Compare(a.Handle, b.Handle) })
	return agents, err
}

// most is how many agents a sentence names.
const most = 20

// unknown adds the existing agents to the error about an unknown one. Other errors are unchanged.
func (f *Handler) unknown(ctx context.Context, c *psyche.Caller, name string, err error) error {
	var existing *psyche.Fault
	if isFault := errors.As(err, &existing); isFault && existing.Status != http.StatusNotFound ||
		!isFault && !errors.Is(err, memory.ErrNotFound) {
		return err
	}
	agents, fault := f.reached(ctx, *c)
	if fault != nil {
		return fault
	}
	var handles []string
	for _, a := range agents[:min(len(agents), most)] {
		handles = append(handles, a.Handle)
	}
	there := "This key reaches no agent; oneiros agents add makes one."
	if len(handles) > 0 {
		there = "This key reaches " + strings.Join(handles, ", ")
		if len(agents) > most {
			there += fmt.Sprintf(" and %d more", len(agents)-most)
		}
		there += "."
	}
	return &psyche.Fault{
		Status:  http.StatusNotFound,
		Type:    "invalid_request_error",
		Code:    "model_not_found",
		Param:   "model",
		Err:     err,
		Message: fmt.Sprintf("There is no agent %q. %s", clipped(name), there),
	}
}

// clipped is a name as quoted in errors.
func clipped(name string) string {
	if len(name) > front.LongestName {
		return strings.ToValidUTF8(name[:front.LongestName], "") + "..."
	}
	return name
}
