package observing

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// The kinds of texts that somatic markers are measured by.
const (
	Marked    Kind = "marked"    // a part of a memory that taught a marker, joined with a part of an ordinary one
	Unlearned Kind = "unlearned" // the same of a memory that would have taught one, but was left out
	Ordinary  Kind = "ordinary"  // parts of memories that teach nothing
)

// Strong are the episodes that teach a somatic marker, in a random order.
func Strong(episodes []*dream.Episode, dice *rand.Rand) []*dream.Episode {
	var all []*dream.Episode
	for _, e := range episodes {
		if _, _, ok := hypnagogia.LearnableAffect(e); ok {
			all = append(all, e)
		}
	}
	dice.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// MakeMarked makes n texts as long as fragments of each of the kinds Marked, Unlearned and Ordinary. learned and
// leftOut are the strong episodes by whether markers are learned from them. With alone set a text is one sentence of
// the first memory, without a part of an ordinary one.
func MakeMarked(episodes, learned, leftOut []*dream.Episode, alone bool, n int, dice *rand.Rand) []Labelled {
	m := maker{dice: dice, names: namesIn(episodes)}
	groups := map[Kind][]int{}
	for _, e := range episodes {
		s := sentencesOf(e)
		if len(s) == 0 {
			continue
		}
		kind := Ordinary
		switch {
		case slices.Contains(learned, e):
			kind = Marked
		case slices.Contains(leftOut, e):
			kind = Unlearned
		}
		groups[kind] = append(groups[kind], len(m.episodes))
		m.episodes, m.sentences = append(m.episodes, e), append(m.sentences, s)
	}
	drawn := func(kind Kind) int { return groups[kind][dice.IntN(len(groups[kind]))] }
	var all []Labelled
	for _, kind := range []Kind{Marked, Unlearned, Ordinary} {
		for range n {
			l := m.apart(func() (int, int) { return drawn(kind), drawn(Ordinary) })
			if alone {
				one := drawn(kind)
				l = Labelled{Text: m.part(one), Sources: []string{m.episodes[one].ID}}
			}
			l.Kind = kind
			all = append(all, l)
		}
	}
	return all
}

// apart joins two different memories that are drawn.
func (m maker) apart(draw func() (int, int)) Labelled {
	for range triesForOne {
		one, other := draw()
		if one == other {
			continue
		}
		if l, ok := m.joined(one, other); ok {
			return l
		}
	}
	return Labelled{}
}

// Markers are somatic markers with their places in the space of an embedder.
type Markers struct {
	memory *Memory
	held   []hypnagogia.MarkerVector
	fire   float64
}

// Learn learns markers from episodes as a dream does.
func (p *Memory) Learn(taught []*dream.Episode) Markers {
	var lessons []hypnagogia.EpisodeVector
	for _, e := range p.episodes {
		if slices.Contains(taught, e) {
			lessons = append(lessons, hypnagogia.EpisodeVector{Episode: e, Place: p.vectors[e.ID]})
		}
	}
	m := Markers{memory: p}
	for i, learned := range hypnagogia.LearnMarkers(nil, lessons, p.evidence.Space) {
		learned.ID = fmt.Sprintf("marker-%d", i)
		var places [][]float32
		for _, id := range learned.Sources[:min(len(learned.Sources), placing)] {
			places = append(places, p.vectors[id])
		}
		m.held = append(m.held, hypnagogia.MarkerVector{Marker: learned, Place: hypnagogia.MeanVector(places...)})
	}
	var newest []hypnagogia.EpisodeVector
	for _, e := range p.episodes[max(0, len(p.episodes)-calibrating):] {
		newest = append(newest, hypnagogia.EpisodeVector{Episode: e, Place: p.vectors[e.ID]})
	}
	m.fire, _ = hypnagogia.FireFrom(m.held, newest, p.evidence.Space)
	return m
}

// placing is how many of a marker's sources its place is the mean of, as in a dream.
const placing = 16

// Count is how many there are.
func (m Markers) Count() int { return len(m.held) }

// Feeling is what a text does to markers.
type Feeling struct {
	Nearest   float64 // the cosine of the nearest marker
	Fired     bool
	Own       bool    // the fired one was taught by a memory that the text is made from
	Relevance float64 // with what the marker adds
	Without   float64 // without it
}

// Of measures a text.
func (m Markers) Of(l Labelled) (Feeling, error) {
	vectors, err := m.memory.embed(l.Text)
	if err != nil {
		return Feeling{}, err
	}
	f := Feeling{Nearest: -1}
	for _, h := range m.held {
		f.Nearest = max(f.Nearest, hypnagogia.Cosine(vectors[0], h.Place))
	}
	near, e := m.memory.near(vectors[0]), m.memory.evidence
	f.Without = hypnagogia.Weigh(l.Text, near, nil, e).Relevance
	if m.fire > 0 {
		e.Marker = hypnagogia.MatchMarker(vectors[0], m.held, m.fire)
	}
	f.Relevance = hypnagogia.Weigh(l.Text, near, nil, e).Relevance
	if e.Marker == nil {
		return f, nil
	}
	f.Fired = true
	for _, h := range m.held {
		if h.Marker.ID == e.Marker.Marker {
			f.Own = slices.ContainsFunc(l.Sources, func(id string) bool { return slices.Contains(h.Marker.Sources, id) })
		}
	}
	return f, nil
}
