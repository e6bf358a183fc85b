package ui

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/seed-56a03226/oneiros/internal/hermes/message"
	"github.com/seed-56a03226/oneiros/internal/hermes/react"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

// linear writes the talk line by line and never moves the cursor: for screen readers, for terminals that cannot, and
// for logs.
type linear struct {
	Settings
	ctx   context.Context
	out   io.Writer
	width int

	messages chan any
	ended    chan endedMsg
	ask      *askMsg
	working  bool
	mid      bool // whether the last line of an answer has no end yet
	streamed bool // whether the answer was shown piece by piece
	typed    []string
	presence string // as it was told last
	shell    context.CancelFunc
	soft     chan struct{}
}

// Linear shows the talk line by line until the input ends, the person leaves, or ctx is canceled. What arrives on
// interrupts stops what runs; when nothing does, it ends the talk. The width is that of the views.
func Linear(ctx context.Context, s Settings, in io.Reader, out io.Writer, width int, interrupts <-chan struct{}) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l := &linear{
		Settings: s,
		ctx:      ctx,
		out:      out,
		width:    width,
		messages: make(chan any, 64),
		ended:    make(chan endedMsg, 1),
	}
	lines := make(chan string)
	var reading error
	var running sync.WaitGroup
	defer l.leave(&running)
	defer s.Talk.Loop.Interrupt()
	go func() {
		reading = readLines(ctx, in, lines)
		close(lines)
	}()
	go s.Wire.attach(func(m any) {
		select {
		case l.messages <- m:
		case <-ctx.Done():
		}
	})
	for _, e := range s.Talk.Entries {
		l.entry(e)
	}
	for _, n := range s.Notes {
		l.line("Note: " + n)
	}
	l.line(fmt.Sprintf("You talk with %s. /help lists the commands. A line that ends in a backslash goes on.", s.Agent))
	if s.Begin != "" {
		l.say(s.Begin, &running)
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case m := <-l.messages:
			l.take(m)
			if _, ok := m.(shellMsg); ok && lines == nil && !l.working {
				return reading
			}
		case e := <-l.ended:
			l.drain()
			l.turnEnded(e, &running)
			if lines == nil && !l.working {
				return reading
			}
		case <-interrupts:
			if !l.interrupt() {
				return nil
			}
		case text, ok := <-lines:
			if !ok {
				lines = nil
				if !l.working && l.shell == nil {
					return reading
				}
				continue
			}
			if l.input(text, &running) {
				return nil
			}
		}
	}
}

// leave ends the person's own command and waits until nothing runs, while it shows what is still sent.
func (l *linear) leave(running *sync.WaitGroup) {
	if l.shell != nil {
		l.shell()
	}
	ended := make(chan struct{})
	go func() {
		running.Wait()
		close(ended)
	}()
	for {
		select {
		case m := <-l.messages:
			l.take(m)
		case <-ended:
			return
		}
	}
}

// readLines passes on lines of any length up to 1 MiB.
func readLines(ctx context.Context, in io.Reader, lines chan<- string) error {
	from := bufio.NewScanner(in)
	from.Buffer(nil, 1<<20)
	for from.Scan() {
		select {
		case lines <- from.Text():
		case <-ctx.Done():
			return nil
		}
	}
	return from.Err()
}

// drain shows what was sent before a turn ended.
func (l *linear) drain() {
	for {
		select {
		case m := <-l.messages:
			l.take(m)
		default:
			return
		}
	}
}

func (l *linear) line(text string) {
	if l.mid {
		fmt.Fprintln(l.out)
		l.mid = false
	}
	fmt.Fprintln(l.out, screen.Printable(text))
}

func (l *linear) entry(e message.Entry) {
	switch {
	case e.Note != "":
		l.line("Note: " + e.Note)
	case e.Message == nil:
	case e.Message.Role == message.User:
		l.line("You: " + e.Message.Content)
	case e.Message.Role == message.Assistant && e.Message.Content != "":
		l.line(l.Agent + ": " + e.Message.Content)
	}
}

func (l *linear) take(m any) {
	switch m := m.(type) {
	case pieceMsg:
		if !l.mid {
			fmt.Fprint(l.out, l.Agent+": ")
		}
		l.mid, l.streamed = true, true
		fmt.Fprint(l.out, screen.Printable(m.text))
	case eventMsg:
		l.event(m.event)
	case askMsg:
		l.ask = &m
		p := m.ask.Preview
		l.line("May it do this? " + p.Title)
		if p.Body != "" {
			l.line(p.Body)
		}
		if p.Warning != "" {
			l.line("Warning: " + p.Warning)
		}
		l.line("y allows it, a allows it for this session, n or n REASON refuses it.")
	case unaskMsg:
		if l.ask != nil && l.ask.answer == m.answer {
			l.ask = nil
		}
	case presenceMsg:
		if !m.Passing && m.Text != l.presence { // a lost server is tried again and again
			l.presence = m.Text
			l.line(fmt.Sprintf("Note: %s is %s.", l.Agent, m.Text))
		}
	case noteMsg:
		l.line("Note: " + m.text)
	case shellMsg:
		l.shell()
		l.shell = nil
		l.line("Result: " + m.result.Text)
		if err := l.Talk.Loop.Tell(shellNote(m.command, m.result)); err != nil {
			l.line("Error: the agent was not told of it: " + err.Error())
		}
	}
}

func (l *linear) event(e react.Event) {
	switch e := e.(type) {
	case react.Iteration:
		if e.N > 1 {
			l.line(fmt.Sprintf("Iteration %d of %d.", e.N, e.Max))
		}
	case react.Replied:
		if !l.streamed && e.Reply.Message.Content != "" {
			l.line(l.Agent + ": " + e.Reply.Message.Content)
		}
		l.streamed = false
		if e.Reply.Notes.Woke {
			l.line("Note: " + l.Agent + " was asleep and woke up for this.")
		}
	case react.Begun:
		l.line("Tool: " + callTitle(e.Call))
	case react.Done:
		state := done
		switch {
		case e.Result.Interrupted:
			state = interrupted
		case e.Result.Failed:
			state = failed
		}
		lines := strings.Split(strings.TrimRight(e.Result.Text, "\n"), "\n")
		if len(lines) > shownOfResult+1 {
			lines = append(lines[:shownOfResult:shownOfResult], "… "+count(len(lines)-shownOfResult, "more line"))
		}
		l.line("Result of " + callTitle(e.Call) + ", " + state + ": " + strings.Join(lines, "\n"))
	case react.NoTools:
		l.line("Note: " + noTools)
	case react.Dequeued:
		l.line("You: " + e.Text)
	}
}

func (l *linear) turnEnded(e endedMsg, running *sync.WaitGroup) {
	l.working = false
	switch e.outcome {
	case react.Interrupted:
		l.line("Interrupted. What was done so far is kept.")
	case react.Exhausted:
		l.line("It still calls tools. Say \"go on\" to let it.")
	case react.Failed:
		l.line("Error: " + failureText(e.err))
	}
	if l.mid {
		l.line("")
	}
	if rest := l.Talk.Loop.Unqueue(); len(rest) > 0 {
		l.say(strings.Join(rest, "\n\n"), running)
	}
}

func (l *linear) interrupt() bool {
	if l.shell != nil {
		if closedChannel(l.soft) {
			l.shell()
			return true
		}
		close(l.soft)
		return true
	}
	if !l.working {
		return false
	}
	l.Talk.Loop.Interrupt()
	return true
}

func closedChannel(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// input takes a line and reports whether the person leaves.
func (l *linear) input(text string, running *sync.WaitGroup) bool {
	if l.ask != nil {
		l.decide(strings.TrimSpace(text))
		return false
	}
	if part, goesOn := strings.CutSuffix(text, "\\"); goesOn {
		l.typed = append(l.typed, part)
		return false
	}
	text = strings.TrimSpace(strings.Join(append(l.typed, text), "\n"))
	l.typed = nil
	if text == "" {
		return false
	}
	if command, ok := strings.CutPrefix(text, "!"); ok {
		l.runShell(strings.TrimSpace(command), running)
		return false
	}
	if name, argument, ok := parse(text); ok {
		return l.slash(name, argument, running)
	}
	if l.working {
		if l.Talk.Loop.Queue(text) {
			l.line("Note: queued.")
		}
		return false
	}
	l.say(text, running)
	return false
}

func (l *linear) say(text string, running *sync.WaitGroup) {
	l.working = true
	running.Go(func() {
		outcome, err := l.Talk.Loop.Turn(l.ctx, text)
		l.ended <- endedMsg{outcome, err}
	})
}

func (l *linear) decide(text string) {
	var d react.Decision
	word, rest, _ := strings.Cut(text, " ")
	switch strings.ToLower(word) {
	case "y", "yes":
		d.Allow = true
	case "a", "always":
		d.Allow, d.ForSession = true, true
	case "n", "no":
		d.Reason = rest
	default:
		l.line("Please answer y, a, n or n REASON.")
		return
	}
	l.ask.answer <- d
	l.ask = nil
}

func (l *linear) runShell(command string, running *sync.WaitGroup) {
	if l.Shell == nil || l.working || l.shell != nil {
		l.line("Error: a command of your own cannot be run now.")
		return
	}
	ctx, cancel := context.WithCancel(l.ctx)
	l.shell, l.soft = cancel, make(chan struct{})
	soft := l.soft
	running.Go(func() {
		result := l.Shell(ctx, soft, command)
		select {
		case l.messages <- shellMsg{command, result}:
		case <-l.ctx.Done():
		}
	})
}

func (l *linear) slash(name, argument string, running *sync.WaitGroup) (leaves bool) {
	if v, ok := l.view(name); ok {
		l.show(v, argument)
		return false
	}
	if c, ok := l.command(name); ok {
		text, err := c.Do(l.ctx, argument)
		if err != nil {
			text = "Error: " + failureText(err)
		}
		l.line(text)
		return false
	}
	switch name {
	case "quit", "exit":
		return true
	case "help":
		l.line(strings.Join(l.help().Draw(l.width, 0), "\n"))
	case "mode":
		l.mode(argument)
	case "compact":
		before, after, err := l.Talk.Loop.Compact(l.ctx)
		if err != nil {
			l.line("Error: " + failureText(err))
			break
		}
		l.line(fmt.Sprintf("Compacted: %s are now %d.", count(before, "message"), after))
	case "rewind":
		l.rewind(argument)
	case "queue":
		for _, text := range l.Talk.Loop.Unqueue() {
			l.line("Taken back: " + text)
		}
	case "resume":
		l.resume(argument)
	case "editor":
		l.line("Error: the editor needs the full screen.")
	default:
		l.line("Error: " + l.unknown(name))
	}
	return false
}

// show writes a view as it is now.
func (l *linear) show(v View, argument string) {
	var page Page
	var err error
	if v.Load != nil {
		page, err = v.Load(l.ctx, argument)
	} else {
		err = errors.New("this view needs the full screen")
	}
	if err != nil {
		l.line("Error: " + failureText(err))
		return
	}
	l.line(page.Title)
	for _, line := range page.Draw(l.width, 0) {
		fmt.Fprintln(l.out, line) // it is printable, and may have colours
	}
}

func (l *linear) mode(argument string) {
	if argument == "" {
		l.line(modes(l.Talk.Loop.Mode()))
		return
	}
	mode, err := react.ParseMode(argument)
	if err != nil {
		l.line("Error: " + failureText(err))
		return
	}
	l.Talk.Loop.SetMode(mode)
	l.line("Note: approval mode " + string(mode) + ": " + mode.Says() + ".")
}

func (l *linear) rewind(argument string) {
	n, err := strconv.Atoi(argument)
	at := 0
	for i, each := range l.Talk.Loop.Conversation() {
		if each.Role != message.User {
			continue
		}
		at++
		if err != nil {
			l.line(fmt.Sprintf("%d: %s", at, screen.Clean(each.Content)))
			continue
		}
		if at != n {
			continue
		}
		text, err := l.Talk.Loop.Rewind(i)
		if err != nil {
			l.line("Error: " + failureText(err))
			return
		}
		l.line("Note: you are back before: " + text)
		return
	}
	if err == nil {
		l.line(fmt.Sprintf("Error: %d is none of your messages; they are numbered from 1 to %d.", n, at))
		return
	}
	l.line("Note: /rewind N goes back to before message N.")
}

func (l *linear) resume(id string) {
	if l.Open == nil || l.working {
		l.line("Error: another session cannot be opened now.")
		return
	}
	talk, err := l.Open(id)
	if err != nil {
		l.line("Error: " + failureText(err))
		return
	}
	l.Talk = talk
	for _, e := range talk.Entries {
		l.entry(e)
	}
	l.line("Note: you go on with session " + talk.ID + ".")
}
