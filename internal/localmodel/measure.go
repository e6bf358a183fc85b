package localmodel

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
)

// nearest is the shown line that lies closest to what the object says or is about; -1 when there is no other.
func (f *filler) nearest(sc *scene) (int, float64) {
	text, self := f.judged(sc)
	v, at, best := Vector(text), -1, math.Inf(-1)
	for i, l := range f.mem.lines {
		if i == self || f.mem.judging && i == 0 {
			continue
		}
		if c := Closeness(v, l.vec); c > best {
			at, best = i, c
		}
	}
	if at < 0 {
		return -1, 0
	}
	return at, clamp(best)
}

// judged is the text that measures speak of: the line the object is about, what it says, or the first line shown.
func (f *filler) judged(sc *scene) (string, int) {
	switch {
	case sc.anchor >= 0:
		return f.mem.lines[sc.anchor].text, sc.anchor
	case sc.text != "" && !f.mem.judging:
		return sc.text, -1
	case len(f.mem.lines) > 0:
		return f.mem.lines[0].text, 0
	}
	return sc.text, -1
}

// measure gives a number in [0, 1] for a name. Every one is read off the lexical embedder or the words themselves:
// novelty is distance from the nearest line, relevance closeness to what the agent cares about or to the memories,
// coherence the share of words that are not repeated, score the composite of the three (novelty^.5 · relevance^.3 ·
// coherence^.2); any other name gets the closeness of the lines that were joined.
func (f *filler) measure(name string, sc *scene) float64 {
	low := strings.ToLower(name)
	switch {
	case strings.Contains(low, "novel"):
		_, near := f.nearest(sc)
		return clamp(1 - near)
	case strings.Contains(low, "relev"):
		return f.relevance(sc)
	case strings.Contains(low, "coher"):
		text, _ := f.judged(sc)
		return unrepeated(text)
	case strings.Contains(low, "score"), strings.Contains(low, "rating"), strings.Contains(low, "signific"):
		return math.Pow(f.measure("novelty", sc), .5) * math.Pow(f.relevance(sc), .3) *
			math.Pow(f.measure("coherence", sc), .2)
	}
	if len(sc.order) >= 2 {
		return f.mem.near(sc.order[0], sc.order[1])
	}
	_, near := f.nearest(sc)
	return near
}

func (f *filler) relevance(sc *scene) float64 {
	text, self := f.judged(sc)
	v := Vector(text)
	var near []float64
	for i, l := range f.mem.lines {
		if i != self {
			near = append(near, clamp(Closeness(v, l.vec)))
		}
	}
	slices.Sort(near)
	sum, n := 0.0, 0
	for _, c := range slices.Backward(near) {
		if n == 3 {
			break
		}
		sum, n = sum+c, n+1
	}
	hits := math.Min(1, float64(f.mem.hinted(wordsOf(text)))/2)
	return clamp(math.Max(hits, sum/math.Max(1, float64(n))))
}

// unrepeated is the share of distinct words.
func unrepeated(text string) float64 {
	seen, n := map[string]bool{}, 0
	for _, w := range wordsOf(text) {
		if !hollow[w.low] {
			seen[w.low] = true
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return float64(len(seen)) / float64(n)
}

// number puts a measure into the bounds of the schema, or into those the prompt names for how sure to be.
func (f *filler) number(name string, s *shape, sc *scene) string {
	low, high := 0.0, 1.0
	if s.minimum != nil {
		low, high = *s.minimum, math.Max(1, *s.minimum+1)
	}
	if s.maximum != nil {
		high = *s.maximum
		if s.minimum == nil {
			low = math.Min(0, high)
		}
	}
	m := f.measure(name, sc)
	sure := strings.Contains(name, "confidence") || strings.Contains(name, "probab")
	if sure && f.mem.high > 0 && f.mem.low >= low && f.mem.high <= high {
		low, high = f.mem.low, f.mem.high
	}
	if s.kind == "integer" {
		if strings.Contains(name, "day") {
			m, high = 1-m, math.Min(high, low+month) // what lies near is expected sooner
		}
		return integer(low, high, m, s.exclusive)
	}
	v := math.Round((low+m*(high-low))*100) / 100
	v = math.Min(high, math.Max(low, v))
	if s.exclusive && s.minimum != nil && v <= *s.minimum {
		v = (*s.minimum + high) / 2
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

const month = 30 // days: the longest the built-in model looks ahead

func integer(low, high, m float64, exclusive bool) string {
	first := math.Ceil(low)
	if exclusive && first <= low {
		first++
	}
	v := math.Min(math.Floor(high), math.Max(first, math.Round(low+m*(high-low))))
	return strconv.FormatFloat(v, 'f', 0, 64)
}

// choice takes from an enumeration by measure, the best first; references among the choices must be ones drawn on.
func (f *filler) choice(name string, s *shape, sc *scene) json.RawMessage {
	for _, from := range append(slices.Clone(sc.order), sc.anchor) {
		if from < 0 {
			continue
		}
		for _, c := range s.choices {
			if ref := f.mem.lines[from].ref; ref != "" && string(c) == quoted(ref) {
				return c
			}
		}
	}
	at := int((1 - f.measure(name+" rating", sc)) * float64(len(s.choices)))
	return s.choices[min(at, len(s.choices)-1)]
}

// nextAnchor gives out the referenced lines in turn, so that each is answered for once.
func (f *filler) nextAnchor(s *shape) int {
	lines := f.answerable(s)
	if len(lines) == 0 {
		return -1
	}
	f.next++
	return lines[(f.next-1)%len(lines)]
}

// reference names one line the object is about or has drawn on.
func (f *filler) reference(s *shape, sc *scene) string {
	all := f.references(&shape{item: s, minItems: 1, maxItems: 1}, sc)
	if len(all) == 0 {
		return ""
	}
	return all[0]
}

// references names the lines the object really drew on, in order; others only where the schema wants more.
func (f *filler) references(s *shape, sc *scene) []string {
	var out []string
	add := func(from int) {
		if from < 0 || s.maxItems >= 0 && len(out) >= s.maxItems || len(out) >= mostRefs {
			return
		}
		ref := f.mem.lines[from].ref
		if ref == "" || slices.Contains(out, ref) || s.item.pattern != nil && !s.item.pattern.MatchString(ref) {
			return
		}
		out = append(out, ref)
	}
	add(sc.anchor)
	for _, from := range sc.order {
		add(from)
	}
	for i := 0; i < len(f.mem.lines) && len(out) < max(1, s.minItems); i++ {
		add(i)
	}
	for len(out) < s.minItems {
		out = append(out, "none")
	}
	return out
}

const mostRefs = 4

func clamp(x float64) float64 { return math.Max(0, math.Min(1, x)) }
