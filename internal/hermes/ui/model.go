package ui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/seed-56a03226/oneiros/internal/hermes/message"
	"github.com/seed-56a03226/oneiros/internal/hermes/react"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

// model is the state of the full and of the inline screen.
type model struct {
	Settings
	ctx    context.Context
	inline bool

	theme         theme
	width, height int
	transcript    *transcript
	input         textarea.Model
	presence      Presence

	working   bool
	stopping  bool // interrupted, and not ended yet
	iteration react.Iteration
	began     time.Time
	answer    *item // the answer that is coming
	asks      []askMsg
	reason    bool // a reason for refusing is typed
	queued    int
	shell     context.CancelFunc // of the person's own command; nil while none runs
	shellSoft chan struct{}
	running   sync.WaitGroup // the person's own command

	page       *openPage
	completion completion
	past       pastWords

	escape  time.Time // when Esc was pressed with nothing to stop
	leave   time.Time // when Ctrl+C was pressed with nothing to stop
	touched time.Time // when a key was pressed
	idle    context.CancelFunc
	later   []string // what the model is told when no turn runs
	idled   bool     // whether the agent has looked around since the last key
	beat    int
	focused bool
	profile colorprofile.Profile // the colours that the terminal has and the person wants
	above   printed
}

// openPage is a view over the talk.
type openPage struct {
	view   View
	page   Page
	top    int
	err    string
	cancel context.CancelFunc
	choose []choice // what a person can choose on it; nil: nothing
	chosen int
}

type choice struct {
	line string
	do   func(m *model) tea.Cmd
}

type (
	endedMsg struct {
		outcome react.Outcome
		err     error
	}
	pageMsg struct {
		of   *openPage
		page Page
		err  error
	}
	doneMsg struct {
		text string
		err  error
	}
	shellMsg struct {
		command string
		result  message.Result
	}
	editedMsg struct {
		file string
		err  error
	}
	compactedMsg struct {
		before, after int
		err           error
	}
	exploredMsg struct {
		found react.Exploration
		err   error
	}
	talkMsg struct {
		talk Talk
		err  error
	}
	beatMsg struct{}
)

// beatTime is how often a pulsing view is drawn anew and idleness is looked at.
const beatTime = 500 * time.Millisecond

// double is within which time a second press of Esc or Ctrl+C counts as one with the first.
const double = 1500 * time.Millisecond

func newModel(ctx context.Context, s Settings, inline bool) *model {
	if s.Now == nil {
		s.Now = time.Now
	}
	m := &model{
		Settings: s,
		ctx:      ctx,
		inline:   inline,
		theme:    newTheme(true),
		focused:  true,
		profile:  colorprofile.TrueColor,
		touched:  s.Now(),
	}
	m.transcript = newTranscript(s.Agent, m.theme)
	m.past = pastWords{all: s.History}
	m.input = textarea.New()
	m.input.Prompt = ""
	m.input.ShowLineNumbers = false
	m.input.DynamicHeight = true
	m.input.MinHeight, m.input.MaxHeight = 1, 8
	m.input.MaxContentHeight = 10_000
	m.input.Placeholder = "Say something to " + s.Agent + ", or /help"
	m.input.SetVirtualCursor(false)
	m.input.Focus()
	plain := m.input.Styles()
	plain.Focused.CursorLine = m.theme.plain
	plain.Focused.Base = m.theme.plain
	plain.Focused.Placeholder = m.theme.faint
	m.input.SetStyles(plain)
	m.showTalk()
	return m
}

func (m *model) showTalk() {
	m.transcript.show(m.Talk.Entries)
	for _, n := range m.Notes {
		m.transcript.add(&item{kind: note, text: screen.Printable(n)})
	}
	m.presence = Presence{Text: "connecting"}
}

// Init begins what runs beside the keys.
func (m *model) Init() tea.Cmd {
	begin := tea.Batch(tea.RequestBackgroundColor, m.nextBeat())
	if m.Begin != "" {
		return tea.Batch(begin, m.say(m.Begin))
	}
	return begin
}

func (m *model) nextBeat() tea.Cmd {
	return tea.Tick(beatTime, func(time.Time) tea.Msg { return beatMsg{} })
}

// Update takes one message.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := m.take(msg)
	if m.inline {
		return m, scrollback{m}.print(cmd)
	}
	return m, cmd
}

func (m *model) take(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		m.transcript.setWidth(msg.Width)
		m.input.SetWidth(max(msg.Width-4, 10))
	case tea.ColorProfileMsg:
		m.profile = msg.Profile
	case tea.BackgroundColorMsg:
		m.theme = newTheme(msg.IsDark())
		m.transcript.theme, m.transcript.look.dark = m.theme, msg.IsDark()
	case tea.FocusMsg:
		m.focused = true
	case tea.BlurMsg:
		m.focused = false
	case tea.KeyPressMsg:
		return m.key(msg)
	case tea.PasteMsg:
		m.touch()
		var cmd tea.Cmd
		m.input, cmd = m.input.Update(msg)
		return cmd
	case tea.MouseWheelMsg:
		return nil
	case printedMsg:
		m.above.busy = false
	case beatMsg:
		m.beat++
		return tea.Batch(m.nextBeat(), away{m}.maybeExplore())
	}
	return m.takeResult(msg)
}

// takeResult takes what goroutines of ours have to tell.
func (m *model) takeResult(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case pieceMsg:
		m.grow(msg.text)
	case eventMsg:
		return m.event(msg.event)
	case askMsg:
		m.asks = append(m.asks, msg)
		if call := m.transcript.call(msg.ask.Call.ID); call != nil {
			call.state = waits
			call.redraw()
		}
		return m.ring()
	case unaskMsg:
		m.unask(msg.answer)
	case presenceMsg:
		m.presence = Presence(msg)
	case noteMsg:
		m.tell(msg.text, msg.bad)
	case endedMsg:
		return m.ended(msg)
	case pageMsg:
		pages{m}.paged(msg)
	case doneMsg:
		m.doneWith(msg.text, msg.err)
	case shellMsg:
		programs{m}.shellDone(msg)
	case editedMsg:
		programs{m}.edited(msg)
	case compactedMsg:
		m.working = false
		if msg.err != nil {
			m.tell("Not compacted: "+msg.err.Error()+".", true)
			break
		}
		m.tell(fmt.Sprintf("Compacted: %s are now %d.", count(msg.before, "message"), msg.after), false)
	case exploredMsg:
		away{m}.explored(msg)
	case talkMsg:
		m.switchTo(msg)
	}
	return nil
}

// tell shows something to the person that no model gets.
func (m *model) tell(text string, bad bool) {
	i := &item{kind: note, text: screen.Printable(text)}
	if bad {
		i.kind = fault
	}
	m.transcript.add(i)
}

func (m *model) doneWith(text string, err error) {
	if err != nil {
		m.tell(err.Error(), true)
		return
	}
	m.tell(text, false)
}

// grow adds text to the answer that is coming.
func (m *model) grow(text string) {
	if m.answer == nil {
		m.answer = m.transcript.add(&item{kind: agent, grows: true})
	}
	m.answer.text += screen.Printable(text)
	m.answer.redraw()
}

func (m *model) event(e react.Event) tea.Cmd {
	switch e := e.(type) {
	case react.Iteration:
		m.iteration = e
	case react.Replied:
		m.replied(e)
	case react.Begun:
		m.mark(e.Call.ID, runs, "")
	case react.Done:
		state := done
		switch {
		case e.Result.Interrupted:
			state = interrupted
		case e.Result.Failed:
			state = failed
		}
		m.mark(e.Call.ID, state, e.Result.Text)
	case react.NoTools:
		m.tell(noTools, false)
	case react.Dequeued:
		m.queued = max(0, m.queued-1)
		m.transcript.add(&item{kind: person, text: screen.Printable(e.Text)})
	}
	return nil
}

// noTools is what a person is told of a model that takes no tools.
const noTools = "This model takes no tools: it can talk, and cannot read or change anything here."

func (m *model) replied(e react.Replied) {
	text := screen.Printable(e.Reply.Message.Content)
	switch {
	case m.answer != nil:
		m.answer.text, m.answer.grows = text, false
		m.answer.redraw()
	case text != "":
		m.transcript.add(&item{kind: agent, text: text})
	}
	m.answer = nil
	for _, c := range e.Reply.Message.Calls {
		m.transcript.add(&item{kind: tool, id: c.ID, title: callTitle(c), state: comes})
	}
	if n := e.Reply.Notes; n.Woke {
		m.tell(m.Agent+" was asleep and woke up for this.", false)
	}
}

func (m *model) mark(id, state, text string) {
	call := m.transcript.call(id)
	if call == nil {
		return
	}
	call.state, call.text = state, screen.Printable(text)
	call.redraw()
}

// say begins a turn, or queues the text while one runs.
func (m *model) say(text string) tea.Cmd {
	if m.working {
		if m.Talk.Loop.Queue(text) {
			m.queued++
			return nil
		}
		m.tell("That is not done while a summary is written.", true)
		return nil
	}
	m.transcript.add(&item{kind: person, text: screen.Printable(text)})
	m.transcript.toEnd()
	m.working, m.began, m.iteration = true, m.Now(), react.Iteration{}
	loop, ctx := m.Talk.Loop, m.ctx
	return func() tea.Msg {
		outcome, err := loop.Turn(ctx, text)
		return endedMsg{outcome, err}
	}
}

func (m *model) ended(e endedMsg) tea.Cmd {
	m.working, m.stopping = false, false
	if m.answer != nil {
		m.answer.grows = false
		m.answer.redraw()
		m.answer = nil
	}
	switch e.outcome {
	case react.Interrupted:
		m.tell("Interrupted. What was done so far is kept.", false)
	case react.Exhausted:
		m.tell(fmt.Sprintf("It has asked the model %s and still calls tools. Say \"go on\" to let it.",
			count(m.iteration.Max, "time")), false)
	case react.Failed:
		m.tell(failureText(e.err), true)
	}
	m.tellLater()
	// What was queued in the last moment is said now.
	if rest := m.Talk.Loop.Unqueue(); len(rest) > 0 {
		m.queued = 0
		return tea.Batch(m.ring(), m.say(strings.Join(rest, "\n\n")))
	}
	m.queued = 0
	return m.ring()
}

func failureText(err error) string {
	if err == nil {
		return "It failed."
	}
	text := err.Error()
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// ring tells the terminal, and through it a multiplexer, that the person is waited for.
func (m *model) ring() tea.Cmd {
	if m.focused {
		return nil
	}
	return tea.Raw("\a")
}

// interrupt stops what runs. It reports whether anything did.
func (m *model) interrupt() bool {
	if m.shell != nil {
		select {
		case <-m.shellSoft:
			m.shell() // the second time it is killed
		default:
			close(m.shellSoft)
		}
		return true
	}
	if !m.working {
		return false
	}
	m.stopping = true
	m.Talk.Loop.Interrupt()
	return true
}

// programs runs the person's own commands and editor.
type programs struct{ *model }

func (m programs) runShell(command string) tea.Cmd {
	if m.Shell == nil {
		m.tell("Commands cannot be run here.", true)
		return nil
	}
	if m.working || m.shell != nil {
		m.tell("A command of your own has to wait until the agent is done; Esc interrupts it.", true)
		return nil
	}
	m.transcript.add(&item{kind: tool, id: "!", title: "!  " + screen.Clean(command), state: runs})
	m.transcript.toEnd()
	ctx, cancel := context.WithCancel(m.ctx)
	soft := make(chan struct{})
	m.shell, m.shellSoft = cancel, soft
	done := make(chan shellMsg, 1)
	m.running.Go(func() { done <- shellMsg{command, m.Shell(ctx, soft, command)} })
	return func() tea.Msg { return <-done }
}

func (m programs) shellDone(msg shellMsg) {
	m.shell()
	m.shell = nil
	state := done
	if msg.result.Failed {
		state = failed
	}
	if msg.result.Interrupted {
		state = interrupted
	}
	m.mark("!", state, msg.result.Text)
	if call := m.transcript.call("!"); call != nil {
		call.id = ""
	}
	if err := m.Talk.Loop.Tell(shellNote(msg.command, msg.result)); err != nil {
		m.tell("The agent was not told of it: "+err.Error()+".", true)
	}
}

// edit opens what is typed in the person's editor.
func (m programs) edit() tea.Cmd {
	if m.Editor == "" {
		m.tell("No editor was found. Set VISUAL or EDITOR, such as EDITOR=nano.", true)
		return nil
	}
	file, err := os.CreateTemp("", "hermes-*.md")
	if err == nil {
		_, err = file.WriteString(m.input.Value())
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		m.tell("The editor was not opened: "+err.Error()+".", true)
		return nil
	}
	words := strings.Fields(m.Editor)
	command := exec.CommandContext(m.ctx, words[0], append(words[1:], file.Name())...)
	name := file.Name()
	return tea.ExecProcess(command, func(err error) tea.Msg { return editedMsg{name, err} })
}

func (m programs) edited(msg editedMsg) {
	defer os.Remove(msg.file)
	if msg.err != nil {
		m.tell("The editor failed: "+msg.err.Error()+".", true)
		return
	}
	text, err := os.ReadFile(msg.file)
	if err != nil {
		m.tell("What was written cannot be read: "+err.Error()+".", true)
		return
	}
	m.input.SetValue(strings.TrimRight(string(text), "\n"))
}

func (m *model) switchTo(msg talkMsg) {
	if msg.err != nil {
		m.tell(msg.err.Error(), true)
		return
	}
	m.Talk = msg.talk
	m.transcript.items = nil
	m.transcript.toEnd()
	m.above.items = 0
	m.transcript.show(m.Talk.Entries)
	m.tell("You go on with session "+m.Talk.ID+".", false)
}

// touch tells that the person is here.
func (m *model) touch() {
	m.touched, m.idled = m.Now(), false
	if m.idle != nil {
		m.idle()
	}
}

// lost is what the presence says while the server does not answer.
const lost = "lost"

// away is what happens while the person presses no key.
type away struct{ *model }

// maybeExplore lets the agent look around when the person has pressed no key for long enough.
func (m away) maybeExplore() tea.Cmd {
	if !m.Idle.On || m.idled || m.presence.Text == lost || m.idle != nil || m.working || m.shell != nil ||
		m.Now().Sub(m.touched) < m.Idle.After || len(m.Talk.Loop.Conversation()) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancel(m.ctx)
	m.idle, m.idled = cancel, true
	loop, bounds := m.Talk.Loop, m.Idle.Bounds
	return func() tea.Msg {
		found, err := loop.Explore(ctx, bounds)
		return exploredMsg{found, err}
	}
}

func (m away) explored(msg exploredMsg) {
	m.idle()
	m.idle = nil
	if msg.err != nil {
		return // nobody asked for it
	}
	text := explored(msg.found)
	m.tell(text, false)
	if m.Talk.Keep != nil {
		if err := m.Talk.Keep(text); err != nil {
			m.tell("That was not kept: "+err.Error()+".", true)
		}
	}
	if msg.found.Found == "" {
		return
	}
	m.later = append(m.later, exploredNote(msg.found))
	if !m.working {
		m.tellLater()
	}
}

// tellLater gives the model what had to wait until no turn ran.
func (m *model) tellLater() {
	for _, text := range m.later {
		if err := m.Talk.Loop.Tell(text); err != nil {
			m.tell("The agent was not told of it: "+err.Error()+".", true)
		}
	}
	m.later = nil
}
