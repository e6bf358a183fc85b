package utterance

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/sentence"
)

// Verdict says what kind of text it is, as far as memory is concerned.
type Verdict string

// The verdicts. Only a Statement is kept.
const (
	Statement Verdict = "statement" // about the world or oneself, or in doubt
	Empty     Verdict = "empty"     // no word
	SmallTalk Verdict = "small_talk"
	Request   Verdict = "request"  // what the assistant is to do
	Inquiry   Verdict = "question" // without a statement in it
	Machine   Verdict = "machine"  // code, output, data
	Unsaid    Verdict = "unsaid"   // of another speaker than a person, whose words are kept only when they matter
)

// Kept says whether a text of this verdict is remembered.
func (v Verdict) Kept() bool { return v == Statement }

// commitments are the parts of the words of the agent, of tools and of dreams that are kept: decisions, promises, and
// requests to remember.
var commitments = regexp.MustCompile(`(?i)(?:^|[^\p{L}])(?:` + strings.Join([]string{
	`remember (?:that|this|to|:)|please remember|don'?t forget|keep in mind|note that|for the record|from now on`,
	`(?:i|we)(?:'ll| will| promise| have decided| decided| agreed|'ve decided|'ve agreed)`,
	`merke? dir|vergiss nicht|ich (?:werde|verspreche)|wir (?:werden|haben (?:beschlossen|vereinbart))`,
	`je (?:vais|promets)|nous (?:avons décidé|allons)|(?:voy a|vamos a|prometo|hemos decidido|acordamos)`,
	`(?:я буду|обещаю|мы решили|мы договорились)`,
}, "|") + `)|約束|決め|答应|决定`)

// Worth judges a passage of Strip by its speaker. A person's words are kept when in doubt. What the agent, a tool,
// the web or a dream said is never a person's fact: it is kept, under its own label, only where it promises, decides,
// or asks to be remembered.
func Worth(text string, by dream.Taint) Verdict {
	text = strings.TrimSpace(text)
	if !hasWord(text) {
		return Empty
	}
	if by != dream.FromHuman {
		if commitments.MatchString(text) {
			return Statement
		}
		return Unsaid
	}
	best := Empty
	for _, s := range sentence.Split(text) {
		switch v := worthOf(s); {
		case v == Statement:
			return Statement
		case v != Empty:
			best = v
		}
	}
	return best
}

// worthOf judges one sentence.
func worthOf(sentence string) Verdict {
	if !hasWord(sentence) {
		return Empty
	}
	if likenessOf(sentence) == machineMade {
		return Machine
	}
	low := strings.ToLower(strings.ReplaceAll(sentence, "’", "'"))
	bare := strings.TrimFunc(low,
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) })
	if isQuestion(bare) {
		return Statement
	}
	if phrases[bare] || all(wordsOf(bare), smallTalk) {
		return SmallTalk
	}
	clauses := clausesOf(low)
	verdict := Empty
	for i, c := range clauses {
		words := wordsOf(c)
		if len(words) == 0 || phrases[strings.Join(words, " ")] || all(words, smallTalk) {
			if verdict == Empty && len(words) > 0 {
				verdict = SmallTalk
			}
			continue
		}
		if verdict == Empty || verdict == SmallTalk { // the clause that the sentence begins with
			verdict = clauseOf(words, strings.Join(clauses[i:], ", "))
			if verdict == Statement && tagged(clauses[i+1:], low) {
				return Statement
			}
			if verdict == Statement && question(low) {
				verdict = Inquiry
			}
			continue
		}
		if selves[words[0]] && len(words) > 2 { // "Book a table, we are four."
			return Statement
		}
	}
	return verdict
}

// isQuestion says whether a sentence asks that something be remembered, and says what.
func isQuestion(bare string) bool {
	words := wordsOf(bare)
	for len(words) > 0 && lead[words[0]] {
		words = words[1:]
	}
	rest := strings.Join(words, " ")
	return (beginsWithAny(rest, asksToKeep) || strings.Contains(rest, "remember that") ||
		strings.Contains(rest, "记住") || strings.Contains(rest, "覚えて")) &&
		(len(words) > 2 || scriptless(rest) && len([]rune(rest)) > 4)
}

// clauseOf judges the first clause that is not empty.
func clauseOf(words []string, rest string) Verdict {
	for _, w := range wanting {
		if strings.HasPrefix(rest, w) {
			return Request
		}
	}
	if greetings[words[0]] && len(words) <= 2 {
		return SmallTalk
	}
	for len(words) > 1 && lead[words[0]] {
		words = words[1:]
	}
	last := words[len(words)-1]
	joined := strings.Join(words, " ")
	switch {
	case requests[words[0]] && !finite(words):
		return Request
	case beginsWithAny(joined, requestBegins) && !strings.Contains(joined, "是我"), endsWithAny(joined, requestEnds) &&
		!endsWithAny(joined, []string{"ています"}), requestLast[last]:
		return Request
	case len(words) > 1 && auxiliaries[words[0]] && addressed[words[1]]:
		return Inquiry
	case interrogatives[words[0]] && len(words) > 1 &&
		!selves[words[1]], lastQuestion[last], endsWithAny(joined, questionEnds):
		return Inquiry
	case containsAny(joined, questionIn) && !strings.Contains(joined, "我"):
		return Inquiry
	case len(words) == 1 && interrogatives[words[0]]:
		return Inquiry
	case len(words) == 1 && !enough(words[0]):
		return SmallTalk
	}
	return Statement
}

// enough says whether a single word can be a statement: in languages that build sentences of one word, and in scripts
// without blanks.
func enough(word string) bool {
	n := len([]rune(word))
	if scriptless(word) {
		return n >= 3
	}
	return n >= 9
}

// scriptless says whether a text is in a script that puts no blanks between words.
func scriptless(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao,
			unicode.Khmer, unicode.Myanmar)
	})
}

// finite says whether a sentence that begins like a request continues like a statement.
func finite(words []string) bool {
	for _, w := range words[1:min(len(words), 4)] {
		if interrogatives[w] {
			return false
		}
		if statementVerbs[w] {
			return true
		}
	}
	return false
}

func question(low string) bool {
	low = strings.TrimRightFunc(low, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune("!\"'»”)", r)
	})
	return strings.HasSuffix(low, "?") || strings.HasSuffix(low, "？") || strings.HasSuffix(low, "؟")
}

// tagged says whether what follows a statement only asks for confirmation.
func tagged(rest []string, low string) bool {
	if !question(low) {
		return true
	}
	if len(rest) == 0 {
		return false
	}
	return all(wordsOf(rest[len(rest)-1]), tagQuestions)
}

// clauseBreaks splits a sentence at commas, colons, dashes, and at words that give a reason.
var clauseBreaks = regexp.MustCompile(
	`[,;:，、；：—–،]+\s*| - | because | since | weil | denn | parce que | porque | perché | потому что `)

func clausesOf(low string) []string {
	var out []string
	for _, c := range clauseBreaks.Split(low, -1) {
		if strings.TrimSpace(c) != "" {
			out = append(out, c)
		}
	}
	return out
}

// wordsOf are the words of a text without the marks around them.
func wordsOf(text string) []string {
	var out []string
	for w := range strings.FieldsSeq(text) {
		w = strings.TrimFunc(w,
			func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) })
		if w != "" {
			out = append(out, w)
		}
	}
	return out
}

func all(words []string, in map[string]bool) bool {
	for _, w := range words {
		if !in[w] {
			return false
		}
	}
	return len(words) > 0
}
