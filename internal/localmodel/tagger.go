package localmodel

import (
	"strings"
	"unicode"
)

// word is one word of a memory as it stood there.
type word struct {
	text string // as written, quotes and closing marks taken off
	low  string
	root string // its stem; empty for hollow words
	mark string // "," when a comma followed
	tag  tag
	verb bool // a finite verb of this clause stands here or before
	keep bool // its capital stays: a name, an abbreviation, I
}

// tagWords gives each word its part of speech by lists, endings and neighbours. It is right often enough for a
// dream and never needs to be right for anything else.
func tagWords(ws []word) {
	for i := range ws {
		ws[i].tag = firstGuess(ws[i].low)
	}
	seen := false
	for i := range ws {
		w := &ws[i]
		w.tag = settle(ws, i, seen)
		switch {
		case w.tag == when, w.tag == and && restarts(ws, i+1):
			seen = false
		case w.tag == verb, w.tag == aux, w.tag == isIt:
			seen = !(telling[w.low] && clauseAhead(ws, i+1))
		}
		w.verb = seen
	}
}

// telling verbs may take a whole clause without a word between.
var telling = set(
	"said say says think thinks thought know knows knew believe believed hope hoped guess guessed wish wished felt feel feels realized noticed")

func firstGuess(low string) tag {
	if t, ok := closed[low]; ok {
		return t
	}
	if base, _, ok := strings.Cut(low, "'"); ok {
		switch {
		case strings.HasSuffix(low, "n't"):
			return aux
		case closed[base] == who || base == "that" || base == "what" || base == "who" || base == "here":
			return isIt
		case strings.HasSuffix(low, "'s") || strings.HasSuffix(low, "s'"):
			return det
		}
	}
	switch r := rune(low[0]); {
	case unicode.IsDigit(r) || r == '$' || r == '+' || r == '-' || r == '.':
		return number
	case pastVerbs[low]:
		return verb
	case participles[low]:
		return bare
	case low == "to":
		return to
	case low == "her":
		return det
	case strings.HasSuffix(low, "ly") && len(low) > 4 && !nounsInLy[low]:
		return adverb
	case strings.HasSuffix(low, "ing") && len(low) > 5 && !nounsInIng[low]:
		return ing
	case strings.HasSuffix(low, "ed") && len(low) > 4:
		return verb
	}
	for _, end := range []string{"ful", "ous", "ive", "less", "able", "ible", "ical", "ish"} {
		if strings.HasSuffix(low, end) && len(low) > len(end)+2 {
			return adj
		}
	}
	return noun
}

// settle looks at the words beside the i-th, those before it being settled already.
func settle(ws []word, i int, seen bool) tag {
	w := ws[i]
	var before, after tag
	if i > 0 {
		before = ws[i-1].tag
	}
	if i+1 < len(ws) {
		after = ws[i+1].tag
	}
	named := after == noun || after == adj || after == ing || after == number
	switch {
	case w.tag == verb && pastVerbs[w.low], w.tag == verb && strings.HasSuffix(w.low, "ed"):
		return settlePast(w, before, after, seen, clauseAhead(ws, i+1))
	case w.low == "to":
		if i+1 < len(ws) && baseVerbs[ws[i+1].low] || after == aux {
			return to
		}
		return prep
	case w.low == "her" && !named && !(after == det && strings.HasSuffix(ws[i+1].low, "'s")):
		return whom
	case w.low == "that":
		if named && (before == 0 || before == prep || before == verb && after == noun) &&
			(before == 0 || !clauseAhead(ws, i+1)) {
			return det
		}
		if before == 0 {
			return who
		}
		return when
	case (w.low == "this" || w.low == "these" || w.low == "those" || w.low == "each" || w.low == "both") && !named &&
		after != det:
		return who
	case w.low == "there" && seen:
		return adverb
	case w.low == "no" && i == 0 && w.mark != "":
		return cry
	case w.low == "so" && (after == adj || after == adverb), w.low == "as" && seen && (after == adj || after == adverb):
		return adverb
	case w.tag == prep && opensClause[w.low] && clauseAhead(ws, i+1):
		return when
	case w.tag == aux && (before == to || before == aux && (w.low == "be" || w.low == "been" || w.low == "have")):
		return bare
	case w.low == "like" && (before == who || before == to):
		return verb
	case w.tag == cry && i > 0:
		return adj
	}
	if base := baseOf(w.low); base != "" && (w.tag == noun || w.tag == adj) {
		several := i > 0 && plural(ws[i-1])
		negated := i > 1 && before == adverb && (ws[i-2].tag == aux || ws[i-2].tag == to)
		return settlePresent(w, base, before, after, seen, several, negated)
	}
	return w.tag
}

var opensClause = set("before after until till since as like")

func settlePast(w word, before, after tag, seen, ahead bool) tag {
	named := after == noun || after == adj
	switch before {
	case det, prep, number:
		if after == noun || after == adj {
			return adj
		}
		if before == det {
			return noun
		}
		return bare
	case adj:
		if !seen && after != noun {
			return verb
		}
		return adj
	case aux, isIt, to:
		return bare
	case 0:
		if named && strings.HasSuffix(w.low, "ed") && ahead {
			return adj
		}
	}
	if seen && before != and && before != who && before != when {
		return bare
	}
	return verb
}

// settlePresent tells the light that falls from she who lights: verb after a subject, noun elsewhere.
func settlePresent(w word, base string, before, after tag, seen, several, negated bool) tag {
	third := w.low != base
	switch before {
	case to, aux:
		return bare
	case who:
		return verb
	case 0:
		if !third && w.tag == noun && (after == det || after == whom || after == prep) {
			return verb
		}
	case noun:
		if !seen && third && after != verb && after != aux && after != noun {
			return verb
		}
		if !seen && !third && several && after != verb && after != aux {
			return verb
		}
	case adverb:
		if !seen && third {
			return verb
		}
		if seen && !third && negated {
			return bare
		}
	}
	return w.tag
}

// clauseAhead says whether a subject with its verb begins at i, before the next break.
func clauseAhead(ws []word, i int) bool {
	subject := false
	for j := i; j < len(ws) && j < i+6; j++ {
		t := ws[j].tag
		switch t {
		case who:
			if subject {
				return false // after six she: a time, and then somebody
			}
			subject = true
		case noun, number, ing:
			if low := ws[j].low; subject && j > i && baseOf(low) != "" && (baseOf(low) != low || plural(ws[j-1])) {
				return true
			}
			subject = true
		case verb, aux:
			return subject
		case isIt:
			return true
		case prep, and, when, to:
			return false
		}
		if ws[j].mark != "" {
			return false
		}
	}
	return false
}

// restarts says whether what follows a coordinator at i has a subject of its own.
func restarts(ws []word, i int) bool { return clauseAhead(ws, i) }
