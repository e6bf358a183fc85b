package claims

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/internal/recall/words"
	"github.com/seed-56a03226/oneiros/internal/sentence"
)

// Limits of a quotation that decides a prediction.
const (
	LeastQuoted   = 3   // words
	LongestQuoted = 800 // bytes
)

// Quoted finds a quotation in a text and returns it as it stands there, with each run of white space as one space. It
// counts only if it is one whole sentence of the text or several in a row, word for word: a part of a sentence can say
// the opposite of the whole. Left out may be a full stop at the end, and at the beginning of a line the name of the
// speaker ("Anna: ").
func Quoted(text, quotation string) (string, bool) {
	wanted := fold(quotation)
	if len(wanted) > LongestQuoted || countWords(wanted) < LeastQuoted {
		return "", false
	}
	sentences := sentencesOf(text)
	for i, first := range sentences {
		whole := ""
		for _, next := range sentences[i:] {
			whole += next.text
			if isSaid(whole, wanted) || first.beginsLine && isSaid(speakerName.ReplaceAllString(whole, ""), wanted) {
				return whole, true
			}
			if len(whole) > len(wanted)+longestSpeaker {
				break
			}
			whole += next.gap
		}
	}
	return "", false
}

// isSaid says whether a quotation is the text, but for a full stop at the end.
func isSaid(text, quotation string) bool {
	return text == quotation || strings.TrimRight(text, ".。") == quotation
}

// speakerName is the name of a speaker at the beginning of a line: at most three words with capitals, and a colon.
var speakerName = regexp.MustCompile(`^\p{Lu}[\p{L}.'’-]{0,30}(?: \p{Lu}[\p{L}.'’-]{0,30}){0,2}: `)

// longestSpeaker is more bytes than a speaker's name takes.
const longestSpeaker = 400

// spoken is a sentence of a text, with each run of white space as one space.
type spoken struct {
	text, gap  string // and what stands before the next: a space, or nothing in scripts that write none
	beginsLine bool
}

// newLine is the beginning of a line that does not go on with the sentence before: it is empty, an item of a list, or
// begins with a speaker's name. Other lines were only wrapped.
var newLine = regexp.MustCompile(`^(?:[ \t\r]*\n|[ \t]*[-*•] |` + speakerName.String()[1:] + `)`)

// sentencesOf returns the sentences of a text in order. One that goes on with a small letter is not over.
func sentencesOf(text string) []spoken {
	var all []spoken
	for _, line := range unwrapped(text) {
		begins := true
		for _, s := range sentence.Split(line) {
			first, _ := utf8.DecodeRuneInString(s)
			if last := len(all) - 1; !begins && last >= 0 {
				if !strings.Contains(line, all[last].text+" "+s) {
					all[last].gap = ""
				}
				if unicode.IsLower(first) {
					all[last].text += all[last].gap + s
					all[last].gap = " "
					continue
				}
			}
			all = append(all, spoken{s, " ", begins})
			begins = false
		}
	}
	return all
}

// unwrapped are the lines of a text after those that were only wrapped have been joined.
func unwrapped(text string) []string {
	var lines []string
	begin := 0
	for i, c := range text {
		if c == '\n' && newLine.MatchString(text[i+1:]) {
			lines = append(lines, fold(text[begin:i]))
			begin = i
		}
	}
	return append(lines, fold(text[begin:]))
}

// fold writes each run of white space as one space.
func fold(text string) string { return strings.Join(strings.Fields(text), " ") }

// countWords counts the words of a text. In scripts that put no space between words, two letters count as one.
func countWords(text string) int {
	count, letters, inWord := 0, 0, false
	for _, r := range text {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer):
			letters++
			inWord = false
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			if !inWord {
				count++
			}
			inWord = true
		case unicode.IsSpace(r):
			inWord = false
		}
	}
	return count + letters/2
}

// Excerpt returns a text of at most so many letters whole, and of a longer one the sentences in a row that share most
// words with another text.
func Excerpt(text, with string, most int) string {
	text = strings.TrimSpace(text)
	if len([]rune(text)) <= most {
		return text
	}
	wanted := map[string]bool{}
	for _, term := range words.Of(with).Terms {
		wanted[term] = true
	}
	sentences := sentencesOf(text)
	best, shared := "", -1
	for i, first := range sentences {
		part := first.text
		for j, next := range sentences[i+1:] {
			longer := part + sentences[i+j].gap + next.text
			if len([]rune(longer)) > most {
				break
			}
			part = longer
		}
		found := map[string]bool{}
		for _, term := range words.Of(part).Terms {
			if wanted[term] {
				found[term] = true
			}
		}
		if len(found) > shared {
			best, shared = part, len(found)
		}
	}
	return best
}
