package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// Bounds of a sentence that the model embeds: shorter ones mean too little, longer ones cost much and teach each word
// less.
const (
	fewestWords = 3
	mostWords   = 40
)

// wordnet reads the glosses and the example sentences of WordNet's data files. A gloss follows the words it explains.
func wordnet(dir string) ([]string, error) {
	var out []string
	for _, part := range []string{"noun", "verb", "adj", "adv"} {
		file, err := os.Open(filepath.Join(dir, "data."+part))
		if err != nil {
			return nil, err
		}
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			out = append(out, entry(lines.Text())...)
		}
		if err := lines.Err(); err != nil {
			return nil, fmt.Errorf("%s: %w", file.Name(), err)
		}
		_ = file.Close()
	}
	return out, nil
}

// entry cuts one line of a data file: "offset file type words word lex ... | gloss; "example"; "example"".
func entry(line string) []string {
	head, gloss, found := strings.Cut(line, " | ")
	fields := strings.Fields(head)
	if !found || strings.HasPrefix(line, "  ") || len(fields) < 5 {
		return nil
	}
	var words int
	if _, err := fmt.Sscanf(fields[3], "%x", &words); err != nil {
		return nil
	}
	var names []string
	for i := range min(words, 3) {
		if at := 4 + 2*i; at < len(fields) {
			name, _, _ := strings.Cut(fields[at], "(")
			names = append(names, strings.ReplaceAll(name, "_", " "))
		}
	}
	meaning, rest, _ := strings.Cut(gloss, `"`)
	meaning = strings.TrimRight(strings.TrimSpace(meaning), ";: ")
	out := []string{strings.Join(names, ", ") + ": " + meaning}
	for i, part := range strings.Split(rest, `"`) {
		if i%2 == 0 && part != "" {
			out = append(out, strings.TrimSpace(part))
		}
	}
	return out
}

// usable drops what is too short, too long, no prose or a repetition, and shuffles the rest, always in the same way.
func usable(sentences []string) []string {
	var out []string
	seen := map[string]bool{}
	for _, s := range sentences {
		s = strings.TrimSpace(s)
		n := len(strings.Fields(s))
		if n < fewestWords || n > mostWords || len(s) > 400 || seen[s] || strings.ContainsAny(s, "{}\\\n") {
			continue
		}
		letters := 0
		for _, r := range s {
			if unicode.IsLetter(r) || r == ' ' {
				letters++
			}
		}
		if letters*10 < len(s)*8 {
			continue
		}
		seen[s] = true
		out = append(out, s)
	}
	slices.Sort(out)
	dice := rand.New(rand.NewPCG(1, 2))
	dice.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}
