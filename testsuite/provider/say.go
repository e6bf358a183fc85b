package provider

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"unicode"
)

// pieceRunes is the longest token: JSON without spaces has tokens too.
const pieceRunes = 12

// Pieces cuts a text into this provider's tokens: white space and the word after it, at most 12 characters of it at a
// time. Joined they are the text.
func Pieces(text string) []string {
	var out []string
	start, runes := 0, 0
	for i, r := range text {
		space := unicode.IsSpace(r)
		if runes > 0 && (space || runes == pieceRunes) {
			out = append(out, text[start:i])
			start, runes = i, 0
		}
		if !space {
			runes++
		}
	}
	if start < len(text) {
		out = append(out, text[start:])
	}
	return out
}

// say answers a request in at most room tokens if it can; room 0 is unbounded. The answer depends on the server's
// seed and the messages and, unless the temperature is 0, on temperature and seed of the request.
func (s *Server) say(q question, m Model, room int) string {
	h := mix(s.options.Seed, q.prompt())
	if m.Typical && q.schema() == nil {
		h = mix(s.options.Seed, q.shown())
	}
	if q.Temperature == nil || *q.Temperature != 0 {
		if q.Temperature != nil {
			h = mix(h, hash(fmt.Sprint(*q.Temperature)))
		}
		if q.Seed != nil {
			h = mix(h, uint64(*q.Seed))
		}
	}
	v := voice{dice: newDice([2]uint64{h, s.options.Seed}), echo: echoes(q), nouns: nouns, refs: refs(q)}
	if found := s.nouns(q); len(found) > 0 {
		v.echo, v.nouns = nil, found
	}
	if schema := q.schema(); schema != nil {
		return v.fill(schema, room)
	}
	if m.Feverish > 0 && q.Temperature != nil && *q.Temperature > m.Feverish {
		return strings.Repeat(v.word()+" and "+v.word()+" and ", 20)
	}
	words := 40 + v.dice.IntN(60)
	var b strings.Builder
	for n := 0; n < words; {
		sentence := v.sentence()
		n += len(Pieces(sentence))
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(sentence)
	}
	return b.String()
}

// nouns are those of the messages that a test wants in answers.
func (s *Server) nouns(q question) []string {
	if s.options.Nouns == nil {
		return nil
	}
	var found []string
	for _, m := range q.Messages {
		found = append(found, s.options.Nouns.FindAllString(m.text(), -1)...)
	}
	return found
}

// scripted is the answer that a test wants; empty when the server is to generate one.
func (s *Server) scripted(q question) string {
	if s.options.Say == nil {
		return ""
	}
	request := Request{Schema: q.Format.Schema.Name}
	for _, m := range q.Messages {
		request.Prompt += m.text() + "\n"
	}
	return s.options.Say(request)
}

// voice generates text with the words and the references of the prompt.
type voice struct {
	dice  *rand.Rand
	echo  []string
	nouns []string
	refs  []string
}

var (
	nouns = []string{
		"lighthouse", "river", "ledger", "staircase", "garden", "engine", "mirror", "harbour", "winter", "orchard",
		"signal",
		"bridge", "clock", "letter", "window", "tide", "market", "compass", "attic", "lantern", "map", "seed",
		"thread", "bell",
	}
	verbs = []string{
		"follows", "answers", "borrows from", "hides behind", "waits for", "unlocks", "carries", "mends", "outlives",
		"repeats",
		"forgets", "weighs", "leans on", "turns into",
	}
	shapes = []string{
		"The %a %v the %b, and nobody calls it a loss.",
		"What if the %a only holds because the %n %v the %b?",
		"Under the %n somebody has left the %a, still warm.",
		"A %n opens where the %a and the %b were kept apart.",
		"The %a is smaller from the inside, like a %n at night.",
		"Every time the %a stops, the %n %v the %m.",
		"It was never the %a; the %b had been speaking all along.",
		"Read backwards, the %a becomes a %n that %v the %b.",
		"The %n counts to three and the %a is gone.",
		"The %a twice, and in between a %n without a door.",
		"Keep the %a, let the %b go first, and watch the %n.",
		"The %b arrives late, as the %n does, and that is the pattern.",
		"Someone drew the %a as a %n and it fits.",
		"When the %n %v the %m, the %a needs no reason.",
	}
)

// sentence is one readable sentence.
func (v voice) sentence() string {
	a, b := v.word(), v.word()
	if b == a {
		b = pick(v.dice, v.nouns)
	}
	text := strings.NewReplacer("%a", a, "%b", b, "%n", pick(v.dice, v.nouns), "%m", pick(v.dice, v.nouns), "%v",
		pick(v.dice, verbs)).
		Replace(pick(v.dice, shapes))
	return article.ReplaceAllString(text, "${1}n $2")
}

// word is one of the prompt's, or one of our own.
func (v voice) word() string {
	if len(v.echo) > 0 && v.dice.IntN(4) > 0 {
		return pick(v.dice, v.echo)
	}
	return pick(v.dice, v.nouns)
}

func newDice(seed [2]uint64) *rand.Rand { return rand.New(rand.NewPCG(seed[0], seed[1])) }

func pick(r *rand.Rand, list []string) string { return list[r.IntN(len(list))] }

var (
	bullet  = regexp.MustCompile(`(?m)^\s*(?:[-*•]|\d+[.)])?\s*\[([a-z]{1,3}\d+)\]\s*(.*)$`)
	article = regexp.MustCompile(`\b([Aa]) ([aeio])`)
	letters = regexp.MustCompile(`[\p{L}]{5,14}`)
)

// refs are the references of the prompt's bullets, such as r12 of "- [r12] …", in order, each once; of several kinds
// (r1 and p1) only the first kind: what a prompt is about comes first.
func refs(q question) []string {
	var out []string
	seen := map[string]bool{}
	for _, m := range q.Messages {
		for _, found := range bullet.FindAllStringSubmatch(m.text(), -1) {
			kind := strings.TrimRight(found[1], "0123456789")
			if len(out) > 0 && kind != strings.TrimRight(out[0], "0123456789") || seen[found[1]] {
				continue
			}
			seen[found[1]] = true
			out = append(out, found[1])
		}
	}
	return out
}

// dull words are not echoed.
var dull = map[string]bool{
	"about": true, "after": true, "again": true, "answer": true, "because": true, "before": true, "being": true,
	"could": true,
	"every": true, "exactly": true, "following": true, "having": true, "least": true, "might": true, "never": true,
	"other":  true,
	"should": true, "since": true, "still": true, "their": true, "there": true, "these": true, "thing": true,
	"things": true,
	"those":  true, "through": true, "under": true, "until": true, "value": true, "where": true, "which": true,
	"while": true,
	"whose": true, "within": true, "without": true, "would": true, "write": true, "yours": true,
}

// echoes are words of the prompt's bullets, or of its last message when it has none: at most 200, each once.
func echoes(q question) []string {
	var sources []string
	for _, m := range q.Messages {
		for _, found := range bullet.FindAllStringSubmatch(m.text(), -1) {
			sources = append(sources, found[2])
		}
	}
	if len(sources) == 0 && len(q.Messages) > 0 {
		sources = append(sources, q.Messages[len(q.Messages)-1].text())
	}
	var out []string
	seen := map[string]bool{}
	for _, text := range sources {
		for _, word := range letters.FindAllString(text, -1) {
			word = strings.ToLower(word)
			if !seen[word] && !dull[word] && len(out) < 200 {
				seen[word] = true
				out = append(out, word)
			}
		}
	}
	return out
}
