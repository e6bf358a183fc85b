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

// mergeAt is how many standard deviations above the mean of unrelated memories two strong moments make one marker; our
// choice. In a normal distribution one unrelated memory in 741 is that near.
const mergeAt = 3

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

// MostBoost is the largest share of the way to full relevance that a marker adds (our choice).
const MostBoost = .25

// Boost is what a marker adds to relevance: half of its full effect at the threshold, all of it from twice that on.
func Boost(f dream.MarkerMatch) float64 {
	closeness := stretch(f.Deviations, f.Threshold, 2*f.Threshold)
	return MostBoost * unit(f.Strength) * (.5 + .5*closeness) * (1 - unit(f.Relevance))
}
