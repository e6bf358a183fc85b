package localmodel

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/internal/claims"
	"github.com/seed-56a03226/oneiros/internal/jsonshape"
)

// filler writes one JSON value of a schema.
type filler struct {
	*material
	settings
	dice   *rand.Rand
	most   int          // tokens of one string
	items  int          // of an array
	tight  bool         // only what the schema requires
	stale  map[int]bool // lines that earlier objects drew on
	claims []regularity // that were not claimed yet
	next   int          // the next reference to be answered for
}

// tries are the limits that are tried in turn, until the value is whole within its room: the most tokens of a string,
// and the most items of an array.
var tries = []struct{ tokens, items int }{
	{60, 1000}, {30, 1000}, {16, 1000}, {9, 1000}, {4, 1000}, {1, 1000}, {1, 6}, {1, 2}, {1, 0},
}

func fill(m *material, s *jsonshape.Shape, room int, set settings, seed int64) []string {
	var pieces []string
	for _, try := range tries {
		f := &filler{material: m, settings: set, dice: diceOf(seed), stale: map[int]bool{}}
		f.most, f.items, f.tight = try.tokens, try.items, try.tokens < 10
		f.claims = f.unclaimed()
		pieces = f.value("", s, &scene{line: -1})
		if len(pieces) <= room {
			break
		}
	}
	return pieces
}

// unclaimed are the claims that an answer may make: those that a program counted, without what the prompt shows as
// claimed already; without any, what was claimed before may be taken up in other words.
func (m *material) unclaimed() []regularity {
	if len(m.counted) == 0 {
		return m.made
	}
	return slices.DeleteFunc(slices.Clone(m.counted), func(r regularity) bool {
		return slices.ContainsFunc(m.made, func(o regularity) bool { return claims.Key(o.check) == claims.Key(r.check) })
	})
}

// scene is what one object is about: a line, or a claim, and the lines that its texts drew on.
type scene struct {
	line  int // -1 for none
	drawn bool
	claim *regularity
	used  []int
}

func (f *filler) value(name string, s *jsonshape.Shape, sc *scene) []string {
	if len(s.Choices) > 0 {
		// the first for what is close to the memories, the last for what is far
		at := min(int((1-f.measure(name, sc))*float64(len(s.Choices))), len(s.Choices)-1)
		return []string{strings.Join(strings.Fields(string(s.Choices[at])), " ")}
	}
	switch s.Kind {
	case "object":
		return f.object(s)
	case "array":
		return f.array(name, s, sc)
	case "string":
		if refName.MatchString(name) {
			return []string{quoted(append(f.references(&jsonshape.Shape{Item: s, MinItems: 1, MaxItems: 1}, sc), "")[0])}
		}
		return f.text(name, s, sc)
	case "number", "integer":
		return []string{f.number(name, s, sc)}
	case "boolean":
		if strings.Contains(name, "respond") { // a model that recombines has something to say where it remembers something
			return []string{strconv.FormatBool(len(f.answerable()) > 0)}
		}
		return []string{strconv.FormatBool(f.measure(name, sc) >= .5)}
	}
	return []string{"null"}
}

// object writes texts first, then what is measured of them.
func (f *filler) object(s *jsonshape.Shape) []string {
	sc := &scene{line: -1}
	if about := f.answerable(); refOf(s) && len(about) > 0 {
		sc.line = about[f.next%len(about)]
		f.next++
	}
	parts := map[string][]string{}
	var names []string
	for _, later := range []bool{false, true} {
		for _, p := range s.Properties {
			text := p.Shape.Kind == "string" && len(p.Shape.Choices) == 0 || p.Shape.Kind == "object" || p.Shape.Kind == "array"
			if (!text || refName.MatchString(p.Name)) == later && (p.Required || !f.tight) {
				parts[p.Name] = f.value(p.Name, p.Shape, sc)
			}
		}
	}
	for _, p := range s.Properties {
		if parts[p.Name] != nil {
			names = append(names, p.Name)
		}
	}
	for _, l := range sc.used {
		f.stale[l] = true
	}
	out := []string{"{"}
	for i, name := range names {
		key := quoted(name) + ":"
		if i > 0 {
			key = "," + key
		}
		out = append(append(out, key), parts[name]...)
	}
	return append(out, "}")
}

func (f *filler) array(name string, s *jsonshape.Shape, sc *scene) []string {
	out := []string{"["}
	add := func(item []string) {
		if len(out) > 1 {
			out = append(out, ",")
		}
		out = append(out, item...)
	}
	if refName.MatchString(name) && s.Item.Kind == "string" {
		for _, ref := range f.references(s, sc) {
			add([]string{quoted(ref)})
		}
		return append(out, "]")
	}
	n := 3
	switch {
	case refOf(s.Item):
		n = len(f.answerable())
	case has(s.Item, "claim"):
		n = min(n, len(f.claims))
	}
	if f.material.most > 0 && !refOf(s.Item) {
		n = min(n, f.material.most)
	}
	if s.MaxItems >= 0 {
		n = min(n, s.MaxItems)
	}
	for range max(min(n, f.items), s.MinItems) {
		add(f.value(name, s.Item, &scene{line: -1}))
	}
	return append(out, "]")
}

var refName = regexp.MustCompile(
	`(?i)^(sources?|source_ids?|ids?|refs?|references?|memory|memories|fragment|episode|episodes)$`)

// refOf says whether an object names the shown line that it is about.
func refOf(s *jsonshape.Shape) bool {
	return slices.ContainsFunc(s.Properties, func(p jsonshape.Property) bool {
		return p.Shape.Kind == "string" && refName.MatchString(p.Name)
	})
}

func has(s *jsonshape.Shape, name string) bool {
	return slices.ContainsFunc(s.Properties, func(p jsonshape.Property) bool { return p.Name == name })
}

// answerable are the lines with a reference, of the first group that has some; rules come last.
func (f *filler) answerable() []int {
	for _, rule := range []bool{false, true} {
		var out []int
		group := -1
		for i, l := range f.lines {
			if l.ref == "" || l.rule != rule || group >= 0 && l.group != group {
				continue
			}
			group = l.group
			out = append(out, i)
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

// references names the lines that an object is about or drew on, in order; others only where the schema wants more.
func (f *filler) references(s *jsonshape.Shape, sc *scene) []string {
	most := 4
	if s.MaxItems >= 0 {
		most = min(most, s.MaxItems)
	}
	var out []string
	add := func(l int) {
		if l < 0 || len(out) >= max(most, s.MinItems) {
			return
		}
		if ref := f.lines[l].ref; ref != "" && !slices.Contains(out, ref) && matches(s.Item.Pattern, ref) {
			out = append(out, ref)
		}
	}
	add(sc.line)
	for _, l := range sc.used {
		add(l)
	}
	for i := 0; i < len(f.lines) && len(out) < max(1, s.MinItems) && most > 0; i++ {
		add(i)
	}
	for len(out) < s.MinItems {
		out = append(out, "none")
	}
	return out
}

// matches says whether a text is of a pattern; one that cannot be read asks for nothing.
func matches(pattern, text string) bool {
	re, err := regexp.Compile(pattern)
	return err != nil || re.MatchString(text)
}

// text writes a string in the form that its name asks for.
func (f *filler) text(name string, s *jsonshape.Shape, sc *scene) []string {
	w := newWriter(f.material, f.settings, f.dice, f.most)
	w.stale = f.stale
	f.speak(strings.ToLower(name), w, sc)
	for _, l := range w.used {
		if !slices.Contains(sc.used, l) {
			sc.used = append(sc.used, l)
		}
	}
	pieces := w.out
	for s.MaxLength >= 0 && utf8.RuneCountInString(strings.Join(pieces, "")) > s.MaxLength {
		last := []rune(pieces[len(pieces)-1])
		pieces = pieces[:len(pieces)-1]
		if len(pieces) == 0 && s.MaxLength > 0 {
			pieces = []string{string(last[:s.MaxLength])}
		}
	}
	for n := utf8.RuneCountInString(strings.Join(pieces, "")); n < s.MinLength; n++ {
		pieces = append(pieces, ".")
	}
	if len(pieces) == 0 {
		return []string{`""`}
	}
	out := make([]string, len(pieces))
	for i, p := range pieces {
		q := quoted(p)
		out[i] = q[1 : len(q)-1]
	}
	out[0] = `"` + out[0]
	out[len(out)-1] += `"`
	return out
}

func (f *filler) speak(name string, w *writer, sc *scene) {
	is := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(name, p) })
	}
	switch {
	case is("claim", "hypothes", "predict"):
		if r := f.claimed(sc); r != nil && !f.tight {
			w.room = max(w.room, longest) // part of a claim says something else
			w.say(strings.TrimSuffix(r.says(), ".") + " .")
		}
	case is("criteri", "observation", "test"):
		if r := f.claimed(sc); r != nil && !f.tight {
			w.room = max(w.room, longest)
			w.say(strings.TrimSuffix(claims.Describe(r.check), ".") + " .")
		}
	case is("step"):
		if r := f.claimed(sc); r != nil {
			w.say("look for " + r.check.Then + " where " + r.check.When + " is named .")
			return
		}
		w.say("look whether it comes up again .")
	case is("reason", "trace", "rationale", "why"):
		f.reason(w, sc)
	case is("gist", "lesson"):
		w.only = sc.line
		w.weave(0)
	case is("premise"):
		w.say("what if")
		if c := w.pick(w.room - 3); c >= 0 && !w.clauses[c].opens {
			w.utter(c)
		} else {
			w.say("it were otherwise")
		}
		w.say("?")
	case is("insight") && f.claimed(sc) != nil:
		w.say(strings.TrimSuffix(sc.claim.reworded(), ".") + " , it seems .")
	case is("content", "scenario"):
		w.weave(2)
	default:
		w.weave(1)
	}
}

// claimed is the claim of an object, drawn once; nil when none is left.
func (f *filler) claimed(sc *scene) *regularity {
	if !sc.drawn && sc.line < 0 && len(f.claims) > 0 {
		sc.claim = &f.claims[0]
		f.claims = f.claims[1:]
		sc.used = append(sc.used, sc.claim.line)
	}
	sc.drawn = true
	return sc.claim
}

// says is the claim in words: the sentence of its check if it was counted, other words if it was claimed before.
func (r *regularity) says() string {
	if r.trials > 0 {
		return claims.Describe(r.check)
	}
	return r.reworded()
}

func (r *regularity) reworded() string {
	c := r.check
	switch {
	case c.When == "" && c.Not:
		return c.Then + " stays away."
	case c.When == "":
		return c.Then + " comes up again and again."
	case c.Not:
		return "where " + c.When + " is named, " + c.Then + " is not."
	case c.Within == 0:
		return "where " + c.When + " is named, " + c.Then + " is named as well."
	}
	return "after " + c.When + " is named, " + c.Then + " follows."
}

// reason states the counts behind a claim, or which line the text lies closest to.
func (f *filler) reason(w *writer, sc *scene) {
	if r := sc.claim; r != nil && r.trials > 0 {
		w.say("so it was " + strconv.Itoa(r.hits) + " of " + strconv.Itoa(r.trials) + " times .")
		return
	}
	at, near := f.nearest(sc)
	if at < 0 || f.lines[at].ref == "" {
		w.say("nothing that was shown bears on it .")
		return
	}
	w.say("closest by words to " + f.lines[at].ref + " , at " + strconv.FormatFloat(near, 'f', 2, 64) + " .")
}

// nearest is the shown line that lies closest to the line that an object is about, or to the first line shown; -1 when
// there is no other.
func (f *filler) nearest(sc *scene) (int, float64) {
	at, best := -1, 0.0
	for i := range f.lines {
		if near := f.near(max(0, sc.line), i); i != max(0, sc.line) && (at < 0 || near > best) {
			at, best = i, near
		}
	}
	return at, best
}

// measure gives a number in [0, 1]: how often a claim came true, or the closeness to the nearest line; for novelty the
// distance from it.
func (f *filler) measure(name string, sc *scene) float64 {
	_, near := f.nearest(sc)
	switch {
	case sc.claim != nil && sc.claim.trials > 0:
		return float64(sc.claim.hits) / float64(sc.claim.trials)
	case strings.Contains(name, "novel"):
		return 1 - near
	}
	return near
}

// usualDays is how long to wait for an outcome when nothing was counted.
const usualDays = 14

// number puts a measure into the bounds of the schema, or into those that the prompt names for how sure to be.
func (f *filler) number(name string, s *jsonshape.Shape, sc *scene) string {
	low, high := 0.0, 1.0
	if s.Minimum != nil {
		low, high = *s.Minimum, math.Max(1, *s.Minimum+1)
	}
	if s.Maximum != nil {
		high = *s.Maximum
		if s.Minimum == nil {
			low = math.Min(0, high)
		}
	}
	sure := strings.Contains(name, "confidence") || strings.Contains(name, "probab")
	if sure && f.high > 0 && f.low >= low && f.high <= high {
		low, high = f.low, f.high
	}
	v := low + f.measure(name, sc)*(high-low)
	if s.Kind == "integer" {
		if strings.Contains(name, "day") {
			v = usualDays
			if sc.claim != nil && sc.claim.days > 0 {
				v = float64(sc.claim.days)
			}
		}
		first := math.Ceil(low)
		if s.OpenLow && first <= low {
			first++
		}
		return strconv.FormatFloat(math.Min(math.Floor(high), math.Max(first, math.Round(v))), 'f', 0, 64)
	}
	v = math.Min(high, math.Max(low, math.Round(v*100)/100))
	if s.OpenLow && s.Minimum != nil && v <= *s.Minimum {
		v = (*s.Minimum + high) / 2
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

func quoted(text string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func clamp(x float64) float64 { return math.Max(0, math.Min(1, x)) }
