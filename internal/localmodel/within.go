package localmodel

import "math"

// Logits of the chain. Going on in the same memory is the measure of all others: with min-p at .1, what lies
// T·ln 10 below it cannot be said, so crossings open as the dream warms and the boldest only near T = 1.4.
const (
	goingOn       = 3.0
	crossContent  = 2.3 // below going on: over a shared word of content
	crossFrame    = 2.9 // below going on: over a shared article, preposition or the like in an equal frame
	crossKind     = 3.1 // below going on: over another word of the same kind
	crossAgain    = 1.3 // further below, for a second crossing
	mostCrossings = 2   // in one clause
	mostOptions   = 3   // crossings offered at one word
	steady        = 3   // words said before a memory is left
	echoFrom      = 6   // words in a row from one memory before it tires
	echoPerWord   = .12
	echoMost      = 1.2
)

// starts gives the first words of the clauses that may be said next.
func (w *writer) starts() []candidate {
	var out []candidate
	score := w.clauseScores()
	for i, s := range score {
		if math.IsInf(s, -1) {
			continue
		}
		out = append(out, candidate{textOf(w.mem.clauses[i].words[0]), s, func() { w.begin(i, score) }})
	}
	return out
}

// begin starts to say a clause; those that begin with the same word remain possible.
func (w *writer) begin(i int, score []float64) {
	c := w.mem.clauses[i]
	w.rivals = nil
	for j, s := range score {
		if !math.IsInf(s, -1) && j != i && w.mem.clauses[j].words[0].low == c.words[0].low {
			w.rivals = append(w.rivals, j)
		}
	}
	w.at = spot{i, 1}
	w.inside = true
	w.length = 1
	w.run = 1
	w.crosses = 0
	if len(w.plan) > 0 && w.plan[0].slot == clauses {
		w.plan = w.plan[1:]
	}
	w.credit(c.line, c.words[0])
}

// clauseScores weighs every clause as the next to be said; -Inf for those that cannot be.
func (w *writer) clauseScores() []float64 {
	out := make([]float64, len(w.mem.clauses))
	for i, c := range w.mem.clauses {
		out[i] = w.clauseScore(c)
	}
	return out
}

func (w *writer) clauseScore(c clause) float64 {
	if w.barred(c.line) || !w.sayable(c.words) {
		return math.Inf(-1)
	}
	s := 1.3*c.worth + .7*float64(min(w.mem.hinted(c.words), 2))
	if w.mem.lines[c.line].rule {
		s -= 2
	}
	if w.from >= 0 {
		if near := w.mem.near(w.from, c.line); near < .7 {
			s += 2.2 * math.Max(0, near)
		} else {
			s -= 2
		}
	}
	if w.used[c.line] > 0 {
		s -= 3
	} else if w.stale[c.line] {
		s -= 2
	}
	s -= .5 * math.Max(0, w.worn(c.words)-1)
	if over := len(c.words) + w.planned() - w.room; over > 0 {
		s -= 1.5 * float64(min(over, 6))
	}
	return s
}

// withinClause gives the next words of the clause being said, the ways over to other memories, and its ends.
func (w *writer) withinClause() []candidate {
	c := w.mem.clauses[w.at.clause]
	last := c.words[w.at.at-1]
	if w.at.at >= len(c.words) {
		return w.ending(0)
	}
	if last.mark != "" && !w.comma {
		out := []candidate{{last.mark, goingOn - w.tired(), func() { w.rivals = nil }}}
		if w.canEnd(c.words) {
			out = append(out, w.ending(w.reluctance(c.words))...)
		}
		return out
	}
	out := []candidate{
		{textOf(c.words[w.at.at]), goingOn - w.tired(), func() { w.advance(w.at.clause, w.at.at, true) }},
	}
	out = append(out, w.rivalWords()...)
	if last.mark == "" && w.run >= steady && w.crosses < mostCrossings && w.room > 6 {
		out = append(out, w.crossings(c, last)...)
	}
	if !w.comma && w.canEnd(c.words) {
		out = append(out, w.ending(w.reluctance(c.words))...)
	}
	return out
}

// tired grows with the words said in a row from one memory: a dream does not recite.
func (w *writer) tired() float64 {
	return math.Min(echoMost, echoPerWord*float64(max(0, w.run-echoFrom)))
}

// advance says the word at a place and goes on from there.
func (w *writer) advance(i, at int, same bool) {
	c := w.mem.clauses[i]
	w.credit(c.line, c.words[at])
	w.at = spot{i, at + 1}
	w.length++
	w.run++
	if same {
		w.keepRivals(i, at)
		return
	}
	w.rivals, w.run = nil, 1
	w.crosses++
}

// keepRivals drops the clauses whose words differ from those said.
func (w *writer) keepRivals(i, at int) {
	text := w.mem.clauses[i].words[at].low
	kept := w.rivals[:0]
	for _, j := range w.rivals {
		if ws := w.mem.clauses[j].words; j != i && at < len(ws) && ws[at].low == text {
			kept = append(kept, j)
		}
	}
	w.rivals = kept
}

// rivalWords gives the next words of clauses that began alike: which of them is being said is still open.
func (w *writer) rivalWords() []candidate {
	if len(w.rivals) == 0 {
		return nil
	}
	var out []candidate
	own := w.openScore(w.mem.clauses[w.at.clause])
	for _, j := range w.rivals {
		c := w.mem.clauses[j]
		if w.at.at >= len(c.words) {
			continue
		}
		at := w.at.at
		out = append(out, candidate{textOf(c.words[at]), goingOn + w.openScore(c) - own, func() { w.turn(j, at) }})
	}
	return out
}

// openScore weighs a clause that is just beginning: its own first words do not count as worn.
func (w *writer) openScore(c clause) float64 {
	s := 1.3*c.worth + .7*float64(min(w.mem.hinted(c.words), 2))
	if w.from >= 0 {
		s += 2.2 * math.Max(0, math.Min(.7, w.mem.near(w.from, c.line)))
	}
	if w.used[c.line] > 1 && c.line != w.mem.clauses[w.at.clause].line {
		s -= 3
	}
	if over := len(c.words) - w.at.at + 1 - w.room; over > 0 {
		s -= 1.5 * float64(min(over, 6))
	}
	return s
}

// turn makes a rival the clause that is said.
func (w *writer) turn(j, at int) {
	w.rivals = append(w.rivals, w.at.clause)
	w.at = spot{j, at}
	w.advance(j, at, true)
}

// canEnd says whether the clause could stand as far as it was said.
func (w *writer) canEnd(ws []word) bool {
	last, next := ws[w.at.at-1], ws[w.at.at]
	if !last.verb || w.length < 4 || last.tag == who {
		return false
	}
	switch last.tag {
	case noun, whom, number, adverb, bare:
	default:
		return false
	}
	return last.mark == "," || next.tag == prep || next.tag == when || next.tag == and
}

// reluctance is how far ending here lies below ending where the memory ended.
func (w *writer) reluctance(ws []word) float64 {
	left := len(ws) - w.at.at
	if left+max(1, w.planned()) > w.room {
		return -1
	}
	d := 3.2 - .22*float64(max(0, w.length-5)) - .1*float64(left)
	if next := ws[w.at.at].tag; next == when || next == and || ws[w.at.at-1].mark == "," {
		d -= .5
	}
	if ws[w.at.at-1].tag == bare || next(ws, w.at.at) == "of" {
		d += 1.5
	}
	return math.Max(.4, d)
}

func next(ws []word, at int) string { return ws[at].low }

// ending gives what may follow a clause: the next word of the plan, or the joining words.
func (w *writer) ending(lower float64) []candidate {
	var out []candidate
	if len(w.plan) > 0 && w.plan[0].slot != joining {
		head := w.plan[0]
		if head.slot != saying {
			return nil
		}
		out = []candidate{{head.word, goingOn - lower, func() { w.plan = w.plan[1:] }}}
	} else {
		out = w.closers(lower)
	}
	for i, c := range out {
		then := c.then
		out[i].then = func() {
			w.inside, w.from = false, w.mem.clauses[w.at.clause].line
			then()
		}
	}
	return out
}

// textOf is a word as it is said: small unless it is a name.
func textOf(x word) string {
	if x.keep {
		return x.text
	}
	return x.low
}
