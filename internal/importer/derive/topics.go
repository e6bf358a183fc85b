package derive

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// topic is a subject that one speaker repeats: a name, a noun or two words that go together.
type topic struct {
	trace
	speaker string
	surface string // as first written
	first   time.Time
	size    int // words
	parts   [2]uint64
	named   int // times written with a capital inside a sentence
	nouns   int // times after an article, a possessive or a preposition
	the     int // times after "the"
	an      int // times after "a" or "an"
	leads   int // times right before another subject, which it then only describes
	seen    int
}

// addTopics counts the subjects of k.tokens. A name may have three words, a common subject two.
func (k *Knowledge) addTopics(ep *dream.Episode, speaker string) {
	who, _ := fold(speaker)
	var before *word
	for i := 0; i < len(k.tokens); i++ {
		w := &k.tokens[i]
		if w.initial {
			before = nil
		}
		if !subjectWord(w) {
			before = w
			continue
		}
		run := 1
		if w.capital && !w.initial {
			for run < 3 && i+run < len(k.tokens) && k.tokens[i+run].capital && subjectWord(&k.tokens[i+run]) &&
				!k.tokens[i+run].initial && k.tokens[i+run].joined {
				run++
			}
		}
		if run > 1 {
			k.count(ep, who, speaker, k.tokens[i:i+run], before)
		} else {
			pair := i+1 < len(k.tokens) && k.tokens[i+1].joined && !k.tokens[i+1].initial &&
				subjectWord(&k.tokens[i+1]) && !k.tokens[i+1].capital
			if t := k.count(ep, who, speaker, k.tokens[i:i+1], before); pair {
				t.leads++
			}
			if pair && (!w.capital || !w.initial) {
				k.count(ep, who, speaker, k.tokens[i:i+2], before)
			}
		}
		i += run - 1
		before = &k.tokens[i]
	}
}

func subjectWord(w *word) bool { return !w.plain && !w.digits && len(w.text) > 2 }

func (k *Knowledge) count(ep *dream.Episode, who uint64, speaker string, span []word, before *word) *topic {
	key, parts := who, [2]uint64{}
	for i, w := range span {
		stem := singularHash(w.text)
		if i < 2 {
			parts[i] = stem
		}
		key = key*1099511628211 ^ stem
	}
	t := k.topics[key]
	if t == nil {
		var surface strings.Builder
		for i, w := range span {
			if i > 0 {
				surface.WriteByte(' ')
			}
			surface.WriteString(w.text)
		}
		t = &topic{
			speaker: speaker,
			surface: surface.String(),
			first:   ep.At,
			size:    len(span),
			parts:   parts,
		}
		k.topics[key] = t
	}
	if t.note(ep) && ep.At.Before(t.first) {
		t.first = ep.At
	}
	t.seen++
	if span[0].capital && !span[0].initial {
		t.named++
	}
	if before != nil {
		switch {
		case before.hash == definite:
			t.nouns++
			t.the++
		case beforeNouns[before.hash]:
			t.nouns++
			if indefinite[before.hash] {
				t.an++
			}
		}
	}
	return t
}

func singularHash(s string) uint64 {
	hash, _ := fold(singular(s))
	return hash
}

var (
	definite, _ = fold("the")
	indefinite  = hashed("a an")
	beforeNouns = hashed(
		"a an my your his her its our their another each every of in for with about on at from into by through without during between towards")
)

// topicCandidates makes candidates of subjects that occurred often enough: in two episodes at least, in three when
// the import is large.
func (k *Knowledge) topicCandidates() []candidate {
	least := 2
	if k.episodes >= 100 {
		least = 3
	}
	covered := k.covered()
	var out []candidate
	for key, t := range k.topics {
		named := 2*t.named > t.seen
		noun := float64(t.nouns) / float64(t.seen)
		if t.count < least || covered[key] || t.size == 1 && 2*t.leads > t.seen || !named && noun < .4 ||
			named && k.isSpeaker(t.surface) {
			continue
		}
		weight := math.Pow(float64(t.count), .8) * (.5 + noun)
		if t.size > 1 || named {
			weight *= 1.5
		}
		what := t.surface
		if !named {
			what = strings.ToLower(what)
		}
		out = append(out, candidate{
			content: k.reportTopic(t, what, named),
			weight:  weight,
			trace:   &t.trace,
			speaker: t.speaker,
			telling: named || t.size > 1,
			about:   strings.ToLower(what),
		})
	}
	return heaviest(out)
}

// covered are single words that mostly occur inside a longer subject of the same speaker, and longer subjects that
// add hardly anything to a word.
func (k *Knowledge) covered() map[uint64]bool {
	out := map[uint64]bool{}
	for key, t := range k.topics {
		if t.size == 1 || t.count < 2 {
			continue
		}
		who, _ := fold(t.speaker)
		for _, part := range t.parts {
			single := who*1099511628211 ^ part
			one := k.topics[single]
			if one == nil {
				continue
			}
			if 2*t.seen >= one.seen {
				out[single] = true
			} else if 5*t.seen < one.seen {
				out[key] = true
			}
		}
	}
	return out
}

// isSpeaker says whether a subject is one of the speakers, nicknames included.
func (k *Knowledge) isSpeaker(surface string) bool {
	for speaker := range k.speakers {
		for _, part := range strings.Fields(speaker) {
			if strings.EqualFold(part, surface) ||
				len(surface) >= 3 && len(part) > len(surface) && strings.EqualFold(part[:len(surface)], surface) ||
				len(surface) > 3 && len(part) >= 3 && strings.EqualFold(part[:3], surface[:3]) &&
					len(surface) <= len(part) {
				return true
			}
		}
	}
	return false
}

func (k *Knowledge) reportTopic(t *topic, what string, named bool) string {
	many := !named && inPlural(what)
	switch {
	case named:
	case 2*t.the >= t.seen:
		what = "the " + what
	case !many && 2*t.an >= t.seen:
		what = article(what) + " " + what
	}
	bygone := k.isPast(&t.trace, t.first)
	switch {
	case t.speaker == "" && bygone:
		return fmt.Sprintf("There was a time when %s came up often", what)
	case t.speaker == "" && many:
		return fmt.Sprintf("%s come up again and again", what)
	case t.speaker == "":
		return fmt.Sprintf("%s comes up again and again", what)
	case bygone:
		return fmt.Sprintf("%s used to speak of %s", name(t.speaker), what)
	default:
		return fmt.Sprintf("%s often speaks of %s", name(t.speaker), what)
	}
}
