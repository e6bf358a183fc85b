package dreamhttp

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/params"
)

// readRequest reads a request for a dream, with the additional fields of its route.
func readRequest(r *http.Request, beside ...params.Field) (psyche.DreamRequest, error) {
	var w psyche.DreamRequest
	var instructions, theme, tier, model string
	fields := append(beside,
		params.FieldOf("instructions", params.Text(&instructions)),
		params.FieldOf("theme", params.Text(&theme)),
		params.FieldOf("tier", params.Text(&tier)),
		params.FieldOf("model", params.Text(&model)),
		params.FieldOf("models", models(&w)),
		params.FieldOf("budget_micros", sum(&w)),
		params.FieldOf("seed", seed(&w)))
	if err := params.Read(r, fields); err != nil {
		return w, err
	}
	if instructions != "" && theme != "" && instructions != theme {
		return w, params.Wrong("theme", "theme and instructions are two names of one thing; keep one")
	}
	w.Theme = instructions
	if theme != "" {
		w.Theme = theme
	}
	if strings.ContainsFunc(w.Theme, unprintable) {
		return w, params.Wrong("instructions", "instructions hold control characters; they must be printable text")
	}
	w.Tier = dream.Tier(tier)
	if model != "" {
		chosen := map[dream.Role]string{}
		for _, role := range dream.Roles {
			if role != dream.Embedder {
				chosen[role] = model
			}
		}
		maps.Copy(chosen, w.Models)
		w.Models = chosen
	}
	return w, nil
}

func unprintable(c rune) bool {
	return c < ' ' && c != '\n' && c != '\t' || c == 0x7f || c == utf8.RuneError
}

func models(w *psyche.DreamRequest) func(json.RawMessage) error {
	return func(value json.RawMessage) error {
		if json.Unmarshal(value, &w.Models) != nil {
			return errors.New(`must be an object of model names by role, such as {"generator": "house/large"}`)
		}
		return nil
	}
}

func sum(w *psyche.DreamRequest) func(json.RawMessage) error {
	return func(value json.RawMessage) error {
		var amount budget.Micros
		if json.Unmarshal(value, (*int64)(&amount)) != nil {
			return errors.New("must be a whole number of micro-dollars, such as 250000 for $0.25")
		}
		w.Budget = &amount
		return nil
	}
}

func seed(w *psyche.DreamRequest) func(json.RawMessage) error {
	return func(value json.RawMessage) error {
		digits := string(value)
		if strings.HasPrefix(digits, `"`) {
			if err := json.Unmarshal(value, &digits); err != nil {
				return errors.New("must be a whole number, or its digits")
			}
		}
		n, err := strconv.ParseUint(digits, 10, 64)
		if err != nil {
			return errors.New("must be a whole number from 0 to 18446744073709551615, or its digits")
		}
		w.Seed = &n
		return nil
	}
}
