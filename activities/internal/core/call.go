package core

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/journal"
)

// Bought is the recorded answer of a step; Attempt is 0 when there is none.
func Bought(ctx context.Context, ledger spend.Ledger, step string) (spend.PaidAnswer, error) {
	var paid spend.PaidAnswer
	body, ok, err := ledger.Answer(ctx, step)
	if err != nil || !ok {
		return paid, err
	}
	if err := json.Unmarshal(body, &paid); err != nil {
		return paid, fmt.Errorf("read the answer kept for %s: %w", step, err)
	}
	return paid, nil
}

const Repairing = "/repair"

// IdeasStep is the step of the call that asks for all ideas of a cycle.
func IdeasStep(cycle int) string { return fmt.Sprintf("%d/ideas", cycle) }

// Idea is one of several in an answer, with the model's probability; nil when it stated none that is valid.
type Idea struct {
	Text        string   `json:"text"`
	Probability *float64 `json:"probability"`
}

// ReadIdeas reads several ideas from an answer, each once: as JSON, even when its end is missing, otherwise line by
// line for models that cannot be held to JSON. The result depends on the answer alone.
func ReadIdeas(answer string, most int) []Idea {
	var listed struct {
		Ideas []Idea `json:"ideas"`
	}
	found := listed.Ideas
	if inference.ReadJSON(answer, &listed) == nil {
		found = listed.Ideas
	}
	if len(found) == 0 {
		_ = inference.ReadJSON(answer, &found) // a bare list, or nothing
	}
	if len(found) == 0 {
		found = plainIdeas(journal.ReadableText(answer))
	}
	var ideas []Idea
	values := map[string]bool{}
	for _, one := range found {
		one.Text, one.Probability = strings.TrimSpace(one.Text), Stated(one.Probability)
		words := strings.Join(strings.Fields(strings.ToLower(one.Text)), " ")
		if words == "" || values[words] || len(ideas) == most {
			continue
		}
		values[words] = true
		ideas = append(ideas, one)
	}
	return ideas
}

var (
	listMark    = regexp.MustCompile(`^\s*(?:[-*•·]|\(?\d{1,2}[.):])\s*`)
	probability = regexp.MustCompile(
		`(?i)[\[(]?\b(?:p|prob|probability|likelihood)\b\s*(?:[:=≈]|is|of)?\s*(0?\.\d+|0|1(?:\.0+)?)\s*[\])]?[.,;]?`)
)

// shortestIdea is the fewest words of a line that is an idea and not a heading.
const shortestIdea = 4

// plainIdeas treats each line with enough words as an idea.
func plainIdeas(text string) []Idea {
	var ideas []Idea
	for _, line := range strings.Split(text, "\n") {
		var one Idea
		if m := probability.FindStringSubmatch(line); m != nil {
			if p, err := strconv.ParseFloat(m[1], 64); err == nil {
				one.Probability = &p
			}
			line = strings.Replace(line, m[0], "", 1)
		}
		one.Text = strings.TrimSpace(listMark.ReplaceAllString(line, ""))
		if len(strings.Fields(one.Text)) >= shortestIdea {
			ideas = append(ideas, one)
		}
	}
	return ideas
}

// Stated is a valid probability or nil; models also state percentages and nonsense.
func Stated(p *float64) *float64 {
	if p == nil || !(*p >= 0 && *p <= 1) {
		return nil
	}
	return p
}
