package ablation

import (
	"strings"
	"unicode"

	"github.com/seed-56a03226/oneiros/internal/prompt"
	"github.com/seed-56a03226/oneiros/internal/sample"
)

// run is how many words in a row make a recital.
const run = 4

// Recited is the share of a text's runs of four words that stand in the prompts' own words, memories left out: a small model says its
// instructions again, and no embedder that looks at memories sees that. A text of less than four words recites nothing.
func Recited(text string) float64 {
	said, runs, found := words(text), 0, 0
	asked := instructions()
	for i := 0; i+run <= len(said); i++ {
		runs++
		if strings.Contains(asked, " "+strings.Join(said[i:i+run], " ")+" ") {
			found++
		}
	}
	if runs == 0 {
		return 0
	}
	return float64(found) / float64(runs)
}

func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// instructions are what every prompt of the onset and of REM says beside memories.
func instructions() string {
	who := sample.Lives()[0].Agent
	self := prompt.Self{Handle: who.Handle, Persona: who.Persona, Interests: who.Interests}
	onset, spur := prompt.Onset{Self: self}, prompt.Spur{Count: 3}
	rare := onset
	rare.Rare = .1
	var all []string
	for _, p := range []prompt.Text{
		prompt.Induce(onset), prompt.Induce(rare), prompt.Partial(onset, nil), prompt.Diverge(rare, spur), prompt.Ideas(rare, spur), prompt.Imagine(prompt.Imagining{Self: self}),
	} {
		all = append(all, words(p.System+" "+p.Ask)...)
		all = append(all, "|")
	}
	return " " + strings.Join(all, " ") + " "
}
