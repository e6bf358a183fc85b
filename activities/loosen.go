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

// verbalise makes all partials of a cycle in one call, with the probability that the model states for each. For a
// model without a temperature setting, another call goes before it whose stream is cut off.
func (o *Onset) verbalise(ctx context.Context, spec Spec, r StepRequest, text prompt.Onset,
	behind []string,
) (StepResult, error) {
	scenes, sources, err := o.scenes(ctx, spec, r)
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	variation := prompt.Variation{
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
		temperature: hypnagogia.PartialTemperature(spec.Loosening[dream.Generator], r.Temperature),
	}
	if spec.Loosening[dream.Generator] == dream.TwoPhase {
		c.text, c.tokens, c.seed = prompt.Diverge(text, variation), hypnagogia.ScrapTokens(spec.Knobs),
			seedOf(spec, dream.Onset, r.Cycle, diverging)
		paid, done, err := o.ask(ctx, c)
		if err != nil || done.End != EndDone {
			return StepResult{Done: done}, toApplicationError(err)
		}
		variation = prompt.Variation{Scraps: paid.Text, Count: variation.Count}
	}
	c.step = ideasStep(r.Cycle)
	c.text = prompt.Ideas(text, variation)
	c.tokens = hypnagogia.IdeaTokens(spec.Knobs)
	c.seed = seedOf(spec, dream.Onset, r.Cycle, 0)
	paid, done, err := o.ask(ctx, c)
	if err == nil && done.End == EndDone && len(readIdeas(paid.Text, spec.Knobs.Partials)) == 0 {
		again := c.request() // a cycle has one such call instead of several partials, so one retry is affordable
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

// diverging is the dice step of a divergent call; partials use 1 to 5, judges above 100.
const diverging = 90

func scrapsStep(cycle int) string { return fmt.Sprintf("%d/scraps", cycle) }
func ideasStep(cycle int) string  { return fmt.Sprintf("%d/ideas", cycle) }

// scenesShown is how many invented scenes loosen a cycle.
const scenesShown = 2

// scenes combine episodes that never occurred together; the second result is the ids of those episodes.
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

// partial is what one turn of a cycle produced, in whichever call.
type partial struct {
	text     string
	settings dream.Settings
	logProb  *float64 // mean over the call's visible tokens; nil when the model does not state it
}

// partial reads the text of a turn from the spend ledger: a partial of its own, or one idea of the cycle's only call,
// cut off at the same number of visible tokens. temperature is the requested one.
func (p Ports) partial(ctx context.Context, spec Spec, cycle, turn int, temperature float64) (partial, error) {
	loosening := spec.Loosening[dream.Generator]
	c := call{
		spec:        spec,
		phase:       dream.Onset,
		step:        partialStep(cycle, turn),
		role:        dream.Generator,
		temperature: hypnagogia.PartialTemperature(loosening, temperature),
		minP:        true,
	}
	if hypnagogia.Verbal(loosening) {
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
	if !hypnagogia.Verbal(loosening) {
		return got, nil
	}
	got.text = ""
	found := readIdeas(answer.Text, spec.Knobs.Partials)
	if len(found) == 0 {
		answer, err = bought(ctx, p.Guard.Ledger, c.key()+repairing)
		if err != nil {
			return partial{}, err
		}
		found = readIdeas(answer.Text, spec.Knobs.Partials)
	}
	if turn >= 1 && turn <= len(found) {
		model, err := p.Catalog.Lookup(spec.Models[dream.Generator])
		if err != nil {
			return got, err
		}
		got.text, got.settings.Probability = inference.Halt(model, found[turn-1].Text, spec.Knobs.PartialTokens),
			found[turn-1].Probability
	}
	return got, nil
}

// givesPartials says whether a step of the onset produces partials.
func givesPartials(step string) bool {
	return strings.Contains(step, "/partial-") || strings.HasSuffix(strings.TrimSuffix(step, repairing), "/ideas")
}

// paidPartial is a paid partial: its turn and its text.
type paidPartial struct {
	cycle, turn int
	text        string
}

// partialsIn are the partials in the answer of a step of the onset: one, all those of a cycle, or none.
func (p Ports) partialsIn(ctx context.Context, s Stretch, step, answer string) ([]paidPartial, error) {
	var cycle, turn int
	if _, err := fmt.Sscanf(step, "%d/partial-%d", &cycle, &turn); err == nil {
		return []paidPartial{{cycle, turn, answer}}, nil
	}
	if _, err := fmt.Sscanf(step, "%d/ideas", &cycle); err != nil ||
		strings.TrimSuffix(step, repairing) != ideasStep(cycle) {
		return nil, nil
	}
	spec, err := p.spec(ctx, s)
	if errors.Is(err, memory.ErrNotFound) { // the dream never began, or its notes were removed
		spec.Knobs = dream.DefaultKnobs()
	} else if err != nil {
		return nil, err
	}
	model, _ := p.Catalog.Lookup(spec.Models[dream.Generator]) // an unknown model has no tokenizer
	var all []paidPartial
	for i, one := range readIdeas(answer, spec.Knobs.Partials) {
		all = append(all, paidPartial{cycle, i + 1, inference.Halt(model, one.Text, spec.Knobs.PartialTokens)})
	}
	return all, nil
}

// idea is one of several in an answer, with the model's probability; nil when it stated none that is valid.
type idea struct {
	Text        string   `json:"text"`
	Probability *float64 `json:"probability"`
}

// readIdeas reads several ideas from an answer, each once: as JSON, even when its end is missing, otherwise line by
// line for models that cannot be held to JSON. The result depends on the answer alone.
func readIdeas(answer string, most int) []idea {
	var listed struct {
		Ideas []idea `json:"ideas"`
	}
	found := listed.Ideas
	if inference.ReadJSON(answer, &listed) == nil {
		found = listed.Ideas
	}
	if len(found) == 0 {
		_ = inference.ReadJSON(answer, &found) // a bare list, or nothing
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

// shortestIdea is the fewest words of a line that is an idea and not a heading.
const shortestIdea = 4

// plainIdeas treats each line with enough words as an idea.
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

// stated is a valid probability or nil; models also state percentages and nonsense.
func stated(p *float64) *float64 {
	if p == nil || !(*p >= 0 && *p <= 1) {
		return nil
	}
	return p
}
