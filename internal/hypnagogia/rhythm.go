package hypnagogia

import (
	"strings"

	"github.com/seed-56a03226/oneiros/internal/sentence"
)

// fresh is the share of neighbouring pairs of words that occur for the first time. A loop falls below 0.5 with its
// second turn; natural speech stays above 0.9.
func fresh(tokens []string) float64 {
	if len(tokens) < 2 {
		return 1
	}
	seen := map[[2]string]bool{}
	for i := 1; i < len(tokens); i++ {
		a, b := bare(tokens[i-1]), bare(tokens[i])
		if a == b {
			continue // a repeated word is never fresh
		}
		seen[[2]string{a, b}] = true
	}
	return float64(len(seen)) / float64(len(tokens)-1)
}

func bare(token string) string {
	if key := words(token); len(key) > 0 {
		return strings.Join(key, " ")
	}
	return token
}

// bearable is the mean over sentences, weighted by words: 1 for 4 to 45 words, less for shorter or longer ones, but
// at least 0.3. An incomplete last sentence is no fault, because partials are cut off.
func bearable(text string) float64 {
	sum, all := 0.0, 0
	for _, s := range sentence.Split(flatten(text)) {
		n := len(tokenize(s))
		worth := 1.0
		switch {
		case n < 4:
			worth = .3 + .7*float64(n)/4
		case n > 45:
			worth = max(.3, 45/float64(n))
		}
		sum += worth * float64(n)
		all += n
	}
	if all == 0 {
		return 0
	}
	return sum / float64(all)
}

// English function words that introduce a noun. Another function word right after them is an error: "the of", "a
// and".
var (
	openers = setOf("a an the my your our their its every")
	smalls  = setOf(
		"a an the my your our their its every of to in on at by from with into onto and or but nor if because " +
			"is are was were be been has have had do does did he she they we you him them me")
	joiners = setOf("of from into onto")
	stumble = setOf("of and or nor but is are was were be been has had do does did")
)

// joined is the share of neighbouring words without such an error. Texts without these words, for example in other
// languages, have none.
func joined(tokens []string) float64 {
	if len(tokens) < 2 {
		return 1
	}
	stumbles := 0
	for i := 1; i < len(tokens); i++ {
		a, b := tokens[i-1], bare(tokens[i])
		if a != strings.TrimRight(a, ".,;:!?…\"”)") { // punctuation lies between
			continue
		}
		a = bare(a)
		if openers[a] && smalls[b] || joiners[a] && stumble[b] {
			stumbles++
		}
	}
	return 1 - float64(stumbles)/float64(len(tokens)-1)
}

func setOf(list string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}
