// Package wordlist reads lists of words from texts that people edit.
package wordlist

import "strings"

// List is one list of a text.
type List struct {
	Purpose string // what it recognises, with an example
	Words   string
}

// Read reads the lists of a text, by name: "## name", a line that begins with "# ", and words up to a blank line.
func Read(text string) map[string]List {
	lists := map[string]List{}
	for _, part := range strings.Split(text, "\n## ")[1:] {
		name, rest, _ := strings.Cut(part, "\n")
		purpose, rest, _ := strings.Cut(strings.TrimPrefix(rest, "# "), "\n")
		words, _, _ := strings.Cut(rest, "\n\n")
		lists[name] = List{purpose, words}
	}
	return lists
}

// Phrases are the phrases of a list, which have "|" between them.
func (l List) Phrases() []string {
	var phrases []string
	for p := range strings.SplitSeq(l.Words, "|") {
		phrases = append(phrases, strings.Join(strings.Fields(p), " "))
	}
	return phrases
}

// Set holds the phrases of a list, or its words where no "|" is between them.
func (l List) Set() map[string]bool {
	all := strings.Fields(l.Words)
	if strings.Contains(l.Words, "|") {
		all = l.Phrases()
	}
	set := map[string]bool{}
	for _, each := range all {
		set[each] = true
	}
	return set
}
