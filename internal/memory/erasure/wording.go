package erasure

// A copy is told from chance by how many words in a row it shares with what is forgotten.
const (
	run      = 3 // so many words in a row are shared on purpose when two telling words are among them
	someRun  = 5 // so many are when one is
	phrase   = 4 // so many are, in what was made of other texts, when nothing that stays says the same
	longRun  = 8 // so many are, whoever wrote them
	mostGaps = 1 // words between two pieces of a copy that go with them, in what was made of other texts
)

// Mark stands in a text where words were taken out.
const Mark = "[forgotten]"

// mostOthers is how many memories that stay may share a run of words with what is forgotten before it is a phrase that
// many use, and no copy.
const mostOthers = 2

// wording is what was said in the texts to forget, and how it is recognised in others.
type wording struct {
	said    map[uint64]bool // runs of three in what somebody said
	own     map[uint64]bool // those of them that are no common phrases
	made    map[uint64]bool // runs of three in those, and in what was made of others' words
	telling map[uint64]bool // words that nothing which stays has of its own
	stays   map[uint64]bool // runs of four in what stays
}

func newWording() wording {
	return wording{
		said:    map[uint64]bool{},
		own:     map[uint64]bool{},
		made:    map[uint64]bool{},
		telling: map[uint64]bool{},
		stays:   map[uint64]bool{},
	}
}

// learn takes in a text to forget. made: it was put together from other texts, which may stay.
func (w *wording) learn(text string, made bool) {
	words := tokens(text)
	for _, g := range grams(words, run) {
		w.made[g] = true
		if !made {
			w.said[g], w.own[g] = true, true
		}
	}
	for _, t := range words {
		if t.telling {
			w.telling[t.word] = true
		}
	}
}

// compare takes in what stays: the texts of each memory. What many of them say is a common phrase, and the words that
// they have outside of copies betray nothing. A word that is common may show that what seemed a copy was none, so it
// looks again.
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

// alike says whether a text shares so many words in a row with what is forgotten that somebody should look at it.
func (w *wording) alike(text string) bool {
	words := tokens(text)
	found := false
	stretches(w.shared(words, w.said), func(from, to int) { found = found || to-from >= someRun })
	return found
}

// shared marks the words that lie in runs of three which a set knows.
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

// copied marks what somebody's own words repeat.
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

// traced marks what a text that was made of others repeats: single telling words, too.
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
