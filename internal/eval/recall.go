package eval

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// change is how the answers of an arm differ from those of raw, question by question.
type change struct{ questions, lost, gained int }

// compare pairs the answers of two arms by question; questions that only one of them was asked count for nothing.
func compare(raw, arm []Recalled) change {
	place := make(map[string]int, len(raw))
	for _, r := range raw {
		place[r.Question] = r.Place
	}
	var c change
	for _, r := range arm {
		before, paired := place[r.Question]
		if !paired {
			continue
		}
		c.questions++
		switch {
		case before > 0 && r.Place == 0:
			c.lost++
		case before == 0 && r.Place > 0:
			c.gained++
		}
	}
	return c
}

func count(answers []Recalled) Recall {
	r := Recall{Questions: len(answers)}
	for _, a := range answers {
		if a.Place > 0 {
			r.Found++
		}
		if a.Place == 1 {
			r.First++
		}
	}
	return r
}

func (c change) mean() float64 { return float64(c.gained-c.lost) / float64(max(1, c.questions)) }

// centre and err describe the difference of two paired shares after one question that was lost and one that was gained
// have been added (Agresti and Min 2005): without them three lost questions and none gained would look certain. The
// error is the one that a bootstrap over the questions tends to.
func (c change) centre() float64 { return float64(c.gained-c.lost) / float64(c.questions+2) }

func (c change) err() float64 {
	n, m := float64(c.questions+2), c.centre()
	return math.Sqrt((float64(c.lost+c.gained+2)/n - m*m) / n)
}

func (c change) interval() Estimate {
	far := distuv.UnitNormal.Quantile(1-beyond) * c.err()
	return Estimate{c.mean(), max(c.centre()-far, -1), min(c.centre()+far, 1)}
}

// above is the probability of so large a gain where there is none, below that of so large a loss.
func (c change) above() float64 { return distuv.UnitNormal.Survival(c.centre() / c.err()) }
func (c change) below() float64 { return distuv.UnitNormal.CDF(c.centre() / c.err()) }

// few says whether the questions are so few that the interval reaches beyond the margin although none changed.
func (c change) few(margin float64) bool {
	return change{questions: c.questions}.interval().Low <= -margin
}
