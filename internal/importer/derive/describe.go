package derive

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// The most runes of a derived action, outcome and of a quotation of what was said just before.
const (
	actionRunes  = 280
	outcomeRunes = 240
	beforeRunes  = 160
)

// contextOf says when, where and among whom something happened, and what came just before.
func (d *Draft) contextOf(before *Draft, zone *time.Location) string {
	var parts []string
	if !d.Undated {
		parts = append(parts, describeTime(d.Episode.At.In(zone), d.Dated))
	}
	where := d.Scene
	switch {
	case d.Turns != nil:
		where = d.setting()
	case where == "" && d.Episode.Speaker != "" && d.Episode.Session != "":
		where = fmt.Sprintf("with %s, in %s", name(d.Episode.Speaker), Quoted(d.Episode.Session))
	case where == "" && d.Episode.Speaker != "":
		where = "with " + name(d.Episode.Speaker)
	case where == "" && d.Episode.Session != "":
		where = "in " + Quoted(d.Episode.Session)
	}
	if where != "" {
		parts = append(parts, where)
	}
	out := asSentence(strings.Join(parts, ", "))
	switch {
	case d.Before != nil:
		out += " " +
			asSentence(
				fmt.Sprintf("just before, %s had %s", name(d.Before.Speaker),
					quote(d.Before.Text, beforeRunes, "said", "asked")))
	case before != nil:
		out += " " + asSentence("just before: "+Quoted(gist(before.Episode.Content, beforeRunes)))
	case d.Turns != nil:
		out += " The conversation had just begun."
	}
	out = strings.TrimSpace(out)
	if out == "" {
		out = asSentence("a moment noted down in " + d.Episode.Origin)
	}
	return out
}

// setting says who was talking, and about what when the conversation has a title.
func (d *Draft) setting() string {
	cast := d.Cast
	if len(cast) == 0 {
		for _, t := range d.Turns {
			cast = addParticipant(cast, &t)
		}
		cast = addParticipant(addParticipant(cast, d.Before), d.After)
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
	return strings.TrimSpace(list(names) + " " + verb + " " + d.Scene)
}

// actionOf is what was done or said first.
func (d *Draft) actionOf(next *Draft) string {
	if d.Turns != nil {
		opening, _ := d.sides()
		return asSentence(name(d.Turns[0].Speaker) + " " + quote(opening, actionRunes, "said", "asked"))
	}
	text := d.Episode.Content
	if lines := Sentences(text); len(lines) > 1 && !answered(d, next) {
		text = strings.Join(lines[:len(lines)-1], " ")
	}
	if d.Episode.Speaker != "" && !strings.Contains(strings.ToLower(text), strings.ToLower(d.Episode.Speaker)) {
		return asSentence(name(d.Episode.Speaker) + " " + quote(text, actionRunes, "said", "asked"))
	}
	return asSentence(passage(text, actionRunes))
}

// outcomeOf is the reply; else the last sentence; else what came next; else a plain sentence about the words
// themselves.
func (d *Draft) outcomeOf(next *Draft) string {
	if d.Turns != nil {
		return d.replyOf()
	}
	if answered(d, next) {
		return asSentence(
			name(next.Episode.Speaker) + " " + quote(next.Episode.Content, outcomeRunes, "answered", "asked in return"))
	}
	if lines := Sentences(d.Episode.Content); len(lines) > 1 {
		return asSentence(standalone(Clip(lines[len(lines)-1], outcomeRunes)))
	}
	if next != nil {
		return asSentence("what came next: " + Quoted(gist(next.Episode.Content, outcomeRunes)))
	}
	return asSentence("it was left at this: " + Quoted(gist(d.Episode.Content, outcomeRunes)))
}

func (d *Draft) replyOf() string {
	switch _, reply := d.sides(); {
	case reply != "":
		last := d.Turns[len(d.Turns)-1]
		return asSentence(name(last.Speaker) + " " + quote(reply, outcomeRunes, "answered", "asked in return"))
	case d.After != nil:
		return asSentence("then " + name(d.After.Speaker) + " " + quote(d.After.Text, outcomeRunes, "said", "asked"))
	default:
		return asSentence(
			"nobody answered, and these words were the last: " + Quoted(gist(d.Turns[len(d.Turns)-1].Text, outcomeRunes)))
	}
}

// sides are the texts of the first speaker and of the last one, tools left out when another speaker answered.
func (d *Draft) sides() (opening, reply string) {
	first, last := d.Turns[0].Speaker, d.Turns[len(d.Turns)-1].Speaker
	var a, b []string
	for _, t := range d.Turns {
		switch {
		case t.Speaker == first && len(b) == 0:
			a = append(a, t.Text)
		case t.Speaker == last && t.Speaker != first:
			b = append(b, t.Text)
		}
	}
	return strings.Join(a, "\n"), strings.Join(b, "\n")
}

func answered(d, next *Draft) bool {
	return next != nil && next.Episode.Speaker != "" && d.Episode.Speaker != "" && next.Episode.Speaker != d.Episode.Speaker
}

// quote is `said: “…”`, with the asking verb when the text ends in a question.
func quote(text string, n int, says, asks string) string {
	text, shown := splitPhoto(text)
	words := passage(text, n)
	verb := says
	if strings.HasSuffix(strings.TrimRight(words, `"'”’) `), "?") {
		verb = asks
	}
	return verb + ": " + Quoted(words) + shown
}

// splitPhoto removes the description of a photo from the end of a turn's text: it was shown, not said.
func splitPhoto(text string) (words, shown string) {
	if i := strings.LastIndex(text, ShownPhoto); i > 0 && strings.HasSuffix(text, ".)") {
		return strings.TrimRight(text[:i], ". "),
			" and showed a photo of " + Clip(text[i+len(ShownPhoto):len(text)-2], 120)
	}
	return text, ""
}

// ShownPhoto begins the text that a reader adds to a turn with a photo.
const ShownPhoto = " (Shows a photo of "

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

// asSentence makes a text begin with a capital and end with a mark.
func asSentence(s string) string {
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
func addParticipant(cast []string, t *Turn) []string {
	if t == nil || t.Speaker == "" || t.Taint == dream.FromTool || t.Taint == dream.FromWeb ||
		slices.Contains(cast, t.Speaker) {
		return cast
	}
	return append(cast, t.Speaker)
}
