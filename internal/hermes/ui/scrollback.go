package ui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
)

// printed is what the inline screen has put, and has yet to put, into the terminal's own scrollback.
type printed struct {
	items   int       // of the transcript that were taken
	lines   []string  // of them that are not there yet
	busy    bool      // lines are on their way
	after   []tea.Cmd // what waits until all lines are there, such as the end of the program
	tallest int       // lines of the tallest frame so far
}

// printedMsg says that lines are in the scrollback.
type printedMsg struct{}

// scrollback moves what will not change any more out of the frame.
type scrollback struct{ *model }

// print puts items that will not change any more above the frame, and does cmd when all are there. Lines are put there
// in their order, and at a time no more than fit above the tallest frame: more would push lines of the frame itself
// into the scrollback.
func (m scrollback) print(cmd tea.Cmd) tea.Cmd {
	p := &m.above
	p.after = append(p.after, cmd)
	if m.width > 0 {
		m.collect()
	}
	switch {
	case p.busy:
		return nil
	case len(p.lines) == 0:
		all := p.after
		p.after = nil
		return tea.Batch(all...)
	}
	n := min(len(p.lines), max(1, m.height-p.tallest))
	var text strings.Builder
	out := colorprofile.Writer{Forward: &text, Profile: m.profile} // tea.Println leaves colours as they are
	_, _ = out.Write([]byte(strings.Join(p.lines[:n], "\n")))
	if text.Len() == 0 {
		text.WriteByte(' ') // tea.Println prints no empty line
	}
	p.lines, p.busy = p.lines[n:], true
	return tea.Sequence(tea.Println(text.String()), func() tea.Msg { return printedMsg{} })
}

// collect takes the lines of the items that will not change any more.
func (m scrollback) collect() {
	p := &m.above
	for p.items < len(m.transcript.items) {
		i := m.transcript.items[p.items]
		if i.grows || i.kind == tool && (i.state == comes || i.state == runs || i.state == waits) {
			return
		}
		p.lines = append(p.lines, m.transcript.linesOf(i)...)
		p.items++
	}
}
