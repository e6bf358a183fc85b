package activities

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/inference"
	"github.com/seed-56a03226/oneiros/internal/journal"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/prompt"
)

// verbalise makes all partials of a cycle in one call, with the probability that the model gives each. Of a model that
// takes no heat at all a call goes before it, whose stream is closed in the middle of its scraps.
func (o *Onset) verbalise(ctx context.Context, spec Spec, r StepRequest, text prompt.Onset,
	behind []string,
) (StepResult, error) {
	scenes, sources, err := o.scenes(ctx, spec, r)
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	spur := prompt.Spur{
		Words: seedWords(spec, r, text.Lines, 2*spec.Knobs.Partials), Scenes: scenes, Count: spec.Knobs.Partials,
	}
	c := call{
		spec:        spec,
		phase:       dream.Onset,
		limit:       r.Limit,
		tone:        r.Tone,
		stretch:     r.Stretch,
		step:        scrapsStep(r.Cycle),
		role:        dream.Generator,
		behind:      append(append([]string{}, behind...), sources...),
		minP:        true,
		logProbs:    true,
		temperature: hypnagogia.Warmth(spec.Loosening[dream.Generator], r.Temperature),
	}
	if spec.Loosening[dream.Generator] == dream.TwoPhase {
		c.text, c.tokens, c.seed = prompt.Diverge(text, spur), hypnagogia.ScrapTokens(spec.Knobs),
			seedOf(spec, dream.Onset, r.Cycle, diverging)
		paid, done, err := o.ask(ctx, c)
		if err != nil || done.End != EndDone {
			return StepResult{Done: done}, toApplicationError(err)
		}
		spur = prompt.Spur{Scraps: paid.Text, Count: spur.Count}
	}
	c.step, c.text, c.tokens, c.seed = ideasStep(r.Cycle), prompt.Ideas(text, spur),
		hypnagogia.IdeaTokens(spec.Knobs), seedOf(spec, dream.Onset, r.Cycle, 0)
	paid, done, err := o.ask(ctx, c)
	if err == nil && done.End == EndDone && len(readIdeas(paid.Text, spec.Knobs.Partials)) == 0 {
		again := c.request() // a cycle has one such call where it had four partials: it may try twice
		again.Messages = append(again.Messages, inference.Repair(errNoIdea, paid.Text)...)
		paid, done, err = o.buy(ctx, c, c.key()+repairing, again)
	}
	if err != nil || done.End != EndDone {
		return StepResult{Done: done}, toApplicationError(err)
	}
	found := readIdeas(paid.Text, spec.Knobs.Partials)
	if len(found) == 0 {
		return StepResult{Done: Done{End: EndUnreadable, Reason: unreadable}}, nil
	}
	return StepResult{Done: done, Ideas: len(found)}, nil
}

const repairing = "/repair"

var errNoIdea = errors.New("it holds no idea")

// diverging is the step that the dice of a divergent call fall by; those of partials are 1 to 5, of judges above 100.
const diverging = 90

func scrapsStep(cycle int) string { return fmt.Sprintf("%d/scraps", cycle) }
func ideasStep(cycle int) string  { return fmt.Sprintf("%d/ideas", cycle) }

// scenesShown is how many scenes that never were loosen a cycle.
const scenesShown = 2

// scenes are put together from episodes that never met, and the episodes they come from.
func (o *Onset) scenes(ctx context.Context, spec Spec, r StepRequest) ([]prompt.Scene, []string, error) {
	episodes, err := o.pool(ctx, spec, r.Stretch)
	if err != nil {
		return nil, nil, err
	}
	var scenes []prompt.Scene
	var sources []string
	for _, made := range hypnagogia.Recombine(episodes, scenesShown,
		hypnagogia.Dice(spec.Seed, dream.Onset, r.Cycle, r.Turn, "recombine")) {
		scenes = append(scenes, prompt.Scene{Context: made.Context, Action: made.Action, Outcome: made.Outcome})
		sources = append(sources, made.Sources...)
	}
	return scenes, sources, nil
}

// partial is what one turn of a cycle gave, whichever call it came in.
type partial struct {
	text     string
	settings dream.Settings
	logProb  *float64 // mean of the call's visible tokens; nil when the model does not tell
}

// partial reads what a turn of a cycle said out of the ledger: a partial of its own, or one idea of the cycle's only
// call, halted at the same number of visible tokens. heat is what the workflow asked for.
func (p Ports) partial(ctx context.Context, order Spec, cycle, turn int, temperature float64) (partial, error) {
	way := order.Loosening[dream.Generator]
	c := call{
		spec:        order,
		phase:       dream.Onset,
		step:        partialStep(cycle, turn),
		role:        dream.Generator,
		temperature: hypnagogia.Warmth(way, temperature),
		minP:        true,
	}
	if hypnagogia.Verbal(way) {
		c.step = ideasStep(cycle)
	}
	answer, err := bought(ctx, p.Guard.Ledger, c.key())
	if err != nil {
		return partial{}, err
	}
	got := partial{
		text: strings.TrimSpace(answer.Text), settings: settings(c, answer.Effective),
		logProb: answer.LogProb,
	}
	got.settings.Steering = answer.Steered
	if !hypnagogia.Verbal(way) {
		return got, nil
	}
	got.text = ""
	found := readIdeas(answer.Text, order.Knobs.Partials)
	if len(found) == 0 {
		answer, err = bought(ctx, p.Guard.Ledger, c.key()+repairing)
		if err != nil {
			return partial{}, err
		}
		found = readIdeas(answer.Text, order.Knobs.Partials)
	}
	if turn >= 1 && turn <= len(found) {
		spec, err := p.Catalog.Lookup(order.Models[dream.Generator])
		if err != nil {
			return got, err
		}
		got.text, got.settings.Probability = inference.Halt(spec, found[turn-1].Text, order.Knobs.PartialTokens),
			found[turn-1].Probability
	}
	return got, nil
}

// speaks says whether a step of the onset gives partials.
func speaks(step string) bool {
	return strings.Contains(step, "/partial-") || strings.HasSuffix(strings.TrimSuffix(step, repairing), "/ideas")
}

// spoken is a partial that was paid for: its turn, and what it said.
type spoken struct {
	cycle, turn int
	text        string
}

// spokenIn are the partials in the answer of a step of the onset: one, all those of a cycle, or none when it was no
// such step.
func (p Ports) spokenIn(ctx context.Context, s Stretch, step, answer string) ([]spoken, error) {
	var cycle, turn int
	if _, err := fmt.Sscanf(step, "%d/partial-%d", &cycle, &turn); err == nil {
		return []spoken{{cycle, turn, answer}}, nil
	}
	if _, err := fmt.Sscanf(step, "%d/ideas", &cycle); err != nil ||
		strings.TrimSuffix(step, repairing) != ideasStep(cycle) {
		return nil, nil
	}
	order, err := p.spec(ctx, s)
	if errors.Is(err, memory.ErrNotFound) { // it never lay down, or its notes are gone
		order.Knobs = dream.DefaultKnobs()
	} else if err != nil {
		return nil, err
	}
	spec, _ := p.Catalog.Lookup(order.Models[dream.Generator]) // of a model that is gone, no tokenizer is known
	var all []spoken
	for i, one := range readIdeas(answer, order.Knobs.Partials) {
		all = append(all, spoken{cycle, i + 1, inference.Halt(spec, one.Text, order.Knobs.PartialTokens)})
	}
	return all, nil
}

// idea is one of several in an answer, with the probability that the model gave it; nil when it gave none that is one.
type idea struct {
	Text        string   `json:"text"`
	Probability *float64 `json:"probability"`
}

// readIdeas reads an answer of several ideas, each once: the JSON that was asked for, also when its end is missing,
// else its lines, for models that cannot be held to JSON. What it reads depends on the answer alone.
func readIdeas(answer string, most int) []idea {
	var listed struct {
		Ideas []idea `json:"ideas"`
	}
	found := listed.Ideas
	if inference.ReadJSON(answer, &listed) == nil {
		found = listed.Ideas
	}
	if len(found) == 0 {
		_ = inference.ReadJSON(answer, &found) // a bare list; else it stays empty
	}
	if len(found) == 0 {
		found = plainIdeas(journal.Legible(answer))
	}
	var ideas []idea
	values := map[string]bool{}
	for _, one := range found {
		one.Text, one.Probability = strings.TrimSpace(one.Text), stated(one.Probability)
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

// shortestIdea is how many words make a line more than a heading.
const shortestIdea = 4

// plainIdeas takes each line that says something for an idea.
func plainIdeas(text string) []idea {
	var ideas []idea
	for _, line := range strings.Split(text, "\n") {
		var one idea
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

// stated is a probability that is one; models also state percentages and nonsense.
func stated(p *float64) *float64 {
	if p == nil || !(*p >= 0 && *p <= 1) {
		return nil
	}
	return p
}
