package llama

import (
	"strings"
	"unicode/utf8"
)

// Piece is a part of an answer that is emitted at once: whole letters, of one token or of the tokens that make them.
type Piece struct {
	Text   string
	Tokens []Token
}

// Token is one token of an answer.
type Token struct {
	Text    string  // its bytes, which may be a part of a letter
	LogProb float64 // natural logarithm of its probability by the model itself, before temperature and sampling
	Top     []Token // the likeliest instead, best first, where requested
}

// voice turns tokens into pieces, and holds back what may be the beginning of a stop word.
type voice struct {
	stops []string
	say   func(Piece) bool // false: enough
	over  func() bool      // whether the client has disconnected

	letters []byte  // that do not make a whole one yet
	behind  []Token // their tokens
	waiting []Piece // that may begin a stop word
	text    strings.Builder
	sum     float64 // of the logarithms of the emitted tokens
	tokens  int     // emitted
	pieces  int
	stopped bool // a stop word came
	halted  bool // the caller had enough
}

// token takes a token that has a text.
func (v *voice) token(t Token) {
	v.letters, v.behind = append(v.letters, t.Text...), append(v.behind, t)
	if whole(v.letters) {
		v.piece()
	}
}

// whole says whether the bytes end with a letter, or can never make one.
func whole(b []byte) bool {
	for back := 1; back < utf8.UTFMax && back <= len(b); back++ {
		if c := b[len(b)-back]; utf8.RuneStart(c) {
			return utf8.FullRune(b[len(b)-back:])
		}
	}
	return true
}

func (v *voice) piece() {
	p := Piece{Text: strings.ToValidUTF8(string(v.letters), "\uFFFD"), Tokens: v.behind}
	v.letters, v.behind = nil, nil
	v.waiting = append(v.waiting, p)
	v.release(false)
}

// release emits what can no longer be a part of a stop word; at the end, everything.
func (v *voice) release(end bool) {
	text := ""
	for _, p := range v.waiting {
		text += p.Text
	}
	free := len(text)
	for _, stop := range v.stops {
		if stop == "" {
			continue
		}
		if at := strings.Index(text, stop); at >= 0 {
			v.stopped, free = true, min(free, at)
		}
	}
	if !v.stopped && !end {
		free -= v.pending(text)
	}
	for len(v.waiting) > 0 && !v.halted && !v.over() {
		p := v.waiting[0]
		if len(p.Text) > free {
			if v.stopped && free > 0 {
				p.Text = p.Text[:free]
				v.out(p)
			}
			break
		}
		v.waiting, free = v.waiting[1:], free-len(p.Text)
		v.out(p)
	}
}

// pending is how many bytes at the end of a text may begin a stop word.
func (v *voice) pending(text string) int {
	most := 0
	for _, stop := range v.stops {
		for n := min(len(stop)-1, len(text)); n > most; n-- {
			if strings.HasSuffix(text, stop[:n]) {
				most = n
			}
		}
	}
	return most
}

func (v *voice) out(p Piece) {
	v.text.WriteString(p.Text)
	v.pieces++
	for _, t := range p.Tokens {
		v.sum += t.LogProb
		v.tokens++
	}
	if v.say != nil && !v.say(p) {
		v.halted = true
	}
}

// end emits what waits.
func (v *voice) end() {
	if v.stopped || v.halted {
		return
	}
	if len(v.letters) > 0 {
		v.piece()
	}
	v.release(true)
}
