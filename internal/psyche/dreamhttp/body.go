package dreamhttp

import (
	"encoding/json"
	"maps"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/params"
)

// Begin is the body of POST /v1/dreams. What is left out takes the agent's or the deployment's value.
type Begin struct {
	Agent string `json:"agent"` // handle or id
	Changes
}

// Redream is the body of POST /v1/dreams/{id}/redream. What is left out takes what that dream had.
type Redream struct {
	From dream.Phase `json:"from"` // the first phase that is dreamt anew: nrem, rem, integration or return
	Changes
}

// Changes are what may be wished of a dream.
type Changes struct {
	Instructions string                `json:"instructions,omitempty"` // what to dream about, at most 500 characters
	Theme        string                `json:"theme,omitempty"`        // another name of instructions
	Tier         dream.Tier            `json:"tier,omitempty"`         // core (one call) or hardened (everything)
	Model        string                `json:"model,omitempty"`        // of every role but the embedder
	Models       map[dream.Role]string `json:"models,omitempty"`       // by role, before model
	// hard cap in micro-dollars, at most the agent's own
	Budget *budget.Micros `json:"budget_micros,omitempty"`
	// a whole number of 64 bits, or its decimal digits: same seed, memory and model, same dream
	Seed json.Number `json:"seed,omitempty" jsonschema:"oneof_type=integer;string"`
}

// request is the request for a dream with these changes.
func (c Changes) request() (psyche.DreamRequest, error) {
	w := psyche.DreamRequest{Theme: c.Theme, Tier: c.Tier, Models: c.Models, Budget: c.Budget}
	if c.Theme == "" {
		w.Theme = c.Instructions
	} else if c.Instructions != "" && c.Instructions != c.Theme {
		return w, params.Wrong("theme", "theme and instructions are two names of one thing; keep one")
	}
	if strings.ContainsFunc(w.Theme, unprintable) {
		return w, params.Wrong("instructions", "instructions hold control characters; they must be printable text")
	}
	if c.Model != "" {
		w.Models = map[dream.Role]string{}
		for _, role := range dream.Roles {
			if role != dream.Embedder {
				w.Models[role] = c.Model
			}
		}
		maps.Copy(w.Models, c.Models)
	}
	if c.Seed != "" {
		n, err := strconv.ParseUint(string(c.Seed), 10, 64)
		if err != nil {
			return w, params.Wrong("seed", "seed is "+params.Quoted(string(c.Seed))+
				"; it must be a whole number from 0 to 18446744073709551615, or its digits")
		}
		w.Seed = &n
	}
	return w, nil
}

func unprintable(c rune) bool {
	return c < ' ' && c != '\n' && c != '\t' || c == 0x7f || c == utf8.RuneError
}
