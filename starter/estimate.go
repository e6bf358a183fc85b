package starter

import (
	"context"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/onset"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/activities/replay"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// PhaseEstimate is what one phase may cost.
type PhaseEstimate struct {
	Phase    dream.Phase   `json:"phase"`
	Calls    int           `json:"calls"`
	Expected budget.Micros `json:"expected_micros"` // estimated with four characters a token and answers two thirds full
	Worst    budget.Micros `json:"worst_micros"`    // what would be reserved if every call cost the most it can
	Cap      budget.Micros `json:"cap_micros"`      // the limit of what is spent
}

// Estimate is the price of a dream before anything is spent.
type Estimate struct {
	Agent  string                `json:"agent"`
	Tier   dream.Tier            `json:"tier"`
	Models map[dream.Role]string `json:"models"`

	Loosening map[dream.Role]dream.Loosening `json:"-"` // by role

	Free     bool            `json:"free"`
	Calls    int             `json:"calls"`
	Expected budget.Micros   `json:"expected_micros"`
	Worst    budget.Micros   `json:"worst_micros"` // at most Cap
	Cap      budget.Micros   `json:"cap_micros"`
	Phases   []PhaseEstimate `json:"phases"`
}

// Characters of a prompt besides the memories: instructions, playbook, schema. Measured on the templates.
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
	d, err := drafter{s}.check(ctx, w)
	if err != nil {
		return Estimate{}, err
	}
	return estimate(d), nil
}

// estimate prices a checked request. A phase taken over from another dream costs nothing.
func estimate(d checkedRequest) Estimate {
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

// judgingCalls are the observer's calls: one for each partial or one per cycle, and the embedding of what is judged.
// An observer whose scores have no meaning is not called; then only the embedding remains.
func judgingCalls(spec activities.Spec, partials int, judges bool) []plannedCall {
	k := spec.Knobs
	request := plannedCall{dream.Observer, promptOverhead + 3*otherLine, k.ObserverTokens, partials}
	shown := otherLine
	if spec.Observer != nil && spec.Observer.Way == dream.ByTogether {
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

// placing is a call of the embedder for each text and its parts.
func placing(characters, times int) plannedCall {
	return plannedCall{dream.Embedder, 2 * characters, 0, times}
}

// cageCalls is the call about the rules in words, if there are any and the observer can judge.
func cageCalls(spec activities.Spec, fragments int, judges bool) []plannedCall {
	if !judges || spec.Policy == nil || len(spec.Policy.Sentences) == 0 {
		return nil
	}
	shown := promptOverhead + (fragments+len(spec.Policy.Sentences))*otherLine
	return []plannedCall{{dream.Observer, shown, onset.CageTokens(spec.Knobs, fragments), 1}}
}

// plannedCalls lists the paid calls of a phase; judges says whether the observer's scores have meaning. Memories
// without a vector are embedded in addition, 64 per call.
func plannedCalls(spec activities.Spec, phase dream.Phase, judges bool) []plannedCall {
	if spec.Tier == dream.Core && phase != dream.Onset {
		return nil
	}
	k := spec.Knobs
	switch phase {
	case dream.Onset:
		return onsetCalls(spec, judges)
	case dream.NREM:
		return append(reasoningCalls(k, judges),
			plannedCall{dream.Replayer, promptOverhead + k.ReplayEpisodes*episodeLine, k.AnswerTokens, 2},
			plannedCall{
				dream.Replayer, promptOverhead + k.LastLookEntries*otherLine, k.AnswerTokens + 40*k.LastLookEntries, 1,
			},
			placing(k.LastLookEntries*otherLine, 1)) // of the gists of the last look
	case dream.REM:
		return imaginationCalls(k, judges)
	case dream.Integration, dream.Return:
		return []plannedCall{{dream.Integrator, promptOverhead + 12*otherLine, k.AnswerTokens, 1}}
	}
	return nil
}

// reasoningCalls review the reasoning behind resolved predictions: one call for as many as are resolved between two
// dreams as a rule.
func reasoningCalls(k dream.Knobs, judges bool) []plannedCall {
	n := min(k.ReviewedResiduals, replay.ReviewedAtOnce)
	if !judges || n == 0 {
		return nil
	}
	return []plannedCall{{dream.Observer, promptOverhead + n*episodeLine, replay.ReasoningTokens(n), 1}}
}

func onsetCalls(spec activities.Spec, judges bool) []plannedCall {
	k := spec.Knobs
	shown := k.ShownCharacters + promptOverhead
	calls := []plannedCall{{dream.Generator, shown, k.AnswerTokens, 1}, placing(3*otherLine, 1)} // the induction
	if spec.Tier == dream.Core {
		return append(calls, cageCalls(spec, 3, judges)...)
	}
	n := k.Cycles * k.Partials
	switch way := spec.Loosening[dream.Generator]; {
	case way == dream.TwoPhase:
		calls = append(calls, plannedCall{dream.Generator, shown, hypnagogia.ScrapTokens(k), k.Cycles},
			plannedCall{dream.Generator, shown, hypnagogia.IdeaTokens(k), k.Cycles})
	case hypnagogia.Verbal(way):
		calls = append(calls, plannedCall{dream.Generator, shown, hypnagogia.IdeaTokens(k), k.Cycles})
	default:
		calls = append(calls, plannedCall{dream.Generator, shown, k.PartialTokens, n})
	}
	calls = append(calls, judgingCalls(spec, n, judges)...)
	if judges { // the rating at lucid capture
		calls = append(calls, plannedCall{dream.Observer, promptOverhead + n*otherLine, k.AnswerTokens + 60*n, 1})
	}
	return append(calls, cageCalls(spec, n, judges)...)
}

// imaginationCalls are the calls of the search in REM; a search that ends early makes fewer.
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
		plannedCall{dream.Observer, promptOverhead + (k.RemBeam+4)*episodeLine, k.ObserverTokens + 60*k.RemBeam, later})
}
