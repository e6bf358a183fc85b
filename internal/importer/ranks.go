package importer

import "sort"

// The percentile from which an episode counts as salient, and the salience that begins there.
const (
	salientPercentile = .9
	salientFrom       = .7
)

// ranks turns weights into percentiles over the whole import, so that a tenth of every import is salient, whatever
// its subject, its language or its length.
type ranks struct {
	lengths, saliences, surprises []float32 // sorted
}

func newRanks(all []rawMarks) *ranks {
	r := &ranks{lengths: sorted(all, func(m rawMarks) float32 { return m.length })}
	for i := range all {
		all[i].salience += float32(weighLength * percentile(r.lengths, all[i].length))
	}
	r.saliences = sorted(all, func(m rawMarks) float32 { return m.salience })
	r.surprises = sorted(all, func(m rawMarks) float32 { return m.surprise })
	return r
}

func sorted(all []rawMarks, of func(rawMarks) float32) []float32 {
	out := make([]float32, len(all))
	for i, m := range all {
		out[i] = of(m)
	}
	sort.Slice(out, func(i, j int) bool { return out[i] < out[j] })
	return out
}

// settle writes salience and surprise into an episode that does not state its own. The episode of the greatest weight
// is always salient.
func (r *ranks) settle(d *draft, m rawMarks) {
	if !d.salient {
		p := percentile(r.saliences, m.salience)
		if m.salience == r.saliences[len(r.saliences)-1] {
			p = max(p, salientPercentile)
		}
		d.ep.Salience = round(salience(p))
	}
	if !d.surprise {
		d.ep.Surprise = round(percentile(r.surprises, m.surprise))
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
