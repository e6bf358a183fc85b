package llama

import (
	"bytes"
	"unicode/utf8"
)

// escapes are the letters that may follow a backslash, without u.
const escapes = `"\/bfnrt`

func (fr *frame) takeText(b byte, w *walk) bool {
	switch {
	case !fr.open:
		fr.open = b == '"'
		return fr.open
	case len(fr.text) > 0 && fr.text[0] == '\\':
		return fr.takeEscape(b)
	case len(fr.text) > 0:
		return fr.takeLong(b)
	case b == '"':
		if fr.in >= fr.f.least {
			w.pop()
			return true
		}
		return false
	case fr.f.most >= 0 && fr.in >= fr.f.most, b < 0x20, b == 0x7f:
		return false
	case b == '\\' || b >= utf8.RuneSelf:
		fr.text = append(fr.text, b)
		return b == '\\' || b >= 0xC2 && b <= 0xF4
	}
	fr.in++
	return true
}

func (fr *frame) takeEscape(b byte) bool {
	if len(fr.text) == 1 && b != 'u' {
		fr.text, fr.in = nil, fr.in+1
		return bytes.IndexByte([]byte(escapes), b) >= 0
	}
	hex := b >= '0' && b <= '9' || b >= 'a' && b <= 'f' || b >= 'A' && b <= 'F'
	if len(fr.text) > 1 && !hex || len(fr.text) == 2 && (b == 'd' || b == 'D') { // no half of a pair
		return false
	}
	fr.text = append(fr.text, b)
	if len(fr.text) == 6 {
		fr.text, fr.in = nil, fr.in+1
	}
	return true
}

// takeLong goes on with a letter of several bytes.
func (fr *frame) takeLong(b byte) bool {
	fr.text = append(fr.text, b)
	if b < 0x80 || b > 0xBF {
		return false
	}
	if utf8.FullRune(fr.text) {
		r, n := utf8.DecodeRune(fr.text)
		if r == utf8.RuneError || n != len(fr.text) {
			return false
		}
		fr.text, fr.in = nil, fr.in+1
	}
	return true
}
