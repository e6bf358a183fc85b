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

// wording is what was said in the texts to forget, and how it is recognised in others.
type wording struct {
	own     map[uint64]bool // runs of three in what somebody said
	made    map[uint64]bool // runs of three in those, and in what was made of others' words
	telling map[uint64]bool // words that nothing which stays has of its own
	stays   map[uint64]bool // runs of four in what stays
}

// learn takes in a text to forget. made: it was put together from other texts, which may stay.
func (w *wording) learn(text string, made bool) {
	words := tokens(text)
	for _, g := range grams(words, run) {
		w.made[g] = true
		if !made {
			w.own[g] = true
		}
	}
	for _, t := range words {
		if t.telling {
			w.telling[t.word] = true
		}
	}
}

// keep takes in a text that stays: the words that it has outside of what it shares with the forgotten betray nothing.
func (w *wording) keep(text string) {
	words := tokens(text)
	shared := w.shared(words, w.own)
	for i, t := range words {
		if !shared[i] {
			delete(w.telling, t.word)
		}
	}
}

// settle takes in a text that stays, when all telling words are known: its phrases may be quoted on.
func (w *wording) settle(text string) {
	words := tokens(text)
	gone := w.copied(words)
	for i, g := range grams(words, phrase) {
		if !gone[i] || !gone[i+1] || !gone[i+2] || !gone[i+3] {
			w.stays[g] = true
		}
	}
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
