// Package sentence splits texts into sentences.
package sentence

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Marks that end a sentence: anywhere in scripts that write no blanks, otherwise before a blank or the end.
const (
	anywhere  = "\n。！？；।"
	beforeGap = ".!?…؟"
)

// closing are the marks that stand behind the end of a sentence and belong to it.
const closing = ".!?…؟\"')]”’"

// Split returns the sentences of a text in order, without the blanks around them and without empty ones. A line break
// ends a sentence. The full stop of an abbreviation or an initial does not: "Dr. J. Marsh" is one sentence.
func Split(text string) []string {
	var out []string
	begin := 0
	cut := func(end int) {
		if s := strings.TrimSpace(text[begin:end]); s != "" {
			out = append(out, s)
		}
		begin = end
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		spaceless := strings.ContainsRune(anywhere, r)
		if !spaceless && !strings.ContainsRune(beforeGap, r) {
			continue
		}
		if r != '\n' {
			i = len(text) - len(strings.TrimLeft(text[i:], closing))
		}
		next, _ := utf8.DecodeRuneInString(text[i:])
		if spaceless || i == len(text) || unicode.IsSpace(next) && !(r == '.' && abbreviated(text[begin:i])) {
			cut(i)
		}
	}
	cut(len(text))
	return out
}

// abbreviations are words that end with a full stop within a sentence.
var abbreviations = map[string]bool{
	"mr.": true, "mrs.": true, "ms.": true, "dr.": true, "st.": true, "vs.": true, "e.g.": true, "i.e.": true,
	"prof.": true, "no.": true, "approx.": true,
}

// abbreviated says whether the last word of a text is an initial or an abbreviation.
func abbreviated(text string) bool {
	last := text[strings.LastIndexAny(text, " \n\t(")+1:]
	return len(last) == 2 && last[0] >= 'A' && last[0] <= 'Z' && last != "I." ||
		abbreviations[strings.ToLower(last)]
}
