// Package embedding has the frozen questions by which embedders are compared, and the memories among which they
// search.
package embedding

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

//go:embed testdata/paraphrases.jsonl
var paraphrases string

//go:embed testdata/unrelated.txt
var unrelated string

// Paraphrase is a fact and a question about it that share no content word. The set was written before any semantic
// embedder of this repository, and is never tuned on.
type Paraphrase struct {
	ID       string `json:"id"`
	Topic    string `json:"topic"` // "everyday" or "technical"
	Fact     string `json:"fact"`
	Question string `json:"question"`
}

// Paraphrases returns the frozen set of 100.
func Paraphrases() ([]Paraphrase, error) {
	var out []Paraphrase
	for line := range strings.Lines(paraphrases) {
		var p Paraphrase
		if err := json.Unmarshal([]byte(line), &p); err != nil {
			return nil, fmt.Errorf("paraphrase %d: %w", len(out)+1, err)
		}
		out = append(out, p)
	}
	return out, nil
}

// People and times that are added to events, so that no two memories are the same.
var (
	people = strings.Fields(
		"Ada Bruno Carla Dmitri Elif Farid Greta Hugo Ingrid Jonas Keiko Lena Marco Nils Olga Pablo Quentin Rosa Sven " +
			"Tariq Ulla Viktor Wanda Xenia Yusuf Zoe")
	times = []string{
		"on Monday", "last weekend", "in the afternoon", "during the holidays", "two months ago", "after the storm",
		"while it rained", "this week",
		"in early autumn", "before the meeting", "once again", "on a foggy day", "as planned", "for a change",
		"with some help",
	}
)

// Unrelated returns n different memories that answer none of the paraphrases' questions. The same n gives the same
// memories.
func Unrelated(n int) ([]string, error) {
	var sentences []string
	for line := range strings.Lines(unrelated) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") {
			sentences = append(sentences, expand(line)...)
		}
	}
	dice := rand.New(rand.NewPCG(2500, 6))
	dice.Shuffle(len(sentences), func(i, j int) { sentences[i], sentences[j] = sentences[j], sentences[i] })
	var out []string
	seen := map[string]bool{}
	if most := len(sentences) * len(people); n > most {
		return nil, fmt.Errorf("%d different memories cannot be made; at most %d can", n, most)
	}
	for try := 0; len(out) < n; try++ {
		who, when := people[dice.IntN(len(people))], times[dice.IntN(len(times))]
		text := who + " " + sentences[try%len(sentences)] + " " + when + "."
		if !seen[text] {
			seen[text] = true
			out = append(out, text)
		}
	}
	return slices.Clip(out), nil
}

// expand writes every combination of a line's alternatives.
func expand(line string) []string {
	before, rest, found := strings.Cut(line, "{")
	if !found {
		return []string{line}
	}
	choices, after, _ := strings.Cut(rest, "}")
	var out []string
	for _, tail := range expand(after) {
		for choice := range strings.SplitSeq(choices, "|") {
			out = append(out, before+choice+tail)
		}
	}
	return out
}
