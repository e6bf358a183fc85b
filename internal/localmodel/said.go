package localmodel

import (
	"slices"
	"strings"
)

// credit notes that a word of a line was said.
func (w *writer) credit(from int, x word) {
	if _, ok := w.used[from]; !ok {
		w.used[from] = 0
	}
	if x.root != "" {
		w.used[from]++
		if w.used[from] == 1 {
			w.order = append(w.order, from)
		}
	}
}

// allowed says whether a line may be drawn on.
func (w *writer) allowed(from int) bool { return w.only == nil || w.only[from] }

// sayable says whether the words hold nothing that a plain text leaves out.
func (w *writer) sayable(ws []word) bool {
	if !w.plain {
		return true
	}
	return !slices.ContainsFunc(ws, func(x word) bool {
		return x.tag == number || dated[x.low] || strings.ContainsAny(x.low, "0123456789@")
	})
}

// barred says whether a line may not be drawn on yet: the anchor comes first.
func (w *writer) barred(from int) bool {
	return !w.allowed(from) || w.anchor >= 0 && len(w.order) == 0 && from != w.anchor
}

// recall takes an image as drawn already.
func (w *writer) recall(i int) {
	if !slices.Contains(w.drawn, i) {
		w.drawn = append(w.drawn, i)
		w.order = append(w.order, w.mem.images[i].line)
		w.used[w.mem.images[i].line]++
	}
}

// planned is the least number of tokens that the rest of the plan takes.
func (w *writer) planned() int {
	n := 0
	for _, i := range w.plan {
		switch i.slot {
		case saying, joining:
			n++
		case images, echoes:
			n += 2
		case clauses:
			n += 5
		}
	}
	return n
}

// joined counts the memories the text has drawn on.
func (w *writer) joined() int { return len(w.order) }

// worn counts how many of the words were said before.
func (w *writer) worn(ws []word) float64 {
	n := 0
	for _, x := range ws {
		if x.root != "" && w.spoken[x.root] > 0 {
			n++
		}
	}
	return float64(n)
}
