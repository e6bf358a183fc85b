package importer

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

// The most runes of a derived action, outcome and of a quotation of what was said just before.
const (
	actionRunes  = 280
	outcomeRunes = 240
	beforeRunes  = 160
)

// contextOf says when, where and among whom something happened, and what came just before.
func (d *draft) contextOf(before *draft, zone *time.Location) string {
	var parts []string
	if !d.undated {
		parts = append(parts, describeTime(d.ep.At.In(zone), d.dated))
	}
	where := d.scene
	switch {
	case d.turns != nil:
		where = d.setting()
	case where == "" && d.ep.Speaker != "" && d.ep.Session != "":
		where = fmt.Sprintf("with %s, in %s", name(d.ep.Speaker), quoted(d.ep.Session))
	case where == "" && d.ep.Speaker != "":
		where = "with " + name(d.ep.Speaker)
	case where == "" && d.ep.Session != "":
		where = "in " + quoted(d.ep.Session)
	}
	if where != "" {
		parts = append(parts, where)
	}
	out := sentence(strings.Join(parts, ", "))
	switch {
	case d.before != nil:
		out += " " +
			sentence(
				fmt.Sprintf("just before, %s had %s", name(d.before.speaker),
					quote(d.before.text, beforeRunes, "said", "asked")))
	case before != nil:
		out += " " + sentence("just before: "+quoted(gist(before.ep.Content, beforeRunes)))
	case d.turns != nil:
		out += " The conversation had just begun."
	}
	out = strings.TrimSpace(out)
	if out == "" {
		out = sentence("a moment noted down in " + d.ep.Origin)
	}
	return out
}

// setting says who was talking, and about what when the conversation has a title.
func (d *draft) setting() string {
	cast := d.cast
	if len(cast) == 0 {
		for _, t := range d.turns {
			cast = addParticipant(cast, &t)
		}
		cast = addParticipant(addParticipant(cast, d.before), d.after)
	}
	if len(cast) > 4 {
		cast = append(append([]string{}, cast[:3]...), "others")
	}
	names := make([]string, len(cast))
	for i, c := range cast {
		names[i] = name(c)
	}
	if len(names) == 0 {
		names = []string{"somebody"}
	}
	verb := "were talking"
	if len(names) == 1 {
		verb = "was talking"
	}
	return strings.TrimSpace(list(names) + " " + verb + " " + d.scene)
}

// actionOf is what was done or said first.
func (d *draft) actionOf(next *draft) string {
	if d.turns != nil {
		opening, _ := d.sides()
		return sentence(name(d.turns[0].speaker) + " " + quote(opening, actionRunes, "said", "asked"))
	}
	text := d.ep.Content
	if lines := sentences(text); len(lines) > 1 && !answered(d, next) {
		text = strings.Join(lines[:len(lines)-1], " ")
	}
	if d.ep.Speaker != "" && !strings.Contains(strings.ToLower(text), strings.ToLower(d.ep.Speaker)) {
		return sentence(name(d.ep.Speaker) + " " + quote(text, actionRunes, "said", "asked"))
	}
	return sentence(passage(text, actionRunes))
}

// outcomeOf is the reply; else the last sentence; else what came next; else a plain sentence about the words
// themselves.
func (d *draft) outcomeOf(next *draft) string {
	if d.turns != nil {
		return d.replyOf()
	}
	if answered(d, next) {
		return sentence(
			name(next.ep.Speaker) + " " + quote(next.ep.Content, outcomeRunes, "answered", "asked in return"))
	}
	if lines := sentences(d.ep.Content); len(lines) > 1 {
		return sentence(standalone(clip(lines[len(lines)-1], outcomeRunes)))
	}
	if next != nil {
		return sentence("what came next: " + quoted(gist(next.ep.Content, outcomeRunes)))
	}
	return sentence("it was left at this: " + quoted(gist(d.ep.Content, outcomeRunes)))
}

func (d *draft) replyOf() string {
	switch _, reply := d.sides(); {
	case reply != "":
		last := d.turns[len(d.turns)-1]
		return sentence(name(last.speaker) + " " + quote(reply, outcomeRunes, "answered", "asked in return"))
	case d.after != nil:
		return sentence("then " + name(d.after.speaker) + " " + quote(d.after.text, outcomeRunes, "said", "asked"))
	default:
		return sentence(
			"nobody answered, and these words were the last: " + quoted(gist(d.turns[len(d.turns)-1].text, outcomeRunes)))
	}
}

// sides are the texts of the first speaker and of the last one, tools left out when another speaker answered.
func (d *draft) sides() (opening, reply string) {
	first, last := d.turns[0].speaker, d.turns[len(d.turns)-1].speaker
	var a, b []string
	for _, t := range d.turns {
		switch {
		case t.speaker == first && len(b) == 0:
			a = append(a, t.text)
		case t.speaker == last && t.speaker != first:
			b = append(b, t.text)
		}
	}
	return strings.Join(a, "\n"), strings.Join(b, "\n")
}

func answered(d, next *draft) bool {
	return next != nil && next.ep.Speaker != "" && d.ep.Speaker != "" && next.ep.Speaker != d.ep.Speaker
}

// quote is `said: “…”`, with the asking verb when the text ends in a question.
func quote(text string, n int, says, asks string) string {
	text, shown := splitPhoto(text)
	words := passage(text, n)
	verb := says
	if strings.HasSuffix(strings.TrimRight(words, `"'”’) `), "?") {
		verb = asks
	}
	return verb + ": " + quoted(words) + shown
}

// splitPhoto removes the description of a photo from the end of a turn's text: it was shown, not said.
func splitPhoto(text string) (words, shown string) {
	if i := strings.LastIndex(text, shownPhoto); i > 0 && strings.HasSuffix(text, ".)") {
		return strings.TrimRight(text[:i], ". "),
			" and showed a photo of " + clip(text[i+len(shownPhoto):len(text)-2], 120)
	}
	return text, ""
}

// shownPhoto begins the text that a reader adds to a turn with a photo.
const shownPhoto = " (Shows a photo of "

// describeTime describes a time in words: "on a Monday afternoon in May 2023".
func describeTime(at time.Time, clock bool) string {
	if !clock {
		return fmt.Sprintf("on a %s in %s %d", at.Weekday(), at.Month(), at.Year())
	}
	return fmt.Sprintf("on a %s %s in %s %d", at.Weekday(), partOfDay(at.Hour()), at.Month(), at.Year())
}

// name is how a speaker is written inside a sentence.
func name(speaker string) string {
	switch speaker {
	case "":
		return "somebody"
	case "user", "assistant", "system", "tool", "developer":
		return "the " + speaker
	}
	return speaker
}

func list(names []string) string {
	switch len(names) {
	case 0:
		return ""
	case 1:
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// sentence begins with a capital and ends with a mark.
func sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return ""
	}
	r, size := utf8.DecodeRuneInString(s)
	s = string(unicode.ToUpper(r)) + s[size:]
	bare := strings.TrimRight(s, `"'”’)]*_ `)
	if end, _ := utf8.DecodeLastRuneInString(bare); !strings.ContainsRune(".!?…。！？", end) {
		s += "."
	}
	return s
}

// addParticipant adds a speaker to those who take part. Tools take no part.
func addParticipant(cast []string, t *turn) []string {
	if t == nil || t.speaker == "" || t.taint == dream.FromTool || t.taint == dream.FromWeb ||
		slices.Contains(cast, t.speaker) {
		return cast
	}
	return append(cast, t.speaker)
}
