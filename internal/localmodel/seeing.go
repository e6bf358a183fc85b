package localmodel

import (
	"math"
	"slices"
)

// imageStarts gives the first words of the noun phrases that may be said next; again asks for what was seen before.
func (w *writer) imageStarts(again bool) []candidate {
	w.echoing = again
	var out []candidate
	for i, img := range w.mem.images {
		if s := w.imageScore(i); !math.IsInf(s, -1) {
			out = append(out, candidate{w.pointed(img.words[0], again), s, func() { w.see(i, again) }})
		}
	}
	switch {
	case len(out) > 0:
		return out
	case again:
		return w.imageStarts(false)
	case w.only != nil || w.anchor >= 0:
		w.only, w.anchor = nil, -1
		return w.imageStarts(false)
	}
	return nil
}

// pointed says the where what is seen again came with a.
func (w *writer) pointed(first word, again bool) string {
	if again && (first.low == "a" || first.low == "an") {
		return "the"
	}
	return textOf(first)
}

// see begins to say an image; those that begin alike remain possible.
func (w *writer) see(i int, again bool) {
	w.echoing, w.pictures, w.depth = again, nil, 1
	first, list := w.mem.images[i].words[0].low, []int{i}
	for j, img := range w.mem.images {
		if j != i && img.words[0].low == first && !math.IsInf(w.imageScore(j), -1) {
			list = append(list, j)
		}
	}
	w.pictures = list
	if len(w.plan) > 0 {
		w.plan = w.plan[1:]
	}
	w.settleImage()
}

// withinImage gives the next words of the image being said, and of those that began alike; false at its end.
func (w *writer) withinImage() ([]candidate, bool) {
	if w.depth >= len(w.mem.images[w.pictures[0]].words) {
		return nil, false
	}
	var out []candidate
	for _, j := range w.pictures {
		if ws := w.mem.images[j].words; w.depth < len(ws) {
			out = append(out, candidate{textOf(ws[w.depth]), w.imageScore(j), func() { w.look(j) }})
		}
	}
	return out, true
}

// look says one more word of an image.
func (w *writer) look(j int) {
	text := w.mem.images[j].words[w.depth].low
	kept := []int{j}
	for _, k := range w.pictures {
		if ws := w.mem.images[k].words; k != j && w.depth < len(ws) && ws[w.depth].low == text {
			kept = append(kept, k)
		}
	}
	w.pictures = kept
	w.depth++
	w.settleImage()
}

// settleImage credits the line when the image has been said to its end.
func (w *writer) settleImage() {
	i := w.pictures[0]
	img := w.mem.images[i]
	if w.depth < len(img.words) {
		return
	}
	for _, x := range img.words {
		w.credit(img.line, x)
	}
	w.drawn = append(w.drawn, i)
	w.from = img.line
}

// imageScore weighs an image as the next to be said; -Inf when it cannot be.
func (w *writer) imageScore(i int) float64 {
	img := w.mem.images[i]
	if slices.Contains(w.drawn, i) || !w.sayable(img.words) || w.echoing && w.used[img.line] == 0 ||
		!w.echoing && w.barred(img.line) {
		return math.Inf(-1)
	}
	s := 1.6*img.worth + .8*float64(min(w.mem.hinted(img.words), 2))
	if w.mem.lines[img.line].rule {
		s -= 2
	}
	if over := len(img.words) + w.planned() - 2 - w.room; over > 0 {
		s -= 1.5 * float64(min(over, 6))
	}
	if w.echoing {
		return s + .8*math.Min(1, w.worn(img.words))
	}
	if w.used[img.line] > 0 {
		s -= 1.5
	} else if w.stale[img.line] {
		s--
	}
	if w.from >= 0 && w.from != img.line {
		s += 1.5 * math.Min(.5, w.mem.near(w.from, img.line))
	}
	if n := len(w.drawn); n > 0 && alike(w.mem.images[w.drawn[n-1]].words, img.words) {
		s -= 4 // a thing is no picture of itself
	}
	if w.pictures == nil {
		s -= 1.2 * w.worn(img.words)
	}
	return s
}

// alike says whether two images share a word of content.
func alike(a, b []word) bool {
	return slices.ContainsFunc(a, func(x word) bool {
		return x.root != "" && slices.ContainsFunc(b, func(y word) bool { return y.root == x.root })
	})
}
