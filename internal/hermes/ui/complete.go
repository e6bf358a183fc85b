package ui

import (
	"slices"
	"strings"
)

// completion is the list under the input that Tab opens, of commands or of files.
type completion struct {
	word   string // what is completed, with its mark
	found  []string
	chosen int
}

// shownFound is how many of them are shown at once.
const shownFound = 6

func (c *completion) open() bool { return len(c.found) > 0 }

func (c *completion) move(by int) {
	c.chosen = (c.chosen + by + len(c.found)) % len(c.found)
}

// typed reports that what is chosen is what was typed, such as /dream where there is /dreams, too.
func (c *completion) typed() bool { return c.open() && c.found[c.chosen] == c.word }

// begin completes the word before the cursor. The only one that fits is taken at once.
func (c *completion) begin(m *model) {
	if c.open() {
		c.take(m)
		return
	}
	word := lastWord(m.input.Value())
	*c = completion{word: word, found: m.fitting(word)}
	if len(c.found) == 1 {
		c.take(m)
	}
}

// narrow follows what is typed. Typing / at the beginning, or @, opens the list.
func (c *completion) narrow(m *model) {
	word := lastWord(m.input.Value())
	if !strings.HasPrefix(word, "@") && !(strings.HasPrefix(word, "/") && word == m.input.Value()) {
		*c = completion{}
		return
	}
	if word == c.word {
		return
	}
	*c = completion{word: word, found: m.fitting(word)}
	if len(c.found) == 1 && c.found[0] == word {
		*c = completion{word: word}
	}
}

// take puts the chosen completion in the place of the word. It reports whether that is a command which can run as it is.
func (c *completion) take(m *model) bool {
	if !c.open() {
		return false
	}
	value := m.input.Value()
	chosen := c.found[c.chosen]
	m.input.SetValue(strings.TrimSuffix(value, c.word) + chosen + " ")
	m.input.MoveToEnd()
	*c = completion{word: chosen}
	for _, each := range m.catalogue() {
		if "/"+each.Name == chosen {
			return each.Argument == "" || strings.HasPrefix(each.Argument, "[")
		}
	}
	return false
}

func lastWord(text string) string {
	return text[strings.LastIndexAny(text, " \n\t")+1:]
}

// fitting are the completions of a word, the best first.
func (m *model) fitting(word string) []string {
	switch {
	case strings.HasPrefix(word, "/") && word == m.input.Value():
		var all []string
		for _, c := range m.catalogue() {
			if strings.HasPrefix(c.Name, word[1:]) {
				all = append(all, "/"+c.Name)
			}
		}
		return all
	case strings.HasPrefix(word, "@") && m.Files != nil:
		return matches(m.Files(200_000), word[1:])
	}
	return nil
}

// matches are the files in whose path the letters of a word stand in their order, those in which they stand together
// and in the file's name first.
func matches(files []string, word string) []string {
	type scored struct {
		file  string
		score int
	}
	word = strings.ToLower(word)
	var all []scored
	for _, f := range files {
		if s, ok := fuzzy(strings.ToLower(f), word); ok {
			all = append(all, scored{f, s})
		}
	}
	slices.SortStableFunc(all, func(a, b scored) int {
		if a.score != b.score {
			return a.score - b.score
		}
		return len(a.file) - len(b.file)
	})
	found := make([]string, 0, min(len(all), 50))
	for _, s := range all[:min(len(all), 50)] {
		found = append(found, "@"+s.file)
	}
	return found
}

// fuzzy scores a match, the lower the better: how far the letters are apart, and how far before the file's name they
// begin.
func fuzzy(file, word string) (int, bool) {
	if word == "" {
		return strings.Count(file, "/"), true
	}
	name := strings.LastIndexByte(file, '/') + 1
	if at := strings.Index(file[name:], word); at >= 0 {
		return at, true
	}
	if at := strings.Index(file, word); at >= 0 {
		return 100 + name - at, true
	}
	at, gaps := 0, 0
	for _, r := range word {
		next := strings.IndexRune(file[at:], r)
		if next < 0 {
			return 0, false
		}
		gaps += next
		at += next + len(string(r))
	}
	return 1000 + gaps, true
}

// pastWords are what the person said before, for the arrow keys.
type pastWords struct {
	all    []string
	back   int // how far back is shown; 0: what is being typed
	typing string
}

func (p *pastWords) add(text string) {
	p.back = 0
	if len(p.all) == 0 || p.all[len(p.all)-1] != text {
		p.all = append(p.all, text)
	}
}

// older shows what was said before. It reports false where the key is the input's own: within several lines.
func (p *pastWords) older(m *model) bool {
	if m.input.Line() > 0 || p.back == len(p.all) {
		return m.input.Line() == 0
	}
	if p.back == 0 {
		p.typing = m.input.Value()
	}
	p.back++
	m.input.SetValue(p.all[len(p.all)-p.back])
	return true
}

func (p *pastWords) newer(m *model) bool {
	if p.back == 0 || m.input.Line() < m.input.LineCount()-1 {
		return false
	}
	p.back--
	if p.back == 0 {
		m.input.SetValue(p.typing)
		return true
	}
	m.input.SetValue(p.all[len(p.all)-p.back])
	return true
}
