package ui

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/seed-56a03226/oneiros/internal/hermes/message"
	"github.com/seed-56a03226/oneiros/internal/hermes/react"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

func (m *model) key(k tea.KeyPressMsg) tea.Cmd {
	m.touch()
	name := k.String()
	if name == "ctrl+c" {
		return m.controlC()
	}
	if name == "ctrl+l" {
		return tea.ClearScreen
	}
	if len(m.asks) > 0 {
		return m.askKey(name, k)
	}
	if m.page != nil {
		return pages{m}.pageKey(name)
	}
	if cmd, ok := m.talkKey(name); ok {
		return cmd
	}
	var cmd tea.Cmd
	m.input, cmd = m.input.Update(k)
	m.completion.narrow(m)
	return cmd
}

// talkKey handles the keys of the talk; others are the input's.
func (m *model) talkKey(name string) (tea.Cmd, bool) {
	if cmd, ok := m.scrollKey(name); ok {
		return cmd, true
	}
	switch name {
	case "enter":
		if m.completion.open() && !m.completion.typed() {
			if m.completion.take(m) {
				return m.enter(), true
			}
			return nil, true
		}
		return m.enter(), true
	case "alt+enter", "ctrl+j", "shift+enter":
		m.input.InsertString("\n")
	case "esc":
		return m.escapeKey(), true
	case "shift+tab":
		m.setMode(m.Talk.Loop.Mode().Next())
	case "tab":
		m.completion.begin(m)
	case "ctrl+g":
		return programs{m}.edit(), true
	case "ctrl+o":
		m.transcript.look.expanded = !m.transcript.look.expanded
	case "ctrl+d":
		if m.input.Value() == "" {
			return tea.Quit, true
		}
		return nil, false
	case "up":
		if m.completion.open() {
			m.completion.move(-1)
			return nil, true
		}
		return nil, m.past.older(m)
	case "down":
		if m.completion.open() {
			m.completion.move(1)
			return nil, true
		}
		return nil, m.past.newer(m)
	default:
		return nil, false
	}
	return nil, true
}

func (m *model) scrollKey(name string) (tea.Cmd, bool) {
	height := m.talkHeight()
	switch name {
	case "pgup":
		m.transcript.scroll(-max(1, height-2), height)
	case "pgdown":
		m.transcript.scroll(max(1, height-2), height)
	case "ctrl+up", "shift+up":
		m.transcript.scroll(-1, height)
	case "ctrl+down", "shift+down":
		m.transcript.scroll(1, height)
	case "ctrl+home":
		m.transcript.toBegin()
	case "ctrl+end":
		m.transcript.toEnd()
	default:
		return nil, false
	}
	return nil, true
}

func (m *model) controlC() tea.Cmd {
	switch {
	case m.interrupt():
		return nil
	case m.page != nil:
		pages{m}.closePage()
		return nil
	case m.input.Value() != "":
		m.input.Reset()
		m.completion = completion{}
		return nil
	case m.Now().Sub(m.leave) < double:
		return tea.Quit
	}
	m.leave = m.Now()
	return nil
}

func (m *model) escapeKey() tea.Cmd {
	switch {
	case m.completion.open():
		m.completion = completion{}
	case m.interrupt():
		m.escape = m.Now().Add(-double) // so that two hasty presses only interrupt
	case m.input.Value() != "":
	case m.Now().Sub(m.escape) < double:
		pages{m}.rewindPage()
	default:
		m.escape = m.Now()
	}
	return nil
}

func (m *model) setMode(mode react.Mode) { m.Talk.Loop.SetMode(mode) }

// enter does what is typed.
func (m *model) enter() tea.Cmd {
	text := strings.TrimSpace(m.input.Value())
	if text == "" {
		return nil
	}
	m.completion = completion{}
	m.past.add(text)
	m.input.Reset()
	if command, ok := strings.CutPrefix(text, "!"); ok {
		return programs{m}.runShell(strings.TrimSpace(command))
	}
	if name, argument, ok := parse(text); ok {
		return m.slash(name, argument)
	}
	return m.say(text)
}

// slash does a command.
func (m *model) slash(name, argument string) tea.Cmd {
	if v, ok := m.view(name); ok {
		return pages{m}.open(v, argument)
	}
	if c, ok := m.command(name); ok {
		ctx := m.ctx
		return func() tea.Msg {
			text, err := c.Do(ctx, argument)
			return doneMsg{text, err}
		}
	}
	switch name {
	case "help":
		m.page = &openPage{page: m.help()}
	case "mode":
		m.modeCommand(argument)
	case "compact":
		return m.compact()
	case "rewind":
		pages{m}.rewindCommand(argument)
	case "queue":
		m.takeBack()
	case "resume":
		return m.resume(argument)
	case "editor":
		return programs{m}.edit()
	case "quit", "exit":
		return tea.Quit
	default:
		m.tell(m.unknown(name), true)
	}
	return nil
}

func (m *model) modeCommand(argument string) {
	if argument == "" {
		m.tell(modes(m.Talk.Loop.Mode()), false)
		return
	}
	mode, err := react.ParseMode(argument)
	if err != nil {
		m.tell(failureText(err), true)
		return
	}
	m.setMode(mode)
}

func (m *model) compact() tea.Cmd {
	if m.working {
		m.tell("It is working; Esc interrupts it.", true)
		return nil
	}
	m.working, m.began = true, m.Now()
	loop, ctx := m.Talk.Loop, m.ctx
	return func() tea.Msg {
		before, after, err := loop.Compact(ctx)
		return compactedMsg{before, after, err}
	}
}

// takeBack puts what was queued back into the input.
func (m *model) takeBack() {
	queued := m.Talk.Loop.Unqueue()
	m.queued = 0
	if len(queued) == 0 {
		m.tell("Nothing is queued.", false)
		return
	}
	m.input.SetValue(strings.Join(queued, "\n\n"))
}

func (m *model) resume(id string) tea.Cmd {
	switch {
	case m.Open == nil:
		m.tell("Sessions are not kept here.", true)
		return nil
	case m.working:
		m.tell("It is working; Esc interrupts it.", true)
		return nil
	}
	open := m.Open
	return func() tea.Msg {
		talk, err := open(id)
		return talkMsg{talk, err}
	}
}

// --- approvals ---

func (m *model) askKey(name string, k tea.KeyPressMsg) tea.Cmd {
	if m.reason {
		switch name {
		case "enter":
			m.decide(react.Decision{Reason: strings.TrimSpace(m.input.Value())})
		case "esc":
			m.decide(react.Decision{})
		default:
			var cmd tea.Cmd
			m.input, cmd = m.input.Update(k)
			return cmd
		}
		m.input.Reset()
		return nil
	}
	switch name {
	case "y":
		m.decide(react.Decision{Allow: true})
	case "a":
		m.decide(react.Decision{Allow: true, ForSession: true})
	case "n", "esc":
		m.decide(react.Decision{})
	case "e":
		m.reason = true
	case "shift+tab":
		m.setMode(m.Talk.Loop.Mode().Next())
	default:
		_, _ = m.scrollKey(name)
	}
	return nil
}

func (m *model) decide(d react.Decision) {
	ask := m.asks[0]
	m.asks, m.reason = m.asks[1:], false
	ask.answer <- d
	if call := m.transcript.call(ask.ask.Call.ID); call != nil {
		call.state = runs
		call.redraw()
	}
}

func (m *model) unask(answer chan react.Decision) {
	for i, a := range m.asks {
		if a.answer == answer {
			m.asks = append(m.asks[:i:i], m.asks[i+1:]...)
			m.reason = false
			return
		}
	}
}

// --- pages ---

// pages opens, moves and closes what lies over the talk.
type pages struct{ *model }

func (m pages) open(v View, argument string) tea.Cmd {
	ctx, cancel := context.WithCancel(m.ctx)
	p := &openPage{view: v, page: Page{Title: v.Name}, cancel: cancel}
	m.page = p
	if v.Follow != nil {
		pass := m.Wire.pass
		return func() tea.Msg {
			err := v.Follow(ctx, argument, func(page Page) { pass(pageMsg{of: p, page: page}) })
			if err == nil || ctx.Err() != nil {
				return nil
			}
			return pageMsg{of: p, err: err}
		}
	}
	return func() tea.Msg {
		page, err := v.Load(ctx, argument)
		return pageMsg{of: p, page: page, err: err}
	}
}

func (m pages) paged(msg pageMsg) {
	if msg.of != m.page {
		return // it was closed meanwhile
	}
	if msg.err != nil {
		m.page.err = failureText(msg.err)
		return
	}
	m.page.page, m.page.err = msg.page, ""
}

func (m pages) closePage() {
	if m.page.cancel != nil {
		m.page.cancel()
	}
	m.page = nil
}

func (m pages) pageKey(name string) tea.Cmd {
	p, height := m.page, m.pageHeight()
	switch name {
	case "esc", "q":
		m.closePage()
	case "enter":
		if p.choose == nil {
			m.closePage()
			break
		}
		do := p.choose[p.chosen].do
		m.closePage()
		return do(m.model)
	case "up", "k":
		m.move(p, -1)
	case "down", "j":
		m.move(p, 1)
	case "pgup":
		m.move(p, -(height - 1))
	case "pgdown", "space":
		m.move(p, height-1)
	case "home", "ctrl+home", "g":
		m.move(p, -1<<30)
	case "end", "ctrl+end", "G":
		m.move(p, 1<<30)
	}
	return nil
}

func (m pages) move(p *openPage, by int) {
	if p.choose != nil {
		p.chosen = max(0, min(len(p.choose)-1, p.chosen+by))
		return
	}
	lines := len(drawing(m).pageLines())
	p.top = max(0, min(lines-m.pageHeight(), p.top+by))
}

// rewindPage lets the person choose one of their messages to go back to.
func (m pages) rewindPage() {
	if m.working {
		m.tell("It is working; Esc interrupts it.", true)
		return
	}
	var all []choice
	for i, each := range m.Talk.Loop.Conversation() {
		if each.Role != message.User {
			continue
		}
		all = append(all, choice{
			line: screen.Clean(each.Content),
			do:   func(m *model) tea.Cmd { pages{m}.rewind(i); return nil },
		})
	}
	if len(all) == 0 {
		m.tell("There is nothing to go back to yet.", false)
		return
	}
	m.page = &openPage{
		page:   Page{Title: "Go back to before which of your messages? Files stay; /restore puts them back"},
		choose: all,
		chosen: len(all) - 1,
	}
}

func (m pages) rewindCommand(argument string) {
	if argument == "" {
		m.rewindPage()
		return
	}
	n, err := strconv.Atoi(argument)
	count := 0
	for i, each := range m.Talk.Loop.Conversation() {
		if each.Role != message.User {
			continue
		}
		count++
		if err == nil && count == n {
			m.rewind(i)
			return
		}
	}
	m.tell(fmt.Sprintf("%q is none of your messages; they are numbered from 1 to %d.", argument, count), true)
}

// rewind goes back to before a message and puts its words into the input.
func (m pages) rewind(index int) {
	text, err := m.Talk.Loop.Rewind(index)
	if err != nil {
		m.tell(failureText(err), true)
		return
	}
	m.input.SetValue(text)
	turns := 0
	for _, each := range m.Talk.Loop.Conversation() {
		if each.Role == message.User {
			turns++
		}
	}
	m.cutTranscript(turns)
	m.tell("You are back at this point. "+m.Agent+" may remember what was each after it.", false)
	m.transcript.toEnd()
}

// cutTranscript takes off everything from the person's message behind the first turns on.
func (m pages) cutTranscript(turns int) {
	for i, each := range m.transcript.items {
		if each.kind != person {
			continue
		}
		if turns == 0 {
			m.transcript.items = m.transcript.items[:i:i]
			m.above.items = min(m.above.items, i)
			return
		}
		turns--
	}
}
