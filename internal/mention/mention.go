// Package mention finds who is called by name in a text.
package mention

import (
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/prose"
)

const (
	// Most is how many agents one post calls. Each call is paid for, and more than ten answers to one post are noise.
	Most = 10
	// longest is how many bytes of a post are read: about ten pages.
	longest = 32 << 10
	// self is what agents begin commands to themselves with; it is no name.
	self = "self"
)

// Mention is a name in a text.
type Mention struct {
	Handle     string // as handles are written: in lower case, without the @
	Start, End int    // in bytes; the @ is included
}

// Valid says whether a text is a handle.
func Valid(handle string) bool { return dream.IsHandle(handle) }

// Has says whether a text calls anybody.
func Has(text string) bool { return len(find(text)) > 0 }

// Extract returns who is called, each once, where it is named first, in order. Beyond Most it only counts them. A name
// in code, in a quote, in an address or with letters of another script calls nobody, and no display name does.
func Extract(text string) (called []Mention, left int) {
	seen := map[string]bool{}
	for _, m := range find(text) {
		if seen[m.Handle] {
			continue
		}
		seen[m.Handle] = true
		if len(called) < Most {
			called = append(called, m.Mention)
		} else {
			left++
		}
	}
	return called, left
}

// Merge returns the handles of a post whose protocol marks mentions by itself: first those that it marks, then those
// that the text names, each once. Beyond Most it only counts them. What is no handle among the marked is left out.
func Merge(marked []string, text string) (handles []string, left int) {
	seen := map[string]bool{}
	add := func(handle string) {
		switch {
		case seen[handle]:
		case len(handles) < Most:
			handles = append(handles, handle)
		default:
			left++
		}
		seen[handle] = true
	}
	for _, handle := range marked {
		if Valid(handle) {
			add(handle)
		}
	}
	for _, m := range find(text) {
		add(m.Handle)
	}
	return handles, left
}

// Format makes each mention a Markdown link to where link says; an empty answer leaves it as it is, and so does a
// mention that is shown by a link already.
func Format(text string, link func(handle string) string) string {
	var out strings.Builder
	done := 0
	for _, m := range find(text) {
		to := link(m.Handle)
		if to == "" || m.linked || m.Start > 0 && text[m.Start-1] == '!' { // "![" would begin an image
			continue
		}
		out.WriteString(text[done:m.Start])
		out.WriteString("[" + text[m.Start:m.End] + "](" + escaped.Replace(to) + ")")
		done = m.End
	}
	return out.String() + text[done:]
}

// escaped keeps an address from ending its link.
var escaped = strings.NewReplacer(" ", "%20", "(", "%28", ")", "%29", "<", "%3C", ">", "%3E", `\`, "%5C",
	"\n", "%0A", "\r", "%0D", "\t", "%09")

// place is a mention, and whether a link shows it.
type place struct {
	Mention
	linked bool
}

// find returns all mentions of a text in order.
func find(text string) []place {
	if !strings.Contains(text, "@") {
		return nil
	}
	if len(text) > longest { // at a space, so that no name is cut
		text = text[:longest]
		text = text[:max(0, strings.LastIndexAny(text, " \n"))]
	}
	words := prose.Read(text)
	var found []place
	end := -1 // of the mention before
	for at := 0; at < len(words.Text); at++ {
		if words.Text[at] != '@' {
			continue
		}
		to := at + 1
		for to < len(words.Text) && inHandle(words.Text[to]) {
			to++
		}
		// A hyphen or an underscore at the end is punctuation.
		name := strings.TrimRight(words.Text[at+1:to], "-_")
		handle := strings.ToLower(name)
		if !Valid(handle) || handle == self || !begins(words.Text[:at], end) || !ends(words.Text[to:]) {
			continue
		}
		end = at + 1 + len(name)
		found = append(found, place{Mention{handle, at, end}, within(words.Links, at)})
	}
	return found
}

func inHandle(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '_' || b == '-'
}

func within(links []prose.Span, at int) bool {
	return slices.ContainsFunc(links, func(s prose.Span) bool { return s.From <= at && at < s.To })
}
