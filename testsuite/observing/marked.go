package observing

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// The kinds of texts that somatic markers are measured by, beside Copied and Shuffled.
const (
	Marked    Kind = "marked"    // a part of a memory that taught a marker, joined with a part of an ordinary one
	Unlearned Kind = "unlearned" // the same of a memory that would have taught one, but was left out
	Ordinary  Kind = "ordinary"  // parts of memories that teach nothing
)

// Made is what the texts are made of.
type Made string

// What texts are made of.
const (
	OfTwo   Made = "two memories" // parts of two memories, in their own words
	OfOne   Made = "one sentence" // of one memory
	InOther Made = "other words"  // two memories, each in other words
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

// MakeMarked makes n texts as long as fragments of each of the kinds Marked, Unlearned and Ordinary, and junk of the
// memories that taught: Copied and Shuffled, which is of the words of Marked. learned and leftOut are the strong
// episodes by whether markers are learned from them. A sentence that stands in a memory that taught and in one that
// did not is of neither: neighbours of a dialogue quote each other. With reworded, which says in other words what a
// memory says, texts are made of these.
func MakeMarked(episodes, learned, leftOut []*dream.Episode, made Made, reworded map[string]string, n int,
	dice *rand.Rand,
) []Labelled {
	m := maker{dice: dice, names: namesIn(episodes)}
	groups := map[Kind][]int{}
	for _, e := range episodes {
		taught := slices.Contains(learned, e)
		s := slices.DeleteFunc(sentencesOf(e), func(s string) bool {
			return slices.ContainsFunc(episodes, func(other *dream.Episode) bool {
				return slices.Contains(learned, other) != taught && holds(other, s)
			})
		})
		if made == InOther {
			s = slices.DeleteFunc([]string{reworded[e.ID]}, func(s string) bool { return s == "" })
		}
		if len(s) == 0 {
			continue
		}
		kind := Ordinary
		switch {
		case taught:
			kind = Marked
		case slices.Contains(leftOut, e):
			kind = Unlearned
		}
		groups[kind] = append(groups[kind], len(m.episodes))
		m.episodes, m.sentences = append(m.episodes, e), append(m.sentences, s)
	}
	drawn := func(kind Kind) int { return groups[kind][dice.IntN(len(groups[kind]))] }
	var all []Labelled
	for _, kind := range []Kind{Marked, Unlearned, Ordinary, Copied, Shuffled} {
		for range n {
			of := kind
			if kind == Copied || kind == Shuffled {
				of = Marked
			}
			l := m.apart(func() (int, int) { return drawn(of), drawn(Ordinary) })
			one := drawn(of)
			switch {
			case kind == Copied:
				own := sentencesOf(m.episodes[one])
				l = Labelled{Text: own[dice.IntN(len(own))], Sources: []string{m.episodes[one].ID}}
			case made == OfOne:
				l = Labelled{Text: m.part(one), Sources: []string{m.episodes[one].ID}}
			}
			if kind == Shuffled {
				l.Text = m.shuffled(l.Text)
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

// Markers are somatic markers.
type Markers struct {
	memory  *Memory
	learned []*dream.Marker
	moments hypnagogia.Moments
	fire    float64
}

// Learn learns markers from episodes as a dream does.
func (p *Memory) Learn(taught []*dream.Episode) Markers {
	var lessons []hypnagogia.EpisodeVector
	for _, e := range taught {
		lessons = append(lessons, hypnagogia.EpisodeVector{Episode: e, Place: p.vectors[e.ID]})
	}
	m := Markers{memory: p, learned: hypnagogia.LearnMarkers(nil, lessons, p.evidence.Space)}
	for i, learned := range m.learned {
		learned.ID = fmt.Sprintf("marker-%d", i)
	}
	parts := map[string][]string{}
	for _, e := range p.episodes {
		parts[e.ID] = hypnagogia.PartsOf(e)
	}
	m.moments = hypnagogia.MomentsOf(m.learned, parts)
	m.fire, _ = m.moments.FireFrom(p.episodes[max(0, len(p.episodes)-calibrating):])
	return m
}

// Count is how many there are.
func (m Markers) Count() int { return len(m.learned) }

// Feeling is what a text does to markers.
type Feeling struct {
	Near      float64 // deviations of the closest marker
	Worth     float64 // the same, by as much as the text is clear and not copied
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
	near, e := m.memory.near(vectors[0]), m.memory.evidence
	f := Feeling{Without: hypnagogia.Weigh(l.Text, near, nil, e).Relevance}
	e.Marker = m.moments.Match(l.Text, 0)
	if e.Marker != nil {
		f.Near = e.Marker.Deviations
		e.Marker.Threshold, e.Marker.Strength = e.Marker.Deviations/2, 1
		alone := hypnagogia.Near{PlaybookEmpty: true} // leaves all of relevance to the marker
		f.Worth = f.Near * hypnagogia.Weigh(l.Text, alone, nil, e).Parts.Marker.Boost / hypnagogia.MostBoost
	}
	e.Marker = m.moments.Match(l.Text, m.fire)
	v := hypnagogia.Weigh(l.Text, near, nil, e)
	f.Relevance = v.Relevance
	if v.Parts.Marker == nil || m.fire == 0 {
		return f, nil
	}
	f.Fired = true
	for _, learned := range m.learned {
		if learned.ID == e.Marker.Marker {
			f.Own = slices.ContainsFunc(l.Sources, func(id string) bool { return slices.Contains(learned.Sources, id) })
		}
	}
	return f, nil
}
