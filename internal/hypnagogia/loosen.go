package hypnagogia

import (
	"math"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

// Takes is what a model takes of that which loosens it, as the capability table says.
type Takes struct {
	MaxTemperature float64 // highest temperature it accepts; 0: it refuses temperature
	MinP           bool
	Reasoning      bool // it thinks before it answers, and every call pays for that
	Judges         bool // the numbers it states mean something
}

// Loosened is the way for one model, and why it is that one.
type Loosened struct {
	Way dream.Loosening
	Why string
}

// Loosen chooses how a model is loosened. The evidence, with its limits, is told in docs/models.md:
//
//   - heat alone buys little novelty and much incoherence (Peeperkorn et al. 2024, arXiv 2405.00492);
//   - min-p .1 keeps about half of a 7B model's accuracy at 1.5, where top-p keeps next to nothing (Nguyen et al. 2024, 2407.01082);
//   - several ideas with stated probability in one call are 1.6 to 2.1 times as diverse as direct asking, at any
//     temperature, and stronger models gain more (Zhang et al. 2025, 2510.01171);
//   - to diverge first and to converge later makes more distinct answers of equal use (Nguyen & Singla 2025, 2512.23601).
//
// Where the seed's own way works it stays: heat under min-p, as partials that are halted.
func Loosen(t Takes) Loosened {
	hot := t.MaxTemperature >= Floor(dream.Peak)
	switch {
	case t.Reasoning:
		return Loosened{
			dream.Verbalised,
			"it thinks before every answer, so that several ideas in one call cost one thinking; the thinking itself is asked to diverge first (arXiv 2512.23601)",
		}
	case hot && t.MinP:
		return Loosened{
			dream.ByTemperatureMinP,
			"it takes heat and min-p, which keeps heat readable (arXiv 2407.01082): partials as S4 wants them",
		}
	case !t.Judges && t.MaxTemperature > 0:
		return Loosened{
			dream.ByTemperature,
			"the probabilities it would state mean nothing, and small models gain little from stating them (arXiv 2510.01171)",
		}
	case t.MaxTemperature >= Floor(dream.Transitional):
		return Loosened{
			dream.Verbalised,
			"heat without min-p costs coherence before it brings anything new (arXiv 2405.00492, 2407.01082); stated probabilities work beside the heat that it takes (arXiv 2510.01171)",
		}
	default:
		return Loosened{
			dream.TwoPhase,
			"it takes no heat: one call diverges, one makes ideas with stated probability of that (arXiv 2512.23601, 2510.01171)",
		}
	}
}

// Verbal says whether a way makes several ideas with stated probability in one call.
func Verbal(l dream.Loosening) bool { return l == dream.Verbalised || l == dream.TwoPhase }

// Asks is how many deeds one Dali cycle of this many partials asks for: each partial its own, or one that gives them
// all. At least one idea of a cycle must come, whichever deed it comes from.
func Asks(l dream.Loosening, partials int) int {
	if Verbal(l) {
		return min(1, partials)
	}
	return partials
}

// Rare is the probability that every verbalised idea is asked to stay below (the tails, 2510.01171).
const Rare = .10

// Warmth is the heat that a way really asks for. Without min-p nothing is asked for above the floor of the peak stage,
// which is the least that Z5 allows there: beyond it a sampler without min-p makes token soup.
func Warmth(l dream.Loosening, temperature float64) float64 {
	if l == "" || l == dream.ByTemperatureMinP {
		return temperature
	}
	return math.Min(temperature, Floor(dream.Peak))
}

// ScrapTokens is how many visible tokens the divergent call of a two-phase cycle may say before its stream is closed:
// as many as two partials, so that the cycle stays cheaper than the partials it replaces.
func ScrapTokens(k dream.Knobs) int { return 2 * k.PartialTokens }

// Beside each idea of a verbalised answer stand its probability and the JSON around it.
const besideIdea = 24

// IdeaTokens is the most that a verbalised answer of this many ideas takes.
func IdeaTokens(k dream.Knobs) int { return k.Partials*(k.PartialTokens+besideIdea) + besideIdea }
