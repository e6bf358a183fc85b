package activities

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/prediction"
	"github.com/seed-56a03226/oneiros/internal/prompt"
)

// Integration has the activities of consolidation.
type Integration struct{ Ports }

// ConsolidateRequest is the input of Integration.Consolidate and Awakening.Surface.
type ConsolidateRequest struct {
	StepRequest
	Items []string `json:"items"` // patterns, kept scenarios and selected fragments, best first
}

type hypotheses struct {
	Hypotheses []struct {
		Claim      string   `json:"claim"`
		FirstStep  string   `json:"first_step"`
		Confidence float64  `json:"confidence"`
		Sources    []string `json:"sources"`
	} `json:"hypotheses"`
}

// most is how many hypotheses one dream may stage, however many the playbook could take.
const most = 3

// Consolidate stages hypotheses for the playbook, at most Knobs.MaxStaged at a time, and marks the fragments they
// come from as promoted.
func (g *Integration) Consolidate(ctx context.Context, r ConsolidateRequest) (StepResult, error) {
	spec, err := g.spec(ctx, r.Stretch)
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	if err := g.learn(ctx, spec, r.Stretch); err != nil { // by now every memory of the dream has a vector
		return StepResult{}, toApplicationError(err)
	}
	staged, err := g.stagedBefore(ctx, r.Stretch)
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	resting, err := g.mayRest(ctx, spec)
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	room := min(most, spec.Knobs.MaxStaged-staged+len(resting))
	if room <= 0 {
		reason := fmt.Sprintf(
			"%d hypotheses are staged already, no more than %d may be, and none has waited %d days without any outcome",
			staged, spec.Knobs.MaxStaged, int(prediction.StagedAtLeast.Hours()/24))
		return StepResult{Done: Done{NoCall: true, Reason: reason}}, nil
	}
	view, behind, err := g.material(ctx, r, room)
	if err != nil || len(view.Lines) == 0 {
		return StepResult{Done: Done{NoCall: err == nil}}, toApplicationError(err)
	}
	c := call{
		spec:        spec,
		phase:       dream.Integration,
		limit:       r.Limit,
		tone:        r.Tone,
		stretch:     r.Stretch,
		step:        "consolidate",
		role:        dream.Integrator,
		temperature: r.Temperature,
		text:        prompt.Consolidate(view),
		behind:      behind,
		tokens:      spec.Knobs.AnswerTokens,
		seed:        seedOf(spec, dream.Integration, 0, 0),
	}
	var answer hypotheses
	_, done, err := g.askFor(ctx, c, &answer)
	if err != nil || done.End != EndDone {
		return StepResult{Done: done}, toApplicationError(err)
	}
	var items []dream.Item
	w := memory.Write{}
	for i, h := range answer.Hypotheses {
		if len(items) == room || strings.TrimSpace(h.Claim) == "" {
			continue
		}
		item := &dream.Hypothesis{
			Head: head(spec, dream.Integration, dream.KindHypothesis, fmt.Sprintf("%d", i+1),
				sourcesOf(h.Sources, view.Lines, behind)),
			Claim: h.Claim, FirstStep: h.FirstStep, Confidence: prediction.StagedConfidence(h.Confidence),
			Status: dream.HypothesisStaged,
		}
		items = append(items, item)
		w.Events = append(w.Events, g.event(r.Stretch, fmt.Sprintf("integration/%d", i+1),
			event.HypothesisStaged{Hypothesis: item.ID, Confidence: item.Confidence}))
	}
	items, err = g.sift(r.Stretch, spec, items, &w)
	if err != nil { // a barred hypothesis promotes nothing
		return StepResult{}, toApplicationError(err)
	}
	w.Change, err = g.promoted(ctx, r.Agent, items)
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	g.rest(r.Stretch, resting, staged+len(items)-spec.Knobs.MaxStaged, &w)
	return g.keep(ctx, r.Stretch, c, done, items, w)
}

// mayRest are staged hypotheses that may be archived to make room, the first to go first. A dream under review
// archives nothing.
func (g *Integration) mayRest(ctx context.Context, spec Spec) ([]*dream.Hypothesis, error) {
	if spec.Review.Holds() {
		return nil, nil
	}
	items, err := g.Memory.Find(ctx, memory.Query{
		Agent: spec.Agent, Kinds: []dream.Kind{dream.KindHypothesis}, Statuses: []string{dream.HypothesisStaged},
		Until: spec.AsOf,
	})
	if err != nil {
		return nil, fmt.Errorf("find which hypotheses may give way: %w", err)
	}
	return prediction.Replaceable(memory.As[*dream.Hypothesis](items), spec.AsOf), nil
}

// rest archives as many hypotheses as exceed the limit with the new ones.
func (g *Integration) rest(s Stretch, resting []*dream.Hypothesis, surplus int, w *memory.Write) {
	for _, h := range resting[:max(0, min(surplus, len(resting)))] {
		h.State, h.Status = dream.Archived, dream.HypothesisRested
		w.Change = append(w.Change, h)
		w.Events = append(w.Events,
			g.event(s, "integration/rested/"+h.ID,
				event.ItemArchived{Item: h.ID, Kind: h.Kind, Reason: event.Unfounded}))
	}
}

// stagedBefore counts hypotheses that are staged or proposed, except the dream's own, so that a repeated activity has
// the same room.
func (g *Integration) stagedBefore(ctx context.Context, s Stretch) (int, error) {
	q := memory.Query{
		Agent: s.Agent, Kinds: []dream.Kind{dream.KindHypothesis}, Statuses: []string{dream.HypothesisStaged},
		States: []dream.State{dream.Live, dream.Proposed},
	}
	all, err := g.Memory.Count(ctx, q)
	if err != nil {
		return 0, fmt.Errorf("count what is staged: %w", err)
	}
	q.Dream = s.Dream
	own, err := g.Memory.Count(ctx, q)
	if err != nil {
		return 0, fmt.Errorf("count what %s has staged: %w", s.Dream, err)
	}
	return all - own, nil
}

// material are the texts to consolidate as prompt lines, with the id of the item behind each.
func (p Ports) material(ctx context.Context, r ConsolidateRequest, room int) (prompt.Consolidating, []string, error) {
	items, err := p.made(ctx, r.Stretch, r.Items...)
	if err != nil {
		return prompt.Consolidating{}, nil, fmt.Errorf("read what the night has made: %w", err)
	}
	items, err = p.mayWeave(ctx, r.Stretch, items)
	if err != nil {
		return prompt.Consolidating{}, nil, err
	}
	self, _, err := p.self(ctx, r.Stretch)
	if err != nil {
		return prompt.Consolidating{}, nil, err
	}
	existing, err := p.playbook(ctx, r.Stretch)
	if err != nil {
		return prompt.Consolidating{}, nil, err
	}
	texts := make([]string, len(items))
	behind := make([]string, len(items))
	for i, item := range items {
		texts[i], behind[i] = item.Text(), item.Header().ID
	}
	return prompt.Consolidating{Self: self, Lines: prompt.Lines("r", texts...), Playbook: existing, Most: room},
		behind, nil
}

// promoted marks the fragments that hypotheses rest on, directly or through a scenario.
func (g *Integration) promoted(ctx context.Context, agent string, items []dream.Item) ([]dream.Item, error) {
	var changed []dream.Item
	seen := map[string]bool{}
	for _, h := range items {
		sources, err := g.Memory.Get(ctx, agent, h.Header().Sources...)
		if err != nil {
			return nil, err
		}
		for _, source := range sources {
			of := []string{source.Header().ID}
			if s, ok := source.(*dream.Scenario); ok {
				of = s.Develops()
			}
			fragments, err := g.Memory.Get(ctx, agent, of...)
			if err != nil {
				return nil, err
			}
			for _, f := range memory.As[*dream.Fragment](fragments) {
				if !seen[f.ID] {
					seen[f.ID] = true
					f.Status, f.Hypothesis = dream.FragmentPromoted, h.Header().ID
					changed = append(changed, f)
				}
			}
		}
	}
	return changed, nil
}
