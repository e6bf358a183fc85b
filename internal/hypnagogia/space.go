package hypnagogia

import "math"

// Calibration is the distribution of the cosines of unrelated memories in an embedder's space. Embedders have
// different ones: in one the mean is 0.05, in another 0.76.
type Calibration struct {
	Mean  float64 `json:"mean"`
	SD    float64 `json:"sd"`
	Pairs int     `json:"pairs"`
}

// leastPlaces is how many memories it takes to calibrate a space: 45 pairs.
const leastPlaces = 10

// Calibrate measures a space by the cosines of all pairs of an agent's own memories, most of which are unrelated.
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

// Calibrated says whether the space is calibrated.
func (c Calibration) Calibrated() bool { return c.Pairs > 0 }

// level rescales cosines: 0 for an unrelated text, 1 for the same.
func (c Calibration) level(n Near) Near { return c.above(n, math.Max(0, c.Mean)) }

// farBelow is how many standard deviations below unrelated memories a text touches nothing known; our choice. A short
// text lies farther from long memories than these from each other, however much it takes up of them.
const farBelow = 2

// touch rescales cosines: 0 for a text clearly farther away than unrelated memories, 1 for the same.
func (c Calibration) touch(n Near) Near { return c.above(n, math.Max(0, c.Mean-farBelow*c.SD)) }

func (c Calibration) above(n Near, from float64) Near {
	if !c.Calibrated() || c.Mean >= 1 {
		return n
	}
	for _, cosine := range []*float64{&n.Playbook, &n.Memory, &n.Source, &n.Theme} {
		*cosine = math.Max(0, (*cosine-from)/(1-from))
	}
	return n
}

// leastNear is the least distance of "near" above the mean of unrelated memories, so that chance does not reach it in
// a space where everything is similar.
const leastNear = .05

// Near is the cosine that lies this many standard deviations above the mean of unrelated memories, but at most where
// an echo begins; false when the space is not calibrated or does not distinguish texts.
func (c Calibration) Near(deviations float64) (float64, bool) {
	from := math.Max(0, c.Mean)
	if !c.Calibrated() || from >= 1 {
		return 0, false
	}
	return math.Min(c.echo(), from+math.Max(leastNear, deviations*c.SD)), true
}

// echo is the cosine from which one text only repeats another.
func (c Calibration) echo() float64 { return 1 - echo*(1-math.Max(0, c.Mean)) }
