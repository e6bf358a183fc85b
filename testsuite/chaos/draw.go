package chaos

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
)

// kinds of caps, by lane: which cap is tight.
const (
	tightDream = iota
	tightMonth
	tightDay
	tightFleet
	sorts
)

// caps of an agent: ample, except for the one that its lane tests, which lets about the first half of its dreams
// pass.
func (p *execution) caps(lane int) dream.Caps {
	all := p.fair * budget.Micros(p.each())
	roomy := dream.Caps{Dream: 64 * p.fair, Day: 1000 * all, Month: 1000 * all}
	switch lane % sorts {
	case tightMonth:
		return dream.Caps{Dream: min(4*p.fair, all*2/5), Day: all * 2 / 5, Month: all * 2 / 5}
	case tightDay:
		roomy.Dream, roomy.Day = 4*p.fair, max(4*p.fair, all*3/2)
	}
	return roomy
}

func draw[T any](dice *rand.Rand, from ...T) T { return from[dice.IntN(len(from))] }

// each is how many dreams an agent has.
func (p *execution) each() int { return (p.run.Dreams + p.run.AtOnce - 1) / p.run.AtOnce }

// budget draws what a dream may cost. Two of five get a quarter to twice of what an undisturbed dream costs, too
// little for the reservations of its last phases; the others get up to 64 times as much.
func (p *execution) budget(dice *rand.Rand) budget.Micros {
	doublings := 1 + 5*dice.Float64()
	if dice.IntN(5) < 2 {
		doublings = 3*dice.Float64() - 2
	}
	return budget.Micros(float64(p.fair) * math.Exp2(doublings))
}

// crowded is the day on which the fleet's cap is tight, and on which no other lane dreams.
var crowded = testdeploy.Night.AddDate(0, 1, 0)

// dreamOnce runs the i-th dream of the run: tier, model, cycles, budget and day are drawn from the seed.
func (p *execution) dreamOnce(ctx context.Context, lane, i int, agent dream.Agent) error {
	dice := rand.New(rand.NewPCG(p.run.Seed, uint64(i)+2))
	s, w := p.deployment.Starter.With(func(*starter.Options) {}),
		starter.DreamRequest{Agent: agent.Handle, Tier: dream.Hardened}
	if dice.IntN(8) == 0 {
		w.Tier = dream.Core
	}
	amount, seed := min(agent.Caps.Dream, p.budget(dice)), dice.Uint64()>>1
	w.Budget, w.Seed, w.AsOf = &amount, &seed, testdeploy.Night.AddDate(0, 0, i/p.run.AtOnce%10)
	k := p.deployment.Config.Knobs
	k.Cycles, k.Partials = 1+dice.IntN(3), 3+dice.IntN(3)
	k.Depth = draw(dice, dream.DepthAdaptive, dream.DepthAdaptive, dream.DepthFixed)
	k.Judging = draw(dice, dream.JudgingAuto, dream.BySingle, dream.ByTogether)
	k.Loosening = draw(dice, dream.Auto, dream.Auto, dream.Verbalised, dream.TwoPhase)
	k.RemRounds = dice.IntN(4)
	if sort := lane % sorts; sort != tightDream || dice.IntN(2) == 0 { // shares that give an onset all it needs
		k.Shares, k.BudgetFraction = budget.Shares{
			Onset:       60,
			NREM:        15,
			REM:         15,
			Integration: 5,
			Return:      5,
		}, .65
	}
	switch lane % sorts {
	case tightDay:
		w.AsOf = testdeploy.Night
	case tightFleet:
		crowd := (p.run.AtOnce + sorts - 1 - tightFleet) / sorts * p.each()
		w.AsOf, s.Options.FleetDay = crowded, p.fair*budget.Micros(crowd)*3/10
	}
	s.Options.Knobs = k
	s.Options.Models = map[dream.Role]string{}
	model := []string{"script", "script", "script-object", "script-prompt", "strict", "thinker"}[dice.IntN(6)]
	for role, name := range p.deployment.Starter.Options.Models {
		s.Options.Models[role] = name
		if role != dream.Embedder {
			s.Options.Models[role] = "scripted/" + model
		}
	}
	begun, err := s.Begin(ctx, w)
	if errors.Is(err, starter.ErrUnreachable) && ctx.Err() == nil {
		return nil // every worker was dead for too long; the record says so, and the audit reads it
	}
	if err != nil {
		return fmt.Errorf("start dream %d: %w", i, err)
	}
	if _, err := p.deployment.Result(ctx, begun.Dream); err != nil {
		return fmt.Errorf("wait for %s: %w", begun.Dream, err)
	}
	return nil
}
