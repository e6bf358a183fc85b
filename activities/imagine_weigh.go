package activities

import (
	"context"
	"fmt"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/prompt"
)

// WeighRequest is the input of Imagination.Weigh.
type WeighRequest struct {
	StepRequest
	Scenarios []string `json:"scenarios"` // to be scored, in order of creation
	// every other scenario of the search, in order of creation: already scored
	Beside []string `json:"beside,omitempty"`
	Keep   int      `json:"keep"`
}

type scores struct {
	Scores []struct {
		Ref       string   `json:"ref"`
		Score     *float64 `json:"score"` // of answers recorded before scores had parts
		Novelty   *float64 `json:"novelty"`
		Plausible *float64 `json:"plausible"`
		Matters   *float64 `json:"matters"`
		Reason    string   `json:"reason"`
	} `json:"scores"`
}

// unweighed is why scenarios have no score, by how the weighing ended.
var unweighed = map[End]string{
	EndDone: "the answer left it out", EndCap: "the money was spent", EndCut: "the dream was ended",
	EndUnreadable: "the answer could not be read",
}

// Weigh scores scenarios and says which ones would be kept so far. In a search it returns the scored ones in order;
// without rounds it ends REM and returns all of them, best first.
func (m *Imagination) Weigh(ctx context.Context, r WeighRequest) (StepResult, error) {
	spec, err := m.spec(ctx, r.Stretch)
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	items, err := m.Memory.Get(ctx, r.Agent, append(r.Beside[:len(r.Beside):len(r.Beside)], r.Scenarios...)...)
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	existing, fresh := apart(memory.As[*dream.Scenario](items), r.Scenarios)
	done, err := m.score(ctx, r, spec, existing, fresh)
	if err != nil || done.End == EndWoken {
		return StepResult{Done: done}, toApplicationError(err)
	}
	for _, s := range fresh {
		if s.Worth == nil {
			s.Reason = "it was not weighed: " + unweighed[done.End]
		}
		for _, before := range existing {
			if s.Worth != nil && inherits(s, before) && hypnagogia.Repeats(s.Content, before.Content) {
				s.Worth.Novelty, s.Score, s.JudgeReason = 0, 0, "it repeats what it came from"
			}
		}
	}
	all := append(existing, fresh...)
	if r.Cycle == 0 {
		made, err := m.settle(ctx, r.Stretch, all, r.Keep)
		return StepResult{Done: done, Made: made}, toApplicationError(err)
	}
	decide(all, r.Keep)
	w := memory.Write{}
	result := StepResult{Done: done}
	for _, s := range all {
		w.Change = append(w.Change, s)
	}
	for _, s := range fresh {
		if s.Worth != nil {
			result.Made = append(result.Made, Made{ID: s.ID, Score: s.Score, Kept: s.Kept})
		}
	}
	return result, toApplicationError(m.write(ctx, r.Stretch, w))
}

// apart separates the scenarios with these ids from the others.
func apart(all []*dream.Scenario, ids []string) (others, named []*dream.Scenario) {
	wanted := map[string]bool{}
	for _, id := range ids {
		wanted[id] = true
	}
	for _, s := range all {
		if wanted[s.ID] {
			named = append(named, s)
		} else {
			others = append(others, s)
		}
	}
	return others, named
}

func inherits(s, from *dream.Scenario) bool {
	for _, id := range s.Parents {
		if id == from.ID {
			return true
		}
	}
	return false
}

// shownKnown is how many scored scenarios are shown for comparison: the parents and the best.
const shownKnown = 4

// score fills in the scores: the model's, or measured ones if the model's numbers have no meaning.
func (m *Imagination) score(ctx context.Context, r WeighRequest, spec Spec,
	existing, fresh []*dream.Scenario,
) (Done, error) {
	c := call{
		spec:        spec,
		phase:       dream.REM,
		limit:       r.Limit,
		tone:        r.Tone,
		stretch:     r.Stretch,
		step:        weighStep(r.Cycle),
		role:        dream.Observer,
		temperature: r.Temperature,
		tokens:      weighTokens(spec.Knobs, len(fresh)),
		seed:        seedOf(spec, dream.REM, 1, max(0, r.Cycle-1)),
	}
	model, err := m.Catalog.Lookup(spec.Models[dream.Observer])
	if err != nil {
		return Done{}, err
	}
	if !model.Judges {
		return m.measure(ctx, c, fresh)
	}
	self, _, err := m.self(ctx, r.Stretch)
	if err != nil {
		return Done{}, err
	}
	view := prompt.Weighing{Self: self, Lines: prompt.Lines("s", textsOf(fresh)...), Scored: measures(existing, fresh)}
	c.behind, c.text = idsOf(fresh), prompt.Weigh(view)
	var answer scores
	_, done, err := m.askFor(ctx, c, &answer)
	if err != nil || done.End == EndCap || done.Interrupted() {
		return done, err
	}
	for i, line := range view.Lines {
		for _, scored := range answer.Scores {
			if trimRef(scored.Ref) != line.Ref {
				continue
			}
			if scored.Novelty == nil && scored.Plausible == nil && scored.Matters == nil {
				scored.Novelty, scored.Plausible, scored.Matters = scored.Score, scored.Score, scored.Score
			}
			if scored.Novelty != nil && scored.Plausible != nil && scored.Matters != nil {
				weighed(fresh[i], dream.Worth{
					Novelty: clamp(*scored.Novelty), Plausible: clamp(*scored.Plausible),
					Matters: clamp(*scored.Matters),
					Judge:   model.Name,
				}, scored.Reason)
			}
		}
	}
	return done, nil
}

// weighed sets the score of a scenario.
func weighed(s *dream.Scenario, w dream.Worth, text string) {
	s.Worth = &w
	s.Score = hypnagogia.ScenarioWorth(w)
	s.JudgeReason, s.Reason = text, ""
}

func weighStep(round int) string {
	if round <= 1 {
		return "weigh"
	}
	return fmt.Sprintf("weigh-%d", round)
}

func weighTokens(k dream.Knobs, n int) int { return k.ObserverTokens + 60*n }

// measures are the scored scenarios shown for comparison: the parents of the new ones, then the best.
func measures(existing, fresh []*dream.Scenario) []prompt.Weighed {
	var out []prompt.Weighed
	shown := map[string]bool{}
	show := func(s *dream.Scenario) {
		if s.Worth != nil && !shown[s.ID] && len(out) < shownKnown {
			shown[s.ID] = true
			line := prompt.Line{Ref: fmt.Sprintf("w%d", len(out)+1), Text: s.Content}
			out = append(out,
				prompt.Weighed{
					Line: line, Novelty: s.Worth.Novelty, Plausible: s.Worth.Plausible,
					Matters: s.Worth.Matters,
				})
		}
	}
	for _, before := range existing {
		for _, s := range fresh {
			if inherits(s, before) {
				show(before)
			}
		}
	}
	for _, s := range ranked(existing) {
		show(s)
	}
	return out
}

// measure scores scenarios with the embedder alone: novelty is the distance from everything known, plausibility how
// much it reads like speech, significance the nearness to its sources.
func (m *Imagination) measure(ctx context.Context, c call, fresh []*dream.Scenario) (Done, error) {
	items := make([]dream.Item, len(fresh))
	for i, s := range fresh {
		items[i] = s
	}
	vectors, done, err := m.place(ctx, c, c.step+"/embed", items)
	if err != nil || done.End != EndDone {
		return done, err
	}
	for i, s := range fresh {
		near, _, err := m.near(ctx, c.spec, vectors[i], s.Sources)
		if err != nil {
			return Done{}, err
		}
		v := hypnagogia.Judge(s.Content, near)
		weighed(s,
			dream.Worth{Novelty: v.Novelty, Plausible: v.Coherence, Matters: v.Relevance, Judge: hypnagogia.Measured},
			"")
	}
	return Done{}, nil
}
