package rank

import "slices"

// Calibration says which cosines of an embedder mean something.
type Calibration struct {
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
func (c Calibration) Supports(h Hit) bool {
	switch {
	case h.Share >= shareAlone:
		return true
	case !h.Placed:
		return false
	}
	return h.Cosine >= c.Sure || h.Cosine >= c.Near && h.Share >= shareWith
}

// Supported leaves the hits that may come along, all in their order; none where nothing is evidence. Nothing near:
// nothing found.
func (c Calibration) Supported(hits []Hit) []Hit {
	if !slices.ContainsFunc(hits, c.Supports) {
		return nil
	}
	var out []Hit
	for _, h := range hits {
		if h.Share >= shareWeak || h.Placed && h.Cosine >= c.Near {
			out = append(out, h)
		}
	}
	return out
}
