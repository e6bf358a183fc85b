// Package observing measures how well the observer tells thoughts from junk, without a judge: on texts that are
// labelled by how they were made.
package observing

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/sentence"
)

// Kind is how a text was made.
type Kind string

// The kinds. A recombination joins parts of several memories into sentences that hold together: it is what the observer
// should keep. The others are junk.
const (
	Recombined  Kind = "recombined"
	Copied      Kind = "copied"        // sentences of one memory, word for word
	NearlySo    Kind = "nearly copied" // the same with one or two words replaced
	Shuffled    Kind = "shuffled"      // the words of one memory or of a recombination in random order
	mostWords        = 24              // of a part
	leastWords       = 6
	scenarioOf       = 3 // parts
	triesForOne      = 200
)

// Kinds lists them.
var Kinds = []Kind{Recombined, Copied, NearlySo, Shuffled}

// Labelled is a text with its label.
type Labelled struct {
	Kind     Kind     `json:"kind"`
	Scenario bool     `json:"scenario,omitempty"` // as long as one; otherwise as long as a fragment
	Text     string   `json:"text"`
	Sources  []string `json:"sources"` // the memories that its parts are of
}

// Read reads the episodes of a diary of the sample package's form; they are named by their lines.
func Read(diary []byte) ([]*dream.Episode, error) {
	var all []*dream.Episode
	for i, line := range bytes.Split(diary, []byte("\n")) {
		var e dream.Episode
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		if e.Kind == dream.KindEpisode {
			e.ID = fmt.Sprintf("line-%d", i+1)
			all = append(all, &e)
		}
	}
	return all, nil
}

// Make makes n texts of each kind from the memories of an agent, as long as fragments or as scenarios.
func Make(episodes []*dream.Episode, n int, scenarios bool, dice *rand.Rand) []Labelled {
	m := maker{dice: dice, names: namesIn(episodes)}
	for _, e := range episodes {
		if s := sentencesOf(e); len(s) > 0 {
			m.episodes, m.sentences = append(m.episodes, e), append(m.sentences, s)
		}
	}
	var all []Labelled
	for _, kind := range Kinds {
		for range n {
			l := m.fragment(kind)
			if scenarios {
				l = m.scenario(kind)
			}
			l.Kind, l.Scenario = kind, scenarios
			all = append(all, l)
		}
	}
	return all
}

type maker struct {
	dice      *rand.Rand
	episodes  []*dream.Episode
	sentences [][]string // of each
	names     map[string]bool
}

// sentencesOf are the sentences of an episode that can be a part of another text.
func sentencesOf(e *dream.Episode) []string {
	var all []string
	for _, part := range []string{e.Context, e.Action, e.Outcome, e.Content} {
		for _, s := range sentence.Split(part) {
			n := len(strings.Fields(s))
			if n >= leastWords && n <= mostWords && !strings.ContainsAny(s, "?\"“”:") && !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
	}
	return all
}

// namesIn are the words that are written with a capital within sentences and never without one.
func namesIn(episodes []*dream.Episode) map[string]bool {
	names, plain := map[string]bool{}, map[string]bool{}
	for _, e := range episodes {
		for _, s := range sentence.Split(e.Text()) {
			for i, w := range strings.Fields(s) {
				if r, _ := utf8.DecodeRuneInString(bare(w)); i > 0 && unicode.IsUpper(r) {
					names[bare(w)] = true
				}
				plain[bare(w)] = true
			}
		}
	}
	for name := range names {
		if plain[strings.ToLower(name)] {
			delete(names, name)
		}
	}
	for _, self := range []string{"I", "I'm", "I've", "I'd", "I'll"} {
		names[self] = true
	}
	return names
}

func bare(w string) string {
	w = strings.TrimFunc(w, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return strings.TrimSuffix(strings.TrimSuffix(w, "'s"), "’s")
}

// joints join two sentences into one that holds together.
var joints = []string{
	"While %[2]s, %[1]s.", "%[3]s, and all the while %[2]s.", "%[3]s, as if %[2]s.", "%[3]s, because %[2]s.",
	"Whenever %[2]s, %[1]s.", "%[3]s, and then %[2]s.",
}

// within is a sentence as a part of another: without its full stop and its capital.
func (m maker) within(s string) string {
	s = strings.TrimRight(s, ".!… ")
	first, rest, _ := strings.Cut(s, " ")
	if !m.names[bare(first)] {
		first = strings.ToLower(first)
	}
	return strings.TrimSpace(first + " " + rest)
}

func capital(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[size:]
}

// several draws different memories.
func (m maker) several(n int) []int { return m.dice.Perm(len(m.episodes))[:min(n, len(m.episodes))] }

func (m maker) part(episode int) string {
	return m.sentences[episode][m.dice.IntN(len(m.sentences[episode]))]
}

func (m maker) fragment(kind Kind) Labelled {
	switch kind {
	case Copied, NearlySo:
		one := m.several(1)[0]
		at := m.dice.IntN(len(m.sentences[one]))
		text := strings.Join(m.sentences[one][at:min(at+1+m.dice.IntN(2), len(m.sentences[one]))], " ")
		l := Labelled{Text: text, Sources: []string{m.episodes[one].ID}}
		if kind == NearlySo {
			l.Text = m.replaced(l.Text, one)
		}
		return l
	case Shuffled:
		l := m.fragment([]Kind{Recombined, Copied}[m.dice.IntN(2)])
		l.Text = m.shuffled(l.Text)
		return l
	case Recombined:
	}
	for range triesForOne {
		drawn := m.several(2)
		if l, ok := m.joined(drawn[0], drawn[1]); ok {
			return l
		}
	}
	return Labelled{}
}

// joined joins a sentence of each of two memories into one; false where that would be nearly a copy of one of them.
func (m maker) joined(one, other int) (Labelled, bool) {
	a, b := m.part(one), m.part(other)
	if x, y := len(strings.Fields(a)), len(strings.Fields(b)); 2*min(x, y) < max(x, y) {
		return Labelled{}, false // else it is nearly a copy of the longer one
	}
	if m.holds(one, b) || m.holds(other, a) {
		return Labelled{}, false // neighbours of a dialogue quote each other
	}
	joint := joints[m.dice.IntN(len(joints))]
	return Labelled{
		Text:    sentenceOf(joint, m.within(a), m.within(b)),
		Sources: []string{m.episodes[one].ID, m.episodes[other].ID},
	}, true
}

// holds says whether an episode has a sentence, too.
func (m maker) holds(episode int, s string) bool { return holds(m.episodes[episode], s) }

func holds(e *dream.Episode, s string) bool {
	return strings.Contains(strings.Join([]string{e.Context, e.Action, e.Outcome, e.Content}, "\n"), strings.TrimRight(s, ".!…"))
}

func sentenceOf(joint, a, b string) string {
	joint = strings.NewReplacer("%[1]s", a, "%[2]s", b, "%[3]s", capital(a)).Replace(joint)
	return capital(joint)
}

// scenario is a text of three sentences: of three memories, or as many of one as it has.
func (m maker) scenario(kind Kind) Labelled {
	switch kind {
	case Copied, NearlySo:
		one := m.several(1)[0]
		l := Labelled{
			Text:    strings.Join(m.sentences[one][:min(scenarioOf, len(m.sentences[one]))], " "),
			Sources: []string{m.episodes[one].ID},
		}
		if kind == NearlySo {
			l.Text = m.replaced(l.Text, one)
		}
		return l
	case Shuffled:
		l := m.scenario([]Kind{Recombined, Copied}[m.dice.IntN(2)])
		l.Text = m.shuffled(l.Text)
		return l
	case Recombined:
	}
	var parts, sources []string
	for _, one := range m.several(scenarioOf) {
		parts, sources = append(parts, m.part(one)), append(sources, m.episodes[one].ID)
	}
	return Labelled{Text: strings.Join(parts, " "), Sources: sources}
}

// replaced exchanges one word of each twelve for a word of another memory.
func (m maker) replaced(text string, not int) string {
	w := strings.Fields(text)
	for range max(1, len(w)/12) {
		at := 1 + m.dice.IntN(len(w)-1)
		for range triesForOne {
			other := m.several(1)[0]
			others := strings.Fields(m.part(other))
			found := strings.ToLower(bare(others[m.dice.IntN(len(others))]))
			if other != not && len(found) > 3 && found != strings.ToLower(bare(w[at])) {
				w[at] = found
				break
			}
		}
	}
	return strings.Join(w, " ")
}

// shuffled is one sentence of the same words in random order, without their marks.
func (m maker) shuffled(text string) string {
	var w []string
	for _, f := range strings.Fields(text) {
		f = bare(f)
		if f != "" {
			if !m.names[f] {
				f = strings.ToLower(f)
			}
			w = append(w, f)
		}
	}
	m.dice.Shuffle(len(w), func(i, j int) { w[i], w[j] = w[j], w[i] })
	return capital(strings.Join(w, " ")) + "."
}

// AUC is the share of pairs of a good and a bad text in which the good one scores higher; a tie counts half.
func AUC(good, bad []float64) float64 {
	wins := 0.0
	for _, g := range good {
		for _, b := range bad {
			switch {
			case g > b:
				wins++
			case g == b:
				wins += .5
			}
		}
	}
	return wins / float64(len(good)*len(bad))
}

// Above is the share of values above a limit.
func Above(values []float64, limit float64) float64 {
	n := 0
	for _, v := range values {
		if v > limit {
			n++
		}
	}
	return float64(n) / float64(len(values))
}
