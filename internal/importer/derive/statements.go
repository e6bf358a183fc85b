package derive

import (
	"strings"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// statement is a sentence that is meaningful alone.
type statement struct {
	trace
	speaker      string
	text         string
	scene        string
	subjectWords int // words that carry a subject
	weight       float64
}

// The length of a sentence that can stand alone.
const (
	leastStated = 3 // words that carry a subject
	mostStated  = 180
)

// addStatements collects sentences about the speaker's own life and repeated sentences.
func (k *Knowledge) addStatements(ep *dream.Episode, v Turn, scene string) {
	who, _ := fold(v.Speaker)
	for _, text := range Sentences(v.Text) {
		if n := utf8.RuneCountInString(text); n > mostStated || n < 20 || strings.HasSuffix(text, "?") ||
			strings.Contains(text, strings.TrimSpace(ShownPhoto)) {
			continue
		}
		text = standalone(text)
		k.tokens = words(text, k.tokens[:0])
		weight, key := 0.0, who
		var count, names int
		leans := 0
		for i, w := range k.tokens {
			if leaning[w.hash] && (i < 6 || address[w.hash]) {
				leans++
			}
			key = key*1099511628211 ^ w.hash
			if w.plain {
				continue
			}
			count++
			if w.capital && !w.initial {
				names++
			}
		}
		if count < leastStated {
			continue
		}
		weight = float64(min(count, 9)) + float64(min(names, 2)) + 3*strength(affectOf(k.tokens, 0))
		if ofOneself(k.tokens) {
			weight += 6
		}
		weight -= 3 * float64(min(leans, 3))
		s := k.statements[key]
		if s == nil {
			s = &statement{
				speaker:      v.Speaker,
				text:         text,
				scene:        scene,
				subjectWords: count,
				weight:       weight,
			}
			k.statements[key] = s
		}
		s.note(ep)
	}
}

// ofOneself recognises sentences about the speaker's own life: "I used to …", "my dream is …", "we plan to …".
func ofOneself(tokens []word) bool {
	for i := 0; i < len(tokens) && i < 6; i++ {
		if own[tokens[i].hash] && i+1 < len(tokens) &&
			(lasting[tokens[i+1].hash] || i+2 < len(tokens) && lasting[tokens[i+2].hash]) {
			return true
		}
	}
	return false
}

var (
	own     = hashed("i i'm i've i'd we we're we've my our")
	address = hashed("you your yours yourself you're you've you'd you'll")
	// Words that refer to what was said before, so that a sentence means less alone.
	leaning = hashed(
		"you your yours yourself you're you've you'd you'll it it's its this that these those they them he she him there yeah yes yep also too so thanks")
	lasting = hashed(
		`love loved like enjoy hate want wanted need plan planned planning hope believe always never used work worked live lived grew learned
		learning realized realised decided promised started quit lost own keen passionate afraid scared proud dream goal favorite favourite family
		prefer miss became studying building writing saving trying joined moved met found won bought adopted`)
)

// statementCandidates makes candidates of the statements, repeated ones first, and at most one of an episode.
func (k *Knowledge) statementCandidates() []candidate {
	all := make([]candidate, 0, len(k.statements))
	for _, s := range k.statements {
		l := candidate{weight: s.weight, trace: &s.trace, speaker: s.speaker, words: s.text}
		switch {
		case s.count > 1 && s.speaker != "":
			l.content = asSentence(name(s.speaker) + " has said more than once: " + Quoted(s.text))
		case s.count > 1:
			l.content = asSentence("it was noted more than once: " + Quoted(s.text))
		case s.speaker != "":
			l.content = asSentence("in the words of " + name(s.speaker) + ": " + Quoted(s.text))
		case strings.HasPrefix(s.scene, "in the diary"):
			l.content = asSentence("from the diary: " + Quoted(s.text))
		default:
			l.content = asSentence("it was noted: " + Quoted(s.text))
		}
		if s.count > 1 && s.subjectWords > leastStated {
			l.weight += 10 * float64(min(s.count, 5))
		}
		all = append(all, l)
	}
	all = heaviest(all)
	out, taken := all[:0], map[string]bool{}
	for _, l := range all {
		from := l.trace.sources[0]
		if l.trace.count > 1 || !taken[from] {
			taken[from] = true
			out = append(out, l)
		}
	}
	return out
}
