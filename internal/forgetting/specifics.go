package forgetting

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// specific matches what ties a sentence to one moment, place or sum: dates, addresses, and numbers in words. Digits are
// found by their Unicode class, in any script.
var specific = []*regexp.Regexp{
	regexp.MustCompile(`(?i)\b(?:https?|ftp|wss?|ipfs)://[^\s<>"()]*[^\s<>"().,;:!?]`),
	regexp.MustCompile(`(?i)\bwww\.[^\s<>"()]*[^\s<>"().,;:!?]`),
	regexp.MustCompile(`(?i)[\p{L}\p{N}._%+-]+@[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+`),
	regexp.MustCompile(`(?i)\b[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:com|org|net|io|eth|xyz|dev|finance|app|co|ai|de|uk)\b`),
	regexp.MustCompile(`(?i)\b0x[0-9a-f]+\b`),
	regexp.MustCompile(`(?i)\b[0-9a-f]{16,}\b`),
	regexp.MustCompile(`\b(?:January|February|April|June|July|August|September|October|November|December)\b`),
	regexp.MustCompile(`\b(?:in|of|since|until|by|last|this|next|early|late|mid)[ -](?:March|May)\b`),
	regexp.MustCompile(`\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?\b`),
	regexp.MustCompile(
		`(?i)\b(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:[ -](?:one|two|three|four|five|six|seven|eight|nine))?\b`),
	regexp.MustCompile(
		`(?i)\b(?:eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen|dozens?|hundreds?|thousands?|millions?|billions?|trillions?)\b`),
	regexp.MustCompile(
		`(?i)\b(?:one|two|three|four|five|six|seven|eight|nine|ten)[ -](?:percent|per cent|dollars?|euros?|pounds?|cents?|` +
			`basis points?|points?|seconds?|minutes?|hours?|days?|nights?|weeks?|months?|years?|times)\b`),
}

// longName is how many letters and digits without a break make a key or an address (base58 and similar).
const longName = 26

// Specifics returns what a gist must not contain: numbers, dates, e-mail addresses, links, hexadecimal strings and the
// addresses of wallets and contracts, in the order of the text. Numbers in words count too, except small ones without a
// unit ("two friends" has none, "two days" has one).
func Specifics(text string) []string {
	var spans [][2]int
	for _, re := range specific {
		for _, at := range re.FindAllStringIndex(text, -1) {
			spans = append(spans, [2]int{at[0], at[1]})
		}
	}
	for _, at := range tokens(text) {
		if token := text[at[0]:at[1]]; strings.ContainsFunc(token, unicode.IsNumber) || isAddress(token) {
			spans = append(spans, at)
		}
	}
	slices.SortFunc(spans, func(a, b [2]int) int {
		if a[0] != b[0] {
			return a[0] - b[0]
		}
		return b[1] - a[1]
	})
	var found []string
	end := 0
	for _, at := range spans {
		if at[0] >= end {
			found = append(found, text[at[0]:at[1]])
			end = at[1]
		}
	}
	return found
}

// tokens returns the positions of the parts between spaces, without punctuation around them.
func tokens(text string) [][2]int {
	const around = ".,;:!?…\"'“”‘’()[]{}<>*_`"
	var places [][2]int
	start := -1
	add := func(end int) {
		if start < 0 {
			return
		}
		left := len(text[start:end]) - len(strings.TrimLeft(text[start:end], around))
		if core := strings.Trim(text[start:end], around); core != "" {
			places = append(places, [2]int{start + left, start + left + len(core)})
		}
		start = -1
	}
	for i, r := range text {
		switch {
		case unicode.IsSpace(r):
			add(i)
		case start < 0:
			start = i
		}
	}
	add(len(text))
	return places
}

// isAddress reports whether a run of Latin letters is a key: in mixed case and longer than any word.
func isAddress(token string) bool {
	if len(token) < longName || token == strings.ToLower(token) || token == strings.ToUpper(token) {
		return false
	}
	for _, r := range token {
		if r > unicode.MaxASCII || !unicode.IsLetter(r) {
			return false
		}
	}
	return true
}
