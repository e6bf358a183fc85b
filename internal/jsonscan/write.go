package jsonscan

import "strconv"

// Writer writes JSON, member after member, into one buffer. Names of members are written as they are.
type Writer struct{ Buf []byte }

// Begin begins an object: the whole text, or an element of a list.
func (w *Writer) Begin() { w.Buf = append(w.Buf, '{') }

// End ends an object.
func (w *Writer) End() { w.Buf = append(w.Buf, '}') }

// Name writes the name of a member, whose value must follow.
func (w *Writer) Name(name string) {
	if last := w.Buf[len(w.Buf)-1]; last != '{' {
		w.Buf = append(w.Buf, ',')
	}
	w.Buf = append(append(append(w.Buf, '"'), name...), '"', ':')
}

// Object begins a member that is an object.
func (w *Writer) Object(name string) {
	w.Name(name)
	w.Begin()
}

// Text writes a member that is a string.
func (w *Writer) Text(name, value string) {
	w.Name(name)
	w.Buf = AppendQuoted(w.Buf, value)
}

// Number writes a member that is a whole number.
func (w *Writer) Number(name string, value int64) {
	w.Name(name)
	w.Buf = strconv.AppendInt(w.Buf, value, 10)
}

// Flag writes a member that is true or false.
func (w *Writer) Flag(name string, value bool) {
	w.Name(name)
	w.Buf = strconv.AppendBool(w.Buf, value)
}

// Raw writes a member whose value is JSON already.
func (w *Writer) Raw(name string, value []byte) {
	w.Name(name)
	w.Buf = append(w.Buf, value...)
}

// Null writes a member that is null.
func (w *Writer) Null(name string) {
	w.Name(name)
	w.Buf = append(w.Buf, "null"...)
}

// List writes a member that is a list of n elements, each written by element.
func (w *Writer) List(name string, n int, element func(i int)) {
	w.Name(name)
	w.Buf = append(w.Buf, '[')
	for i := range n {
		if i > 0 {
			w.Buf = append(w.Buf, ',')
		}
		element(i)
	}
	w.Buf = append(w.Buf, ']')
}
