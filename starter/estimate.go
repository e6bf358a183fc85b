package starter

import (
	"context"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/purse"
)

// PhaseEstimate is what one phase may cost.
type PhaseEstimate struct {
	Phase    dream.Phase   `json:"phase"`
	Calls    int           `json:"calls"`
	Expected budget.Micros `json:"expected"` // four characters a token, answers two thirds full
	Worst    budget.Micros `json:"worst"`    // what would be reserved if every call were made at its worst
	Cap      budget.Micros `json:"cap"`      // nothing beyond this is ever spent
}

// Estimate is the price of a dream before anything is spent.
type Estimate struct {
	Agent  string                `json:"agent"`
	Tier   dream.Tier            `json:"tier"`
	Models map[dream.Role]string `json:"models"`

	Loosening map[dream.Role]dream.Loosening `json:"loosening"` // how the roles that dream are loosened (Z6)

	Free     bool            `json:"free"`
	Calls    int             `json:"calls"`
	Expected budget.Micros   `json:"expected"`
	Worst    budget.Micros   `json:"worst"` // never above Cap
	Cap      budget.Micros   `json:"cap"`
	Phases   []PhaseEstimate `json:"phases"`
}

// Characters of the prompts beside the memories they show: instructions, playbook, schema. Measured on the templates.
const (
	promptOverhead = 2_000
	episodeLine    = 320
	otherLine      = 240
)

type plannedCall struct {
	role       dream.Role
	characters int
	tokens     int
	times      int
}

// Estimate prices a dream from its knobs and models, without spending or writing anything.
func (s *Starter) Estimate(ctx context.Context, w Wish) (Estimate, error) {
	d, err := s.draft(ctx, w)
	if err != nil {
		return Estimate{}, err
	}
	return estimate(d), nil
}

// estimate prices a draft; a phase that is taken over from another dream costs nothing.
func estimate(d draft) Estimate {
	o := d.order
	e := Estimate{Agent: o.Handle, Tier: o.Tier, Models: o.Models, Loosening: o.Loosening, Free: o.Free, Cap: o.Budget}
	plan := budget.Split(o.Budget, o.Knobs.Shares)
	caps := map[dream.Phase]budget.Micros{
		dream.Onset: plan.Onset, dream.NREM: plan.NREM, dream.REM: plan.REM, dream.Integration: plan.Integration, dream.Return: plan.Return,
	}
	for _, phase := range dream.Phases {
		if o.Redreams.Taken(phase) {
			continue
		}
		p := PhaseEstimate{Phase: phase, Cap: caps[phase]}
		for _, c := range plannedCalls(o, phase) {
			spec := d.specs[c.role]
			out := int64(c.tokens) + purse.Overrun
			if spec.Reasoning {
				out += int64(o.Knobs.ReasoningTokens)
			}
			p.Calls += c.times
			p.Expected += budget.Micros(c.times) * spec.Price.Cost(budget.Tokens{In: int64(c.characters / 4), Out: int64(c.tokens * 2 / 3)})
			p.Worst += budget.Micros(c.times) * spec.Price.Worst(int64(c.characters), out)
		}
		p.Expected, p.Worst = min(p.Expected, p.Cap), min(p.Worst, p.Cap)
		e.Calls += p.Calls
		e.Expected += p.Expected
		e.Worst += p.Worst
		e.Phases = append(e.Phases, p)
	}
	return e
}

// judgingCall is the observer's part: a call for each partial, or one a cycle.
func judgingCall(o activities.Order, partials int) plannedCall {
	if k := o.Knobs; o.Observer != nil && o.Observer.Way == dream.ByTogether {
		return plannedCall{dream.Observer, promptOverhead + 4*k.Partials*otherLine, k.Partials * k.ObserverTokens, k.Cycles}
	}
	return plannedCall{dream.Observer, promptOverhead + 3*otherLine, o.Knobs.ObserverTokens, partials}
}

// cageCall is the one about the rules in words, where there are any.
func cageCall(o activities.Order, fragments int) []plannedCall {
	if o.Policy == nil || len(o.Policy.Sentences) == 0 {
		return nil
	}
	shown := promptOverhead + (fragments+len(o.Policy.Sentences))*otherLine
	return []plannedCall{{dream.Observer, shown, activities.CageTokens(o.Knobs, fragments), 1}}
}

// plannedCalls lists the paid calls of a phase, embeddings left out: they cost a hundredth of the rest.
func plannedCalls(o activities.Order, phase dream.Phase) []plannedCall {
	k, tier := o.Knobs, o.Tier
	shown := k.ShownCharacters + promptOverhead
	if tier == dream.Core {
		if phase == dream.Onset {
			return append([]plannedCall{{dream.Generator, shown, k.AnswerTokens, 1}}, cageCall(o, 3)...)
		}
		return nil
	}
	switch phase {
	case dream.Onset:
		n := k.Cycles * k.Partials
		drifting := []plannedCall{{dream.Generator, shown, k.PartialTokens, n}}
		switch way := o.Loosening[dream.Generator]; {
		case way == dream.TwoPhase:
			drifting = []plannedCall{
				{dream.Generator, shown, hypnagogia.ScrapTokens(k), k.Cycles}, {dream.Generator, shown, hypnagogia.IdeaTokens(k), k.Cycles},
			}
		case hypnagogia.Verbal(way):
			drifting = []plannedCall{{dream.Generator, shown, hypnagogia.IdeaTokens(k), k.Cycles}}
		}
		return append(append(drifting, []plannedCall{
			{dream.Generator, shown, k.AnswerTokens, 1},
			judgingCall(o, n),
			{dream.Observer, promptOverhead + n*otherLine, k.AnswerTokens + 60*n, 1},
		}...), cageCall(o, n)...)
	case dream.NREM:
		return []plannedCall{
			{dream.Replayer, promptOverhead + k.ReplayEpisodes*episodeLine, k.AnswerTokens, 2},
			{dream.Replayer, promptOverhead + k.LastLookEntries*otherLine, k.AnswerTokens + 40*k.LastLookEntries, 1},
		}
	case dream.REM:
		later := max(0, k.RemRounds-1)
		return []plannedCall{
			{dream.Imaginer, promptOverhead + 4*otherLine, k.AnswerTokens, k.Branches},
			{dream.Observer, promptOverhead + k.Branches*episodeLine, k.ObserverTokens + 60*k.Branches, 1},
			{dream.Imaginer, promptOverhead + 3*otherLine, k.AnswerTokens, later * k.RemBeam}, // a search that ends early makes fewer
			{dream.Observer, promptOverhead + (k.RemBeam+4)*episodeLine, k.ObserverTokens + 60*k.RemBeam, later},
		}
	case dream.Integration:
		return []plannedCall{{dream.Integrator, promptOverhead + 12*otherLine, k.AnswerTokens, 1}}
	case dream.Return:
		return []plannedCall{{dream.Integrator, promptOverhead + 12*otherLine, k.AnswerTokens, 1}}
	}
	return nil
}
