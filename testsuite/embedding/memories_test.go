package embedding_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/testsuite/embedding"
)

// frozen is the hash of the set as it was written. A set that is edited after embedders were measured on it proves
// nothing.
const frozen = "ab9d354e9155d686c953c7270a9f0186446181e3691f616c5a1eeddbc9102381"

func TestTheParaphrasesAreAsTheyWereFrozen(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/paraphrases.jsonl")
	require.NoError(t, err)
	sum := sha256.Sum256(data)
	require.Equal(t, frozen, hex.EncodeToString(sum[:]))
}

// functionWords carry grammar and no content: articles, pronouns, prepositions, auxiliaries, question words.
var functionWords = set(
	`a an the this that these those i you he she it we they me him her us them my your his its our their mine yours
	in on at by of to from for with without into onto out up down over under off above below as than until till since after before during
	is are was were be been being am do does did done has have had having can cannot could will would may might must shall should let lets
	and or but not no nor so if because when where who whom whose which what why how once ever never only just too very more most much many
	some any each every all both few one two first last next there here now then get got gets s t m d ll ve re don didn isn aren can't`)

func set(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}

// contentWords are the words of a text that carry content, without their commonest endings.
func contentWords(text string) []string {
	var out []string
	for _, w := range strings.FieldsFunc(strings.ToLower(text),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if !functionWords[w] {
			out = append(out, root(w))
		}
	}
	return out
}

func root(w string) string {
	for _, ending := range []string{
		"ations", "ation", "ingly", "ings", "ing", "ions", "ion", "ments", "ment", "ness",
		"edly", "ies", "ied", "ers", "er", "es", "ed", "ly", "s", "e", "y",
	} {
		if short, found := strings.CutSuffix(w, ending); found && len(short) >= 3 {
			w = short
			break
		}
	}
	if n := len(w); n > 3 && w[n-1] == w[n-2] {
		w = w[:n-1]
	}
	return w
}

// sameWord says whether two roots are forms of one word, or words of one stem: the same, or both begin with the same
// five letters.
func sameWord(a, b string) bool {
	return a == b || len(a) >= 5 && len(b) >= 5 && a[:5] == b[:5]
}

func shared(a, b string) []string {
	var out []string
	for _, x := range contentWords(a) {
		for _, y := range contentWords(b) {
			if sameWord(x, y) {
				out = append(out, x)
			}
		}
	}
	return out
}

func TestFactAndQuestionShareNoContentWord(t *testing.T) {
	t.Parallel()
	require.NotEmpty(t, shared("Our team lost the final.", "Which teams lose?"), "the check sees a shared word")
	require.NotEmpty(t, shared("She is renewing it.", "When was it renewed?"), "the check sees a shared stem")
	pairs, err := embedding.Paraphrases()
	require.NoError(t, err)
	require.Len(t, pairs, 100)
	ids, facts := map[string]bool{}, map[string]bool{}
	topics := map[string]int{}
	for _, p := range pairs {
		require.Empty(t, shared(p.Fact, p.Question), "%s: %s / %s", p.ID, p.Fact, p.Question)
		require.False(t, ids[p.ID] || facts[p.Fact], p.ID)
		ids[p.ID], facts[p.Fact] = true, true
		topics[p.Topic]++
	}
	require.Equal(t, map[string]int{"everyday": 50, "technical": 50}, topics)
}

func TestTheUnrelatedMemoriesAreManyDifferentAndAlwaysTheSame(t *testing.T) {
	t.Parallel()
	first, err := embedding.Unrelated(3000)
	require.NoError(t, err)
	again, err := embedding.Unrelated(3000)
	require.NoError(t, err)
	require.Equal(t, first, again)
	seen := map[string]bool{}
	for _, text := range first {
		require.NotContains(t, text, "{")
		require.NotContains(t, text, "|")
		require.False(t, seen[text], text)
		seen[text] = true
	}
	_, err = embedding.Unrelated(1_000_000)
	require.ErrorContains(t, err, "different memories")
}
