package hypnagogia

import (
	"math"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
)

// When an episode teaches a somatic marker; our choice. Affect is strong from a distance of 0.5 along one axis, three
// times what counts as a change of affect. An outcome is known when the episode states one, and good or bad by the
// thresholds of pleasure that the mood uses.
const (
	StrongFrom  = .5
	pleasedFrom = .2
)

// LearnableAffect is what an episode teaches: the strength of its affect in [0, 1], and how it came out; false when it
// teaches nothing.
func LearnableAffect(e *dream.Episode) (strength float64, valence dream.Valence, ok bool) {
	strength = feltOf(e.Affect)
	switch {
	case strings.TrimSpace(e.Outcome) == "" || strength < StrongFrom:
		return strength, "", false
	case e.Affect.Pleasure >= pleasedFrom:
		return strength, dream.CameOutWell, true
	case e.Affect.Pleasure <= -pleasedFrom:
		return strength, dream.CameOutBadly, true
	}
	return strength, "", false
}

func feltOf(m mood.PAD) float64 { return math.Min(1, m.Distance(mood.PAD{})) }

// Standard deviations above the mean of unrelated memories; our choice. In a normal distribution one unrelated memory
// in 44 exceeds the first, one in 741 the second. A text is compared with every marker, and with 66 of them one is that
// near by chance to nearly every text: so a marker must also be nearer than markers are to most ordinary memories.
const (
	fireAt      = 2
	mergeAt     = 3
	ordinaryFor = .9 // the share of ordinary memories that fire no marker
)

// MostMarkers is the most live markers of an agent; with that many, new episodes can only join existing ones.
const MostMarkers = 200

// MarkerVector is a marker with its position in the vector space.
type MarkerVector struct {
	Marker *dream.Marker
	Place  []float32
}

// EpisodeVector is an episode with its vector.
type EpisodeVector struct {
	Episode *dream.Episode
	Place   []float32
}

// LearnMarkers learns from episodes: an episode near a marker of the same valence joins the nearest one, any other
// makes a new one. Each episode counts once. It returns the new and changed markers in the order of the changes; the
// given ones are not modified. An uncalibrated space teaches nothing.
func LearnMarkers(held []MarkerVector, episodes []EpisodeVector, c Calibration) []*dream.Marker {
	near, found := c.Near(mergeAt)
	if !found {
		return nil
	}
	received := map[string]bool{}
	all := slices.Clone(held)
	for i, m := range all {
		copied := *m.Marker
		copied.Sources = slices.Clone(m.Marker.Sources)
		all[i].Marker = &copied
		for _, id := range copied.Sources {
			received[id] = true
		}
	}
	var changed []*dream.Marker
	for _, t := range episodes {
		strength, valence, ok := LearnableAffect(t.Episode)
		if !ok || received[t.Episode.ID] || len(t.Place) == 0 {
			continue
		}
		received[t.Episode.ID] = true
		best, at := near, -1
		for i, m := range all {
			if cosine := Cosine(m.Place, t.Place); m.Marker.Valence == valence && cosine >= best {
				best, at = cosine, i
			}
		}
		if at < 0 {
			if len(all) >= MostMarkers {
				continue
			}
			at = len(all)
			all = append(all, MarkerVector{&dream.Marker{Valence: valence}, t.Place})
		}
		all[at].Place = join(all[at].Place, t.Place, all[at].Marker.Count)
		teach(all[at].Marker, t.Episode, strength)
		if m := all[at].Marker; !slices.Contains(changed, m) {
			changed = append(changed, m)
		}
	}
	return changed
}

func teach(m *dream.Marker, e *dream.Episode, strength float64) {
	n := float64(m.Count)
	m.Affect = m.Affect.Toward(e.Affect, 1/(n+1))
	m.Strength = (m.Strength*n + strength) / (n + 1)
	m.Count++
	m.Sources = append(m.Sources, e.ID)
}

// join moves a mean of n vectors to include one more.
func join(mean, place []float32, n int) []float32 {
	if n == 0 || len(mean) != len(place) {
		return place
	}
	out := make([]float32, len(mean))
	for i := range mean {
		out[i] = (mean[i]*float32(n) + place[i]) / float32(n+1)
	}
	return out
}

// MeanVector is the mean of vectors of equal length; nil for none.
func MeanVector(places ...[]float32) []float32 {
	var mean []float32
	for i, p := range places {
		mean = join(mean, p, i)
	}
	return mean
}

// FireFrom is the cosine from which a text fires a marker: two standard deviations above unrelated memories, and what
// nine of ten of the given episodes do not reach with any marker that they did not teach. False when the space is not
// calibrated.
func FireFrom(held []MarkerVector, episodes []EpisodeVector, c Calibration) (float64, bool) {
	threshold, found := c.Near(fireAt)
	if !found {
		return 0, false
	}
	var nearest []float64
	for _, e := range episodes {
		best, compared := -1.0, false
		for _, h := range held {
			if len(h.Place) > 0 && !slices.Contains(h.Marker.Sources, e.Episode.ID) {
				best, compared = math.Max(best, Cosine(e.Place, h.Place)), true
			}
		}
		if compared {
			nearest = append(nearest, best)
		}
	}
	if len(nearest) < leastPlaces {
		return threshold, true
	}
	slices.Sort(nearest)
	usual := nearest[int(ordinaryFor*float64(len(nearest)))]
	return math.Min(c.echo(), math.Max(threshold, usual)), true
}

// MatchMarker is the marker that a text fires: the nearest of those within the threshold, a cosine; nil for none.
func MatchMarker(place []float32, held []MarkerVector, threshold float64) *dream.MarkerMatch {
	var best *dream.MarkerMatch
	for _, h := range held {
		m := h.Marker
		f := dream.MarkerMatch{
			Marker:    m.ID,
			Cosine:    Cosine(place, h.Place),
			Threshold: threshold,
			Strength:  m.Strength,
			Valence:   m.Valence,
			Count:     m.Count,
		}
		if f.Cosine >= threshold &&
			(best == nil || f.Cosine > best.Cosine || f.Cosine == best.Cosine && f.Marker < best.Marker) {
			best = &f
		}
	}
	return best
}

// MostBoost is the largest share of the way to full relevance that a marker adds (our choice).
const MostBoost = .25

// Boost is what a marker adds to relevance: half of its full effect at the threshold, all of it at its own position.
func Boost(f dream.MarkerMatch) float64 {
	closeness := 1.0
	if f.Threshold < 1 {
		closeness = unit((f.Cosine - f.Threshold) / (1 - f.Threshold))
	}
	return MostBoost * unit(f.Strength) * (.5 + .5*closeness) * (1 - unit(f.Relevance))
}
