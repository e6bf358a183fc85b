package localmodel

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Logits of the choices. Closeness of lines lies between 0 and 1; from echoed on a line only repeats the one before.
const (
	closeBy = 2.2
	echoed  = .7
	repeats = -6.0
)

// writer writes one text from clauses of different memories. All that it chooses, it chooses by Sample.
type writer struct {
	*material
	settings
	dice  *rand.Rand
	room  int          // tokens left
	stale map[int]bool // lines that other texts of the same answer drew on
	only  int          // the line to be used alone; -1 for all
	used  []int        // lines, in order of use
	out   []string
}

func newWriter(m *material, s settings, dice *rand.Rand, room int) *writer {
	return &writer{
		material: m,
		settings: s,
		dice:     dice,
		room:     room,
		only:     -1,
	}
}

// draw chooses one of n by their logits; -1 when none is possible.
func (w *writer) draw(n int, logit func(i int) float64) int {
	logits := make([]float64, n)
	best := math.Inf(-1)
	for i := range logits {
		logits[i] = logit(i)
		best = max(best, logits[i])
	}
	if math.IsInf(best, -1) {
		return -1
	}
	return Sample(logits, w.T, w.minP, w.topP, w.dice)
}

// joints lead from one clause to the next; those that begin with a full stop begin a sentence.
var joints = []string{".", ", and", "while", ". then", ". elsewhere"}

// weave writes a clause and so many more, or one more than that, each of another memory.
func (w *writer) weave(more int) []string {
	first := w.pick(max(w.room/2, 2*shortest))
	if first < 0 {
		first = w.pick(longest)
	}
	if first < 0 {
		if w.asks {
			return w.say("i remember nothing that says anything about this .")
		}
		return w.say("there is nothing here to dream about yet .")
	}
	w.utter(first)
	more += w.draw(2, func(i int) float64 { return -.4 * float64(i) })
	for range more {
		next := w.pick(w.room - 3)
		if next < 0 {
			break
		}
		w.say(joints[w.draw(len(joints), func(i int) float64 {
			if i > 0 && w.clauses[next].opens {
				return math.Inf(-1)
			}
			return -.2 * float64(i)
		})])
		w.utter(next)
	}
	return w.say(".")
}

// pick draws the next clause, of at most so many words; -1 when there is none.
func (w *writer) pick(most int) int {
	return w.draw(len(w.clauses), func(i int) float64 {
		c := w.clauses[i]
		if slices.Contains(w.used, c.line) || len(c.words) > most ||
			w.only >= 0 && c.line != w.only {
			return math.Inf(-1)
		}
		logit := 1.3*c.worth + .7*float64(min(w.hinted(c.words), 2))
		if w.asks {
			logit += 3 * float64(w.hinted(c.words))
		}
		if w.stale[c.line] {
			logit -= 2
		}
		if n := len(w.used); n > 0 {
			near := w.near(w.used[n-1], c.line)
			if near >= echoed {
				return repeats
			}
			logit += closeBy * min(near, echoed-near)
		}
		return logit
	})
}

// utter says a clause.
func (w *writer) utter(i int) {
	c := w.clauses[i]
	w.used = append(w.used, c.line)
	for at, x := range c.words {
		w.emit(x.text)
		if x.mark != "" && at+1 < len(c.words) {
			w.emit(x.mark)
		}
	}
}

// say says words of its own, marks of punctuation among them.
func (w *writer) say(words string) []string {
	for _, text := range strings.Fields(words) {
		w.emit(text)
	}
	return w.out
}

// emit puts one token into the text, with its space and its capital.
func (w *writer) emit(text string) {
	if w.room <= 0 {
		return
	}
	w.room--
	if strings.Contains(",.;:?", text) {
		w.out = append(w.out, text)
		return
	}
	if len(w.out) == 0 || strings.HasSuffix(w.out[len(w.out)-1], ".") || w.out[len(w.out)-1] == "?" {
		r, n := utf8.DecodeRuneInString(text)
		text = string(unicode.ToUpper(r)) + text[n:]
	}
	if len(w.out) > 0 {
		text = " " + text
	}
	w.out = append(w.out, text)
}
