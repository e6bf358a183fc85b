// Package utterance decides what of a message is a person's own words, whether they are worth keeping, and whether a
// statement replaces an earlier one.
package utterance

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of Strip.
const (
	// LongText is how many bytes of text count as a person's words. A longer text contains something pasted, of which
	// head and tail count.
	LongText = 4000
	// headTail bounds head and tail of a long text, in bytes each.
	headTail = 1000
	// mostLines bounds the lines of head and of tail that are looked at.
	mostLines = 100
	// mostPassages bounds the passages of head and of tail.
	mostPassages = 3
)

// Strip returns the passages of a message that a person wrote. It removes what clients put around them: blocks of
// context and of reminders, templates of retrieval, attached files, fenced and pasted code, logs and data. Of a long
// text it returns head and tail. Each passage is a part of the text, and they are in its order. No passage means that
// the message has no words of a person.
func Strip(text string) []string {
	return passages(text, unpasted(text, unwrapped(text)))
}

// Question is the text to search memory with: the passages of Strip, or, where a message is only something pasted,
// its head and tail without what the client put around them.
func Question(text string) string {
	if texts := Strip(text); len(texts) > 0 {
		return strings.Join(texts, "\n")
	}
	return strings.Join(passages(text, unwrapped(text)), "\n")
}

// span is a part of a text, in bytes.
type span struct{ from, to int }

// without removes spans from others, which are in order and separate.
func without(kept, cut []span) []span {
	slices.SortFunc(cut, func(a, b span) int { return a.from - b.from })
	var out []span
	next := 0
	end := 0 // of the cuts so far
	for _, k := range kept {
		at := max(k.from, end)
		for next < len(cut) && cut[next].from < k.to {
			if c := cut[next]; c.to > at {
				if c.from > at {
					out = append(out, span{at, c.from})
				}
				at = c.to
			}
			end = max(end, cut[next].to)
			next++
		}
		if at < k.to {
			out = append(out, span{at, k.to})
		}
	}
	return out
}

// linesOf are the lines of the kept parts, without their ends.
func linesOf(text string, kept []span) []span {
	var out []span
	for _, k := range kept {
		for at := k.from; at < k.to; {
			end := strings.IndexByte(text[at:k.to], '\n')
			if end < 0 {
				out = append(out, span{at, k.to})
				break
			}
			out = append(out, span{at, at + end})
			at += end + 1
		}
	}
	return out
}

// unpasted removes fences, and runs of lines that a machine wrote, from what is kept.
func unpasted(text string, kept []span) []span {
	var cut []span
	fence := -1
	mark := ""
	for _, l := range linesOf(text, kept) {
		line := strings.TrimSpace(text[l.from:l.to])
		switch {
		case fence < 0 && (strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~")):
			mark = line[:3]
			if len(line) > 6 && strings.HasSuffix(line, mark) { // one line
				cut = append(cut, l)
				continue
			}
			fence = l.from
		case fence >= 0 && strings.HasPrefix(line, mark) && strings.Trim(line, mark[:1]) == "":
			cut = append(cut, span{fence, l.to})
			fence = -1
		}
	}
	if fence >= 0 {
		cut = append(cut, span{fence, len(text)})
	}
	kept = without(kept, cut)
	lines := slices.DeleteFunc(linesOf(text, kept),
		func(l span) bool { return strings.TrimSpace(text[l.from:l.to]) == "" })
	size := 0
	for _, l := range lines {
		size += l.to - l.from
	}
	if size <= LongText || len(lines) <= 2*mostLines {
		return without(kept, machineRuns(text, lines))
	}
	head, tail := lines[:mostLines], lines[len(lines)-mostLines:]
	cut = append(machineRuns(text, head), span{head[mostLines-1].to, tail[0].from})
	return without(kept, append(cut, machineRuns(text, tail)...))
}

// machineRuns finds lines that a machine wrote among lines that are not blank. One such line alone may be a person's,
// unless its form excludes it. A line between two of them belongs to them unless it is a sentence.
func machineRuns(text string, lines []span) []span {
	kinds := make([]likeness, len(lines))
	for i, l := range lines {
		kinds[i] = likenessOf(text[l.from:l.to])
	}
	var cut []span
	for i := 0; i < len(lines); {
		if kinds[i] == prose {
			i++
			continue
		}
		end := i + 1
		machine := 0
		if kinds[i] == machineMade {
			machine++
		}
		for end < len(lines) {
			if kinds[end] == prose &&
				(end+1 >= len(lines) || kinds[end+1] != machineMade || isSentence(text[lines[end].from:lines[end].to])) {
				break
			}
			if kinds[end] == machineMade {
				machine++
			}
			end++
		}
		if machine > 0 && (end-i > 1 || kinds[i] == machineMade) {
			cut = append(cut, span{lines[i].from, lines[end-1].to})
		}
		i = end
	}
	return cut
}

// passages are the kept parts without blanks around them; of a long text its head and tail, a paragraph each.
func passages(text string, kept []span) []string {
	var out []string
	size := 0
	for _, k := range kept {
		k = trimmed(text, k)
		if k.from < k.to && hasWord(text[k.from:k.to]) {
			out = append(out, text[k.from:k.to])
			size += k.to - k.from
		}
	}
	if size <= LongText {
		return out
	}
	var parts []string
	for _, p := range out {
		parts = append(parts, paragraphs(p)...)
	}
	head := ends(parts, false)
	tail := ends(parts[min(len(parts), len(head)):], true)
	slices.Reverse(tail)
	if len(head) == 1 && len(parts) == 1 { // one paragraph: its end counts too
		if rest := parts[0][len(head[0]):]; rest != "" {
			tail = []string{lastPart(rest, headTail)}
		}
	}
	return slices.DeleteFunc(append(head, tail...), func(p string) bool { return !hasWord(p) })
}

// ends takes paragraphs from one end, as many as fit, and at least a part of one.
func ends(parts []string, last bool) []string {
	var out []string
	size := 0
	for i := range parts {
		p := parts[i]
		if last {
			p = parts[len(parts)-1-i]
		}
		if len(out) > 0 && (size+len(p) > headTail || len(out) >= mostPassages) {
			break
		}
		if len(p) > headTail {
			if last {
				p = lastPart(p, headTail)
			} else {
				p = firstPart(p, headTail)
			}
		}
		out = append(out, p)
		size += len(p)
	}
	return out
}

// paragraphs splits at blank lines.
func paragraphs(text string) []string {
	var out []string
	from := 0
	flush := func(to int) {
		if p := strings.TrimSpace(text[from:to]); p != "" {
			out = append(out, p)
		}
	}
	for at := 0; at < len(text); {
		end := strings.IndexByte(text[at:], '\n')
		if end < 0 {
			break
		}
		if strings.TrimSpace(text[at:at+end]) == "" {
			flush(at)
			from = at + end + 1
		}
		at += end + 1
	}
	flush(len(text))
	return out
}

// firstPart is the head of a text, to the end of a sentence where one ends in its second half.
func firstPart(text string, most int) string {
	if len(text) <= most {
		return text
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	head := text[:cut]
	if at := strings.LastIndexFunc(head, endsSentence); at > most/2 {
		_, size := utf8.DecodeRuneInString(head[at:])
		head = head[:at+size]
	}
	return strings.TrimSpace(head)
}

// lastPart is the tail of a text, from the beginning of a sentence where one begins in its first half.
func lastPart(text string, most int) string {
	if len(text) <= most {
		return strings.TrimSpace(text)
	}
	cut := len(text) - most
	for cut < len(text) && !utf8.RuneStart(text[cut]) {
		cut++
	}
	tail := text[cut:]
	if at := strings.IndexFunc(tail, endsSentence); at >= 0 && at < most/2 {
		_, size := utf8.DecodeRuneInString(tail[at:])
		tail = tail[at+size:]
	}
	return strings.TrimSpace(tail)
}

func endsSentence(r rune) bool { return strings.ContainsRune(".!?。！？؟।\n", r) }

func trimmed(text string, k span) span {
	s := text[k.from:k.to]
	from := k.from + len(s) - len(strings.TrimLeftFunc(s, unicode.IsSpace))
	return span{from, max(from, k.from+len(strings.TrimRightFunc(s, unicode.IsSpace)))}
}

func hasWord(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}
