// Package integration holds the activity of consolidation, which stages hypotheses for the playbook.
package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/claims"
	"github.com/seed-56a03226/oneiros/internal/prediction"
	"github.com/seed-56a03226/oneiros/internal/prompt"
)

// Integration has the activities of consolidation.
type Integration struct{ activities.Ports }

// integrationRun is what an activity of consolidation works with.
type integrationRun struct{ *core.Run }

func (g *Integration) open(ctx context.Context, s activities.Stretch) (integrationRun, error) {
	run, err := core.Open(ctx, g.Ports, s)
	return integrationRun{run}, err
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
func (g *Integration) Consolidate(ctx context.Context, r activities.ConsolidateRequest) (activities.StepResult, error) {
	run, err := g.open(ctx, r.Stretch)
	if err != nil {
		return activities.StepResult{}, err
	}
	if err := core.LearnMarkers(ctx, run.Run); err != nil { // by now every memory of the dream has a vector
		return activities.StepResult{}, err
	}
	staged, err := run.stagedBefore(ctx)
	if err != nil {
		return activities.StepResult{}, err
	}
	resting, err := run.mayRest(ctx)
	if err != nil {
		return activities.StepResult{}, err
	}
	room := min(most, run.Spec.Knobs.MaxStaged-staged+len(resting))
	if room <= 0 {
		reason := prediction.FullReason(staged, run.Spec.Knobs.MaxStaged)
		return activities.StepResult{CallOutcome: activities.CallOutcome{NoCall: true, Reason: reason}}, nil
	}
	view, behind, err := core.Material(ctx, run.Run, r, room)
	if err != nil || len(view.Lines) == 0 {
		return activities.StepResult{CallOutcome: activities.CallOutcome{NoCall: err == nil}}, err
	}
	trial, err := run.onTrial(ctx)
	if err != nil {
		return activities.StepResult{}, err
	}
	view.Trial = prompt.Lines("h", core.TextsOf(trial)...)
	c := core.Call{
		Phase:       dream.Integration,
		Limit:       r.Limit,
		Tone:        r.Tone,
		Step:        "consolidate",
		Role:        dream.Integrator,
		Temperature: r.Temperature,
		Text:        prompt.Consolidate(view),
		Behind:      dream.DistinctIDs(append(slices.Clone(behind), core.IdsOf(trial)...)),
		Tokens:      run.Spec.Knobs.AnswerTokens,
		Seed:        run.SeedOf(dream.Integration, 0, 0),
	}
	var answer hypotheses
	_, done, err := run.AskFor(ctx, c, &answer)
	if err != nil || done.End != activities.EndDone {
		return activities.StepResult{CallOutcome: done}, err
	}
	open, err := run.openPredictions(context.WithoutCancel(ctx)) // the answer has been paid for
	if err != nil {
		return activities.StepResult{}, err
	}
	var items []dream.Item
	supported := 0
	w := memory.Write{}
	for i, h := range answer.Hypotheses {
		if len(items) == room || strings.TrimSpace(h.Claim) == "" {
			continue
		}
		sources, err := run.withForetold(ctx, core.SourcesOf(h.Sources, view.Lines, behind))
		if err != nil {
			return activities.StepResult{}, err
		}
		item := &dream.Hypothesis{
			Head:  run.Head(dream.Integration, dream.KindHypothesis, fmt.Sprintf("%d", i+1), sources),
			Claim: h.Claim, FirstStep: h.FirstStep, Confidence: prediction.StagedConfidence(h.Confidence),
			Status: dream.HypothesisStaged,
		}
		item.Claims = claimsBehind(item, open)
		if other := run.saysSame(trial, item); other != nil {
			supported++
			support(other, item, &w)
			resting = slices.DeleteFunc(resting, func(h *dream.Hypothesis) bool { return h.ID == other.ID })
			continue
		}
		items = append(items, item)
		w.Events = append(w.Events, run.Event(fmt.Sprintf("integration/%d", i+1),
			event.HypothesisStaged{Hypothesis: item.ID, Confidence: item.Confidence}))
	}
	items, err = run.Sift(ctx, items, &w)
	if err != nil { // a barred hypothesis promotes nothing
		return activities.StepResult{}, err
	}
	promoted, err := run.promoted(ctx, r.Agent, items)
	if err != nil {
		return activities.StepResult{}, err
	}
	w.Change = append(w.Change, promoted...)
	run.rest(resting, staged+len(items)-run.Spec.Knobs.MaxStaged, &w)
	result, err := run.Keep(ctx, c, done, items, w)
	if result.Reason == "" && len(result.Made) == 0 {
		result.Reason = whyNone(supported)
	}
	return result, err
}

// whyNone says why an answer stages nothing.
func whyNone(supported int) string {
	if supported == 0 {
		return "the answer holds no hypothesis"
	}
	return fmt.Sprintf("what the answer says is on trial already (%d hypotheses)", supported)
}

// onTrial are the hypotheses of earlier dreams that are staged or promoted, the oldest first.
func (g integrationRun) onTrial(ctx context.Context) ([]*dream.Hypothesis, error) {
	items, err := g.Memory.Find(ctx, memory.Query{
		Agent: g.Agent, Kinds: []dream.Kind{dream.KindHypothesis}, Until: g.Spec.AsOf.Add(1), Sort: memory.Oldest,
		Statuses: []string{dream.HypothesisStaged, dream.HypothesisPromoted},
	})
	if err != nil {
		return nil, fmt.Errorf("read which hypotheses are on trial: %w", err)
	}
	return slices.DeleteFunc(memory.As[*dream.Hypothesis](items),
		func(h *dream.Hypothesis) bool { return h.Dream == g.Dream }), nil
}

// openPredictions are the agent's open predictions, those of this dream that wait for a review included.
func (g integrationRun) openPredictions(ctx context.Context) ([]*dream.Prediction, error) {
	items, err := g.Memory.Find(ctx, memory.Query{
		Agent: g.Agent, Kinds: []dream.Kind{dream.KindPrediction}, Statuses: []string{dream.PredictionOpen},
		States: []dream.State{dream.Live, dream.Proposed},
	})
	if err != nil {
		return nil, fmt.Errorf("read what is foretold: %w", err)
	}
	return memory.As[*dream.Prediction](items), nil
}

// claimsBehind are the ids of the claims that decide a hypothesis: those of all predictions that it rests on. There are
// none where one of these predictions is in prose.
func claimsBehind(h *dream.Hypothesis, open []*dream.Prediction) []string {
	var ids []string
	for _, p := range open {
		if !prediction.RestsOn(h, p) {
			continue
		}
		if !p.Checked() || !claims.Claimable(*p.Check) {
			return nil
		}
		ids = append(ids, claims.ID(h.Agent, *p.Check))
	}
	return dream.DistinctIDs(ids)
}

// saysSame is the hypothesis on trial that says the same as a new one: it has the same claims, or in prose the same
// words; nil when there is none. A dream under review changes nothing that is on trial.
func (g integrationRun) saysSame(trial []*dream.Hypothesis, h *dream.Hypothesis) *dream.Hypothesis {
	if g.Spec.Review.Holds() {
		return nil
	}
	claimed := slices.Sorted(slices.Values(h.Claims))
	for _, other := range trial {
		isSame := prediction.SameWords(other.Claim, h.Claim)
		if len(h.Claims)+len(other.Claims) > 0 {
			isSame = slices.Equal(claimed, slices.Sorted(slices.Values(other.Claims)))
		}
		if isSame {
			return other
		}
	}
	return nil
}

// support adds the sources of a new hypothesis to one that says the same.
func support(other, h *dream.Hypothesis, w *memory.Write) {
	sources := dream.DistinctIDs(slices.Concat(other.Sources, h.Sources))
	if len(sources) == len(other.Sources) {
		return
	}
	other.Sources = sources
	if !slices.ContainsFunc(w.Change, func(item dream.Item) bool { return item.Header().ID == other.ID }) {
		w.Change = append(w.Change, other)
	}
}

// withForetold adds to the sources of a hypothesis the predictions that say what its scenarios claim, so that their
// outcomes count for it.
func (g integrationRun) withForetold(ctx context.Context, sources []string) ([]string, error) {
	ctx = context.WithoutCancel(ctx) // the answer has been paid for
	items, err := g.Get(ctx, sources...)
	if err != nil {
		return nil, err
	}
	for _, s := range memory.As[*dream.Scenario](items) {
		if s.Foretold != "" && !slices.Contains(sources, s.Foretold) {
			sources = append(slices.Clone(sources), s.Foretold)
		}
	}
	return sources, nil
}

// mayRest are staged hypotheses that may be archived to make room, the first to go first. A dream under review
// archives nothing.
func (g integrationRun) mayRest(ctx context.Context) ([]*dream.Hypothesis, error) {
	if g.Spec.Review.Holds() {
		return nil, nil
	}
	items, err := g.Memory.Find(ctx, memory.Query{
		Agent: g.Agent, Kinds: []dream.Kind{dream.KindHypothesis}, Statuses: []string{dream.HypothesisStaged},
		Until: g.Spec.AsOf,
	})
	if err != nil {
		return nil, fmt.Errorf("find which hypotheses may give way: %w", err)
	}
	return prediction.Replaceable(memory.As[*dream.Hypothesis](items), g.Spec.AsOf), nil
}

// rest archives as many hypotheses as exceed the limit with the new ones.
func (g integrationRun) rest(resting []*dream.Hypothesis, surplus int, w *memory.Write) {
	for _, h := range resting[:max(0, min(surplus, len(resting)))] {
		h.State, h.Status = dream.Archived, dream.HypothesisRested
		w.Change = append(w.Change, h)
		w.Events = append(w.Events,
			g.Event("integration/rested/"+h.ID,
				event.ItemArchived{Item: h.ID, Kind: h.Kind, Reason: event.Unfounded}))
	}
}

// stagedBefore counts hypotheses that are staged or proposed, except the dream's own, so that a repeated activity has
// the same room.
func (g integrationRun) stagedBefore(ctx context.Context) (int, error) {
	q := memory.Query{
		Agent: g.Agent, Kinds: []dream.Kind{dream.KindHypothesis}, Statuses: []string{dream.HypothesisStaged},
		States: []dream.State{dream.Live, dream.Proposed},
	}
	all, err := g.Memory.Count(ctx, q)
	if err != nil {
		return 0, fmt.Errorf("count what is staged: %w", err)
	}
	q.Dream = g.Dream
	own, err := g.Memory.Count(ctx, q)
	if err != nil {
		return 0, fmt.Errorf("count what %s has staged: %w", g.Dream, err)
	}
	return all - own, nil
}

// promoted marks the fragments that hypotheses rest on, directly or through a scenario.
func (g integrationRun) promoted(ctx context.Context, agent string, items []dream.Item) ([]dream.Item, error) {
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
