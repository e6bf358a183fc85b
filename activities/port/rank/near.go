package rank

import "slices"

// Thresholds are the cosines of an embedder from which a hit counts as evidence.
type Thresholds struct {
	Near float64 // two texts that have nothing to do with each other hardly reach it
	Sure float64 // from here on the place alone is evidence
}

// How much of the weight of a question's words an item must hold for an answer: by its words alone, or where its place
// speaks for it too. Beside such an item weaker ones come along.
const (
	shareAlone = .30
	shareWith  = .18
	shareWeak  = .08
)

// Supports says whether a hit is evidence that memory holds an answer.
func (t Thresholds) Supports(h Hit) bool {
	switch {
	case h.Share >= shareAlone:
		return true
	case !h.Placed:
		return false
	}
	return h.Cosine >= t.Sure || h.Cosine >= t.Near && h.Share >= shareWith
}

// Supported leaves the hits that may come along, all in their order; none where nothing is evidence. Nothing near:
// nothing found.
func (t Thresholds) Supported(hits []Hit) []Hit {
	if !slices.ContainsFunc(hits, t.Supports) {
		return nil
	}
	var out []Hit
	for _, h := range hits {
		if h.Share >= shareWeak || h.Placed && h.Cosine >= t.Near {
			out = append(out, h)
		}
	}
	return out
}
