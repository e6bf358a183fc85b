package localmodel

import (
	"fmt"
	"slices"
	"strings"
)

// scene is what one object is about: the lines and images it has drawn on, and what it has said.
type scene struct {
	f      *filler
	anchor int // the line it is about; -1 for none
	form   int // of its claim
	used   map[int]int
	order  []int
	drawn  []int // images
	text   string
}

func (f *filler) scene(anchor int) *scene {
	return &scene{f: f, anchor: anchor, form: -1, used: map[int]int{}}
}

func (sc *scene) add(text string) { sc.text = strings.TrimSpace(sc.text + " " + text) }

// voices say in which form a string of that name is written; names are matched by their parts.
var voices = []struct {
	parts []string
	speak func(*filler, *writer, *scene) []string
	least int // tokens without which it says nothing whole
	most  int // tokens it can use
}{
	{[]string{"claim", "hypothesis", "prediction"}, (*filler).claim, 10, 26},
	{[]string{"criterion", "observation", "test"}, (*filler).criterion, 11, 26},
	{[]string{"reason", "rationale", "why"}, (*filler).trace, 8, 10},
	{[]string{"trace"}, (*filler).trace, 9, 14},
	{[]string{"step"}, (*filler).step, 8, 20},
	{[]string{"gist", "lesson"}, (*filler).gist, 8, 26},
	{[]string{"premise"}, (*filler).premise, 12, 36},
	{[]string{"pattern"}, (*filler).pattern, 10, 34},
	{[]string{"insight"}, (*filler).insight, 10, 40},
	{[]string{"title", "name", "topic", "label", "theme"}, (*filler).title, 2, 6},
}

// voiceOf gives the voice of a name and the least and the most tokens it can use; without one the text is a free
// association.
func voiceOf(name string) (speak func(*filler, *writer, *scene) []string, least, most int) {
	low := strings.ToLower(name)
	for _, v := range voices {
		for _, part := range v.parts {
			if strings.Contains(low, part) {
				return v.speak, v.least, v.most
			}
		}
	}
	return nil, leastText, mostText
}

// speak writes a string of at most so many tokens. What it draws on is noted in the scene.
func (f *filler) speak(name string, room int, sc *scene) []string {
	w := newWriter(f.mem, f.temperature, f.dice, room)
	w.anchor, w.stale = sc.anchor, f.stale
	voice, _, _ := voiceOf(name)
	var out []string
	if voice == nil {
		out = w.associate()
	} else {
		out = voice(f, w, sc)
	}
	for from, n := range w.used {
		sc.used[from] += n
	}
	for _, from := range w.order {
		if !slices.Contains(sc.order, from) {
			sc.order = append(sc.order, from)
		}
	}
	for _, i := range w.drawn {
		if !slices.Contains(sc.drawn, i) {
			sc.drawn = append(sc.drawn, i)
		}
	}
	return out
}

// claims and what would show them true: built from two images, so that somebody can look whether it came about.
var claims = []struct{ claim, criterion string }{
	{"1 and 2 will come up together again .", "a new memory names both 1 and 2 ."},
	{"the next mention of 1 will bring 2 with it .", "the next memory that names 1 also names 2 ."},
	{"1 will return before 2 .", "a new memory names 1 before any names 2 ."},
	{"where 1 went , 2 will follow .", "a memory of 1 is followed by one of 2 ."},
}

func (f *filler) claim(w *writer, sc *scene) []string {
	return w.write(f.aboutTwo(claims[f.formOf(sc)].claim, w, sc)...)
}

func (f *filler) criterion(w *writer, sc *scene) []string {
	return w.write(f.aboutTwo(claims[f.formOf(sc)].criterion, w, sc)...)
}

// formOf draws the form of an object's claim once.
func (f *filler) formOf(sc *scene) int {
	if sc.form < 0 {
		logits := make([]float64, len(claims))
		for i := range logits {
			logits[i] = 1 - .3*float64(i)
		}
		sc.form = Sample(logits, f.temperature.T, f.temperature.minP, f.temperature.topP, f.dice)
	}
	return sc.form
}

// aboutTwo puts the object's two images where the text says 1 and 2, drawing them when it has none yet.
func (f *filler) aboutTwo(text string, w *writer, sc *scene) []item {
	var plan []item
	seen := map[string]bool{}
	for _, part := range strings.Fields(text) {
		n := strings.Index("12", part)
		switch {
		case n < 0 || len(part) != 1:
			plan = append(plan, item{saying, part})
		case n < len(sc.drawn):
			w.recall(sc.drawn[n])
			for _, x := range f.mem.images[sc.drawn[n]].words {
				plan = append(plan, item{saying, textOf(x)})
			}
		case !seen[part]:
			seen[part] = true
			plan = append(plan, item{slot: images})
		}
	}
	return plan
}

func (f *filler) step(w *writer, sc *scene) []string {
	return w.write(f.aboutTwo("look for 1 beside 2 .", w, sc)...)
}

// trace says what really led here: which lines, and what they share.
func (f *filler) trace(w *writer, sc *scene) []string {
	if len(sc.order) < 2 || f.mem.lines[sc.order[0]].ref == "" {
		from, near := f.nearest(sc)
		if from < 0 {
			return w.write(say("nothing else was shown to compare it with .")...)
		}
		if ref := f.mem.lines[from].ref; ref != "" {
			return w.write(say(fmt.Sprintf("closest by words to %s, at %.2f .", ref, near))...)
		}
		return w.write(say(fmt.Sprintf("closest by words at %.2f .", near))...)
	}
	a, b := sc.order[0], sc.order[1]
	ra, rb := f.mem.lines[a].ref, f.mem.lines[b].ref
	if shared := f.mem.shared(a, b); shared != "" {
		return w.write(say(fmt.Sprintf("both %s and %s say %s .", ra, rb, shared))...)
	}
	return w.write(say(fmt.Sprintf("by chance: %s and %s lie only %.2f close .", ra, rb, f.mem.near(a, b)))...)
}

// gist keeps the shape and drops figures and dates.
func (f *filler) gist(w *writer, sc *scene) []string {
	w.plain = true
	if sc.anchor >= 0 {
		w.only = map[int]bool{sc.anchor: true}
	}
	switch {
	case f.has(w, true):
		return w.write(
			append(f.opening(w, "what stayed was how", "it stays with me that"), item{slot: clauses},
				item{saying, "."})...)
	case f.has(w, false):
		return w.write(append(say("what stayed was"), item{slot: images}, item{saying, "."})...)
	}
	return w.write(say("nothing in it outlives its figures .")...)
}

// lasting says whether a line has something to say besides figures and dates.
func (f *filler) lasting(from int) bool {
	w := newWriter(f.mem, f.temperature, f.dice, mostText)
	w.plain, w.only = true, map[int]bool{from: true}
	return f.has(w, true) || f.has(w, false)
}

// has says whether the writer may draw a clause, or else an image.
func (f *filler) has(w *writer, whole bool) bool {
	if whole {
		return slices.ContainsFunc(f.mem.clauses,
			func(c clause) bool { return w.allowed(c.line) && w.sayable(c.words) && len(c.words)+5 <= w.room })
	}
	return slices.ContainsFunc(f.mem.images, func(c image) bool { return w.allowed(c.line) && w.sayable(c.words) })
}

func (f *filler) premise(w *writer, _ *scene) []string {
	if f.dice.Float64() < .5 {
		return w.write(
			slices.Concat(say("what if"), []item{{slot: clauses}}, say(", and"), []item{{slot: clauses}}, say("?"))...)
	}
	return w.write(
		slices.Concat(say("suppose"), []item{{slot: clauses}}, say("just as"), []item{{slot: clauses}}, say("."))...)
}

func (f *filler) pattern(w *writer, _ *scene) []string {
	return w.write(slices.Concat(say("when"), []item{{slot: clauses}}, say(","), []item{{slot: clauses}}, say("."))...)
}

func (f *filler) insight(w *writer, _ *scene) []string {
	if len(f.mem.clauses) > 1 && f.dice.Float64() < .6 {
		return w.write(
			slices.Concat(say("tonight"), []item{{slot: clauses}}, say("the way"), []item{{slot: clauses}},
				say("."))...)
	}
	return w.write(
		slices.Concat(say("I kept seeing"), []item{{slot: images}}, say("in"), []item{{slot: images}}, say("."))...)
}

func (f *filler) title(w *writer, _ *scene) []string { return w.write(item{slot: images}) }

// opening draws one of several first phrases.
func (f *filler) opening(_ *writer, phrases ...string) []item {
	logits := make([]float64, len(phrases))
	return say(phrases[Sample(logits, max(f.temperature.T, .1), 0, 1, f.dice)])
}
