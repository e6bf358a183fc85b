package ablation

import (
	"encoding/json"
	"strings"
	"unicode"

	"github.com/seed-56a03226/oneiros/internal/prompt"
	"github.com/seed-56a03226/oneiros/internal/sample"
)

// run is how many words in a row count as recited.
const run = 4

// Recited is the share of a text's runs of four words that stand in the prompts or in a memory. A small model repeats
// its instructions and what it was shown, and a text that joins three memories lies near none of them. A text of less
// than four words recites nothing.
func Recited(text string) float64 {
	texts, runs, found := words(text), 0, 0
	question := shown()
	for i := 0; i+run <= len(texts); i++ {
		runs++
		if strings.Contains(question, " "+strings.Join(texts[i:i+run], " ")+" ") {
			found++
		}
	}
	if runs == 0 {
		return 0
	}
	return float64(found) / float64(runs)
}

func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// shown is the text of every prompt of the onset and of REM, and of every memory that they may show.
func shown() string {
	agentState := sample.Diaries()[0]
	who := agentState.Agent
	self := prompt.Self{Handle: who.Handle, Persona: who.Persona, Interests: who.Interests}
	onset, spur := prompt.OnsetInput{Self: self}, prompt.Variation{Count: 3}
	rare := onset
	rare.Rare = .1
	var all []string
	for _, p := range []prompt.Text{
		prompt.Induce(onset), prompt.Induce(rare), prompt.Partial(onset, nil), prompt.Diverge(rare, spur),
		prompt.Ideas(rare, spur), prompt.Imagine(prompt.ImagineInput{Self: self}),
	} {
		all = append(all, words(p.System+" "+p.Ask)...)
		all = append(all, "|")
	}
	for line := range strings.Lines(string(agentState.Memories)) {
		var m struct{ Context, Action, Outcome, Content string }
		if json.Unmarshal([]byte(line), &m) != nil {
			continue
		}
		for _, piece := range []string{m.Context, m.Action, m.Outcome, m.Content} {
			all = append(append(all, words(piece)...), "|")
		}
	}
	return " " + strings.Join(all, " ") + " "
}
