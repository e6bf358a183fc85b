package activities

import (
	"context"
	"fmt"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/prompt"
)

// WeighRequest asks to score scenarios.
type WeighRequest struct {
	StepRequest
	Scenarios []string `json:"scenarios"` // to be scored, in the order they were made
	// every other one of the search, in the order made: they are scored already
	Beside []string `json:"beside,omitempty"`
	Keep   int      `json:"keep"`
}

type scores struct {
	Scores []struct {
		Ref       string   `json:"ref"`
		Score     *float64 `json:"score"` // of an answer that was bought before scores had parts
		Novelty   *float64 `json:"novelty"`
		Plausible *float64 `json:"plausible"`
		Matters   *float64 `json:"matters"`
		Reason    string   `json:"reason"`
	} `json:"scores"`
}

// unweighed is why scenarios have no score, by how the weighing ended.
var unweighed = map[End]string{
	EndDone: "who weighed the others left it out", EndCap: "the money was spent", EndCut: "the dream was ended",
	EndUnreadable: "the answer could not be read",
}

// Weigh scores scenarios and says which would be kept as things stand. Of a search it answers those that it scored, in
// their order; without a round that is the end of it, and it answers all, best first.
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
			s.Reason = "nobody weighed it: " + unweighed[done.End]
		}
		for _, before := range existing {
			if s.Worth != nil && inherits(s, before) && hypnagogia.Repeats(s.Content, before.Content) {
				s.Worth.Novelty, s.Score, s.Said = 0, 0, "it repeats what it came from"
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

// apart takes the scenarios of these ids out of all.
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

// shownKnown is how many scored scenarios are shown beside those to score: what these came from, and the best.
const shownKnown = 4

// score fills in the scores: the model's, or, where its numbers mean nothing, what is measured.
func (m *Imagination) score(ctx context.Context, r WeighRequest, order Spec,
	existing, fresh []*dream.Scenario,
) (Done, error) {
	c := call{
		spec:        order,
		phase:       dream.REM,
		limit:       r.Limit,
		tone:        r.Tone,
		stretch:     r.Stretch,
		step:        weighStep(r.Cycle),
		role:        dream.Observer,
		temperature: r.Temperature,
		tokens:      weighTokens(order.Knobs, len(fresh)),
		seed:        seedOf(order, dream.REM, 1, max(0, r.Cycle-1)),
	}
	spec, err := m.Catalog.Lookup(order.Models[dream.Observer])
	if err != nil {
		return Done{}, err
	}
	if !spec.Judges {
		return m.measure(ctx, c, fresh)
	}
	self, _, err := m.self(ctx, r.Stretch)
	if err != nil {
		return Done{}, err
	}
	view := prompt.Weighing{Self: self, Lines: prompt.Lines("s", textsOf(fresh)...), Known: measures(existing, fresh)}
	c.behind, c.text = idsOf(fresh), prompt.Weigh(view)
	var answer scores
	_, done, err := m.askFor(ctx, c, &answer)
	if err != nil || done.End == EndCap || done.Interrupted() {
		return done, err
	}
	for i, line := range view.Lines {
		for _, said := range answer.Scores {
			if trimRef(said.Ref) != line.Ref {
				continue
			}
			if said.Novelty == nil && said.Plausible == nil && said.Matters == nil {
				said.Novelty, said.Plausible, said.Matters = said.Score, said.Score, said.Score
			}
			if said.Novelty != nil && said.Plausible != nil && said.Matters != nil {
				weighed(fresh[i], dream.Worth{
					Novelty: clamp(*said.Novelty), Plausible: clamp(*said.Plausible), Matters: clamp(*said.Matters),
					Judge: spec.Name,
				}, said.Reason)
			}
		}
	}
	return done, nil
}

// weighed gives a scenario its score.
func weighed(s *dream.Scenario, w dream.Worth, text string) {
	s.Worth, s.Score, s.Said, s.Reason = &w, hypnagogia.ScenarioWorth(w), text, ""
}

func weighStep(round int) string {
	if round <= 1 {
		return "weigh"
	}
	return fmt.Sprintf("weigh-%d", round)
}

func weighTokens(k dream.Knobs, n int) int { return k.ObserverTokens + 60*n }

// measures are the scored scenarios that a weighing measures by: the parents of what is weighed, then the best.
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

// measure scores scenarios with the embedder alone: new as what is far from all that is known, plausible as what reads
// like speech, mattering as what lies near to what it came from.
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
