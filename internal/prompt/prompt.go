// Package prompt holds the prompts of dreams and of calls in rooms: templates, their JSON schemas, and how memories are
// quoted.
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
	template.New("").Funcs(template.FuncMap{"quote": Quote, "said": quoteSpeech}).ParseFS(files, "templates/*.tmpl"))

// Line is one piece of memory as a prompt shows it: a short reference and its text.
type Line struct {
	Ref  string // r1, r2, … within one prompt
	Text string
}

// Lines numbers texts from 1, with the given prefix.
func Lines(prefix string, texts ...string) []Line {
	lines := make([]Line, len(texts))
	for i, text := range texts {
		lines[i] = Line{Ref: fmt.Sprintf("%s%d", prefix, i+1), Text: text}
	}
	return lines
}

// Self is the agent that dreams.
type Self struct {
	Handle    string
	Persona   string
	Interests []string
}

// Text is a complete prompt. System and Shown are the same for every call of a cycle, so that a provider's prompt
// cache applies; only Ask differs.
type Text struct {
	System string
	Shown  string // the memories, quoted
	Ask    string
	Name   string          // of the schema; empty for free text
	Schema json.RawMessage // nil for free text
}

// User joins Shown and Ask.
func (t Text) User() string {
	if t.Shown == "" {
		return t.Ask
	}
	return t.Shown + "\n" + t.Ask
}

// OnsetInput is the input of the prompts of the onset.
type OnsetInput struct {
	Self  Self
	Theme string
	Lines []Line
	World []Line // external readings, w1, w2, …; after the memories, so that their cached prefix is unchanged

	Rare float64 // above 0: the model is loosened by words and states probabilities below this
}

// Induce asks for connections among shuffled memories, as fragments with their sources.
func Induce(o OnsetInput) Text {
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

// Partial asks for one free association that will be cut off. The words vary Ask, not the prefix.
func Partial(o OnsetInput, seedWords []string) Text {
	return Text{
		System: render("onset.system", o), Shown: render("shown", o),
		Ask: render("partial", map[string]any{"Words": strings.Join(seedWords, ", "), "Theme": o.Theme}),
	}
}

// Scene is an invented event: parts of two or three episodes.
type Scene struct{ Context, Action, Outcome string }

// Variation is what varies Ask between Dali cycles.
type Variation struct {
	Words  []string // random words
	Scenes []Scene
	Scraps string // the answer of a divergent call; empty for none
	Count  int    // number of ideas
}

// Diverge asks for unconnected scraps: the first half of a two-phase cycle (CreativeDC).
func Diverge(o OnsetInput, s Variation) Text {
	return Text{System: render("onset.system", o), Shown: render("shown", o), Ask: render("diverge", scrapValues(o, s))}
}

// Ideas asks for several ideas with their probabilities, all of them unlikely (verbalised sampling), based on the
// scraps of an earlier call or on the model's own reasoning.
func Ideas(o OnsetInput, s Variation) Text {
	return Text{
		System: render("onset.system", o), Shown: render("shown", o), Ask: render("ideas", scrapValues(o, s)),
		Name: "ideas", Schema: counted(schema("ideas"), s.Count),
	}
}

// longestScraps is how many scraps are shown.
const longestScraps = 24

func scrapValues(o OnsetInput, s Variation) map[string]any {
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

// counted sets the number of list items in a schema.
func counted(raw json.RawMessage, n int) json.RawMessage {
	return json.RawMessage(strings.ReplaceAll(string(raw), `Items":0`, fmt.Sprintf(`Items":%d`, n)))
}

// JudgeInput is the input of Judge.
type JudgeInput struct {
	Self     Self
	Theme    string
	Text     string
	Near     []Line // the nearest memories
	Playbook []Line
}

// Judge asks the observer for novelty, relevance and coherence.
func Judge(j JudgeInput) Text {
	return Text{System: render("judge.system", j), Ask: render("judge", j), Name: "verdict", Schema: schema("verdict")}
}

// Thought is one of several texts to judge, with its nearest memories.
type Thought struct {
	Line Line
	Near []Line
}

// JudgeAllInput is the input of JudgeAll: thoughts are t1, t2, …, their memories m1, m2, … across all of them.
type JudgeAllInput struct {
	Self     Self
	Theme    string
	Thoughts []Thought
	Playbook []Line
}

// JudgeAll asks the observer for the verdicts of a cycle in one call.
func JudgeAll(j JudgeAllInput) Text {
	return Text{
		System: render("judge.system", j), Ask: render("judge.all", j), Name: "verdicts",
		Schema: schema("verdicts"),
	}
}

// CaptureInput is the input of Capture: fragments are f1, f2, ….
type CaptureInput struct {
	Self      Self
	Fragments []Line
	Playbook  []Line
}

// Capture asks to rate each fragment as promote, stage or discard, and how each could be tested.
func Capture(c CaptureInput) Text {
	return Text{
		System: render("capture.system", c),
		Shown:  render("capture.shown", c),
		Ask:    render("capture", c),
		Name:   "ratings",
		Schema: schema("ratings"),
	}
}

// ReplayInput is the input of Replay: episodes in chronological or reverse order.
type ReplayInput struct {
	Self     Self
	Lines    []Line
	Backward bool
	Counted  []Line // regularities that a program counted, x1, x2, …
}

// Replay asks for patterns across the replayed episodes.
func Replay(r ReplayInput) Text {
	return Text{
		System: render("replay.system", r),
		Shown:  render("replay.shown", r),
		Ask:    render("replay", r),
		Name:   "patterns",
		Schema: schema("patterns"),
	}
}

// LastLook asks for the gist of entries that are about to fade.
func LastLook(self Self, lines []Line) Text {
	v := ReplayInput{Self: self, Lines: lines}
	return Text{
		System: render("replay.system", v),
		Shown:  render("replay.shown", v),
		Ask:    render("lastlook", v),
		Name:   "gists",
		Schema: schema("gists"),
	}
}

// ReasoningInput is the input of Reasoning.
type ReasoningInput struct {
	Memories    []Line
	Predictions []Argued
}

// Argued is a prediction with the reasoning given for it.
type Argued struct {
	Ref          string
	Claim, Trace string
	Memories     []string // references of those that it rests on
}

// Reasoning asks which predictions were soundly reasoned. It does not say what came of them.
func Reasoning(r ReasoningInput) Text {
	return Text{
		System: render("reasoning.system", r),
		Shown:  render("reasoning.shown", r),
		Ask:    render("reasoning", r),
		Name:   "reasonings",
		Schema: schema("reasonings"),
	}
}

// ConsolidateInput is the input of Consolidate and Surface.
type ConsolidateInput struct {
	Self     Self
	Lines    []Line // patterns, scenarios and fragments
	Playbook []Line
	Trial    []Line // what is staged already
	Most     int
}

// Consolidate asks for hypotheses worth testing.
func Consolidate(c ConsolidateInput) Text {
	return Text{
		System: render("integrate.system", c),
		Shown:  render("made.shown", c),
		Ask:    render("integrate", c),
		Name:   "hypotheses",
		Schema: schema("hypotheses"),
	}
}

// Surface asks which thoughts are worth remembering when awake.
func Surface(c ConsolidateInput) Text {
	return Text{
		System: render("surface.system", c),
		Shown:  render("made.shown", c),
		Ask:    render("surface", c),
		Name:   "insights",
		Schema: schema("insights"),
	}
}

// Regularity is a claim that a program counted, as prompts show it: the sentence that a program can judge, how often it
// came true, the share that chance gives, and after how many days an outcome can be expected.
func Regularity(sentence string, hits, trials int, chance float64, days int) string {
	return fmt.Sprintf("%s (%d of %d times, by chance %.0f %%; for %d days)", sentence, hits, trials, 100*chance, days)
}

// Quote makes a memory harmless inside a prompt: one line, no control characters, at most 600 characters.
func Quote(text string) string { return quoteUpTo(600, text) }

// quoteSpeech quotes what was said in a room, which an agent that is called must know as a whole: about five pages.
func quoteSpeech(text string) string { return quoteUpTo(8000, text) }

func quoteUpTo(most int, text string) string {
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
	if runes := []rune(clean); len(runes) > most {
		clean = string(runes[:most-1]) + "…"
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
