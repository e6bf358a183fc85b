package starter

import (
	"context"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/spend"
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

	Loosening map[dream.Role]dream.Loosening `json:"loosening"` // how the roles that dream are loosened

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
func (s *Starter) Estimate(ctx context.Context, w DreamRequest) (Estimate, error) {
	d, err := s.draft(ctx, w)
	if err != nil {
		return Estimate{}, err
	}
	return estimate(d), nil
}

// estimate prices a draft; a phase that is taken over from another dream costs nothing.
func estimate(d draft) Estimate {
	o := d.spec
	e := Estimate{
		Agent:     o.Handle,
		Tier:      o.Tier,
		Models:    o.Models,
		Loosening: o.Loosening,
		Free:      o.Free,
		Cap:       o.Budget,
	}
	plan := budget.Split(o.Budget, o.Knobs.Shares)
	caps := map[dream.Phase]budget.Micros{
		dream.Onset: plan.Onset, dream.NREM: plan.NREM, dream.REM: plan.REM, dream.Integration: plan.Integration,
		dream.Return: plan.Return,
	}
	for _, phase := range dream.Phases {
		if o.Redreams.Taken(phase) {
			continue
		}
		p := PhaseEstimate{Phase: phase, Cap: caps[phase]}
		for _, c := range plannedCalls(o, phase, d.specs[dream.Observer].Judges) {
			spec := d.specs[c.role]
			out := int64(c.tokens)
			if c.role != dream.Embedder {
				out += spend.Overrun
			}
			if spec.Reasoning {
				out += int64(o.Knobs.ReasoningTokens)
			}
			p.Calls += c.times
			p.Expected +=
				budget.Micros(c.times) *
					spec.Price.Cost(budget.Tokens{In: int64(c.characters / 4), Out: int64(c.tokens * 2 / 3)})
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

// judgingCalls are the observer's part: a call for each partial, or one a cycle, and each with the place of what it
// judges. An observer whose numbers mean nothing is not asked: then the places alone measure.
func judgingCalls(o activities.Spec, partials int, judges bool) []plannedCall {
	k := o.Knobs
	request := plannedCall{dream.Observer, promptOverhead + 3*otherLine, k.ObserverTokens, partials}
	shown := otherLine
	if o.Observer != nil && o.Observer.Way == dream.ByTogether {
		request = plannedCall{
			dream.Observer, promptOverhead + 4*k.Partials*otherLine, k.Partials * k.ObserverTokens,
			k.Cycles,
		}
		shown = k.Partials * otherLine
	}
	placed := placing(shown, request.times)
	if !judges {
		return []plannedCall{placed}
	}
	return []plannedCall{request, placed}
}

// placing are calls of the embedder. It is shown each text and its parts.
func placing(characters, times int) plannedCall {
	return plannedCall{dream.Embedder, 2 * characters, 0, times}
}

// cageCalls are the one about the rules in words, where there are any and the observer can judge.
func cageCalls(o activities.Spec, fragments int, judges bool) []plannedCall {
	if !judges || o.Policy == nil || len(o.Policy.Sentences) == 0 {
		return nil
	}
	shown := promptOverhead + (fragments+len(o.Policy.Sentences))*otherLine
	return []plannedCall{{dream.Observer, shown, activities.CageTokens(o.Knobs, fragments), 1}}
}

// plannedCalls lists the paid calls of a phase; judges says whether the observer's numbers mean something. Memories
// that have no place yet are placed beside, 64 a call.
func plannedCalls(o activities.Spec, phase dream.Phase, judges bool) []plannedCall {
	if o.Tier == dream.Core && phase != dream.Onset {
		return nil
	}
	k := o.Knobs
	switch phase {
	case dream.Onset:
		return onsetCalls(o, judges)
	case dream.NREM:
		return []plannedCall{
			{dream.Replayer, promptOverhead + k.ReplayEpisodes*episodeLine, k.AnswerTokens, 2},
			{dream.Replayer, promptOverhead + k.LastLookEntries*otherLine, k.AnswerTokens + 40*k.LastLookEntries, 1},
			placing(k.LastLookEntries*otherLine, 1), // of the gists that the last look extracts
		}
	case dream.REM:
		return imaginationCalls(k, judges)
	case dream.Integration, dream.Return:
		return []plannedCall{{dream.Integrator, promptOverhead + 12*otherLine, k.AnswerTokens, 1}}
	}
	return nil
}

func onsetCalls(o activities.Spec, judges bool) []plannedCall {
	k := o.Knobs
	shown := k.ShownCharacters + promptOverhead
	calls := []plannedCall{{dream.Generator, shown, k.AnswerTokens, 1}, placing(3*otherLine, 1)} // the induction
	if o.Tier == dream.Core {
		return append(calls, cageCalls(o, 3, judges)...)
	}
	n := k.Cycles * k.Partials
	switch way := o.Loosening[dream.Generator]; {
	case way == dream.TwoPhase:
		calls = append(calls,
			plannedCall{dream.Generator, shown, hypnagogia.ScrapTokens(k), k.Cycles},
			plannedCall{dream.Generator, shown, hypnagogia.IdeaTokens(k), k.Cycles},
		)
	case hypnagogia.Verbal(way):
		calls = append(calls, plannedCall{dream.Generator, shown, hypnagogia.IdeaTokens(k), k.Cycles})
	default:
		calls = append(calls, plannedCall{dream.Generator, shown, k.PartialTokens, n})
	}
	calls = append(calls, judgingCalls(o, n, judges)...)
	if judges { // the rating at lucid capture
		calls = append(calls, plannedCall{dream.Observer, promptOverhead + n*otherLine, k.AnswerTokens + 60*n, 1})
	}
	return append(calls, cageCalls(o, n, judges)...)
}

// imaginationCalls are those of the search in REM; one that ends early makes fewer.
func imaginationCalls(k dream.Knobs, judges bool) []plannedCall {
	later := max(0, k.RemRounds-1)
	calls := []plannedCall{
		{dream.Imaginer, promptOverhead + 4*otherLine, k.AnswerTokens, k.Branches},
		{dream.Imaginer, promptOverhead + 3*otherLine, k.AnswerTokens, later * k.RemBeam},
	}
	if !judges {
		return append(calls, placing(k.Branches*episodeLine, 1), placing(k.RemBeam*episodeLine, later))
	}
	return append(calls,
		plannedCall{dream.Observer, promptOverhead + k.Branches*episodeLine, k.ObserverTokens + 60*k.Branches, 1},
		plannedCall{dream.Observer, promptOverhead + (k.RemBeam+4)*episodeLine, k.ObserverTokens + 60*k.RemBeam, later},
	)
}
