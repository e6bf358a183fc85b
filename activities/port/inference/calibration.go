package inference

import (
	"fmt"
	"math"
	"slices"
)

// Calibration says what the cosines of an embedder's space mean. Two embedders share no threshold: in one, unrelated
// texts have a cosine of 0, in another .75. Ordered: Unrelated <= Related <= Novel <= Same.
type Calibration struct {
	Unrelated float64 `json:"unrelated"` // below it two texts are unrelated
	Related   float64 `json:"related"`   // from it on they are about the same thing
	Novel     float64 `json:"novel"`     // a text whose nearest neighbour is below it is new
	// Same: from it on they say the same in the same words. One changed number or name can lie above it too: what must
	// not take a correction for a repetition compares the words as well.
	Same float64 `json:"same"`
}

// Measured says whether the space was calibrated.
func (c Calibration) Measured() bool { return c.Same > c.Unrelated }

// Cautious is used for a space that nobody has measured. Hosted embedders hardly place texts below .2, and few that say
// the same below .95.
var Cautious = Calibration{Unrelated: .3, Related: .5, Novel: .7, Same: .97}

// Closeness maps a cosine to a scale that all embedders share: 0 for unrelated texts, 1 for equal ones.
func (c Calibration) Closeness(cosine float64) float64 {
	if !c.Measured() {
		c = Cautious
	}
	return max(0, min(1, (cosine-c.Unrelated)/(c.Same-c.Unrelated)))
}

// Validate says what is wrong with a calibration.
func (c Calibration) Validate() error {
	previous := -1.0
	for _, each := range []struct {
		name  string
		value float64
	}{{"unrelated", c.Unrelated}, {"related", c.Related}, {"novel", c.Novel}, {"same", c.Same}} {
		switch {
		case math.IsNaN(each.value) || each.value < -1 || each.value > 1:
			return fmt.Errorf("calibration: %s is %v; a cosine lies between -1 and 1", each.name, each.value)
		case each.value < previous:
			return fmt.Errorf(
				"calibration: %s is %v, below the threshold before it (%v); they rise from unrelated to same",
				each.name, each.value, previous)
		}
		previous = each.value
	}
	if !c.Measured() {
		return fmt.Errorf("calibration: unrelated and same are both %v; such a space tells nothing apart", c.Same)
	}
	return nil
}

// CalibrationTexts are the texts to embed for Calibrate, in its order.
func CalibrationTexts() []string {
	var out []string
	for _, r := range References {
		out = append(out, r.Text, r.Reworded, r.Repeated)
	}
	return out
}

// Shares of the reference pairs that the thresholds leave out. A memory holds thousands of texts of which hardly one is
// meant, so that unrelated ones must rarely pass; a duplicate taken for new costs little, a new text taken for a
// duplicate is lost.
const (
	unrelatedBelow = .95 // of the unrelated pairs lie below Unrelated
	repeatedAbove  = .50 // of the repeated pairs lie below Same

	mostUnrelated = .97 // from here on rounding decides what is near
	mostSame      = .99 // a repetition may differ by a mark, even where an embedder does not see it
)

// Calibrate measures a space by the vectors of CalibrationTexts.
func Calibrate(vectors [][]float32) (Calibration, error) {
	if want := 3 * len(References); len(vectors) != want {
		return Calibration{}, fmt.Errorf("calibrate: %d vectors came for %d texts", len(vectors), want)
	}
	var unrelated, reworded, repeated []float64
	for i := range References {
		text := vectors[3*i]
		reworded = append(reworded, cosine(text, vectors[3*i+1]))
		repeated = append(repeated, cosine(text, vectors[3*i+2]))
		for j := range i {
			unrelated = append(unrelated, cosine(text, vectors[3*j]))
		}
	}
	c := Calibration{Unrelated: quantile(unrelated, unrelatedBelow), Same: quantile(repeated, repeatedAbove)}
	if c.Unrelated >= mostUnrelated {
		return Calibration{},
			fmt.Errorf("calibrate: unrelated texts lie at a cosine of %.3f; such a space tells nothing apart",
				c.Unrelated)
	}
	c.Same = min(mostSame, max(c.Same, c.Unrelated))
	// Texts that mean alike begin where half of the rewordings lie, or, where an embedder cannot see rewordings, a
	// third of the way up.
	c.Related = min(c.Same, max(quantile(reworded, .5), c.Unrelated+(c.Same-c.Unrelated)/3))
	// What a memory lacks is nearer to something than chance is, and not as near as a repetition: halfway between.
	c.Novel = (c.Related + c.Same) / 2
	return c, c.Validate()
}

func quantile(x []float64, q float64) float64 {
	x = slices.Sorted(slices.Values(x))
	at := q * float64(len(x)-1)
	low := int(at)
	high := min(low+1, len(x)-1)
	return x[low] + (at-float64(low))*(x[high]-x[low])
}

func cosine(a, b []float32) float64 {
	var dot, x, y float64
	for i := range min(len(a), len(b)) {
		p, q := float64(a[i]), float64(b[i])
		dot, x, y = dot+p*q, x+p*p, y+q*q
	}
	if x == 0 || y == 0 {
		return 0
	}
	return dot / math.Sqrt(x*y)
}
