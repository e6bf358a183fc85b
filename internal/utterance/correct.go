package utterance

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/sentence"
)

// Corrects says whether a statement takes the place of an earlier one of the same person: the same subject and
// attribute with
// another value. sameTalk says that the earlier one is the last statement but this of the same talk, which
// "no, it's 5433" may mean.
// In doubt it does not, and both stay.
func Corrects(earlier, later string, sameTalk bool) bool {
	var old []token
	for _, s := range sentence.Split(earlier) {
		if worthOf(s) != Statement {
			continue
		}
		if old != nil {
			return false // it says more than one thing
		}
		old = tokensOf(s)
	}
	if len(old) == 0 || len(old) > mostTokens {
		return false
	}
	begins := true
	for _, s := range sentence.Split(later) {
		if tokens := tokensOf(s); len(tokens) <= mostTokens &&
			corrects(old, tokens, strings.ToLower(s), sameTalk && begins) {
			return true
		}
		begins = begins && all(wordsOf(strings.ToLower(s)), explicitWords)
	}
	return false
}

// Same says whether two texts say the same in the same words, whatever stands around them.
func Same(a, b string) bool {
	return slices.Equal(plainTokens(a), plainTokens(b))
}

// Repeats says whether a text only says again, word for word, what stands in one line of others. Lines that tell what
// was so before a correction do not count: who says it again means it.
func Repeats(text string, shown ...string) bool {
	texts := plainTokens(text)
	if len(texts) == 0 || len(shown) == 0 {
		return false
	}
	key := "" // its longest word, which is looked for before a line is read
	for _, w := range texts {
		if len(w) > len(key) {
			key = w
		}
	}
	first, size := utf8.DecodeRuneInString(key)
	title := string(unicode.ToUpper(first)) + key[size:]
	within := func(s string) bool { return strings.Contains(s, key) || strings.Contains(s, title) }
	for _, each := range shown {
		if !within(each) {
			continue
		}
		for line := range strings.SplitSeq(each, "\n") {
			if !within(line) || strings.HasPrefix(strings.TrimLeft(line, "> "), dream.BeforeCorrection) {
				continue
			}
			in := plainTokens(line)
			for i := 0; i+len(texts) <= len(in); i++ {
				if slices.Equal(in[i:i+len(texts)], texts) {
					return true
				}
			}
		}
	}
	return false
}

// plainTokens are the tokens of a text without the words that lead to what it says.
func plainTokens(text string) []string {
	var out []string
	for _, t := range tokensOf(text) {
		out = append(out, t.text)
	}
	for len(out) > 1 && (lead[out[0]] || leadsToFact[out[0]]) {
		out = out[1:]
	}
	return out
}

// mostTokens bounds a sentence that can correct or be corrected.
const mostTokens = 60

// token is a word, a number, or a sign of a script without blanks.
type token struct {
	text  string
	upper bool // it was written with a capital letter
}

// tokensOf splits a text. A number keeps what stands inside of it, as in 9:15 or tulip-77.
func tokensOf(text string) []token {
	var out []token
	runes := []rune(strings.ReplaceAll(text, "’", "'"))
	for i := 0; i < len(runes); {
		r := runes[i]
		switch {
		case single(r):
			out = append(out, token{text: string(r)})
			i++
		case wordRune(r):
			from := i
			for i < len(runes) && !single(runes[i]) {
				inside :=
					i > from && i+1 < len(runes) && strings.ContainsRune(".:,-_/@+", runes[i]) && alnum(runes[i-1]) &&
						alnum(runes[i+1]) &&
						(unicode.IsDigit(runes[i+1]) || unicode.IsDigit(runes[i-1]) ||
							strings.ContainsRune("_@/", runes[i]))
				if !wordRune(runes[i]) && !inside {
					break
				}
				if i > from && unicode.Is(unicode.Hangul, runes[i]) && unicode.IsDigit(runes[i-1]) {
					break
				}
				i++
			}
			out = append(out, token{strings.ToLower(string(runes[from:i])), unicode.IsUpper(r)})
		default:
			i++
		}
	}
	return out
}

func single(r rune) bool { return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Thai) }

func alnum(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

func wordRune(r rune) bool { return alnum(r) || unicode.IsMark(r) || r == 'ー' }

// kindOf is what sort of value a token is; 0 for none that is known.
func kindOf(t token) int {
	switch {
	case strings.ContainsFunc(t.text, unicode.IsDigit), numbers[t.text]:
		return 1
	case weekdays[t.text]:
		return 2
	case months[t.text]:
		return 3
	}
	return 0
}

// kindsOf are the sorts of values in a run, as bits.
func kindsOf(tokens []token) (kinds int) {
	for _, t := range tokens {
		kinds |= 1 << kindOf(t)
	}
	return kinds &^ 1
}

// has says whether the tokens of a phrase stand one after the other.
func has(tokens []token, phrase string) bool { return phraseAt(tokens, phrase) >= 0 }

func phraseAt(tokens []token, phrase string) int {
	words := tokensOf(phrase)
	for i := 0; i+len(words) <= len(tokens) && len(words) > 0; i++ {
		if slices.EqualFunc(tokens[i:i+len(words)], words, func(a, b token) bool { return a.text == b.text }) {
			return i
		}
	}
	return -1
}

func hasAny(tokens []token, phrases []string) bool {
	return slices.ContainsFunc(phrases, func(p string) bool { return has(tokens, p) })
}

func anyIn(tokens []token, in map[string]bool) bool {
	return slices.ContainsFunc(tokens, func(t token) bool { return in[t.text] })
}

// dropped are the tokens without those of phrases.
func dropped(tokens []token, phrases []string) []token {
	for _, p := range phrases {
		if at := phraseAt(tokens, p); at >= 0 {
			tokens = slices.Delete(slices.Clone(tokens), at, at+len(tokensOf(p)))
		}
	}
	return tokens
}

// content are the tokens that say something.
func content(tokens []token) []token {
	var out []token
	for _, t := range tokens {
		if !hollow[t.text] && !explicitWords[t.text] {
			out = append(out, t)
		}
	}
	return out
}

func overlap(of, in []token) (shared int) {
	for _, t := range of {
		if slices.ContainsFunc(in, func(o token) bool { return o.text == t.text }) {
			shared++
		}
	}
	return shared
}

// cues are what a sentence says of itself that may make it a correction.
type cues struct {
	explicit bool // it begins with a word of correction, or has a phrase of one
	changes  bool // one took the place of another
	longer   bool // something is so no longer
	contrast bool // one and not the other
	now      bool // something is so since a short while
}

func cuesOf(tokens []token, low string) cues {
	taken := hasAny(tokens, noLongerPhrases) || strings.Contains(low, "non ") && has(tokens, "più") ||
		strings.Contains(low, "não ") && has(tokens, "mais")
	return cues{
		explicit: len(tokens) > 1 && explicitWords[tokens[0].text] || hasAny(tokens, explicitPhrases),
		changes:  anyIn(tokens, changeWords),
		longer:   taken || strings.Contains(low, " plus ") && containsAny(low, []string{"n'", "ne "}),
		contrast: hasAny(tokens, contrastPhrases) || containsAny(low, []string{", not ", ", nicht "}),
		now:      hasAny(tokens, nowPhrases) || containsAny(low, nowSigns),
	}
}

// corrects judges two sentences.
func corrects(old, tokens []token, low string, sameTalk bool) bool {
	c := cuesOf(tokens, low)
	if ofAnotherTime(old) || ofAnotherTime(tokens) && !c.changes && !c.longer && !c.explicit {
		return false
	}
	kept := content(old)
	switch {
	case c.changes && changedFrom(old, tokens), c.longer && takenBack(old, low):
		return true
	case c.contrast && 5*overlap(kept, tokens) >= 3*len(kept) && sameBegin(old, tokens):
		return true
	}
	cleared := cleared(tokens, c.explicit)
	if c.explicit && sameTalk && refersTo(old, cleared, strongly(tokens, low)) {
		return true
	}
	f, ok := frameOf(old, cleared)
	return ok && f.replaced(c.explicit || c.now || c.changes)
}

// strongly says whether a correction can be nothing else, as a mere "no" can.
func strongly(tokens []token, low string) bool {
	return hasAny(tokens, strongPhrases) || anyIn(tokens, strongWords) ||
		containsAny(low, []string{"en fait", "不对", "いや"})
}

// ofAnotherTime says whether a statement tells of what was, or of an event.
func ofAnotherTime(tokens []token) bool {
	for i, t := range tokens {
		if pastWords[t.text] {
			return true
		}
		if i > 0 && len(t.text) > 4 && strings.HasSuffix(t.text, "ed") && !notPast[t.text] && !changeWords[t.text] &&
			!t.upper {
			return true
		}
	}
	return false
}

// sameBegin says whether two statements begin with the same subject.
func sameBegin(a, b []token) bool {
	a, b = withoutArticle(a), withoutArticle(b)
	return len(a) > 0 && len(b) > 0 && a[0].text == b[0].text
}

func withoutArticle(tokens []token) []token {
	for len(tokens) > 1 && articles[tokens[0].text] {
		tokens = tokens[1:]
	}
	return tokens
}

// changedFrom reads "we moved the shop from Heroku to Fly".
func changedFrom(old, tokens []token) bool {
	verb := slices.IndexFunc(tokens, func(t token) bool { return changeWords[t.text] })
	begin := slices.IndexFunc(tokens, func(t token) bool { return from[t.text] })
	if begin < 0 || begin+1 >= len(tokens) {
		return false
	}
	end := begin + 1
	for end < len(tokens) && !to[tokens[end].text] && end-begin < 6 {
		end++
	}
	was := content(tokens[begin+1 : end])
	if len(was) == 0 || overlap(was, old) < len(was) || !sameBegin(old, tokens) {
		return false
	}
	if residence[tokens[min(1, len(tokens)-1)].text] || anyIn(old, residence) {
		return true
	}
	first := tokens[verb].text
	if verb < begin {
		if object := content(tokens[verb+1 : begin]); len(object) > 0 {
			return overlap(object, old) > 0
		}
	}
	return first != "moved" && first != "went" && first != "gezogen" && first != "umgezogen"
}

// takenBack reads "Lena no longer works at the post office, …": the clause that takes back says what was said.
func takenBack(old []token, low string) bool {
	for _, clause := range clausesOf(low) {
		tokens := tokensOf(clause)
		if !hasAny(tokens, noLongerPhrases) && !strings.Contains(clause, " plus ") && !has(tokens, "più") &&
			!has(tokens, "mais") && !strings.Contains(clause, "don't") {
			continue
		}
		if was := content(old); len(was) > 0 && 5*overlap(was, tokens) >= 4*len(was) {
			return true
		}
	}
	return false
}

// cleared is a statement without the words that only say that it corrects.
func cleared(tokens []token, explicit bool) []token {
	for _, p := range []string{
		"from now on", "as of today", "these days", "ab jetzt", "ab sofort", "今は", "いまは", "现在",
		"如今",
	} {
		tokens = dropped(tokens, []string{p})
	}
	tokens = dropped(tokens, nowPhrases)
	if explicit {
		tokens = dropped(tokens, explicitPhrases)
		for len(tokens) > 1 && (explicitWords[tokens[0].text] || tokens[0].text == "i" && tokens[1].text == "meant") {
			tokens = tokens[1:]
		}
	}
	return tokens
}

// refersTo reads a correction that names no subject, such as "no, it's 5433", after the statement that it means.
func refersTo(old, tokens []token, strong bool) bool {
	if len(tokens) > 0 && selves[tokens[0].text] {
		return false
	}
	value := content(tokens)
	most := 3
	if scriptless(joined(tokens)) {
		most = 6
	}
	if len(value) == 0 || overlap(value, old) == len(value) {
		return false
	}
	about := len(tokens) > 0 && pronouns[tokens[0].text] && overlap(value, content(old)) > 0
	if len(value) > most && !about {
		return false
	}
	if kinds := kindsOf(value); kinds != 0 {
		return kinds&kindsOf(old) != 0
	}
	if kindsOf(old) != 0 && !about {
		return false
	}
	named := value[len(value)-1].upper && old[len(old)-1].upper
	return named || strong && (about || len(value) == 1)
}

func joined(tokens []token) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteString(t.text)
	}
	return b.String()
}

// frame is what two statements share at their beginnings and ends, with the value between that differs.
type frame struct{ prefix, suffix, was, is []token }

// frameOf compares two whole statements. ok is false where most of them differs, or what they are about.
func frameOf(old, tokens []token) (f frame, ok bool) {
	begin := 0
	for begin < min(len(old), len(tokens)) && old[begin].text == tokens[begin].text {
		begin++
	}
	end := 0
	for end < min(len(old), len(tokens))-begin && old[len(old)-1-end].text == tokens[len(tokens)-1-end].text {
		end++
	}
	f = frame{old[:begin], old[len(old)-end:], old[begin : len(old)-end], tokens[begin : len(tokens)-end]}
	few := len(f.was) > 0 && len(f.was) <= 6 && len(f.is) > 0 && len(f.is) <= 8
	// A verb within shows that the subjects differ: "my favourite (book is Dune)", "my favourite (film is Alien)".
	return f, few && !verbInside(f.was) && !verbInside(f.is)
}

// replaced says whether the later value takes the place of the earlier one. cued says that the later statement says so.
func (f frame) replaced(cued bool) bool {
	kinds := kindsOf(f.was) & kindsOf(f.is)
	if anyIn(f.prefix, manyValued) && kinds&(1<<1) == 0 {
		return false
	}
	subject := slices.DeleteFunc(content(f.prefix), func(t token) bool {
		return (selves[t.text] || pronouns[t.text]) && !residence[t.text]
	})
	attribute := slices.ContainsFunc(subject, ofAttribute) || containsAny(joined(f.prefix), attributeSigns)
	named := shortName(f.was) && shortName(f.is)
	switch {
	case cued && len(subject) == 0:
		return scriptless(joined(f.suffix)) && anyIn(f.suffix, residence)
	case cued:
		return !copulas[f.prefix[len(f.prefix)-1].text] || attribute || kinds != 0 || named
	case attribute && (anyIn(f.prefix, copulas) || len(f.was) == 1 && len(f.is) == 1):
		return true
	case len(subject) > 0 && anyIn(f.prefix, residence):
		return named
	}
	return kinds != 0 && len(subject) > 0 && f.ofKnownKind()
}

// ofKnownKind says whether a value of a known kind stands at the end, of a subject that is named before its verb.
func (f frame) ofKnownKind() bool {
	return onlyValues(f.was) && onlyValues(f.is) && len(f.prefix) >= 3 && len(f.suffix) <= 2 &&
		determiners[f.prefix[0].text]
}

// verbInside says whether a verb stands behind the first word of a run.
func verbInside(tokens []token) bool { return len(tokens) > 1 && anyIn(tokens[1:], copulas) }

// shortName says whether a run is a name: a word or two with a capital letter, or in a script without any.
func shortName(tokens []token) bool {
	if len(tokens) == 0 {
		return false
	}
	if !cased(tokens[len(tokens)-1].text) {
		return len(tokens) <= 6
	}
	return len(tokens) <= 2 && tokens[len(tokens)-1].upper
}

func cased(text string) bool { return strings.ToUpper(text) != text }

// onlyValues says whether a run holds values of known kinds, and nothing else but what half of the day it is.
func onlyValues(tokens []token) bool {
	return !slices.ContainsFunc(tokens, func(t token) bool { return kindOf(t) == 0 && !dayHalves[t.text] })
}

// ofAttribute says whether a word is one of attributes, whatever its ending.
func ofAttribute(t token) bool {
	return slices.ContainsFunc(attributes, func(a string) bool {
		return strings.HasPrefix(t.text, a) &&
			(len(t.text)-len(a) <= 2 || a == "lieblings" || strings.HasPrefix(a, "favo") ||
				strings.HasPrefix(a, "prefer"))
	})
}
