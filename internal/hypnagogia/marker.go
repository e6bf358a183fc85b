package hypnagogia

import (
	"math"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/mood"
)

// When an episode teaches a somatic marker; ours. Feeling is strong from half of the way out along one axis: three
// times what counts as a change of affect at all. An outcome is known when the episode tells one, and good or bad where
// mood itself calls somebody pleased or displeased.
const (
	StrongFrom  = .5
	pleasedFrom = .2
)

// Lesson is what an episode teaches: how strong the feeling was, in [0, 1], and how it came out; false when it teaches
// nothing.
func Lesson(e *dream.Episode) (strength float64, came dream.Valence, ok bool) {
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

// Standard deviations above strangers; ours. In a normal spread one stranger in 44 reaches the first, one in 741 the
// second.
const (
	fireAt  = 2
	mergeAt = 3
)

// MostMarkers is how many live markers an agent keeps; when it has them, what is new can only join what is there.
const MostMarkers = 200

// Placed is a marker, or the episode that would teach one, with its place in the embedder's space.
type Placed struct {
	Marker *dream.Marker
	Place  []float32
}

// Taught is an episode with its place.
type Taught struct {
	Episode *dream.Episode
	Place   []float32
}

// LearnMarkers lets episodes teach: one that lies near a marker of the same valence joins it, the nearest first, every
// other founds one. An episode teaches once. It answers the markers that are new or have changed, in the order in which
// that happened; those that were given are not touched. A space that is not known teaches nothing.
func LearnMarkers(held []Placed, episodes []Taught, c Calibration) []*dream.Marker {
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
		strength, valence, ok := Lesson(t.Episode)
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
			all = append(all, Placed{&dream.Marker{Valence: valence}, t.Place})
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

// join moves a mean of n places to take in one more.
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

// PlaceOf is the mean of places of one length; nil of none.
func PlaceOf(places ...[]float32) []float32 {
	var mean []float32
	for i, p := range places {
		mean = join(mean, p, i)
	}
	return mean
}

// Fires finds the marker that a text's place fires: the nearest of those it is near enough to; nil for none.
func Fires(place []float32, held []Placed, c Calibration) *dream.Fired {
	threshold, found := c.Near(fireAt)
	if !found {
		return nil
	}
	var best *dream.Fired
	for _, h := range held {
		m := h.Marker
		f := dream.Fired{
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

// MostBoost is the most of the way to full relevance that a marker moves a thought (ours).
const MostBoost = .25

// Boost is what a marker adds to relevance: half of what its feeling can do where it just fires, all of it where the
// thought lies on it.
func Boost(f dream.Fired) float64 {
	closeness := 1.0
	if f.Threshold < 1 {
		closeness = unit((f.Cosine - f.Threshold) / (1 - f.Threshold))
	}
	return MostBoost * unit(f.Strength) * (.5 + .5*closeness) * (1 - unit(f.Relevance))
}
