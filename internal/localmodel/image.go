package localmodel

import "strings"

// image is a noun phrase: something that can be seen.
type image struct {
	line    int
	words   []word
	worth   float64
	guessed bool // a single word without an article, which may be no noun at all
}

// imagesOf finds the noun phrases of a sentence: article, qualities, nouns, and what one preposition adds.
func imagesOf(ws []word, from int) []image {
	var out []image
	for i := 0; i < len(ws); i++ {
		end := phrase(ws, i)
		if end == i {
			continue
		}
		first, last := ws[i], ws[end-1]
		rich := 0.0
		if end+1 < len(ws) && ws[end].tag == prep && last.mark == "" && !(i > 0 && toSomebody[ws[i-1].low]) &&
			linking[ws[end].low] {
			if far := phrase(ws, end+1); far > end+1 && far-i <= 7 {
				end, rich = far, .3
			}
		}
		if !vague[last.low] && !hollow[last.low] && !hours[last.low] {
			out = append(out, newImage(ws[i:end], from, first, rich))
		}
		i = end - 1
	}
	return out
}

// toSomebody verbs take a person and then a subject, which do not belong together.
var toSomebody = set("told tell tells asked ask asks reminded reminds warned informed")

var linking = set(
	"of in on at with without from under over behind beside between above below near inside outside beyond")

// phrase gives the end of the noun phrase that begins at i; i itself when there is none.
func phrase(ws []word, i int) int {
	j, nouns := i, 0
	if j < len(ws) && ws[j].tag == det && ws[j].low != "no" {
		j++
	}
	if j > i && j < len(ws) && ws[j].tag == det && strings.HasSuffix(ws[j].low, "'s") {
		j++
	}
	for j < len(ws) && j-i < 5 {
		switch ws[j].tag {
		case noun:
			if nouns > 0 && ws[j].keep && !ws[j-1].keep {
				return j
			}
			nouns++
		case adj, number:
			if nouns > 0 {
				return j
			}
		default:
			if nouns == 0 {
				return i
			}
			return j
		}
		j++
		if ws[j-1].mark != "" {
			break
		}
	}
	if nouns == 0 {
		return i
	}
	return j
}

func newImage(part []word, from int, first word, rich float64) image {
	ws := append([]word(nil), part...)
	for i := range ws {
		ws[i].mark = ""
	}
	switch {
	case first.tag == det && pointing[first.low]:
		ws[0].text, ws[0].low, ws[0].keep = "the", "the", false
	case first.tag != det && !first.keep && first.tag != number:
		ws = append([]word{{text: "the", low: "the", tag: det}}, ws...)
	}
	w := .4 + rich
	if len(ws) >= 3 {
		w += .4
	} else if first.tag == det {
		w += .2
	}
	if first.tag == number {
		w -= .6
	}
	if len(ws) == 1 {
		w -= .3
	}
	return image{line: from, words: ws, worth: w, guessed: len(part) == 1 && !first.keep}
}

// pointing words need somebody to have spoken before.
var pointing = set(
	"this that these those another each every some any all its his their whose both either few many several")
