package workflows

import (
	"errors"
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// search is the state of the REM search: the graph that the rules plan with, and the ids of its thoughts.
type search struct {
	hypnagogia.Search
	ids   []string // by index in the graph
	seeds []string
	turn  int // scenarios requested so far, failed ones included: every step has its own
}

// search imagines in rounds. Before each round, hypnagogia plans the moves from the graph, the remaining money and
// the price of a call; then the new scenarios are weighed. However it ends, the best weighed scenarios are kept.
func (p *phase) search(ctx workflow.Context) error {
	n, k := p.n, p.n.spec.Knobs
	s := &search{}
	var stop error
	var why string
	for stop == nil {
		plan, err := p.plan(ctx, s)
		if err != nil {
			return err
		}
		if plan.Stop != hypnagogia.GoOn {
			why = string(plan.Stop)
			break
		}
		before := len(s.ids)
		s.Round++
		stop = p.grow(ctx, s, plan.Moves)
		if len(s.ids) > before && !endsDream(stop) {
			stop = worse(stop, p.weigh(ctx, s, before))
		}
		p.made = len(s.ids)
	}
	if len(s.ids) == 0 || endsDream(stop) && !spentDream(stop) {
		return stop
	}
	if stop != nil {
		why = p.stopped
	}
	var r activities.StepResult
	err := n.storeCall(ctx, "keep scenarios", "Imagination.Keep", func() any {
		return activities.KeepRequest{Stretch: n.currentStretch(ctx), Scenarios: s.ids, Keep: k.Keep, Why: why}
	}, &r)
	n.scenarios = keptOf(r.Made)
	p.kept = len(n.scenarios)
	return worse(stop, err)
}

// spentDream says whether a dream ends because a cap above its phase was reached. It may still keep the best of what
// it has.
func spentDream(err error) bool {
	var v *verdict
	return errors.As(err, &v) && v.outcome == dream.Exhausted
}

// plan computes the next round.
func (p *phase) plan(ctx workflow.Context, s *search) (hypnagogia.Plan, error) {
	n, k := p.n, p.n.spec.Knobs
	request := activities.SurveyRequest{Limit: p.limit}
	if s.Round == 0 {
		request.Fragments = n.seeds()
	}
	var survey activities.SurveyResult
	err := n.storeCall(ctx, fmt.Sprintf("survey before round %d", s.Round+1), "Imagination.Survey", func() any {
		request.Stretch = n.currentStretch(ctx)
		return request
	}, &survey)
	if err != nil {
		return hypnagogia.Plan{}, err
	}
	if s.Round == 0 {
		s.seeds = survey.Seeds
	}
	reach := hypnagogia.Reach{Branches: k.Branches, Beam: k.RemBeam, Rounds: k.RemRounds, Seeds: len(s.seeds)}
	return s.Next(reach, survey.Means), nil
}

// grow makes the moves of a round in parallel.
func (p *phase) grow(ctx workflow.Context, s *search, moves []hypnagogia.Move) error {
	asks := make([]ask, len(moves))
	for i, move := range moves {
		s.turn++
		asks[i] = p.move(ctx, s, s.turn, move)
	}
	grown, stop := p.pay(ctx, asks...)
	for i, a := range grown {
		for _, made := range a.Made {
			s.ids = append(s.ids, made.ID)
			s.Thoughts = append(s.Thoughts,
				hypnagogia.Thought{Op: moves[i].Op, Round: s.Round, Parents: moves[i].Parents, Seed: moves[i].Seed})
		}
	}
	return stop
}

// move is the paid activity of one move.
func (p *phase) move(ctx workflow.Context, s *search, turn int, move hypnagogia.Move) ask {
	temperature, round := p.n.spec.Knobs.RemTemperature, s.Round
	of := make([]string, len(move.Parents))
	for i, parent := range move.Parents {
		of[i] = s.ids[parent]
	}
	if move.Op == dream.Branch {
		return ask{
			fmt.Sprintf("round %d: scenario %d, T %.2f", round, turn, temperature), "Imagination.Branch",
			func() any {
				return activities.BranchRequest{
					StepRequest: p.step(ctx, round, turn, temperature),
					Fragment:    nth(s.seeds, move.Seed),
				}
			},
		}
	}
	activityName := "Imagination.Refine"
	if move.Op == dream.Merge {
		activityName = "Imagination.Merge"
	}
	return ask{
		fmt.Sprintf("round %d: scenario %d, %s, T %.2f", round, turn, move.Op, temperature), activityName,
		func() any {
			return activities.GrowRequest{StepRequest: p.step(ctx, round, turn, temperature), Scenarios: of}
		},
	}
}

// weigh scores the scenarios of a round, from index from on.
func (p *phase) weigh(ctx workflow.Context, s *search, from int) error {
	k := p.n.spec.Knobs
	r, err := p.one(ctx, ask{fmt.Sprintf("round %d: weigh", s.Round), "Imagination.Weigh", func() any {
		return activities.WeighRequest{
			StepRequest: p.step(ctx, s.Round, 0, k.ScoreTemperature),
			Scenarios:   s.ids[from:], Beside: s.ids[:from], Keep: k.Keep,
		}
	}})
	for _, made := range r.Made {
		for at := from; at < len(s.ids); at++ {
			if s.ids[at] == made.ID {
				s.Thoughts[at].Weighed, s.Thoughts[at].Score = true, made.Score
			}
		}
	}
	return err
}
