package derive

import (
	"sort"
)

// The percentile from which an episode counts as salient, and the salience that begins there.
const (
	salientPercentile = .9
	salientFrom       = .7
)

// Ranks turns the weights of salience into percentiles over the whole import, so that a tenth of every import is
// salient, whatever its subject, its language or its length.
type Ranks struct {
	lengths, saliences []float32 // sorted
}

// NewRanks ranks the episodes of an import.
func NewRanks(all []Marks) *Ranks {
	r := &Ranks{lengths: sorted(all, func(m Marks) float32 { return m.length })}
	for i := range all {
		all[i].salience += float32(weighLength * percentile(r.lengths, all[i].length))
	}
	r.saliences = sorted(all, func(m Marks) float32 { return m.salience })
	return r
}

func sorted(all []Marks, of func(Marks) float32) []float32 {
	out := make([]float32, len(all))
	for i, m := range all {
		out[i] = of(m)
	}
	sort.Slice(out, func(i, j int) bool { return out[i] < out[j] })
	return out
}

// Settle writes salience and surprise into an episode that does not state its own. The episode of the greatest weight
// is always salient; surprise is no rank.
func (r *Ranks) Settle(d *Draft, m Marks) {
	if !d.Salient {
		p := percentile(r.saliences, m.salience)
		if m.salience == r.saliences[len(r.saliences)-1] {
			p = max(p, salientPercentile)
		}
		d.Episode.Salience = round(salience(p))
	}
	if !d.Surprise {
		d.Episode.Surprise = m.Surprise()
	}
}

// salience maps the lower nine tenths to [0, .7) and the upper one to [.7, 1].
func salience(p float64) float64 {
	if p < salientPercentile {
		return salientFrom * p / salientPercentile
	}
	return salientFrom + (1-salientFrom)*(p-salientPercentile)/(1-salientPercentile)
}

// percentile is the share of values below v, equal ones counted half.
func percentile(sorted []float32, v float32) float64 {
	below := sort.Search(len(sorted), func(i int) bool { return sorted[i] >= v })
	upTo := sort.Search(len(sorted), func(i int) bool { return sorted[i] > v })
	return float64(below+upTo) / 2 / float64(len(sorted))
}

// round keeps four decimals: a rank has no higher precision.
func round(v float64) float64 { return float64(int64(v*1e4+.5)) / 1e4 }
