package hypnagogia

import (
	"math"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

// Ear is what the observer of a night listens with. Its zero value hears no language, no meaning and no marker, and has
// no bias.
type Ear struct {
	Tongue  Tongue
	Space   Calibration    // of the embedder's space; where it is not known, cosines are taken as they are
	Meaning *dream.Meaning // of this text; nil when nobody could see it
	Blind   string         // why not
	Marker  *dream.Fired   // that matches this text; Relevance and Boost are filled in by Weigh
	LogProb *float64       // mean of its tokens, as the provider told it; nil where it did not
	Bias    float64        // 0 counts as 1
}

// Edges of what a model itself holds likely, ours: on 98 texts of a small model at temperature 1.6 the mean logarithm
// lay at -10.2 to -8.9, on 98 at 1.0 with min-p .1 at -2.4 to -.1, on 17 at 1.5 with min-p .1 at -2.0 to -.3.
const (
	unlikely     = -6
	likelyEnough = -4
)

// understood is the coherence from which a text's novelty counts in full; ours. Below, it counts in proportion: what
// nobody can understand is not new, it is only far away, and distance alone must not win.
const understood = .5

// Weigh is the observer's verdict on a text: measured, or put together from what a judge said of it. The composite
// stays novelty^.5 · relevance^.3 · coherence^.2; its parts are held to what can be measured:
//
//   - what is measured is measured from where strangers lie in the embedder's space; the stored distances stay as they are;
//   - coherence is what can be seen of it: surface, meaning, and how likely the model that said it held it; a judge may see more, but not more than that where it is below a half;
//   - a near copy of a memory is not new, whatever the judge says, nor is what cannot be understood;
//   - a somatic marker that fires adds to relevance, within its bounds;
//   - the observer's bias multiplies the whole, which stays within [0, 1].
func Weigh(text string, near Near, answer *dream.Scores, e Ear) dream.Verdict {
	v := distances(near)
	p := &dream.Parts{
		Way:     dream.ByMeasure,
		Surface: SurfaceOf(text, e.Tongue),
		Meaning: e.Meaning,
		Blind:   e.Blind,
		Judged:  answer,
		Bias:    1,
	}
	level := e.Space.level(near)
	far := distances(level)
	p.Measured = dream.Scores{Novelty: farness(far, level), Relevance: closeness(level), Coherence: p.Surface.Whole}
	if e.Meaning != nil {
		p.Measured.Coherence *= e.Meaning.Share
	}
	p.LogProb, p.Likely = e.LogProb, 1
	if e.LogProb != nil {
		p.Likely = stretch(*e.LogProb, unlikely, likelyEnough)
		p.Measured.Coherence *= p.Likely
	}
	v.Judge, v.Parts = Measured, p
	v.Novelty, v.Relevance, v.Coherence = p.Measured.Novelty, p.Measured.Relevance, p.Measured.Coherence
	if answer != nil {
		v.Novelty, v.Relevance, v.Coherence = unit(answer.Novelty), unit(answer.Relevance), unit(answer.Coherence)
		if p.Measured.Coherence < understood {
			v.Coherence = math.Min(v.Coherence, p.Measured.Coherence)
		}
		if far.DistanceMemory < echo {
			v.Novelty = math.Min(v.Novelty, 2*far.DistanceMemory)
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
	case v.Novelty <= v.Relevance && v.Novelty <= v.Coherence:
		return "it says nothing new"
	case v.Relevance <= v.Coherence:
		return "it touches nothing known"
	}
	return "it barely coheres"
}
