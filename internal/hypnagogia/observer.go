package hypnagogia

import (
	"math"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

// Exponents of the observer's composite.
const (
	noveltyPower   = .5
	relevancePower = .3
	coherencePower = .2
)

// Composite is novelty^.5 · relevance^.3 · coherence^.2, in [0, 1]; each part is clamped to [0, 1] first.
func Composite(novelty, relevance, coherence float64) float64 {
	return math.Pow(unit(novelty), noveltyPower) * math.Pow(unit(relevance), relevancePower) *
		math.Pow(unit(coherence), coherencePower)
}

// Distance is 1 - cosine in [0, 1]: vectors that point apart are no farther than strangers.
func Distance(cosine float64) float64 { return unit(1 - cosine) }

// Near is how close a text lies to what is known, as cosines: to the nearest playbook entry, to the nearest memory, to
// the nearest of the pieces it was shown, and to the theme (0 when there is none).
type Near struct {
	Playbook, Memory float64
	PlaybookEmpty    bool
	Source, Theme    float64
}

// Measured is the judge's name on a verdict that no model gave.
const Measured = "embedder"

// echo is the distance within which a text only repeats what is there: the same sentence with a word or two exchanged.
const echo = .1

// Judge is the verdict measured from distances, for models whose own scores mean nothing. Every rule but the distances
// and the composite is ours:
//
//   - novelty is the distance to the nearest thing known or shown, counted from where an echo ends, so that an echo has none;
//   - relevance rises with closeness to the sources or the theme up to half way and falls again toward a copy, 4c(1-c);
//   - coherence is Surface.
func Judge(text string, near Near) dream.Verdict {
	v := distances(near)
	v.Coherence, v.Judge = Surface(text), Measured
	v.Novelty, v.Relevance = farness(v, near), closeness(near)
	v.Composite = Composite(v.Novelty, v.Relevance, v.Coherence)
	return v
}

func distances(near Near) dream.Verdict {
	v := dream.Verdict{
		DistancePlaybook: Distance(near.Playbook), DistanceMemory: Distance(near.Memory),
		PlaybookEmpty: near.PlaybookEmpty,
	}
	if near.PlaybookEmpty {
		v.DistancePlaybook = 1
	}
	return v
}

func farness(v dream.Verdict, near Near) float64 {
	nearest := math.Min(Distance(near.Source), math.Min(v.DistancePlaybook, v.DistanceMemory))
	return unit((nearest - echo) / (1 - echo))
}

func closeness(near Near) float64 {
	c := unit(math.Max(near.Source, near.Theme))
	return 4 * c * (1 - c)
}

// Keep says that a composite lies strictly above the floor.
func Keep(composite, floor float64) bool { return composite > floor }

// The bounds of a kept fragment's first confidence (HypnagogicFragment).
const (
	LeastConfidence = .10
	MostConfidence  = .20
)

// FragmentConfidence holds a kept fragment's first confidence within its bounds.
func FragmentConfidence(start float64) float64 {
	return math.Max(LeastConfidence, math.Min(MostConfidence, unit(start)))
}
