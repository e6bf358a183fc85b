package llama

import "bytes"

// walk follows an answer letter by letter through a form. The zero walk has ended.
type walk struct{ stack []frame }

// frame is the position inside one value.
type frame struct {
	f *form
	// of an object: the part; of an array: 0 before its bracket, 1 behind it, 2 behind an item, 3 behind a comma
	at   int
	in   int    // of a given part: the letter; of an array: the items begun; of a text: its letters
	text []byte // of a number and a choice: the letters so far; of a text: a letter or an escape begun
	open bool   // of a text: its first mark has been read
}

func walkOf(f *form) walk { return walk{[]frame{{f: f}}} }

// copied makes a copy, to try a token without taking it.
func (w walk) copied() walk {
	stack := append([]frame(nil), w.stack...)
	for i := range stack {
		stack[i].text = append([]byte(nil), stack[i].text...)
	}
	return walk{stack}
}

// after tries the letters of a token; false when the form does not have them.
func (w walk) after(letters []byte) (walk, bool) {
	next := w.copied()
	for _, b := range letters {
		if !next.step(b) {
			return w, false
		}
	}
	return next, true
}

// complete says whether the answer may end here.
func (w walk) complete() bool {
	return len(w.stack) == 0 || len(w.stack) == 1 && w.need() == 0
}

// step takes one letter.
func (w *walk) step(b byte) bool {
	for len(w.stack) > 0 {
		top := &w.stack[len(w.stack)-1]
		took, again := top.take(b, w)
		if !again {
			return took
		}
	}
	return false
}

func (w *walk) pop() { w.stack = w.stack[:len(w.stack)-1] }

func (w *walk) push(f *form) { w.stack = append(w.stack, frame{f: f}) }

// take gives a letter to a value. again: the value has ended before it, or a value inside has begun; the letter
// belongs to the other value.
func (fr *frame) take(b byte, w *walk) (took, again bool) {
	switch fr.f.kind {
	case anObject:
		return fr.takeObject(b, w)
	case anArray:
		return fr.takeArray(b, w)
	case aText:
		return fr.takeText(b, w), false
	case aChoice:
		return fr.takeChoice(b, w)
	case aNumber, aWhole:
		longer := append(append([]byte(nil), fr.text...), b)
		if bytes.IndexByte([]byte(digits), b) >= 0 && fr.f.open(longer) {
			fr.text = longer
			return true, false
		}
		if fr.f.valid(fr.text) {
			w.pop()
			return false, true
		}
	}
	return false, false
}

func (fr *frame) takeObject(b byte, w *walk) (took, again bool) {
	p := fr.f.parts[fr.at]
	if p.value != nil { // the value before this letter has ended
		fr.at, fr.in = fr.at+1, 0
		p = fr.f.parts[fr.at]
	}
	if fr.in < len(p.given) && p.given[fr.in] == gap {
		fr.in++
		if b == ' ' {
			fr.begin(w)
			return true, false
		}
		if fr.begin(w) {
			return false, true
		}
	}
	if p.given[fr.in] != b {
		return false, false
	}
	fr.in++
	if fr.at == len(fr.f.parts)-1 && fr.in == len(p.given) {
		w.pop()
	}
	return true, false
}

// begin continues with the value behind a part that has been written.
func (fr *frame) begin(w *walk) bool {
	if fr.in < len(fr.f.parts[fr.at].given) {
		return false
	}
	fr.at++
	w.push(fr.f.parts[fr.at].value)
	return true
}

func (fr *frame) takeArray(b byte, w *walk) (took, again bool) {
	f := fr.f
	switch {
	case fr.at == 0:
		fr.at = 1
		return b == '[', false
	case b == ']' && (fr.at == 1 || fr.at == 2) && fr.in >= f.least:
		w.pop()
		return true, false
	case fr.at == 2 && b == ',' && fr.in < f.most:
		fr.at = 3
		return true, false
	case fr.at == 3 && b == ' ':
		fr.at = 4
		return true, false
	case (fr.at == 1 && f.most > 0) || fr.at >= 3:
		fr.at, fr.in = 2, fr.in+1
		w.push(f.item)
		return false, true
	}
	return false, false
}

func (fr *frame) takeChoice(b byte, w *walk) (took, again bool) {
	longer := append(append([]byte(nil), fr.text...), b)
	ended, goes := false, false
	for _, word := range fr.f.words {
		ended = ended || bytes.Equal(word, fr.text)
		if bytes.HasPrefix(word, longer) {
			goes = true
		}
	}
	switch {
	case goes:
		fr.text = longer
		if only := fr.ends(); only {
			w.pop()
		}
		return true, false
	case ended:
		w.pop()
		return false, true
	}
	return false, false
}

// ends says whether a word of a choice is whole and no other goes on from it.
func (fr *frame) ends() bool {
	whole := false
	for _, word := range fr.f.words {
		if bytes.Equal(word, fr.text) {
			whole = true
		} else if bytes.HasPrefix(word, fr.text) {
			return false
		}
	}
	return whole
}

// need is how many letters at least are missing until the answer may end.
func (w walk) need() int {
	n := 0
	for i := range w.stack {
		n += w.stack[i].need(i == len(w.stack)-1)
	}
	return n
}

// need of one value, beside that of the value inside it.
func (fr *frame) need(top bool) int {
	f := fr.f
	switch f.kind {
	case anObject:
		n := 0
		for i := fr.at; i < len(f.parts); i++ {
			p := f.parts[i]
			if p.value != nil && i != fr.at {
				n += p.value.shortest
			}
			from := 0
			if i == fr.at {
				from = min(fr.in, len(p.given))
			}
			n += len(p.given[from:]) - bytes.Count(p.given[from:], []byte{gap})
		}
		return n
	case anArray:
		n := 1
		if fr.at == 0 {
			n = 2
		}
		left := max(0, f.least-fr.in)
		if fr.at >= 3 {
			left = max(1, left)
		}
		n += left * (f.item.shortest + 1)
		if left > 0 && (fr.at <= 1 || fr.at >= 3) {
			n--
		}
		return n
	case aText:
		n := max(0, f.least-fr.in) + 1
		switch {
		case !fr.open:
			n++
		case len(fr.text) == 1 && fr.text[0] == '\\':
			n++
		case len(fr.text) > 1 && fr.text[0] == '\\':
			n += 6 - len(fr.text)
		case len(fr.text) > 0:
			n += 4 - len(fr.text)
		}
		return n
	case aChoice:
		best := -1
		for _, word := range f.words {
			if bytes.HasPrefix(word, fr.text) && (best < 0 || len(word)-len(fr.text) < best) {
				best = len(word) - len(fr.text)
			}
		}
		return max(best, 0)
	case aNumber, aWhole:
		return f.ending(fr.text)
	}
	return 0
}
