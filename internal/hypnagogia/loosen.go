package hypnagogia

import (
	"math"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// ModelSupport is what a model accepts to be loosened, from the capability table.
type ModelSupport struct {
	MaxTemperature float64 // highest temperature it accepts; 0: it refuses temperature
	MinP           bool
	Reasoning      bool // it reasons before it answers, and every call pays for that
	Judges         bool // its numeric scores are meaningful
}

// LooseningChoice is the way for one model, and why.
type LooseningChoice struct {
	Way dream.Loosening
	Why string
}

// Loosen chooses how a model is loosened. The evidence and its limits are described in docs/models.md:
//
//   - temperature alone adds little novelty and much incoherence (Peeperkorn et al. 2024, arXiv 2405.00492);
//   - min-p 0.1 keeps about half of a 7B model's accuracy at 1.5, where top-p keeps almost none (Nguyen et al. 2024,
//     arXiv 2407.01082);
//   - several ideas with stated probability in one call are 1.6 to 2.1 times as diverse as single answers, at any
//     temperature, and stronger models gain more (Zhang et al. 2025, arXiv 2510.01171);
//   - diverging first and converging later gives more distinct answers of equal use (Nguyen & Singla 2025, arXiv
//     2512.23601).
//
// If the model accepts a high temperature and min-p, partials are sampled hot under min-p and cut off.
func Loosen(t ModelSupport) LooseningChoice {
	hot := t.MaxTemperature >= Floor(dream.Peak)
	switch {
	case t.Reasoning:
		return LooseningChoice{
			dream.Verbalised,
			"it reasons before every answer, so several ideas in one call cost only one reasoning, which is " +
				"asked to diverge first (arXiv 2512.23601)",
		}
	case hot && t.MinP:
		return LooseningChoice{
			dream.ByTemperatureMinP,
			"it accepts high temperature and min-p, which keeps hot answers readable (arXiv 2407.01082): " +
				"partials that are cut off",
		}
	case !t.Judges && t.MaxTemperature > 0:
		return LooseningChoice{
			dream.ByTemperature,
			"the probabilities it would state are meaningless, and small models gain little from stating them " +
				"(arXiv 2510.01171)",
		}
	case t.MaxTemperature >= Floor(dream.Transitional):
		return LooseningChoice{
			dream.Verbalised,
			"temperature without min-p costs coherence before it adds novelty (arXiv 2405.00492, 2407.01082); " +
				"stated probabilities work at the temperature it accepts (arXiv 2510.01171)",
		}
	default:
		return LooseningChoice{
			dream.TwoPhase,
			"it accepts no temperature: one call diverges, and one makes ideas with stated probabilities of " +
				"that (arXiv 2512.23601, 2510.01171)",
		}
	}
}

// Verbal says whether a way makes several ideas with stated probability in one call.
func Verbal(l dream.Loosening) bool { return l == dream.Verbalised || l == dream.TwoPhase }

// ActivitiesPerCycle is how many activities one Dali cycle with this many partials needs: one per partial, or a single
// one for all. At least one idea of a cycle must succeed.
func ActivitiesPerCycle(l dream.Loosening, partials int) int {
	if Verbal(l) {
		return min(1, partials)
	}
	return partials
}

// Rare is the probability that every verbalised idea should stay below (arXiv 2510.01171).
const Rare = .10

// PartialTemperature is the temperature that a way uses. Without min-p it is at most the floor of the peak stage:
// above it, sampling without min-p gives garbled text.
func PartialTemperature(l dream.Loosening, temperature float64) float64 {
	if l == "" || l == dream.ByTemperatureMinP {
		return temperature
	}
	return math.Min(temperature, Floor(dream.Peak))
}

// ScrapTokens is how many visible tokens the divergent call of a two-phase cycle may have before it is cut off: as
// many as two partials, so that the cycle stays cheaper than its partials.
func ScrapTokens(k dream.Knobs) int { return 2 * k.PartialTokens }

// besideIdea is the size in tokens of an idea's probability and JSON.
const besideIdea = 24

// IdeaTokens is the largest verbalised answer with this many ideas.
func IdeaTokens(k dream.Knobs) int { return k.Partials*(k.PartialTokens+besideIdea) + besideIdea }
