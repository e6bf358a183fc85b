package localmodel

import (
	"math/rand/v2"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// candidate is one possible next token. An empty text ends the writing. then is what taking it leads to.
type candidate struct {
	text  string
	logit float64
	then  func()
}

// slot is a place in a plan that memory fills.
type slot byte

const (
	saying  slot = iota // the words of the item, as they are
	clauses             // a clause of some memory
	images              // a noun phrase of some memory
	echoes              // a noun phrase of a memory already drawn on
	joining             // a joining word and what follows it, or the full stop
	opening             // another sentence, or the end
)

// item is one part of what is being written.
type item struct {
	slot slot
	word string
}

func say(words string) []item {
	var out []item
	for _, w := range strings.Fields(words) {
		out = append(out, item{saying, w})
	}
	return out
}

// writer writes one text token by token. All that it chooses, it chooses by Sample among candidates.
type writer struct {
	mem         *memory
	temperature settings
	dice        *rand.Rand
	out         []string
	room        int // tokens left
	plan        []item
	only        map[int]bool // lines that may be used; nil for all
	anchor      int          // the line the text must begin from; -1 for any
	stale       map[int]bool // lines other texts of the same answer drew on
	plain       bool         // no figures, dates or names of days

	at      spot  // where in which clause
	inside  bool  // whether a clause is being said
	rivals  []int // clauses that begin with the same words as the one being said
	length  int   // words of the clause said so far
	run     int   // of these, words in a row from one memory
	crosses int   // how often the clause went over to another memory

	pictures []int // images that begin with the words said so far
	depth    int   // how many words of them were said

	used     map[int]int // content words said, by line
	order    []int       // lines in order of use
	spoken   map[string]int
	pairs    map[string]bool // neighbouring words said
	sentence map[string]bool // words of the sentence so far
	comma    bool            // whether the last token was a comma
	before   string
	from     int // the line of the last clause; -1 at the start
	upper    bool
	joins    int   // joined parts of this sentence
	finished int   // sentences
	drawn    []int // images used, in order
	echoing  bool  // whether the image being said is one seen before

	offers     []offered // joining phrases that begin with the words said so far
	offerDepth int
	upperJoin  bool // the phrase opens a sentence and joins nothing yet
}

func newWriter(mem *memory, temperature settings, dice *rand.Rand, room int) *writer {
	return &writer{
		mem:         mem,
		temperature: temperature,
		dice:        dice,
		room:        room,
		anchor:      -1,
		from:        -1,
		upper:       true,
		used:        map[int]int{},
		spoken:      map[string]int{},
		pairs:       map[string]bool{},
		sentence:    map[string]bool{},
	}
}

// associate writes a free association of one to three sentences.
func (w *writer) associate() []string {
	switch {
	case len(w.mem.clauses) > 0:
		return w.write(item{slot: clauses}, item{slot: joining})
	case len(w.mem.images) > 0:
		return w.write(slices.Concat([]item{{slot: images}}, say("was"), []item{{slot: images}, {slot: joining}})...)
	}
	return w.write(say("there is nothing here to dream about yet .")...)
}

// write follows a plan to its end or to the end of the room.
func (w *writer) write(plan ...item) []string {
	w.plan = plan
	for w.room > 0 {
		options := w.moves()
		if len(options) == 0 {
			break
		}
		chosen := w.choose(options)
		if chosen.text == "" {
			break
		}
		w.emit(chosen.text)
		chosen.then()
	}
	return w.out
}

// moves gives the candidates for the next token.
func (w *writer) moves() []candidate {
	for {
		switch {
		case w.inside:
			return w.withinClause()
		case w.pictures != nil:
			if options, more := w.withinImage(); more {
				return options
			}
			w.pictures = nil
		case w.offers != nil:
			return w.begun(w.offers, w.offerDepth)
		case len(w.plan) == 0:
			return nil
		default:
			head := w.plan[0]
			switch head.slot {
			case saying:
				return []candidate{{w.agreeing(head.word), 0, func() { w.plan = w.plan[1:] }}}
			case clauses:
				if options := w.starts(); len(options) > 0 {
					return options
				}
				w.plan[0] = item{slot: images}
			case images, echoes:
				if options := w.imageStarts(head.slot == echoes); len(options) > 0 {
					return options
				}
				w.plan[0] = item{saying, "nothing"}
			case joining:
				return w.closers(0)
			case opening:
				return w.openings()
			}
		}
	}
}

// agreeing makes was~ agree with the image before it.
func (w *writer) agreeing(text string) string {
	verb, ok := strings.CutSuffix(text, "~")
	if !ok || len(w.drawn) == 0 {
		return strings.TrimSuffix(text, "~")
	}
	ws := w.mem.images[w.drawn[len(w.drawn)-1]].words
	head := ws[len(ws)-1]
	for i, x := range ws {
		if x.tag == prep && i > 0 {
			head = ws[i-1]
			break
		}
	}
	if plural(head) && !head.keep && !strings.HasSuffix(head.low, "ss") && !strings.HasSuffix(head.low, "us") {
		return map[string]string{"was": "were"}[verb]
	}
	return verb
}

// choose keeps the likeliest candidate of each text, puts them in order of text, and draws one.
func (w *writer) choose(options []candidate) candidate {
	best := map[string]candidate{}
	for _, c := range options {
		if old, ok := best[c.text]; !ok || c.logit > old.logit {
			best[c.text] = c
		}
	}
	texts := make([]string, 0, len(best))
	for t := range best {
		texts = append(texts, t)
	}
	slices.Sort(texts)
	logits := make([]float64, len(texts))
	for i, t := range texts {
		logits[i] = best[t].logit
	}
	return best[texts[Sample(logits, w.temperature.T, w.temperature.minP, w.temperature.topP, w.dice)]]
}

// emit puts one token into the text, with its space and capital.
func (w *writer) emit(text string) {
	piece := text
	if w.upper && !strings.ContainsAny(text[:1], ",.;:?") {
		r, n := utf8.DecodeRuneInString(text)
		piece = string(unicode.ToUpper(r)) + text[n:]
		w.upper = false
	}
	if len(w.out) > 0 && !strings.ContainsAny(text[:1], ",.;:?") {
		piece = " " + piece
	}
	w.out = append(w.out, piece)
	w.room--
	low := strings.Trim(strings.ToLower(text), ",")
	w.pairs[w.before+" "+low] = true
	w.before = low
	if text == "." || text == "?" {
		w.upper, w.joins, w.sentence = true, 0, map[string]bool{}
		w.finished++
	}
	if !hollow[low] {
		w.spoken[stem(low)]++
	}
	w.sentence[low] = true
	w.comma = text == ","
}
