package erasure

// A copy differs from a coincidence by the number of words in a row that it shares with the forgotten text.
const (
	run      = 3 // a run of this many shared words is a copy when two of them are telling
	someRun  = 5 // … when one of them is telling
	phrase   = 4 // … in text made from other texts, when no remaining text has the same run
	longRun  = 8 // … in any text
	mostGaps = 1 // in text made from other texts, so many words between two copied pieces are removed with them
)

// Mark replaces the words that were removed from a text.
const Mark = "[forgotten]"

// mostOthers is how many remaining memories may share a run of words with the forgotten text. A run that more of them
// share is a common phrase, not a copy.
const mostOthers = 2

// wording holds the words of the texts to forget, to recognise copies of them in other texts.
type wording struct {
	spoken  map[uint64]bool // runs of three words in what people or agents said
	own     map[uint64]bool // those of them that are not common phrases
	made    map[uint64]bool // runs of three words in said, and in texts made from others
	telling map[uint64]bool // words that no remaining text has outside of copies
	stays   map[uint64]bool // runs of four words in the remaining texts
}

func newWording() wording {
	return wording{
		spoken:  map[uint64]bool{},
		own:     map[uint64]bool{},
		made:    map[uint64]bool{},
		telling: map[uint64]bool{},
		stays:   map[uint64]bool{},
	}
}

// learn adds a text to forget. made means that it was put together from other texts, which may remain.
func (w *wording) learn(text string, made bool) {
	words := tokens(text)
	for _, g := range grams(words, run) {
		w.made[g] = true
		if !made {
			w.spoken[g], w.own[g] = true, true
		}
	}
	for _, t := range words {
		if t.telling {
			w.telling[t.word] = true
		}
	}
}

// compare takes the texts of every remaining memory. A run of words that many of them share is a common phrase, and a
// word that they use outside of copies is not telling. Removing a telling word may show that a supposed copy is none,
// so the search for copies repeats until nothing changes.
func (w *wording) compare(memories [][]string) {
	var all [][]token
	others := map[uint64]int{}
	for _, texts := range memories {
		seen := map[uint64]bool{}
		for _, text := range texts {
			words := tokens(text)
			all = append(all, words)
			for _, g := range grams(words, run) {
				seen[g] = seen[g] || w.own[g]
			}
		}
		for g, shared := range seen {
			if shared {
				others[g]++
			}
		}
	}
	for g, n := range others {
		if n > mostOthers {
			delete(w.own, g)
		}
	}
	for before := -1; before != len(w.telling); {
		before = len(w.telling)
		for _, words := range all {
			for i, copied := range w.copied(words) {
				if !copied {
					delete(w.telling, words[i].word)
				}
			}
		}
	}
	for _, words := range all {
		removed := w.copied(words)
		for i, g := range grams(words, phrase) {
			if !removed[i] || !removed[i+1] || !removed[i+2] || !removed[i+3] {
				w.stays[g] = true
			}
		}
	}
}

// alike reports whether a text shares so many words in a row with the forgotten text that a person should look at it.
func (w *wording) alike(text string) bool {
	words := tokens(text)
	found := false
	stretches(w.shared(words, w.spoken), func(from, to int) { found = found || to-from >= someRun })
	return found
}

// shared marks the words that lie in runs of three that are in the set.
func (w *wording) shared(words []token, set map[uint64]bool) []bool {
	out := make([]bool, len(words))
	for i, g := range grams(words, run) {
		if set[g] {
			for j := i; j < i+run; j++ {
				out[j] = true
			}
		}
	}
	return out
}

// copied marks the words that copy the forgotten text, in a text that somebody wrote.
func (w *wording) copied(words []token) []bool {
	marked := w.shared(words, w.own)
	stretches(marked, func(from, to int) {
		n, telling := to-from, w.tellingIn(words[from:to])
		if n < longRun && telling < 2 && (n < someRun || telling == 0) {
			clear(marked[from:to])
		}
	})
	return marked
}

// traced marks the words that copy the forgotten text, in a text made from others. Single telling words count too.
func (w *wording) traced(words []token) []bool {
	marked := w.shared(words, w.made)
	stays := grams(words, phrase)
	stretches(marked, func(from, to int) {
		if w.tellingIn(words[from:to]) > 0 {
			return
		}
		for i := from; i+phrase <= to; i++ {
			if !w.stays[stays[i]] {
				return
			}
		}
		clear(marked[from:to])
	})
	for i, t := range words {
		marked[i] = marked[i] || w.telling[t.word] && t.telling
	}
	return marked
}

func (w *wording) tellingIn(words []token) int {
	n := 0
	for _, t := range words {
		if t.telling && w.telling[t.word] {
			n++
		}
	}
	return n
}

// stretches calls do for each unbroken row of marks.
func stretches(marked []bool, do func(from, to int)) {
	for from := 0; from < len(marked); from++ {
		to := from
		for to < len(marked) && marked[to] {
			to++
		}
		if to > from {
			do(from, to)
			from = to
		}
	}
}
