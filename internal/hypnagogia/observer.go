package hypnagogia

import (
	"math"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Exponents of the observer's composite.
const (
	noveltyPower   = .5
	relevancePower = .3
	coherencePower = .2
)

// Composite is novelty^0.5 · relevance^0.3 · coherence^0.2, in [0, 1]; each part is clamped to [0, 1] first.
func Composite(novelty, relevance, coherence float64) float64 {
	return math.Pow(unit(novelty), noveltyPower) * math.Pow(unit(relevance), relevancePower) *
		math.Pow(unit(coherence), coherencePower)
}

// Distance is 1 - cosine in [0, 1]: a negative cosine counts as 0.
func Distance(cosine float64) float64 { return unit(1 - cosine) }

// Near is how close a text is to known texts, as cosines: to the nearest playbook entry, the nearest memory, the
// nearest piece it was shown, and the theme (0 without one).
type Near struct {
	Playbook, Memory float64
	PlaybookEmpty    bool
	Source, Theme    float64
}

// Measured is the judge's name on a verdict without a model.
const Measured = "embedder"

// echo is the distance within which a text only repeats another: the same sentence with a word or two exchanged.
const echo = .1

// Judge is the verdict measured from distances, for models whose scores are meaningless. All rules except the
// distances and the composite are our choice:
//
//   - novelty is the distance to the nearest known or shown text, beyond that of an echo, so that an echo has none;
//   - relevance is 4c(1-c) of the closeness c to the sources or the theme: highest half way, and low for a copy;
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

// Keep says whether a composite is above the floor.
func Keep(composite, floor float64) bool { return composite > floor }

// Limits of the first confidence of a kept fragment.
const (
	LeastConfidence = .10
	MostConfidence  = .20
)

// FragmentConfidence holds the first confidence of a kept fragment within its limits.
func FragmentConfidence(start float64) float64 {
	return math.Max(LeastConfidence, math.Min(MostConfidence, unit(start)))
}
