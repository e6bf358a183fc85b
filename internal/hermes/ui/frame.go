package ui

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/seed-56a03226/oneiros/internal/hermes/message"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

// narrowest and lowest are the smallest screen that is drawn; a smaller one says so.
const (
	narrowest = 30
	lowest    = 8
)

// View draws the screen.
func (m *model) View() tea.View {
	if m.width == 0 {
		return tea.View{AltScreen: !m.inline}
	}
	v := tea.NewView("")
	v.AltScreen, v.ReportFocus = !m.inline, true
	v.WindowTitle = "hermes: " + m.Agent
	v.ProgramStatus = drawing{m}.status()
	if m.width < narrowest || m.height < lowest {
		v.Content = fit(fmt.Sprintf("Too small: %d by %d needed.", narrowest, lowest), m.width)
		return v
	}
	lines, cursor := drawing{m}.frame()
	m.above.tallest = max(m.above.tallest, len(lines))
	v.Content = strings.Join(lines, "\n")
	v.Cursor = cursor
	return v
}

// drawing draws a model.
type drawing struct{ *model }

// status tells the terminal whether the agent works or waits for the person.
func (m drawing) status() *tea.ProgramStatus {
	state := tea.ProgramStateIdle
	if m.working {
		state = tea.ProgramStateWorking
	}
	if len(m.asks) > 0 {
		state = tea.ProgramStateBlocked
	}
	return &tea.ProgramStatus{State: state}
}

// frame draws all lines of the screen and says where the cursor is.
func (m drawing) frame() ([]string, *tea.Cursor) {
	foot, cursor := m.foot()
	if m.inline {
		return m.inlineFrame(foot, cursor)
	}
	lines := []string{m.head(), m.theme.faint.Render(strings.Repeat("─", m.width))}
	if m.page != nil {
		lines = append(lines, m.pageFrame()...)
	} else {
		lines = append(lines, m.transcript.visible(m.talkHeight())...)
	}
	if cursor != nil {
		cursor.Y += len(lines)
	}
	return append(lines, foot...), cursor
}

func (m drawing) head() string {
	state := m.theme.faint.Render(m.presence.Text)
	if m.presence.Awake {
		state = m.theme.good.Render(m.presence.Text)
	}
	left := " " + m.theme.agent.Render(m.Agent) + "  " + state
	right := m.theme.faint.Render(screen.Clean(filepath.Base(m.Workspace)) + " ")
	return sides(left, right, m.width)
}

// talkHeight is how many lines the talk has.
func (m *model) talkHeight() int {
	foot, _ := drawing{m}.foot()
	return max(1, m.height-2-len(foot))
}

func (m *model) pageHeight() int { return max(1, m.talkHeight()-2) }

// foot draws what stands under the talk: what goes on, the input or what is asked, and the line at the bottom.
func (m drawing) foot() ([]string, *tea.Cursor) {
	rule := m.theme.faint.Render(strings.Repeat("─", m.width))
	lines := []string{rule}
	if line := m.activity(); line != "" {
		lines = append(lines, fit(" "+line, m.width))
	}
	if len(m.asks) > 0 && !m.reason {
		lines = append(lines, m.card()...)
		return append(lines, m.bottom()), nil
	}
	if m.reason {
		lines = append(lines, " "+m.theme.amber.Render("Why not? Enter tells the agent."))
	}
	if m.page != nil {
		return append(lines, m.bottom()), nil
	}
	lines = append(lines, m.completionLines()...)
	before := len(lines)
	for i, line := range strings.Split(m.input.View(), "\n") {
		mark := "   "
		if i == 0 {
			mark = " " + m.theme.input.Render(">") + " "
		}
		lines = append(lines, fit(mark+line, m.width))
	}
	cursor := m.input.Cursor()
	if cursor != nil {
		cursor.X += 3
		cursor.Y += before
	}
	return append(lines, m.bottom()), cursor
}

// activity says what goes on; empty while nothing does.
func (m drawing) activity() string {
	var parts []string
	interrupts := "Esc interrupts"
	if len(m.asks) > 0 {
		interrupts = "Ctrl+C interrupts" // Esc refuses the call
	}
	switch {
	case m.stopping:
		parts = append(parts, m.theme.amber.Render("stopping"))
	case m.shell != nil:
		parts = append(parts, m.theme.amber.Render("your command runs"), "Esc interrupts")
	case m.working && m.iteration.N > 0:
		parts = append(parts, m.theme.amber.Render(fmt.Sprintf("iteration %d of %d", m.iteration.N, m.iteration.Max)),
			duration(m.Now().Sub(m.began)), interrupts)
	case m.working:
		parts = append(parts, m.theme.amber.Render("working"), interrupts)
	case m.idle != nil:
		parts = append(parts, m.theme.faint.Render("looks around while you are away; any key stops it"))
	case m.Now().Sub(m.leave) < double:
		parts = append(parts, "Ctrl+C again leaves")
	case m.Now().Sub(m.escape) < double && m.page == nil && m.input.Value() == "":
		parts = append(parts, "Esc again goes back to before one of your messages")
	}
	if m.queued > 0 {
		parts = append(parts, fmt.Sprintf("%d queued (/queue takes back)", m.queued))
	}
	if m.transcript.unseen > 0 {
		parts = append(parts, fmt.Sprintf("%d new below (Ctrl+End)", m.transcript.unseen))
	}
	return strings.Join(parts, m.theme.faint.Render(" · "))
}

// bottom says how tools are approved and what was used.
func (m drawing) bottom() string {
	mode := m.Talk.Loop.Mode()
	left := " " + string(mode) + m.theme.faint.Render(": "+mode.Says()+" (Shift+Tab)")
	usage, window := m.Talk.Loop.Usage()
	var parts []string
	if window > 0 && m.Window > 0 {
		parts = append(parts, fmt.Sprintf("%d%% full", window*100/m.Window))
	}
	if n := usage.Input + usage.Output; n > 0 {
		parts = append(parts, thousands(n)+" tokens")
	}
	if m.Priced && m.Price != (message.Price{}) {
		parts = append(parts, fmt.Sprintf("$%.4f", usage.Cost(m.Price)))
	}
	right := m.theme.faint.Render(strings.Join(parts, " · ") + " ")
	if ansi.StringWidth(left)+ansi.StringWidth(right)+1 > m.width {
		left = " " + string(mode) + m.theme.faint.Render(" (Shift+Tab)")
	}
	return sides(left, right, m.width)
}

func duration(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%d s", int(d.Seconds()))
	}
	return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
}

// card shows the call that waits for the person.
func (m drawing) card() []string {
	ask := m.asks[0].ask
	lines := make([]string, 0, 8)
	for _, line := range wrapped(screen.Printable(ask.Preview.Title), m.width-3) {
		lines = append(lines, " "+m.theme.bold.Render(line))
	}
	body := strings.TrimRight(screen.Printable(ask.Preview.Body), "\n")
	if body != "" {
		lines = append(lines, m.diff(body, max(3, m.height/3))...)
	}
	if ask.Preview.Warning != "" {
		for _, line := range wrapped(screen.Printable(ask.Preview.Warning), m.width-3) {
			lines = append(lines, " "+m.theme.bad.Render(line))
		}
	}
	keys := "y allow · a allow for this session · n refuse · e refuse and say why"
	if m.width < len(keys) {
		keys = "y allow · a session · n no · e why"
	}
	return append(lines, " "+m.theme.amber.Render(keys))
}

// diff draws a preview's body of at most height lines.
func (m drawing) diff(body string, height int) []string {
	var lines []string
	all := wrapped(body, m.width-4)
	for i, line := range all {
		if i == height-1 && len(all) > height {
			return append(lines, "   "+m.theme.faint.Render("… "+count(len(all)-i, "more line")))
		}
		style := m.theme.plain
		switch {
		case strings.HasPrefix(line, "+"):
			style = m.theme.added
		case strings.HasPrefix(line, "-"):
			style = m.theme.bad
		case strings.HasPrefix(line, "@@"):
			style = m.theme.tool
		}
		lines = append(lines, "   "+style.Render(line))
	}
	return lines
}

func (m drawing) completionLines() []string {
	c := m.completion
	if !c.open() {
		return nil
	}
	first := max(0, min(c.chosen-shownFound/2, len(c.found)-shownFound))
	var lines []string
	for i := first; i < len(c.found) && i < first+shownFound; i++ {
		line := screen.Clean(c.found[i])
		for _, each := range m.catalogue() {
			if "/"+each.Name == c.found[i] {
				line = padded(line, 14) + " " + m.theme.faint.Render(strings.TrimSpace(each.Argument+"  "+each.Says))
			}
		}
		mark := "   "
		if i == c.chosen {
			mark = " " + m.theme.input.Render("›") + " "
		}
		lines = append(lines, fit(mark+line, m.width))
	}
	if more := len(c.found) - len(lines); more > 0 {
		lines = append(lines, "   "+m.theme.faint.Render(fmt.Sprintf("%d more; Up and Down, or type on", more)))
	}
	return lines
}

// pageLines are all lines of the page that is open.
func (m drawing) pageLines() []string {
	p := m.page
	switch {
	case p.err != "":
		return wrapped(p.err, m.width-2)
	case p.choose != nil:
		var lines []string
		for i, c := range p.choose {
			line := padded(fmt.Sprintf("%3d  %s", i+1, c.line), m.width-2)
			if i == p.chosen {
				line = m.theme.selected.Render(line)
			}
			lines = append(lines, line)
		}
		return lines
	case p.page.Draw == nil:
		return []string{m.theme.faint.Render("loading")}
	}
	return p.page.Draw(m.width-2, m.beat)
}

func (m drawing) pageFrame() []string {
	p, height := m.page, m.pageHeight()
	lines := m.pageLines()
	if p.choose != nil {
		p.top = max(0, min(p.chosen-height/2, len(lines)-height))
	}
	p.top = max(0, min(p.top, len(lines)-height))
	more := ""
	if len(lines) > height {
		more = fmt.Sprintf("%d to %d of %d  ", p.top+1, min(len(lines), p.top+height), len(lines))
	}
	leave := "Esc closes "
	if p.choose != nil {
		leave = "Enter chooses, Esc closes "
	}
	all := []string{
		sides(" "+m.theme.bold.Render(fit(screen.Clean(p.page.Title), m.width-2)), m.theme.faint.Render(more+leave), m.width),
		"",
	}
	for i := range height {
		line := ""
		if p.top+i < len(lines) {
			line = " " + fit(lines[p.top+i], m.width-2)
		}
		all = append(all, line)
	}
	return all
}

// inlineFrame draws what is not in the terminal's scrollback yet, and the foot.
func (m drawing) inlineFrame(foot []string, cursor *tea.Cursor) ([]string, *tea.Cursor) {
	room := max(1, m.height-len(foot)-1)
	var lines []string
	if m.page != nil {
		lines = m.pageFrame()
	} else {
		for _, i := range m.transcript.items[m.above.items:] {
			lines = append(lines, m.transcript.linesOf(i)...)
		}
	}
	if len(lines) > room {
		lines = lines[len(lines)-room:]
	}
	if cursor != nil {
		cursor.Y += len(lines)
	}
	return append(lines, foot...), cursor
}
