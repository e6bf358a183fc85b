package erasure

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// wordFields are the JSON fields of items and of dream notes that hold words of people or models.
var wordFields = map[string]bool{
	"content": true, "claim": true, "premise": true, "reason": true, "said": true, "judge_reason": true, "criterion": true, "trace": true,
	"evidence": true, "when": true, "then": true, "says": true, "instead": true,
	"first_step": true, "topics": true, "theme": true, "why": true, "partial": true, "drawn": true, "words": true,
}

// sceneFields hold words in episodes only: other kinds use these names for other things.
var sceneFields = map[string]bool{"context": true, "action": true, "outcome": true}

// voice is how the text of a field came about. It decides what counts as a copy in it.
type voice int

const (
	own  voice = iota // somebody said or wrote it
	echo              // an agent's answer in a conversation of which something is forgotten
	made              // it was put together from other texts
)

// Scrubber removes what is forgotten from other texts. It is safe for concurrent use.
type Scrubber struct {
	words    wording
	sessions map[string]bool // conversations of which something is forgotten
}

// field is a text of an item.
type field struct {
	name string
	text string
}

// Scrub removes what is forgotten from an item's JSON. changed is false when it contains nothing of it.
func (s *Scrubber) Scrub(kind dream.Kind, body []byte) (scrubbed []byte, changed bool, err error) {
	item, err := dream.Decode(kind, body)
	if err != nil {
		return nil, false, err
	}
	plain, err := json.Marshal(item) // decoding and encoding gives every field its one spelling
	if err != nil {
		return nil, false, err
	}
	fields, err := parse(plain)
	if err != nil {
		return nil, false, err
	}
	w := walk{
		episode: kind == dream.KindEpisode,
		rewrite: func(name, text string) string { return s.rewrite(text, s.voiceOf(item, name)) },
	}
	rewritten := w.through(fields, "", "")
	if !w.changed {
		return nil, false, nil
	}
	plain, err = json.Marshal(rewritten)
	if err != nil {
		return nil, false, err
	}
	item, err = dream.Decode(kind, plain)
	if err != nil {
		return nil, false, err
	}
	scrubbed, err = json.Marshal(item)
	return scrubbed, err == nil, err
}

// Note removes what is forgotten from a dream's note in JSON. changed is false when it contains nothing of it.
func (s *Scrubber) Note(value []byte) (scrubbed []byte, changed bool) {
	fields, err := parse(value)
	if err != nil {
		return nil, false
	}
	w := walk{rewrite: func(_, text string) string { return s.rewrite(text, made) }}
	plain := w.through(fields, "", "")
	if !w.changed {
		return nil, false
	}
	scrubbed, err = json.Marshal(plain)
	return scrubbed, err == nil
}

// Holds reports whether a note contains something of what is forgotten: in any string of a JSON note, or in the whole
// note when it is not JSON.
func (s *Scrubber) Holds(value []byte) bool {
	fields, err := parse(value)
	if err != nil {
		fields = string(value)
	}
	return s.within(fields)
}

func (s *Scrubber) within(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for _, each := range v {
			if s.within(each) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, s.within)
	case string:
		return slices.Contains(s.words.traced(tokens(v)), true)
	}
	return false
}

func parse(body []byte) (any, error) {
	var fields any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber() // numbers keep their spelling
	err := d.Decode(&fields)
	return fields, err
}

// walk rewrites the strings in a JSON value.
type walk struct {
	episode bool
	rewrite func(name, text string) string
	changed bool
}

// through rewrites a value. top is the name of the outermost field that contains it, name that of the nearest.
func (w *walk) through(value any, top, name string) any {
	switch v := value.(type) {
	case map[string]any:
		for key, each := range v {
			outer := top
			if outer == "" {
				outer = key
			}
			v[key] = w.through(each, outer, key)
		}
	case []any:
		for i, each := range v {
			v[i] = w.through(each, top, name)
		}
	case string:
		if !wordFields[name] && (!w.episode || !sceneFields[name]) {
			return v
		}
		after := w.rewrite(top, v)
		w.changed = w.changed || after != v
		return after
	}
	return value
}

// mainField is the JSON name of an item's main text.
func mainField(kind dream.Kind) string {
	if kind == dream.KindHypothesis || kind == dream.KindPrediction {
		return "claim"
	}
	return "content"
}

// isOriginal reports whether an item's main text is somebody's own: no dream wrote it, and no rule put it together.
func isOriginal(item dream.Item) bool {
	h := item.Header()
	return h.Dream == "" && h.Kind != dream.KindRecord && !slices.Contains(h.Derived, mainField(h.Kind))
}

// voiceOf returns how the text of an item's field came about.
func (s *Scrubber) voiceOf(item dream.Item, name string) voice {
	switch {
	case !isOriginal(item) || slices.Contains(item.Header().Derived, name):
		return made
	case s.answers(item):
		return echo
	}
	return own
}

// answers reports whether an item is an agent's answer in a conversation of which something is forgotten. An exchange
// that a person began does not count, although it has the agent's taint: the person's words in it are a statement.
func (s *Scrubber) answers(item dream.Item) bool {
	if e, ok := item.(*dream.Episode); ok && e.Speaker == person {
		return false
	}
	return item.Header().Taint == dream.FromAgent && s.sessions[item.Marks().Session]
}

// person is the speaker name that conversations use when a speaker has none.
const person = "user"

// marked splits a text into words and marks those that repeat what is forgotten.
func (s *Scrubber) marked(text string, v voice) ([]token, []bool) {
	words := tokens(text)
	if v == own {
		return words, s.words.copied(words)
	}
	marked := s.words.traced(words)
	for i := 1; i < len(words); i++ { // a word between two copied ones shows what stood around it
		for gap := 1; gap <= mostGaps && i+gap < len(words); gap++ {
			if !marked[i] && marked[i-1] && marked[i+gap] {
				marked[i] = true
			}
		}
	}
	for i := 1; i < len(words); i++ { // the last word of a truncated text may be part of a copied word
		if marked[i-1] && strings.HasPrefix(text[words[i].to:], "…") {
			marked[i] = true
		}
	}
	return words, marked
}

// rewrite replaces what repeats the forgotten text by Mark.
func (s *Scrubber) rewrite(text string, v voice) string {
	words, marked := s.marked(text, v)
	var b strings.Builder
	at := 0
	stretches(marked, func(from, to int) {
		b.WriteString(text[at:words[from].from] + Mark)
		at = words[to-1].to
	})
	if at == 0 {
		return text
	}
	return b.String() + text[at:]
}

// empties reports whether removing the copies leaves too little of a main text: no meaningful word, or, of a text made
// from others, less than half.
func (s *Scrubber) empties(text string, v voice) bool {
	words, marked := s.marked(text, v)
	removed, left := 0, 0
	for i, t := range words {
		switch {
		case marked[i]:
			removed++
		case t.telling || utf8.RuneCountInString(text[t.from:t.to]) == 1 && unspacedAt(text, t):
			left++
		}
	}
	return removed > 0 && (left == 0 || v == made && 2*removed > len(words))
}

func unspacedAt(text string, t token) bool {
	r, _ := utf8.DecodeRuneInString(text[t.from:])
	return unspaced(r)
}

// fieldsOf returns the texts of an item, each under the name of the outermost field that contains it.
func fieldsOf(item dream.Item) ([]field, error) {
	body, err := json.Marshal(item)
	if err != nil {
		return nil, err
	}
	value, err := parse(body)
	if err != nil {
		return nil, err
	}
	var out []field
	w := walk{episode: item.Header().Kind == dream.KindEpisode, rewrite: func(name, text string) string {
		out = append(out, field{name, text})
		return text
	}}
	w.through(value, "", "")
	slices.SortFunc(out, func(a, b field) int {
		if c := strings.Compare(a.name, b.name); c != 0 {
			return c
		}
		return strings.Compare(a.text, b.text)
	})
	return out, nil
}

// HoldsWords reports whether a JSON field of a kind holds words of people or models, and so is searched for copies.
func HoldsWords(kind dream.Kind, name string) bool {
	return wordFields[name] || kind == dream.KindEpisode && sceneFields[name]
}
