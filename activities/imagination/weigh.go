package imagination

import (
	"context"
	"fmt"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/prompt"
)

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
var unweighed = map[activities.End]string{
	activities.EndDone: "the answer left it out", activities.EndCap: "the money was spent",
	activities.EndCut:        "the dream was ended",
	activities.EndUnreadable: "the answer could not be read",
}

// Score scores scenarios and says which ones would be kept so far. In a search it returns the scored ones in order;
// without rounds it ends REM and returns all of them, best first.
func (m *Imagination) Score(ctx context.Context, r activities.ScoreRequest) (activities.StepResult, error) {
	run, err := m.open(ctx, r.Stretch)
	if err != nil {
		return activities.StepResult{}, err
	}
	items, err := run.Get(ctx, append(r.Beside[:len(r.Beside):len(r.Beside)], r.Scenarios...)...)
	if err != nil {
		return activities.StepResult{}, err
	}
	existing, fresh := apart(memory.As[*dream.Scenario](items), r.Scenarios)
	done, err := run.score(ctx, r, existing, fresh)
	if err != nil || done.End == activities.EndWoken {
		return activities.StepResult{CallOutcome: done}, err
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
		made, err := run.settle(ctx, all, r.Keep)
		return activities.StepResult{CallOutcome: done, Made: made}, err
	}
	decide(all, r.Keep)
	w := memory.Write{}
	result := activities.StepResult{CallOutcome: done}
	for _, s := range all {
		w.Change = append(w.Change, s)
	}
	for _, s := range fresh {
		if s.Worth != nil {
			result.Made = append(result.Made, activities.MadeItem{ID: s.ID, Score: s.Score, Kept: s.Kept})
		}
	}
	return result, run.Write(ctx, w)
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
func (m searchRun) score(ctx context.Context, r activities.ScoreRequest,
	existing, fresh []*dream.Scenario,
) (activities.CallOutcome, error) {
	c := core.Call{
		Phase:       dream.REM,
		Limit:       r.Limit,
		Tone:        r.Tone,
		Step:        weighStep(r.Cycle),
		Role:        dream.Observer,
		Temperature: r.Temperature,
		Tokens:      weighTokens(m.Spec.Knobs, len(fresh)),
		Seed:        m.SeedOf(dream.REM, 1, max(0, r.Cycle-1)),
	}
	model, err := m.Catalog.Lookup(m.Spec.Models[dream.Observer])
	if err != nil {
		return activities.CallOutcome{}, err
	}
	if !model.Judges {
		return m.measure(ctx, c, fresh)
	}
	self, _, err := m.Self(ctx)
	if err != nil {
		return activities.CallOutcome{}, err
	}
	view := prompt.WeighInput{Self: self, Lines: prompt.Lines("s", core.TextsOf(fresh)...), Scored: measures(existing,
		fresh)}
	c.Behind, c.Text = core.IdsOf(fresh), prompt.Weigh(view)
	var answer scores
	_, done, err := m.AskFor(ctx, c, &answer)
	if err != nil || done.End == activities.EndCap || done.Interrupted() {
		return done, err
	}
	evidence, err := m.evidence(ctx)
	if err != nil {
		return activities.CallOutcome{}, err
	}
	for i, line := range view.Lines {
		for _, scored := range answer.Scores {
			if core.TrimRef(scored.Ref) != line.Ref {
				continue
			}
			if scored.Novelty == nil && scored.Plausible == nil && scored.Matters == nil {
				scored.Novelty, scored.Plausible, scored.Matters = scored.Score, scored.Score, scored.Score
			}
			if scored.Novelty != nil && scored.Plausible != nil && scored.Matters != nil {
				w := dream.Worth{
					Novelty: core.Clamp(*scored.Novelty), Plausible: core.Clamp(*scored.Plausible),
					Relevance: core.Clamp(*scored.Matters),
					Judge:     model.Name,
				}
				weighed(fresh[i], hypnagogia.LimitWorth(w, fresh[i].Content, evidence), scored.Reason)
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
func measures(existing, fresh []*dream.Scenario) []prompt.WeighScore {
	var out []prompt.WeighScore
	shown := map[string]bool{}
	show := func(s *dream.Scenario) {
		if s.Worth != nil && !shown[s.ID] && len(out) < shownKnown {
			shown[s.ID] = true
			line := prompt.Line{Ref: fmt.Sprintf("w%d", len(out)+1), Text: s.Content}
			out = append(out,
				prompt.WeighScore{
					Line: line, Novelty: s.Worth.Novelty, Plausible: s.Worth.Plausible,
					Relevance: s.Worth.Relevance,
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
	for _, s := range core.Ranked(existing) {
		show(s)
	}
	return out
}

// measure scores scenarios with the embedder alone: novelty is the distance from everything known and what is copied of
// no memory, plausibility how much it reads like speech, significance the nearness to its sources.
func (m searchRun) measure(ctx context.Context, c core.Call, fresh []*dream.Scenario) (activities.CallOutcome, error) {
	items := make([]dream.Item, len(fresh))
	for i, s := range fresh {
		items[i] = s
	}
	vectors, done, err := m.Place(ctx, c, c.Step+"/embed", items)
	if err != nil || done.End != activities.EndDone {
		return done, err
	}
	evidence, err := m.evidence(ctx)
	if err != nil {
		return activities.CallOutcome{}, err
	}
	for i, s := range fresh {
		near, _, err := m.Near(ctx, vectors[i], s.Sources)
		if err != nil {
			return activities.CallOutcome{}, err
		}
		v := hypnagogia.Weigh(s.Content, near, nil, evidence)
		weighed(s,
			dream.Worth{Novelty: v.Novelty, Plausible: v.Coherence, Relevance: v.Relevance, Judge: hypnagogia.Measured},
			"")
	}
	return activities.CallOutcome{}, nil
}

// evidence is what scenarios are measured by beside their words: the language and the texts of memory, and the
// embedder's space. It is read once in a dream.
func (m searchRun) evidence(ctx context.Context) (hypnagogia.Evidence, error) {
	var existing *hypnagogia.Evidence
	m.Cached(ctx, func(v *core.CachedRun) { existing = v.Evidence })
	if existing != nil {
		return *existing, nil
	}
	var e hypnagogia.Evidence
	episodes, err := m.Pool(ctx)
	if err != nil {
		return e, err
	}
	e.Language = hypnagogia.LanguageOf(core.TextsOf(episodes))
	e.Order, err = core.WordOrder(ctx, m.Run)
	if err != nil {
		return e, err
	}
	e.Memory, err = core.MemoryTexts(ctx, m.Run, core.NothingShown, core.Remembered{})
	if err != nil {
		return e, err
	}
	e.Space, err = core.Calibration(ctx, m.Memory, m.Agent, m.Spec.AsOf)
	if err == nil {
		m.Cached(ctx, func(v *core.CachedRun) { v.Evidence = &e })
	}
	return e, err
}
