package psyche

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/utterance"
)

// What makes a memory salient. utterance.Worth decides whether it is kept at all.
const (
	forAsking   = .5  // a request to remember it
	forAFact    = .25 // about the speaker: a name, a habit, a preference
	forDetail   = .1  // each: a name, a number
	forLength   = .2  // at 400 characters and more
	forNovelty  = .25 // nothing similar is remembered
	forQuestion = .25 // subtracted: a question says little about the world
	agentsShare = .7  // factor for the agent's own words
	toolsShare  = .5  // factor for the words of tools
)

var (
	asksToKeep = regexp.MustCompile(
		`(?i)\b(remember (that|this|my|our|to|:)|please remember|don'?t forget|keep in mind|note that|for the record|from now on|merk(e)? dir|vergiss nicht)`)
	ofSpeaker = regexp.MustCompile(
		`(?i)\b(my|our) [\p{L}' -]{2,40} (is|are|was|were|will be)\b|\bi(?:'m| am|'ve| have) (?:a|an|the|from|called|allergic|married|working|living|moving|learning|never|always)\b|\bi (?:always|never|usually|live|work|study|like|love|hate|prefer|need|use|own|speak|play|believe)\b|\bcall me\b|\bmy name'?s\b|\bwe (?:decided|agreed|use|always|never|call)\b|\bich (?:bin|heiße|wohne|arbeite|mag|hasse)\b`)
)

// weigh is the salience of something said, in [0, 1]. novelty is 1 when nothing similar is remembered.
func weigh(text string, by dream.Taint, novelty float64) float64 {
	text = strings.TrimSpace(text)
	if text == "" {
		return 0
	}
	score := forLength*min(1, float64(len([]rune(text)))/400) + forNovelty*max(0, min(1, novelty))
	fact := ofSpeaker.MatchString(text)
	if asksToKeep.MatchString(text) {
		score += forAsking
	}
	if fact {
		score += forAFact
	}
	name, number := details(text)
	if name {
		score += forDetail
	}
	if number {
		score += forDetail
	}
	if strings.HasSuffix(text, "?") && !fact {
		score -= forQuestion
	}
	switch by {
	case dream.FromAgent:
		score *= agentsShare
	case dream.FromTool, dream.FromWeb, dream.FromDream:
		score *= toolsShare
	case dream.FromHuman:
	}
	return max(0, min(1, score))
}

// details reports whether a text names somebody or something, and whether it holds a number.
func details(text string) (name, number bool) {
	begins := true
	for word := range strings.FieldsSeq(text) {
		first := []rune(strings.TrimLeft(word, "\"'(*_"))
		if len(first) > 1 && unicode.IsUpper(first[0]) && unicode.IsLower(first[1]) && !begins {
			name = true
		}
		number = number || strings.ContainsFunc(word, unicode.IsDigit)
		begins = strings.ContainsAny(word[len(word)-1:], ".!?:")
	}
	return name, number
}

// onlyRepeats reports whether a line repeats what was put before the model. For a person's line the words must be the
// same, since one that differs in a name or a number is a correction.
func onlyRepeats(l line, shown []string) bool {
	if l.by != dream.FromHuman {
		return repeats(l.text, shown)
	}
	return len(shown) > 0 && strings.Contains(l.text, opening[:40]) || utterance.Repeats(l.text, shown...)
}

// repeats reports whether a text is mostly what was put before the model, and so is remembered already.
func repeats(text string, shown []string) bool {
	if len(shown) == 0 {
		return false
	}
	if strings.Contains(text, opening[:40]) {
		return true
	}
	texts := shingles(text)
	if len(texts) == 0 {
		return false
	}
	seen := map[string]bool{}
	for _, each := range shown {
		for _, s := range shingles(each) {
			seen[s] = true
		}
	}
	same := 0
	for _, s := range texts {
		if seen[s] {
			same++
		}
	}
	return 2*same >= len(texts)
}

// shingles are the runs of four words of a text, or all of it when it has fewer.
func shingles(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(text),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	const run = 4
	if len(words) < run {
		if len(words) == 0 {
			return nil
		}
		return []string{strings.Join(words, " ")}
	}
	out := make([]string, 0, len(words)-run+1)
	for i := range len(words) - run + 1 {
		out = append(out, strings.Join(words[i:i+run], " "))
	}
	return out
}
