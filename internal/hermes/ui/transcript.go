package ui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/seed-56a03226/oneiros/internal/hermes/message"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

// kind is who or what an item of the transcript comes from.
type kind int

const (
	person kind = iota
	agent
	tool
	note
	fault
)

// How a tool stands.
const (
	comes       = "to come"
	waits       = "waits for you"
	runs        = "runs"
	done        = "done"
	failed      = "failed"
	interrupted = "interrupted"
)

// item is one block of the transcript. Its text is printable.
type item struct {
	kind  kind
	id    string // of a tool: the call's
	title string // of a tool: what it does
	text  string
	state string // of a tool
	grows bool   // whether an answer is still coming

	drawn   []string // for the look below
	look    look
	settled int      // bytes of a growing answer whose drawing is kept
	kept    []string // that drawing
}

// look is what the drawing of an item depends on besides the item.
type look struct {
	width    int
	dark     bool
	expanded bool
}

// transcript is the talk as it is shown. Only what is visible is drawn, and each item once for each look, so that a
// session of any length scrolls and grows at the same speed.
type transcript struct {
	items []*item
	name  string // the agent's
	theme theme
	look  look
	md    *markdown

	// follows shows the end. Otherwise the line at the top is line number line of the item at index top.
	follows   bool
	top, line int
	unseen    int // items that came while the end was out of sight

	recent []*item // those with drawings, the oldest drawing first; at most keptDrawings
}

// keptDrawings is how many items keep their drawing, so that a long session does not fill the memory.
const keptDrawings = 512

func newTranscript(name string, t theme) *transcript {
	return &transcript{name: name, theme: t, follows: true, look: look{dark: t.dark}}
}

func (t *transcript) add(i *item) *item {
	t.items = append(t.items, i)
	if !t.follows {
		t.unseen++
	}
	return i
}

// show adds the entries of a session that is resumed.
func (t *transcript) show(entries []message.Entry) {
	for _, e := range entries {
		switch {
		case e.Note != "":
			t.add(&item{kind: note, text: screen.Printable(e.Note)})
		case e.Rewind != nil:
			t.add(&item{kind: note, text: "The talk was rewound here; what stands between no longer counts."})
		case e.Compact != nil:
			t.add(&item{kind: note, text: "The talk was compacted here."})
		case e.Message != nil:
			t.showMessage(*e.Message)
		}
	}
}

func (t *transcript) showMessage(m message.Message) {
	switch m.Role {
	case message.User:
		t.add(&item{kind: person, text: screen.Printable(m.Content)})
	case message.Assistant:
		if m.Content != "" {
			t.add(&item{kind: agent, text: screen.Printable(m.Content)})
		}
		for _, c := range m.Calls {
			t.add(&item{kind: tool, id: c.ID, title: callTitle(c), state: interrupted})
		}
	case message.FromTool:
		if call := t.call(m.CallID); call != nil {
			call.state, call.text = done, screen.Printable(m.Content)
			call.redraw()
		}
	}
}

// call is the newest call of an id; nil where there is none.
func (t *transcript) call(id string) *item {
	for i := len(t.items) - 1; i >= 0; i-- {
		if t.items[i].kind == tool && t.items[i].id == id {
			return t.items[i]
		}
	}
	return nil
}

func (i *item) redraw() { i.look = look{} }

// readable is the greatest width of the talk, however wide the screen is.
const readable = 120

// setWidth changes the width of all drawings from now on.
func (t *transcript) setWidth(width int) { t.look.width = min(width, readable) }

// linesOf draws an item, or returns its drawing when nothing has changed. The line above it is part of it.
func (t *transcript) linesOf(i *item) []string {
	if i.look == t.look && i.look.width > 0 {
		return i.drawn
	}
	if t.md == nil || t.md.width != t.look.width-2 || i.look.dark != t.look.dark {
		md, err := newMarkdown(max(t.look.width-2, 8), t.look.dark)
		if err == nil {
			t.md = md
		}
	}
	if i.look.width != t.look.width {
		i.settled, i.kept = 0, nil
	}
	if i.drawn == nil {
		t.recent = append(t.recent, i)
		if len(t.recent) > keptDrawings {
			t.recent[0].forget()
			t.recent = t.recent[1:]
		}
	}
	i.drawn, i.look = t.draw(i), t.look
	return i.drawn
}

// forget drops a drawing.
func (i *item) forget() {
	i.drawn, i.kept = nil, nil
	i.look, i.settled = look{}, 0
}

func (t *transcript) draw(i *item) []string {
	width := t.look.width
	switch i.kind {
	case person:
		lines := wrapped(i.text, width-2)
		for n, line := range lines {
			mark := "  "
			if n == 0 {
				mark = t.theme.person.Render(">") + " "
			}
			lines[n] = mark + t.theme.bold.Render(line)
		}
		return append([]string{""}, lines...)
	case agent:
		head := []string{"", t.theme.agent.Render(t.name)}
		return append(head, indented(t.answer(i), "  ")...)
	case tool:
		return append([]string{""}, t.drawTool(i)...)
	case fault:
		lines := wrapped(i.text, width-2)
		for n, line := range lines {
			lines[n] = "  " + t.theme.bad.Render(line)
		}
		return append([]string{""}, lines...)
	}
	lines := wrapped(i.text, width-2)
	for n, line := range lines {
		lines[n] = "  " + t.theme.faint.Render(line)
	}
	return append([]string{""}, lines...)
}

// answer draws Markdown. Of an answer that grows, whole paragraphs are drawn once.
func (t *transcript) answer(i *item) []string {
	if t.md == nil {
		return wrapped(i.text, t.look.width-2)
	}
	if !i.grows {
		return t.md.lines(i.text)
	}
	if end := settledEnd(i.text[i.settled:]); end > 0 {
		i.kept = append(i.kept, t.md.lines(i.text[i.settled:i.settled+end])...)
		i.kept = append(i.kept, "")
		i.settled += end
	}
	rest := i.text[i.settled:]
	if strings.TrimSpace(rest) == "" {
		return i.kept
	}
	return append(i.kept[:len(i.kept):len(i.kept)], t.md.lines(rest)...)
}

// settledEnd is where the last whole paragraph ends: behind an empty line that is in no block of code, and before which
// no list goes on. 0 where there is none.
func settledEnd(text string) int {
	end, at, fenced := 0, 0, false
	for line := range strings.SplitAfterSeq(text, "\n") {
		at += len(line)
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~") {
			fenced = !fenced
		}
		if trimmed == "" && !fenced && strings.HasSuffix(line, "\n") {
			end = at
		}
	}
	return end
}

// shownOfResult is how many lines of a tool's result are shown before it is expanded.
const shownOfResult = 5

func (t *transcript) drawTool(i *item) []string {
	state := t.theme.faint.Render(i.state)
	switch i.state {
	case done:
		state = t.theme.good.Render(i.state)
	case failed, interrupted:
		state = t.theme.bad.Render(i.state)
	case waits:
		state = t.theme.amber.Render(i.state)
	}
	width := t.look.width
	title := ansi.Truncate(i.title, max(8, width-4-ansi.StringWidth(i.state)), "…")
	name, rest, _ := strings.Cut(title, " ")
	all := []string{sides("  "+t.theme.tool.Render(name)+" "+rest, state, width)}
	text := strings.TrimRight(i.text, "\n")
	if text == "" {
		return all
	}
	lines := wrapped(text, width-4)
	hidden := 0
	if !t.look.expanded && len(lines) > shownOfResult+1 {
		hidden = len(lines) - shownOfResult
		lines = lines[:shownOfResult]
	}
	for _, line := range lines {
		all = append(all, "    "+t.theme.faint.Render(line))
	}
	if hidden > 0 {
		all = append(all, "    "+t.theme.faint.Render("… "+count(hidden, "more line")+" (ctrl+o)"))
	}
	return all
}

func indented(lines []string, by string) []string {
	all := make([]string, len(lines))
	for i, line := range lines {
		if line != "" {
			all[i] = by + line
		}
	}
	return all
}

// visible returns exactly height lines.
func (t *transcript) visible(height int) []string {
	if height <= 0 || t.look.width <= 0 {
		return nil
	}
	if !t.follows {
		lines := t.from(t.top, t.line, height)
		if len(lines) == height {
			return lines
		}
		t.toEnd() // what is left does not fill the screen
	}
	var blocks [][]string
	have := 0
	for i := len(t.items) - 1; i >= 0 && have < height; i-- {
		blocks = append(blocks, t.linesOf(t.items[i]))
		have += len(blocks[len(blocks)-1])
	}
	lines := make([]string, 0, max(have, height))
	for i := len(blocks) - 1; i >= 0; i-- {
		lines = append(lines, blocks[i]...)
	}
	if len(lines) > height {
		lines = lines[len(lines)-height:]
	}
	for len(lines) < height {
		lines = append(lines, "")
	}
	return lines
}

// from returns up to height lines from a line of an item on.
func (t *transcript) from(top, line, height int) []string {
	lines := make([]string, 0, height)
	for i := top; i < len(t.items) && len(lines) < height; i++ {
		block := t.linesOf(t.items[i])
		if i == top {
			block = block[min(line, len(block)):]
		}
		lines = append(lines, block[:min(len(block), height-len(lines))]...)
	}
	return lines
}

// toEnd shows the end from now on, also when more comes.
func (t *transcript) toEnd() { t.follows, t.unseen = true, 0 }

// scroll moves what is shown by lines, up where they are negative, on a screen of height lines.
func (t *transcript) scroll(lines, height int) {
	if t.follows {
		if lines >= 0 {
			return
		}
		t.top, t.line, t.follows = len(t.items), 0, false
		t.up(height)
	}
	if lines < 0 {
		t.up(-lines)
		return
	}
	t.down(lines)
	if len(t.from(t.top, t.line, height+1)) <= height {
		t.toEnd()
	}
}

func (t *transcript) up(lines int) {
	for lines > 0 {
		if t.line >= lines {
			t.line -= lines
			return
		}
		lines -= t.line
		t.line = 0
		if t.top == 0 {
			return
		}
		t.top--
		t.line = len(t.linesOf(t.items[t.top]))
	}
}

func (t *transcript) down(lines int) {
	for t.top < len(t.items) {
		left := len(t.linesOf(t.items[t.top])) - t.line
		if lines < left {
			t.line += lines
			return
		}
		lines -= left
		t.top, t.line = t.top+1, 0
	}
}

// toBegin shows the first line.
func (t *transcript) toBegin() { t.follows, t.top, t.line = false, 0, 0 }
