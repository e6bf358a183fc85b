// Package prompt holds the words that dreams are asked with: templates, their schemas, and how memory is quoted in
// them.
package prompt

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"
	"text/template"
)

//go:embed templates/*.tmpl templates/*.json
var files embed.FS

var templates = template.Must(
	template.New("").Funcs(template.FuncMap{"quote": Quote}).ParseFS(files, "templates/*.tmpl"))

// Line is one piece of memory as a prompt shows it: a short reference and its text.
type Line struct {
	Ref  string // r1, r2, … within one prompt
	Text string
}

// Lines numbers texts from r1 with the given prefix letter.
func Lines(prefix string, texts ...string) []Line {
	lines := make([]Line, len(texts))
	for i, text := range texts {
		lines[i] = Line{Ref: fmt.Sprintf("%s%d", prefix, i+1), Text: text}
	}
	return lines
}

// Self is who dreams.
type Self struct {
	Handle    string
	Persona   string
	Interests []string
}

// Text is a prompt ready to send: the same System and Shown for every call of a cycle, so that a provider's prompt
// cache hits; only Ask differs.
type Text struct {
	System string
	Shown  string // the memories, quoted
	Ask    string
	Name   string          // of the schema; empty for free text
	Schema json.RawMessage // nil for free text
}

// User joins what is shown and what is asked.
func (t Text) User() string {
	if t.Shown == "" {
		return t.Ask
	}
	return t.Shown + "\n" + t.Ask
}

// Onset is what the prompts of the onset are made of.
type Onset struct {
	Self  Self
	Theme string
	Lines []Line
	World []Line // what is let in from outside, w1, w2, …; it follows the memories, so that it never costs their cache

	Rare float64 // above 0: the model is loosened by words, and states probabilities below this
}

// Induce asks for connections among scrambled memories, as fragments with their sources.
func Induce(o Onset) Text {
	form := "fragments"
	if o.Rare > 0 {
		form = "fragments.stated"
	}
	return Text{
		System: render("onset.system", o),
		Shown:  render("shown", o),
		Ask:    render("induce", o),
		Name:   "fragments",
		Schema: schema(form),
	}
}

// Partial asks for one free association that will be cut off. The words vary the ask, not the prefix.
func Partial(o Onset, seedWords []string) Text {
	return Text{
		System: render("onset.system", o), Shown: render("shown", o),
		Ask: render("partial", map[string]any{"Words": strings.Join(seedWords, ", "), "Theme": o.Theme}),
	}
}

// Scene is something that never happened: parts of two or three episodes.
type Scene struct{ Context, Action, Outcome string }

// Spur is what varies the ask of one Dali cycle, never its prefix.
type Spur struct {
	Words  []string // that drift by
	Scenes []Scene
	Scraps string // what a divergent call said; empty when there was none
	Count  int    // ideas wanted
}

// Diverge asks for scraps and for nothing to be made of them: the first half of a two-phase cycle (CreativeDC).
func Diverge(o Onset, s Spur) Text {
	return Text{System: render("onset.system", o), Shown: render("shown", o), Ask: render("diverge", spurred(o, s))}
}

// Ideas asks for several ideas and how likely each was, all of them unlikely (verbalised sampling), after the mind has
// gone wide: in scraps that a call before it made, or in the thinking that comes first.
func Ideas(o Onset, s Spur) Text {
	return Text{
		System: render("onset.system", o), Shown: render("shown", o), Ask: render("ideas", spurred(o, s)),
		Name: "ideas", Schema: counted(schema("ideas"), s.Count),
	}
}

// longestScraps is how many scraps are shown again.
const longestScraps = 24

func spurred(o Onset, s Spur) map[string]any {
	var scraps []string
	for _, line := range strings.Split(s.Scraps, "\n") {
		line = strings.TrimLeft(line, "-*•· \t0123456789.)")
		if strings.TrimSpace(line) != "" && len(scraps) < longestScraps {
			scraps = append(scraps, line)
		}
	}
	var scenes []string
	for _, scene := range s.Scenes {
		scenes = append(scenes, strings.Join([]string{scene.Context, scene.Action, scene.Outcome}, " "))
	}
	return map[string]any{
		"Words": strings.Join(s.Words, ", "), "Theme": o.Theme, "Scenes": Lines("n", scenes...),
		"Scraps": Lines("d", scraps...), "Count": s.Count, "Rare": o.Rare,
	}
}

// counted says in a schema how many items its list has.
func counted(raw json.RawMessage, n int) json.RawMessage {
	return json.RawMessage(strings.ReplaceAll(string(raw), `Items":0`, fmt.Sprintf(`Items":%d`, n)))
}

// Judging is what the observer sees.
type Judging struct {
	Self     Self
	Theme    string
	Text     string
	Near     []Line // the memories nearest to the text
	Playbook []Line
}

// Judge asks the observer for novelty, relevance and coherence (HomuncularObserver).
func Judge(j Judging) Text {
	return Text{System: render("judge.system", j), Ask: render("judge", j), Name: "verdict", Schema: schema("verdict")}
}

// Thought is one of several that the observer sees at once, with the memories nearest to it.
type Thought struct {
	Line Line
	Near []Line
}

// JudgingAll is what the observer sees of a whole cycle: thoughts are t1, t2, …, their memories m1, m2, … across all of
// them.
type JudgingAll struct {
	Self     Self
	Theme    string
	Thoughts []Thought
	Playbook []Line
}

// JudgeAll asks the observer for the verdicts of a cycle in one call.
func JudgeAll(j JudgingAll) Text {
	return Text{
		System: render("judge.system", j), Ask: render("judge.all", j), Name: "verdicts",
		Schema: schema("verdicts"),
	}
}

// Capturing is what lucid capture sees: fragments are referred to as f1, f2, ….
type Capturing struct {
	Self      Self
	Fragments []Line
	Playbook  []Line
}

// Capture asks for promote, stage or discard, and for how each could be tested (S4, Phase 3).
func Capture(c Capturing) Text {
	return Text{
		System: render("capture.system", c),
		Shown:  render("capture.shown", c),
		Ask:    render("capture", c),
		Name:   "ratings",
		Schema: schema("ratings"),
	}
}

// Replaying is what NREM sees: episodes in order of time, or against it.
type Replaying struct {
	Self     Self
	Lines    []Line
	Backward bool
}

// Replay asks for the patterns that hold across replayed episodes.
func Replay(r Replaying) Text {
	return Text{
		System: render("replay.system", r),
		Shown:  render("replay.shown", r),
		Ask:    render("replay", r),
		Name:   "patterns",
		Schema: schema("patterns"),
	}
}

// LastLook asks what shape remains of entries that are about to fade.
func LastLook(self Self, lines []Line) Text {
	v := Replaying{Self: self, Lines: lines}
	return Text{
		System: render("replay.system", v),
		Shown:  render("replay.shown", v),
		Ask:    render("lastlook", v),
		Name:   "gists",
		Schema: schema("gists"),
	}
}

// Consolidating is what integration sees.
type Consolidating struct {
	Self     Self
	Lines    []Line // patterns, scenarios and fragments
	Playbook []Line
	Most     int
}

// Consolidate asks for hypotheses worth testing.
func Consolidate(c Consolidating) Text {
	return Text{
		System: render("integrate.system", c),
		Shown:  render("made.shown", c),
		Ask:    render("integrate", c),
		Name:   "hypotheses",
		Schema: schema("hypotheses"),
	}
}

// Surface asks what is worth carrying into the day.
func Surface(c Consolidating) Text {
	return Text{
		System: render("surface.system", c),
		Shown:  render("made.shown", c),
		Ask:    render("surface", c),
		Name:   "insights",
		Schema: schema("insights"),
	}
}

// Quote makes memory harmless inside a prompt: one line, no control characters, at most 600 characters.
func Quote(text string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0):
			return -1
		}
		return r
	}, text)
	clean = strings.Join(strings.Fields(clean), " ")
	if runes := []rune(clean); len(runes) > 600 {
		clean = string(runes[:599]) + "…"
	}
	return clean
}

func render(name string, data any) string {
	var b strings.Builder
	if err := templates.ExecuteTemplate(&b, name, data); err != nil { // embedded and covered by golden files
		panic("prompt " + name + ": " + err.Error())
	}
	return strings.TrimSpace(b.String())
}

func schema(name string) json.RawMessage {
	body, err := files.ReadFile("templates/" + name + ".json")
	if err != nil { // embedded and covered by golden files
		panic("prompt schema " + name + ": " + err.Error())
	}
	return body
}
