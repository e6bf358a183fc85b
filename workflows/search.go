package workflows

import (
	"errors"
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
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
	n, k := p.run, p.run.spec.Knobs
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
		with := &followUp{paidStep: p.weighing(ctx, s, before)}
		stop = p.grow(ctx, s, plan.Moves, with)
		if len(s.ids) > before && !endsDream(stop) {
			stop = worse(stop, p.weigh(ctx, s, before, with))
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
	err := n.storeCall(ctx, "keep scenarios", activities.ImaginationKeep, func() any {
		return activities.KeepRequest{Stretch: n.stretch.current(ctx), Scenarios: s.ids, Keep: k.Keep, Reason: why}
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
func (p *phase) plan(ctx workflow.Context, s *search) (hypnagogia.SearchPlan, error) {
	n, k := p.run, p.run.spec.Knobs
	request := activities.SurveyRequest{Limit: p.limit}
	if s.Round == 0 {
		request.Fragments = seedsOf(n.selected, n.fragments)
	}
	var survey activities.SurveyResult
	err := n.storeCall(ctx, fmt.Sprintf("survey before round %d", s.Round+1), activities.ImaginationSurvey, func() any {
		request.Stretch = n.stretch.current(ctx)
		return request
	}, &survey)
	if err != nil {
		return hypnagogia.SearchPlan{}, err
	}
	if s.Round == 0 {
		s.seeds = survey.Seeds
	}
	reach := hypnagogia.SearchLimits{Branches: k.Branches, Beam: k.RemBeam, Rounds: k.RemRounds, Seeds: len(s.seeds)}
	return s.Next(reach, survey.Budget), nil
}

// grow makes the moves of a round in parallel, and the weighing with them.
func (p *phase) grow(ctx workflow.Context, s *search, moves []hypnagogia.Move, with *followUp) error {
	steps := make([]paidStep, len(moves))
	for i, move := range moves {
		s.turn++
		steps[i] = p.move(ctx, s, s.turn, move)
	}
	summary := fmt.Sprintf("round %d: %d scenarios", s.Round, len(steps))
	how := round{calls: 1, activityName: activities.ImaginationMoves, summary: summary, then: with}
	grown, stop := p.payRound(ctx, how, steps)
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
func (p *phase) move(ctx workflow.Context, s *search, turn int, move hypnagogia.Move) paidStep {
	temperature, round := p.run.spec.Knobs.RemTemperature, s.Round
	of := make([]string, len(move.Parents))
	for i, parent := range move.Parents {
		of[i] = s.ids[parent]
	}
	if move.Op == dream.Branch {
		return paidStep{
			fmt.Sprintf("round %d: scenario %d, T %.2f", round, turn, temperature), activities.ImaginationBranch,
			func() any {
				return activities.BranchRequest{
					StepRequest: p.step(ctx, round, turn, temperature),
					Fragment:    nth(s.seeds, move.Seed),
				}
			},
		}
	}
	activityName := activities.ImaginationRefine
	if move.Op == dream.Merge {
		activityName = activities.ImaginationMerge
	}
	return paidStep{
		fmt.Sprintf("round %d: scenario %d, %s, T %.2f", round, turn, move.Op, temperature), activityName,
		func() any {
			return activities.GrowRequest{StepRequest: p.step(ctx, round, turn, temperature), Scenarios: of}
		},
	}
}

// weighing is the step that scores the scenarios of a round, from index from on. The activity that makes them fills
// them in.
func (p *phase) weighing(ctx workflow.Context, s *search, from int) paidStep {
	k, round := p.run.spec.Knobs, s.Round
	return paidStep{fmt.Sprintf("round %d: weigh", round), activities.ImaginationScore, func() any {
		return activities.ScoreRequest{
			StepRequest: p.step(ctx, round, 0, k.ScoreTemperature),
			Scenarios:   s.ids[from:], Beside: s.ids[:from], Keep: k.Keep,
		}
	}}
}

// weigh notes the scores of the scenarios of a round, from index from on.
func (p *phase) weigh(ctx workflow.Context, s *search, from int, with *followUp) error {
	r, err := p.follow(ctx, with, with.paidStep)
	for _, made := range r.Made {
		for at := from; at < len(s.ids); at++ {
			if s.ids[at] == made.ID {
				s.Thoughts[at].Weighed, s.Thoughts[at].Score = true, made.Score
			}
		}
	}
	return err
}
