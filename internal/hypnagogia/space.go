package hypnagogia

import "math"

// Calibration is how the cosines of memories that have nothing to do with each other lie in an embedder's space. Two
// embedders never share a threshold: in one, strangers lie at .05, in another at .76 (decision 8).
type Calibration struct {
	Mean  float64 `json:"mean"`
	SD    float64 `json:"sd"`
	Pairs int     `json:"pairs"`
}

// leastPlaces is how many memories it takes to know a space: 45 pairs.
const leastPlaces = 10

// Calibrate measures a space by the cosines of all pairs among an agent's own memories, most of which are strangers to
// each other.
func Calibrate(places [][]float32) Calibration {
	if len(places) < leastPlaces {
		return Calibration{}
	}
	c, square := Calibration{}, 0.0
	for i, a := range places {
		for _, b := range places[:i] {
			cosine := Cosine(a, b)
			c.Mean, square, c.Pairs = c.Mean+cosine, square+cosine*cosine, c.Pairs+1
		}
	}
	c.Mean /= float64(c.Pairs)
	c.SD = math.Sqrt(math.Max(0, square/float64(c.Pairs)-c.Mean*c.Mean))
	return c
}

// Known says whether enough memories were placed to calibrate anything.
func (c Calibration) Known() bool { return c.Pairs > 0 }

// level takes cosines from where strangers lie: 0 for what has nothing to do with a text, 1 for the same.
func (c Calibration) level(n Near) Near {
	if !c.Known() || c.Mean >= 1 {
		return n
	}
	from := math.Max(0, c.Mean)
	for _, cosine := range []*float64{&n.Playbook, &n.Memory, &n.Source, &n.Theme} {
		*cosine = math.Max(0, (*cosine-from)/(1-from))
	}
	return n
}

// leastNear is how far above the mean of strangers near begins at the least: never so low that chance alone reaches it
// in a space where everything is alike.
const leastNear = .05

// Near is the cosine that only so many standard deviations above the mean of strangers reach, but no farther than where
// an echo begins, in the part of the space that is left above them; false when the space is not known, or tells nothing
// apart.
func (c Calibration) Near(deviations float64) (float64, bool) {
	from := math.Max(0, c.Mean)
	if !c.Known() || from >= 1 {
		return 0, false
	}
	return math.Min(1-echo*(1-from), from+math.Max(leastNear, deviations*c.SD)), true
}
