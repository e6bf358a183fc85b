package policy

import "strings"

// words is a list of words and phrases to find in a text. A star ends a word whose endings do not matter.
type words struct {
	first map[string][][]string // by the first word
	stems map[string][][]string // by the first word without its star
	long  int                   // letters of the longest stem
}

// lexicon reads "lever up | leverag*".
func lexicon(texts ...string) *words {
	w := &words{first: map[string][][]string{}, stems: map[string][][]string{}}
	for phrase := range strings.SplitSeq(strings.Join(texts, "|"), "|") {
		parts := strings.Fields(phrase)
		if len(parts) == 0 {
			continue
		}
		if stem, starred := strings.CutSuffix(parts[0], "*"); starred {
			w.stems[stem] = append(w.stems[stem], parts)
			w.long = max(w.long, len(stem))
		} else {
			w.first[parts[0]] = append(w.first[parts[0]], parts)
		}
	}
	return w
}

// at is how many tokens the longest phrase of the list takes that begins at a token; 0 for none.
func (w *words) at(in []token, i int) int {
	if i >= len(in) || in[i].sort == mark || in[i].sort == address {
		return 0
	}
	best := longest(w.first[in[i].text], in, i, 0)
	if in[i].plain != in[i].text {
		best = longest(w.first[in[i].plain], in, i, best)
	}
	for n := min(len(in[i].text), w.long); n > 1 && len(w.stems) > 0; n-- {
		best = longest(w.stems[in[i].text[:n]], in, i, best)
	}
	return best
}

func longest(phrases [][]string, in []token, i, best int) int {
	for _, phrase := range phrases {
		if len(phrase) > best && follows(phrase[1:], in, i+1) {
			best = len(phrase)
		}
	}
	return best
}

func follows(rest []string, in []token, i int) bool {
	if i+len(rest) > len(in) {
		return false
	}
	for n, want := range rest {
		t := in[i+n]
		stem, starred := strings.CutSuffix(want, "*")
		same := t.text == want || t.plain == want || starred && strings.HasPrefix(t.text, stem)
		if t.sort == mark || !same {
			return false
		}
	}
	return true
}

// endsWith says whether a phrase of the list ends right before a token.
func endsWith(in []token, before int, w *words) bool {
	for n := 1; n <= 4 && before-n >= 0; n++ {
		if w.at(in, before-n) == n {
			return true
		}
	}
	return false
}

// oneOf says whether a token is one of a few, given with blanks between them.
func oneOf(t token, few string) bool {
	for from := 0; t.text != ""; {
		i := strings.Index(few[from:], t.text)
		if i < 0 {
			return false
		}
		begin, end := from+i, from+i+len(t.text)
		if (begin == 0 || few[begin-1] == ' ') && (end == len(few) || few[end] == ' ') {
			return true
		}
		from = end
	}
	return false
}

// watched are the words that disguises are undone for: those that rules look for.
var watched = watch()

// misspelt are the words that are known with a slip in them.
var misspelt = strings.Fields(sections["misspelt"].Words)

func watch() map[string]bool {
	words := table("watched")
	for name := range numerals {
		if len(name) >= 3 && onlyASCII(name) {
			words[name] = true
		}
	}
	for name := range assetNames {
		if len([]rune(name)) >= 3 && !strings.Contains(name, " ") {
			words[name] = true
		}
	}
	return words
}
