package morning

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Nights is how many of the newest dreams a trend covers.
const Nights = 30

// Night is what stood at the time of one dream.
type Night struct {
	Dream string    `json:"dream"`
	At    time.Time `json:"at"`    // the time as of which it was dreamt
	Knows int       `json:"knows"` // claims that had passed and still held
	Right int       `json:"right"` // outcomes of claims since the dream before that came true
	Tried int       `json:"tried"` // all outcomes of claims since the dream before
}

// Trend is how an agent's knowledge grew over its newest dreams, the oldest first.
type Trend struct {
	Nights []Night `json:"nights"`
}

// TrendOf makes the trend of an agent. A claim keeps its newest outcomes only, so that older nights of a claim that is
// tried very often count too few.
func TrendOf(dreams []*dream.Record, claims []*dream.Claim) Trend {
	sorted := slices.Clone(dreams)
	slices.SortStableFunc(sorted, func(a, b *dream.Record) int { return a.AsOf.Compare(b.AsOf) })
	first := max(0, len(sorted)-Nights)
	t := Trend{Nights: []Night{}}
	for i, d := range sorted {
		if i < first {
			continue
		}
		n := Night{Dream: d.ID, At: d.AsOf.UTC()}
		var before time.Time
		if i > 0 {
			before = sorted[i-1].AsOf
		}
		for _, c := range claims {
			if !c.Passed.IsZero() && !c.Passed.After(d.AsOf) && (c.Ended.IsZero() || c.Ended.After(d.AsOf)) {
				n.Knows++
			}
			for _, o := range c.Outcomes {
				if !o.At.After(before) || o.At.After(d.AsOf) {
					continue
				}
				n.Tried++
				if o.Right {
					n.Right++
				}
			}
		}
		t.Nights = append(t.Nights, n)
	}
	return t
}

// Knows is a picture of how many claims the agent knew after each dream, with the figures at its ends; empty where
// there are no dreams.
func (t Trend) Knows() string {
	if len(t.Nights) == 0 {
		return ""
	}
	values := make([]float64, len(t.Nights))
	for i, n := range t.Nights {
		values[i] = float64(n.Knows)
	}
	most := slices.Max(values)
	if most == 0 {
		return "no claim has come true more often than chance yet"
	}
	return fmt.Sprintf("%s %s now; %d at the first of %s", Sparkline(values, most),
		count(t.Nights[len(values)-1].Knows, "claim"), t.Nights[0].Knows, count(len(values), "dream"))
}

// CameTrue is a picture of the share of the outcomes of claims that came true between dreams; empty where there were
// none. A dot stands for a night without an outcome.
func (t Trend) CameTrue() string {
	values := make([]float64, len(t.Nights))
	right, tried := 0, 0
	for i, n := range t.Nights {
		values[i] = math.NaN()
		if n.Tried > 0 {
			values[i] = float64(n.Right) / float64(n.Tried)
		}
		right += n.Right
		tried += n.Tried
	}
	if tried == 0 {
		return ""
	}
	return fmt.Sprintf("%s %d of %s (%.0f %%)", Sparkline(values, 1), right, count(tried, "outcome"),
		100*float64(right)/float64(tried))
}

// blocks are the heights of a sparkline.
var blocks = []rune("▁▂▃▄▅▆▇█")

// Sparkline draws values between 0 and most, one character each; a dot for what is no number.
func Sparkline(values []float64, most float64) string {
	var b strings.Builder
	for _, v := range values {
		switch {
		case math.IsNaN(v):
			b.WriteRune('·')
		case most <= 0 || v <= 0:
			b.WriteRune(blocks[0])
		default:
			b.WriteRune(blocks[min(len(blocks)-1, int(math.Ceil(v/most*float64(len(blocks))))-1)])
		}
	}
	return b.String()
}
