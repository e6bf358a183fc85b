package hypnagogia

import (
	"math"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

// Ear is what the observer of a night listens with. Its zero value hears no language, no meaning and no marker, and has no bias.
type Ear struct {
	Tongue  Tongue
	Meaning *dream.Meaning // of this text; nil when nobody could see it
	Blind   string         // why not
	Marker  *dream.Fired   // that matches this text; Relevance and Boost are filled in by Weigh
	Bias    float64        // 0 counts as 1
}

// understood is the coherence from which a text's novelty counts in full; ours. Below, it counts in proportion: what nobody can
// understand is not new, it is only far away, and distance alone must not win.
const understood = .5

// Weigh is the observer's verdict on a text (H6): measured, or put together from what a judge said of it. The composite stays
// novelty^.5 · relevance^.3 · coherence^.2; its parts are held to what can be measured:
//
//   - coherence is what can be seen of it, surface and meaning; a judge may see more, but not more than that where it is below a half;
//   - a near copy of a memory is not new, whatever the judge says (Z3), nor is what cannot be understood;
//   - a somatic marker that fires adds to relevance, within its bounds;
//   - the observer's bias multiplies the whole, which stays within [0, 1].
func Weigh(text string, near Near, said *dream.Scores, e Ear) dream.Verdict {
	v := distances(near)
	p := &dream.Parts{Way: dream.ByMeasure, Surface: SurfaceOf(text, e.Tongue), Meaning: e.Meaning, Blind: e.Blind, Judged: said, Bias: 1}
	p.Measured = dream.Scores{Novelty: farness(v, near), Relevance: closeness(near), Coherence: p.Surface.Whole}
	if e.Meaning != nil {
		p.Measured.Coherence *= e.Meaning.Share
	}
	v.Judge, v.Parts = Measured, p
	v.Novelty, v.Relevance, v.Coherence = p.Measured.Novelty, p.Measured.Relevance, p.Measured.Coherence
	if said != nil {
		v.Novelty, v.Relevance, v.Coherence = unit(said.Novelty), unit(said.Relevance), unit(said.Coherence)
		if p.Measured.Coherence < understood {
			v.Coherence = math.Min(v.Coherence, p.Measured.Coherence)
		}
		if v.DistanceMemory < echo {
			v.Novelty = math.Min(v.Novelty, 2*v.DistanceMemory)
		}
	}
	v.Novelty *= math.Min(1, v.Coherence/understood)
	if e.Marker != nil {
		fired := *e.Marker
		fired.Relevance = v.Relevance
		fired.Boost = Boost(fired)
		v.Relevance = unit(v.Relevance + fired.Boost)
		p.Marker = &fired
	}
	if e.Bias > 0 {
		p.Bias = e.Bias
	}
	p.Whole = Composite(v.Novelty, v.Relevance, v.Coherence)
	v.Composite = unit(p.Whole * p.Bias)
	return v
}

// Fault says which part brought a composite down, for the reason that a rejected fragment is told with.
func Fault(v dream.Verdict) string {
	switch {
	case v.Coherence < coherentFrom:
		return "it cannot be understood"
	case math.Min(v.DistanceMemory, v.DistancePlaybook) < echo || v.Novelty <= v.Relevance && v.Novelty <= v.Coherence:
		return "it says nothing new"
	case v.Relevance <= v.Coherence:
		return "it touches nothing known"
	}
	return "it barely coheres"
}
