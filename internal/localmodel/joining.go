package localmodel

import (
	"math"
	"slices"
	"strings"
)

// join is a joining phrase and what follows it.
type join struct {
	words string
	base  float64 // logit
	what  []slot  // a clause, or images with a word between them
	need  int     // tokens of room it wants
}

// The joining words of a dream. Likeness comes first, for that is what an association is; then time, then place.
var joins = []join{
	{"the way", 2.5, []slot{clauses}, 9},
	{"as if", 1.8, []slot{clauses}, 9},
	{"while", 1.8, []slot{clauses}, 8},
	{"until", 1.5, []slot{clauses}, 8},
	{"just as", 1.6, []slot{clauses}, 9},
	{", and somewhere", 1.7, []slot{clauses}, 10},
	{", and all the while", 1.4, []slot{clauses}, 12},
	{", and", 1.0, []slot{clauses}, 9},
	{", like", 1.5, []slot{images}, 7},
	{", and inside it", .9, []slot{images}, 8},
	{", as if", 1.6, []slot{echoes, images}, 14},
}

// openers begin a second or third sentence; some come back to what was seen before.
var openers = []join{
	{"somewhere", 1.0, []slot{clauses}, 10},
	{"perhaps", .7, []slot{clauses}, 10},
	{"underneath,", .9, []slot{clauses}, 11},
	{"elsewhere", .6, []slot{clauses}, 10},
	{"then", 1.7, []slot{echoes, images}, 13},
	{"from far off", 1.1, []slot{echoes, images}, 14},
	{"in the same dark,", .9, []slot{clauses}, 13},
	{"it was the hour when", .9, []slot{clauses}, 14},
}

// between stands between two images, by the phrase that leads to them.
var between = map[string]string{", as if": "were", "then": "was~", "from far off": "looked like"}

// offered is a joining phrase whose first words have been said.
type offered struct {
	join
	parts []string
	logit float64
}

// closers gives what may follow a whole clause: a joining word, or the full stop.
func (w *writer) closers(lower float64) []candidate {
	out := []candidate{{".", w.stopLogit() - lower, func() { w.plan = []item{{slot: opening}} }}}
	if w.joins >= 2 {
		return out
	}
	var offers []offered
	for _, j := range joins {
		if w.room < j.need || j.what[0] != clauses && len(w.mem.images) < 3 {
			continue
		}
		logit := j.base + 1.3*taste(j.words, w.before) - 2.2*float64(w.spoken["="+j.words])
		if w.joins == 1 {
			logit -= 2.2
		}
		if first := strings.Fields(j.words)[0]; w.sentence[first] && first != "," && first != "the" {
			logit -= 2.5
		}
		offers = append(offers, offer(j, logit-lower))
	}
	return append(out, w.begun(offers, 0)...)
}

func (w *writer) stopLogit() float64 {
	switch {
	case w.joins == 0 && w.joined() < 2 && w.room > 8:
		return -2
	case w.joins == 0:
		return 1.2
	case w.joins == 1:
		return 3.0
	}
	return 4
}

// taste is a leaning in [0, 1) that depends on the words alone, so that one joining word does not win every time.
func taste(a, b string) float64 { return float64(hash(a+"|"+b)%1024) / 1024 }

func offer(j join, logit float64) offered {
	parts := strings.Fields(j.words)
	return offered{j, parts, logit}
}

// begun gives the words of the offers at a depth, all of which began alike; where one is complete, what it leads to.
func (w *writer) begun(offers []offered, depth int) []candidate {
	var out []candidate
	for _, o := range offers {
		if depth < len(o.parts) {
			text := o.parts[depth]
			out = append(out, candidate{text, o.logit, func() { w.narrow(offers, depth, text) }})
			continue
		}
		out = append(out, w.completed(o)...)
	}
	return out
}

// narrow keeps the offers that go on with the word said. A single complete one becomes the plan.
func (w *writer) narrow(offers []offered, depth int, text string) {
	var kept []offered
	for _, o := range offers {
		if depth < len(o.parts) && o.parts[depth] == text {
			kept = append(kept, o)
		}
	}
	w.offers, w.offerDepth = kept, depth+1
	if len(kept) == 1 && len(kept[0].parts) == depth+1 {
		w.follow(kept[0])
	}
}

// completed gives the first words of what a whole phrase leads to, the best at the phrase's own logit.
func (w *writer) completed(o offered) []candidate {
	options := w.starts()
	if o.what[0] != clauses {
		options = w.imageStarts(o.what[0] == echoes)
	}
	best := math.Inf(-1)
	for _, c := range options {
		best = math.Max(best, c.logit)
	}
	for i, c := range options {
		options[i].logit += o.logit - best
		options[i].then = func() { w.follow(o); c.then() }
	}
	return options
}

// follow makes what a phrase leads to the plan.
func (w *writer) follow(o offered) {
	w.offers = nil
	if !w.upperJoin || o.what[0] == echoes {
		w.joins++
	}
	w.upperJoin = false
	w.spoken["="+o.words]++
	w.plan = nil
	for i, s := range o.what {
		if i > 0 {
			w.plan = append(w.plan, say(between[o.words])...)
		}
		w.plan = append(w.plan, item{slot: s})
	}
	w.plan = append(w.plan, item{slot: joining})
}

// openings gives the first words of another sentence, or the end.
func (w *writer) openings() []candidate {
	end := candidate{"", w.endLogit(), func() {}}
	if w.finished >= 3 || w.room < 9 {
		return []candidate{end}
	}
	out := []candidate{end}
	starts := w.starts()
	best := math.Inf(-1)
	for _, c := range starts {
		best = math.Max(best, c.logit)
	}
	for _, c := range starts {
		then := c.then
		c.logit += 1.2 - best
		c.then = func() { w.plan = []item{{slot: joining}}; then() }
		out = append(out, c)
	}
	var offers []offered
	for _, j := range openers {
		if w.room >= j.need && w.spoken["="+j.words] == 0 &&
			(j.what[0] == clauses && len(starts) > 0 || j.what[0] == echoes && len(w.mem.images) > 3) {
			offers = append(offers, offer(j, j.base+taste(j.words, w.lastContent())))
		}
	}
	for _, c := range w.begun(offers, 0) {
		then := c.then
		c.then = func() { w.upperJoin = true; then() }
		out = append(out, c)
	}
	return out
}

// endLogit makes one sentence of two or three memories the rule when cool; two or three sentences come with heat.
func (w *writer) endLogit() float64 {
	switch words := len(w.out); {
	case w.joined() < 2 && w.room > 9:
		return -3
	case words < 14:
		return .8
	case w.finished == 1:
		return 2.2
	}
	return 3.2
}

func (w *writer) lastContent() string {
	for _, p := range slices.Backward(w.out) {
		if low := strings.Trim(strings.ToLower(p), " ,."); low != "" && !hollow[low] {
			return low
		}
	}
	return ""
}
