package activities

import (
	"context"
	"fmt"
	"sort"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/prompt"
)

// Imagination does the deeds of REM.
type Imagination struct{ Ports }

// BranchRequest asks for one scenario.
type BranchRequest struct {
	StepRequest
	Fragment string `json:"fragment,omitempty"` // the fragment it develops; empty: only a recombination
}

type scenario struct {
	Premise    string  `json:"premise"`
	Content    string  `json:"content"`
	Claim      string  `json:"claim"`
	Criterion  string  `json:"criterion"`
	Days       int     `json:"days"`
	Confidence float64 `json:"confidence"`
	Trace      string  `json:"trace"`
}

// Branch imagines one scenario from a fragment and a non-veridical recombination, with the prediction it makes (H10, H13).
func (m *Imagination) Branch(ctx context.Context, r BranchRequest) (StepResult, error) {
	order, err := m.order(ctx, r.Sitting)
	if err != nil {
		return StepResult{}, tell(err)
	}
	self, theme, err := m.self(ctx, r.Sitting)
	if err != nil {
		return StepResult{}, tell(err)
	}
	rules, err := m.playbook(ctx, r.Sitting)
	if err != nil {
		return StepResult{}, tell(err)
	}
	view := prompt.Imagining{Self: self, Theme: theme, Playbook: rules}
	var sources []string
	if r.Fragment != "" {
		f, err := memory.One[*dream.Fragment](ctx, m.Memory, r.Agent, r.Fragment)
		if err != nil {
			return StepResult{}, tell(err)
		}
		view.Seed, sources = f.Content, append(sources, f.ID)
	}
	what, err := m.recombine(ctx, order, r.Sitting, r.Turn)
	if err != nil {
		return StepResult{}, tell(err)
	}
	if what != nil {
		view.Context, view.Action, view.Outcome = what.Context, what.Action, what.Outcome
		sources = append(sources, what.Sources...)
	}
	c := call{
		order: order, phase: dream.REM, limit: r.Limit, tone: r.Tone, sitting: r.Sitting, step: fmt.Sprintf("branch-%d", r.Turn), role: dream.Imaginer, heat: r.Heat, minP: true,
		text: prompt.Imagine(view), behind: sources, tokens: order.Knobs.AnswerTokens, seed: seedOf(order, dream.REM, 0, r.Turn),
	}
	var answer scenario
	_, done, err := m.askFor(ctx, c, &answer)
	if err != nil || done.End != EndDone {
		return StepResult{Done: done}, tell(err)
	}
	if strings.TrimSpace(answer.Content) == "" {
		return StepResult{Done: Done{End: EndUnreadable, Reason: "the scenario has no content"}}, nil
	}
	s := &dream.Scenario{
		Head:    head(order, dream.REM, dream.KindScenario, fmt.Sprintf("%d", r.Turn), sources),
		Content: answer.Content, Premise: answer.Premise, Counterfactual: what != nil, Synthetic: what != nil, Parent: r.Fragment,
	}
	items := []dream.Item{s}
	if claim := strings.TrimSpace(answer.Claim); claim != "" {
		p := foretell(order, dream.REM, fmt.Sprintf("%d/p", r.Turn), claim, answer.Criterion, answer.Days, answer.Confidence, answer.Trace, sources)
		p.Scenario = s.ID
		items = append(items, p)
	}
	result, err := m.keep(ctx, r.Sitting, c, done, items, memory.Write{})
	if len(result.Made) > 0 {
		result.Made = result.Made[:1]
	}
	return result, err
}

// recombine draws the what-if of one branch; nil when memory holds too few episodes to make one.
func (m *Imagination) recombine(ctx context.Context, o Order, s Sitting, turn int) (*hypnagogia.Recombined, error) {
	episodes, err := m.pool(ctx, o, s)
	if err != nil {
		return nil, err
	}
	drawn := hypnagogia.Recombine(episodes, 1, hypnagogia.Dice(o.Seed, dream.REM, 0, turn, "recombine"))
	if len(drawn) == 0 {
		return nil, nil
	}
	return &drawn[0], nil
}

// WeighRequest asks to score scenarios and keep the best.
type WeighRequest struct {
	StepRequest
	Scenarios []string `json:"scenarios"`
	Keep      int      `json:"keep"`
}

type scores struct {
	Scores []struct {
		Ref    string   `json:"ref"`
		Score  *float64 `json:"score"`
		Reason string   `json:"reason"`
	} `json:"scores"`
}

// Weigh scores the scenarios of the night, keeps the best and marks the fragments they develop (H13: branch, score, keep).
func (m *Imagination) Weigh(ctx context.Context, r WeighRequest) (StepResult, error) {
	order, err := m.order(ctx, r.Sitting)
	if err != nil {
		return StepResult{}, tell(err)
	}
	items, err := m.Memory.Get(ctx, r.Agent, r.Scenarios...)
	if err != nil {
		return StepResult{}, tell(err)
	}
	imagined := memory.As[*dream.Scenario](items)
	done, err := m.score(ctx, r, order, imagined)
	if err != nil {
		return StepResult{}, tell(err)
	}
	if done.End == EndWoken {
		return StepResult{Done: done}, nil
	}
	if done.End == EndCap || done.End == EndCut { // paid for, and let go with its reason
		for _, s := range imagined {
			s.Score, s.Reason = 0, "nobody weighed it: "+map[End]string{EndCap: "the money was spent", EndCut: "the dream was ended"}[done.End]
		}
	}
	ranked := append([]*dream.Scenario(nil), imagined...)
	sort.SliceStable(ranked, func(i, j int) bool {
		if ranked[i].Score != ranked[j].Score {
			return ranked[i].Score > ranked[j].Score
		}
		return ranked[i].Content < ranked[j].Content
	})
	w := memory.Write{}
	result := StepResult{Done: done}
	for rank, s := range ranked {
		s.Kept = rank < r.Keep && s.Score > 0
		if !s.Kept && s.Reason == "" {
			s.Reason = fmt.Sprintf("rank %d of %d, %d are kept", rank+1, len(ranked), r.Keep)
		}
		w.Change = append(w.Change, s)
		w.Events = append(w.Events, m.event(r.Sitting, strings.TrimPrefix(s.ID, r.Dream+"/"),
			event.ScenarioImagined{Scenario: s.ID, Score: s.Score, Kept: s.Kept, Synthetic: s.Synthetic}))
		result.Made = append(result.Made, Made{ID: s.ID, Score: s.Score, Kept: s.Kept})
		if !s.Kept || s.Parent == "" {
			continue
		}
		f, err := memory.One[*dream.Fragment](ctx, m.Memory, r.Agent, s.Parent)
		if err != nil {
			return StepResult{}, tell(err)
		}
		f.Status, f.Scenario = dream.FragmentDeveloped, s.ID
		w.Change = append(w.Change, f)
	}
	return result, tell(m.write(ctx, r.Sitting, w))
}

// score fills in each scenario's score: the model's, or, where its numbers mean nothing, the measured composite. A
// scenario that the model left out scores 0.
func (m *Imagination) score(ctx context.Context, r WeighRequest, order Order, imagined []*dream.Scenario) (Done, error) {
	c := call{
		order: order, phase: dream.REM, limit: r.Limit, tone: r.Tone, sitting: r.Sitting, step: "weigh", role: dream.Observer, heat: r.Heat,
		tokens: order.Knobs.ObserverTokens + 30*len(imagined), seed: seedOf(order, dream.REM, 1, 0),
	}
	spec, err := m.Catalog.Lookup(order.Models[dream.Observer])
	if err != nil {
		return Done{}, err
	}
	if !spec.Judges {
		return m.measure(ctx, c, imagined)
	}
	texts := make([]string, len(imagined))
	for i, s := range imagined {
		texts[i] = s.Content
	}
	self, _, err := m.self(ctx, r.Sitting)
	if err != nil {
		return Done{}, err
	}
	lines := prompt.Lines("s", texts...)
	c.behind = idsOf(imagined)
	c.text = prompt.Weigh(prompt.Weighing{Self: self, Lines: lines})
	var answer scores
	_, done, err := m.askFor(ctx, c, &answer)
	if err != nil || done.End == EndCap || done.Interrupted() {
		return done, err
	}
	for i, line := range lines {
		for _, said := range answer.Scores {
			if trimRef(said.Ref) == line.Ref && said.Score != nil {
				imagined[i].Score, imagined[i].Reason = clamp(*said.Score), said.Reason
			}
		}
	}
	return done, nil
}

// measure scores scenarios with the embedder alone.
func (m *Imagination) measure(ctx context.Context, c call, imagined []*dream.Scenario) (Done, error) {
	items := make([]dream.Item, len(imagined))
	for i, s := range imagined {
		items[i] = s
	}
	vectors, done, err := m.place(ctx, c, "weigh/embed", items)
	if err != nil || done.End != EndDone {
		return done, err
	}
	for i, s := range imagined {
		near, _, err := m.near(ctx, c.order, vectors[i], s.Sources)
		if err != nil {
			return Done{}, err
		}
		s.Score = hypnagogia.Judge(s.Content, near).Composite
	}
	return Done{}, nil
}
