package hypnagogia

import (
	"math"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Evidence is what the observer uses besides the text. The zero value has no language, no meaning, no marker and no
// bias.
type Evidence struct {
	Language Language
	Space    Calibration        // of the embedder's space; without it cosines are used as they are
	Meaning  *dream.Meaning     // of this text; nil when it could not be measured
	Blind    string             // why Meaning is nil
	Marker   *dream.MarkerMatch // the matching marker; Relevance and Boost are filled in by Weigh
	LogProb  *float64           // mean over its tokens; nil if the provider does not return it
	Order    WordOrder          // of the memory's words
	Memory   MemoryTexts        // what the text may have copied
	Bias     float64            // 0 counts as 1
}

// Limits of the mean log probability of a text; our choice. On 98 texts of a small model at temperature 1.6 it was
// -10.2 to -8.9, on 98 at 1.0 with min-p 0.1 -2.4 to -0.1, on 17 at 1.5 with min-p 0.1 -2.0 to -0.3.
const (
	unlikely     = -6
	likelyEnough = -4
)

// understood is the coherence from which a text's novelty counts in full; our choice. Below, it counts in proportion,
// so that a text does not win by being incomprehensible.
const understood = .5

// Weigh is the observer's verdict on a text, measured or from a judge's scores. The composite is novelty^0.5 ·
// relevance^0.3 · coherence^0.2; its parts are limited by what can be measured:
//
//   - measured values are relative to unrelated memories in the embedder's space; stored distances are not rescaled;
//   - coherence is measured by surface, the order of words, meaning, and how likely the text was to its own model; a
//     judge's value may be higher, unless the measured one, with the order of words by ShareJudged, is below 0.5;
//   - a near copy of a memory, or of a part of one, is not new, whatever the judge says, and neither is an
//     incomprehensible text;
//   - a somatic marker that fires adds to relevance, within its limits and by as much as the text is clear and not
//     copied;
//   - the observer's bias multiplies the composite, which stays within [0, 1].
func Weigh(text string, near Near, answer *dream.Scores, evidence Evidence) dream.Verdict {
	v := distances(near)
	p := &dream.Parts{
		Way:     dream.ByMeasure,
		Surface: SurfaceOf(text, evidence.Language),
		Meaning: evidence.Meaning,
		Blind:   evidence.Blind,
		Judged:  answer,
		Bias:    1,
	}
	level := evidence.Space.level(near)
	far := distances(level)
	p.Measured = dream.Scores{Novelty: farness(far, level), Relevance: closeness(evidence.Space.touch(near)), Coherence: p.Surface.Whole}
	if evidence.Meaning != nil {
		p.Measured.Coherence *= evidence.Meaning.Share
	}
	p.WordOrder = evidence.Order.Of(text)
	uncopied := 1.0
	if evidence.Memory.runs != nil {
		copied := evidence.Memory.Copied(text)
		p.Copied, uncopied = &copied, newness(copied)
	}
	p.Measured.Novelty *= uncopied
	p.LogProb, p.Likely = evidence.LogProb, 1
	if evidence.LogProb != nil {
		p.Likely = stretch(*evidence.LogProb, unlikely, likelyEnough)
		p.Measured.Coherence *= p.Likely
	}
	judged := p.Measured.Coherence
	if p.WordOrder != nil {
		judged *= ShareJudged(p.WordOrder)
		p.Measured.Coherence *= p.WordOrder.Share
	}
	v.Judge, v.Parts = Measured, p
	v.Novelty, v.Relevance, v.Coherence = p.Measured.Novelty, p.Measured.Relevance, p.Measured.Coherence
	if answer != nil {
		v.Novelty, v.Relevance, v.Coherence = unit(answer.Novelty), unit(answer.Relevance), unit(answer.Coherence)
		if judged < understood {
			v.Coherence = math.Min(v.Coherence, judged)
		}
		if far.DistanceMemory < echo {
			v.Novelty = math.Min(v.Novelty, 2*far.DistanceMemory)
		}
		v.Novelty = math.Min(v.Novelty, uncopied)
	}
	clear := math.Min(1, v.Coherence/understood)
	v.Novelty *= clear
	if evidence.Marker != nil {
		fired := *evidence.Marker
		fired.Relevance = v.Relevance
		fired.Boost = Boost(fired) * clear * uncopied
		v.Relevance = unit(v.Relevance + fired.Boost)
		p.Marker = &fired
	}
	if evidence.Bias > 0 {
		p.Bias = evidence.Bias
	}
	p.Whole = Composite(v.Novelty, v.Relevance, v.Coherence)
	v.Composite = unit(p.Whole * p.Bias)
	return v
}

func unordered(o *dream.WordOrder) bool {
	return o != nil && o.Share < coherentFrom
}

// Fault is which part lowered a composite most, as the reason of a rejected fragment.
func Fault(v dream.Verdict) string {
	switch {
	case v.Coherence < coherentFrom && v.Parts != nil && unordered(v.Parts.WordOrder):
		return "its words stand in no order"
	case v.Coherence < coherentFrom:
		return "it cannot be understood"
	case v.Parts != nil && v.Parts.Copied != nil && *v.Parts.Copied >= wholeCopy:
		return "it repeats a memory"
	case v.Novelty <= v.Relevance && v.Novelty <= v.Coherence:
		return "it says nothing new"
	case v.Relevance <= v.Coherence:
		return "it touches nothing known"
	}
	return "it barely coheres"
}
