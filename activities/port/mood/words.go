package mood

import "strings"

// Calm is the word for a nearly neutral mood.
const Calm = "calm"

// even is the distance from neutral below which a mood is Calm.
const even = .15

// words are terms of affect at their rated coordinates (Russell and Mehrabian 1977), two or more for each octant.
var words = []struct {
	name string
	at   PAD
}{
	{"happy", PAD{.81, .51, .46}},
	{"loved", PAD{.87, .54, -.18}},
	{"grateful", PAD{.64, .16, -.18}},
	{"elated", PAD{.50, .42, .23}},
	{"curious", PAD{.22, .62, -.01}},
	{"surprised", PAD{.40, .67, -.13}},
	{"astonished", PAD{.16, .88, -.15}},
	{"dignified", PAD{.55, .22, .61}},
	{"controlling", PAD{.47, .34, .66}},
	{"awed", PAD{.18, .40, -.38}},
	{"relaxed", PAD{.68, -.46, .06}},
	{"untroubled", PAD{.79, -.01, .33}},
	{"leisurely", PAD{.58, -.32, .11}},
	{"quiet", PAD{.19, -.40, -.04}},
	{"sheltered", PAD{.14, -.36, -.44}},
	{"sleepy", PAD{.20, -.70, -.44}},
	{"humble", PAD{.23, -.28, -.27}},
	{"angry", PAD{-.51, .59, .25}},
	{"hostile", PAD{-.42, .53, .30}},
	{"defiant", PAD{-.16, .54, .32}},
	{"fearful", PAD{-.64, .60, -.43}},
	{"anxious", PAD{.01, .59, -.15}},
	{"puzzled", PAD{-.41, .48, -.33}},
	{"disgusted", PAD{-.60, .35, .11}},
	{"displeased", PAD{-.55, .16, -.05}},
	{"shamed", PAD{-.57, .01, -.34}},
	{"sad", PAD{-.63, -.27, -.33}},
	{"bored", PAD{-.65, -.62, -.33}},
	{"discouraged", PAD{-.61, -.15, -.29}},
	{"unconcerned", PAD{-.13, -.41, .08}},
}

// Word is the word whose direction is nearest to a mood's, or Calm. Direction is used because moods are mostly weaker
// than the rated words.
func Word(m PAD) string {
	if m.norm() < even {
		return Calm
	}
	best := words[0]
	for _, w := range words[1:] {
		if m.Cosine(w.at) > m.Cosine(best.at) {
			best = w
		}
	}
	return best.name
}

// OfWord is the mood that a word of moods stands for, whatever its case; false for another word.
func OfWord(word string) (PAD, bool) {
	for _, w := range words {
		if strings.EqualFold(w.name, strings.TrimSpace(word)) {
			return w.at, true
		}
	}
	return PAD{}, false
}
