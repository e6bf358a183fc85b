package hypnagogia

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	terms "github.com/seed-56a03226/oneiros/internal/recall/words"
	"github.com/seed-56a03226/oneiros/internal/sentence"
)

// Moments tell which somatic marker a text is about: by the words that it shares with the memories that taught them,
// beside those that it shares with the agent's other memories. The zero value has no marker.
type Moments struct {
	holding map[string][]int // the memories that hold a word
	length  []float64        // of each memory, in different words
	mean    float64          // of length
	taught  []*dream.Marker  // by each memory; nil for none
}

// When a text fires a marker; our choice, made on the development texts of testsuite/observing.
const (
	leastShared = 2  // words
	fireAt      = 2  // deviations at least
	ordinaryFor = .9 // the share of ordinary sentences that fire no marker
)

// MomentsOf reads the parts of an agent's memories by their ids, with those that taught its markers.
func MomentsOf(markers []*dream.Marker, memories map[string][]string) Moments {
	m := Moments{holding: map[string][]int{}}
	taught := map[string]*dream.Marker{}
	for _, marker := range markers {
		for _, id := range marker.Sources {
			taught[id] = marker
		}
	}
	reader := terms.NewReader(strings.Clone)
	for i, id := range slices.Sorted(maps.Keys(memories)) {
		held := distinctTerms(reader, memories[id]...)
		for _, w := range held {
			m.holding[w] = append(m.holding[w], i)
		}
		m.length, m.taught = append(m.length, float64(len(held))), append(m.taught, taught[id])
	}
	m.mean = mean(m.length)
	return m
}

func distinctTerms(r *terms.Reader[string], texts ...string) []string {
	var all []string
	for _, text := range texts {
		read, _ := r.Of(text)
		all = append(all, read...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// closest is the marker with the memory that shares most with a text, and by how many standard deviations that lies
// above what the agent's memories share with it. The rarer a word is among the memories, the more it counts, and a long
// memory shares more by chance (Robertson and Spärck Jones 1976, as BM25 has both). One marker is left out.
func (m Moments) closest(text string, without *dream.Marker) (best *dream.Marker, deviations float64) {
	shared, count := make([]float64, len(m.taught)), make([]int, len(m.taught))
	for _, w := range distinctTerms(terms.NewReader(strings.Clone), text) {
		n := float64(len(m.holding[w]))
		for _, i := range m.holding[w] {
			shared[i] += math.Log(1+(float64(len(m.taught))-n+.5)/(n+.5)) / (m.mean + m.length[i])
			count[i]++
		}
	}
	most := 0.0
	for i, marker := range m.taught {
		if marker == nil || marker == without || count[i] < leastShared {
			continue
		}
		if shared[i] > most || shared[i] == most && best != nil && marker.ID < best.ID {
			best, most = marker, shared[i]
		}
	}
	usual, square := mean(shared), 0.0
	for _, s := range shared {
		square += (s - usual) * (s - usual)
	}
	if best == nil || square == 0 { // all share the same
		return nil, 0
	}
	return best, (most - usual) / math.Sqrt(square/float64(len(shared)))
}

// FireFrom is from how many deviations a text fires a marker: two, and what nine of ten sentences of the given episodes
// do not reach with a marker that their episode did not teach. False when there is no marker, or too few memories to
// stand out from.
func (m Moments) FireFrom(episodes []*dream.Episode) (float64, bool) {
	if len(m.taught) < leastPlaces || !slices.ContainsFunc(m.taught, func(t *dream.Marker) bool { return t != nil }) {
		return 0, false
	}
	var reached []float64
	for _, e := range episodes {
		var own *dream.Marker
		for _, marker := range m.taught {
			if marker != nil && slices.Contains(marker.Sources, e.ID) {
				own = marker
			}
		}
		for _, s := range sentence.Split(e.Text()) {
			_, deviations := m.closest(s, own)
			reached = append(reached, deviations)
		}
	}
	if len(reached) < leastPlaces {
		return fireAt, true
	}
	slices.Sort(reached)
	return math.Max(fireAt, reached[int(ordinaryFor*float64(len(reached)))]), true
}

// Match is the marker that a text fires: the closest, if it is within the threshold; nil for none.
func (m Moments) Match(text string, threshold float64) *dream.MarkerMatch {
	marker, deviations := m.closest(text, nil)
	if marker == nil || deviations < threshold {
		return nil
	}
	return &dream.MarkerMatch{
		Marker:     marker.ID,
		Deviations: deviations,
		Threshold:  threshold,
		Strength:   marker.Strength,
		Valence:    marker.Valence,
		Count:      marker.Count,
	}
}
