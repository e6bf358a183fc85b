// Package react is the loop of the terminal agent: a model is asked, the tools that it calls are run in the person's
// workspace, their results go back to the model, until it answers without a call. A person can stop it at any point.
package react

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/internal/hermes/message"
)

// Model answers a conversation, piece by piece. When ctx is canceled it returns what had come and ctx's error.
type Model interface {
	Chat(ctx context.Context, r message.Request, piece func(string)) (message.Reply, error)
}

// Toolbox has the tools of a workspace. Run ends at once when ctx is canceled; a closed soft asks it to come to an end.
type Toolbox interface {
	Tools() []message.Tool
	Preview(call message.Call) (message.Preview, error)
	Run(ctx context.Context, soft <-chan struct{}, call message.Call) message.Result
}

// Grace is how long a tool that is interrupted may go on before it is stopped (Wake Protocol, 2026-01-17: 5 s).
const Grace = 5 * time.Second

// MaxIterations is how often a model is asked in one turn when nothing else is set.
const MaxIterations = 25

// Settings are what a loop needs. Model, Tools and Approve are required.
type Settings struct {
	Model Model
	Tools Toolbox
	// Instructions come first in each request, as a message of the role system. Empty: none.
	Instructions string
	// Iterations bounds how often the model is asked in one turn; 0: MaxIterations.
	Iterations int
	// Grace bounds an interrupted tool; 0: Grace.
	Grace time.Duration
	// Confined reports that the kernel keeps commands within the workspace. Without it no mode runs a command unasked.
	Confined bool
	// Approve asks the person. It returns when they have decided or ctx is canceled.
	Approve func(ctx context.Context, ask Ask) Decision
	// Notify is told what happens, in order, by the goroutine that runs the turn. It must not call the loop. May be nil.
	Notify func(Event)
	// Keep stores what is added to the conversation before it counts. May be nil.
	Keep func(message.Entry) error
	// Checkpoint is called before each turn with the person's words. May be nil.
	Checkpoint func(label string) error
	// Attach returns what a person's words name and the model is given beside them, such as files. May be nil.
	Attach func(text string) []string
	// Now is the clock; nil: time.Now.
	Now func() time.Time
}

// Loop is one conversation with a model that has tools. Its methods may be called at the same time; turns run one after
// another.
type Loop struct {
	settings Settings

	mu           sync.Mutex
	conversation []message.Message
	queue        []string
	mode         Mode
	allowed      map[string]bool // calls that the person allowed for the session
	usage        message.Usage   // of the session
	window       int             // tokens of the newest request's prompt
	toolless     bool            // whether the model takes no tools
	running      chan struct{}   // closed when what runs has ended; nil while nothing does
	stop         *stop           // of the turn under way
}

// stop is how a turn is interrupted.
type stop struct {
	once sync.Once
	soft chan struct{}
}

func (s *stop) now()            { s.once.Do(func() { close(s.soft) }) }
func (s *stop) requested() bool { return closed(s.soft) }

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// New makes a loop that goes on with a conversation, which may be empty.
func New(s Settings, mode Mode, conversation []message.Message) *Loop {
	if s.Iterations <= 0 {
		s.Iterations = MaxIterations
	}
	if s.Grace <= 0 {
		s.Grace = Grace
	}
	if s.Now == nil {
		s.Now = time.Now
	}
	return &Loop{
		settings:     s,
		conversation: message.Complete(conversation),
		mode:         mode,
		allowed:      map[string]bool{},
	}
}

// Outcome is how a turn ended.
type Outcome string

// The outcomes of a turn.
const (
	Answered    Outcome = "answered"    // the model answered without calling a tool
	Interrupted Outcome = "interrupted" // the person stopped it
	Exhausted   Outcome = "exhausted"   // the model still called tools at the last iteration
	Failed      Outcome = "failed"      // the model could not be asked
)

// ErrBusy is returned for what cannot be done while a turn runs.
var ErrBusy = errors.New("a turn is running; interrupt it first")

// Turn says something to the model and runs the loop until it has answered. While a turn runs, further text is queued
// with Queue.
func (l *Loop) Turn(ctx context.Context, text string) (Outcome, error) {
	stop, err := l.begin()
	if err != nil {
		return Failed, err
	}
	defer l.end()
	if l.settings.Checkpoint != nil {
		if err := l.settings.Checkpoint(text); err != nil {
			return Failed, fmt.Errorf("keep a checkpoint of the files: %w", err)
		}
	}
	if err := l.addWords(text); err != nil {
		return Failed, err
	}
	outcome, err := l.iterate(ctx, stop)
	l.notify(Ended{Outcome: outcome, Err: err})
	return outcome, err
}

func (l *Loop) begin() (*stop, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running != nil {
		return nil, ErrBusy
	}
	l.running = make(chan struct{})
	l.stop = &stop{soft: make(chan struct{})}
	return l.stop, nil
}

func (l *Loop) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.running)
	l.running, l.stop = nil, nil
}

// Wait returns when no turn runs any more.
func (l *Loop) Wait() {
	l.mu.Lock()
	running := l.running
	l.mu.Unlock()
	if running != nil {
		<-running
	}
}

// Interrupt stops the turn under way: a generation at once, a running tool after its grace at the latest, and tools that
// wait are not begun. It reports whether there was anything to interrupt.
func (l *Loop) Interrupt() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stop == nil || l.stop.requested() {
		return false
	}
	l.stop.now()
	return true
}

// Queue adds text that is said to the model as soon as it is asked the next time in the turn under way. It reports false
// when no turn runs; the text is not queued then.
func (l *Loop) Queue(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running == nil {
		return false
	}
	l.queue = append(l.queue, text)
	return true
}

// Unqueue takes back what was queued and not said yet, the oldest first.
func (l *Loop) Unqueue() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	queue := l.queue
	l.queue = nil
	return queue
}

// iterate asks the model and runs its tools until it calls none.
func (l *Loop) iterate(ctx context.Context, stop *stop) (Outcome, error) {
	for n := 1; n <= l.settings.Iterations; n++ {
		if stop.requested() {
			return Interrupted, nil
		}
		l.notify(Iteration{N: n, Max: l.settings.Iterations})
		reply, err := l.generate(ctx, stop)
		if err != nil {
			return Failed, err
		}
		if stop.requested() && reply.Finish == "" {
			return Interrupted, nil
		}
		if len(reply.Message.Calls) > 0 {
			if err := l.runAll(ctx, stop, reply.Message.Calls); err != nil {
				return Failed, err
			}
			if stop.requested() {
				return Interrupted, nil
			}
		}
		more, err := l.sayQueued()
		switch {
		case err != nil:
			return Failed, err
		case more:
			n = 0 // the person said more: their words begin a new count
		case len(reply.Message.Calls) == 0:
			return Answered, nil
		}
	}
	return Exhausted, nil
}

// generate asks the model once. What had come when it was interrupted or broke off is kept, without calls that may be
// cut short.
func (l *Loop) generate(ctx context.Context, stop *stop) (message.Reply, error) {
	calling, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-stop.soft:
			cancel()
		case <-calling.Done():
		}
	}()
	piece := func(text string) {
		if !stop.requested() { // at a boundary of tokens
			l.notify(Piece{Text: text})
		}
	}
	reply, err := l.settings.Model.Chat(calling, l.request(), piece)
	if errors.Is(err, message.ErrNoTools) && l.withoutTools() {
		l.notify(NoTools{})
		reply, err = l.settings.Model.Chat(calling, l.request(), piece)
	}
	reply.Message.Role = message.Assistant
	interrupted := err != nil && stop.requested() && ctx.Err() == nil
	if err != nil {
		reply.Finish, reply.Message.Calls = "", nil
	}
	l.account(reply.Usage)
	if reply.Message.Content != "" || len(reply.Message.Calls) > 0 {
		if keeping := l.add(reply.Message); keeping != nil {
			return reply, keeping
		}
	}
	l.notify(Replied{Reply: reply, Interrupted: interrupted})
	if err != nil && !interrupted {
		return reply, err
	}
	return reply, nil
}

// withoutTools offers no tools from now on. It reports false where none were offered before.
func (l *Loop) withoutTools() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	offered := !l.toolless
	l.toolless = true
	return offered
}

func (l *Loop) request() message.Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	tools := offered(l.settings.Tools.Tools(), l.mode)
	if l.toolless {
		tools = nil
	}
	var all []message.Message
	if l.settings.Instructions != "" {
		all = append(all, message.Message{Role: message.System, Content: l.settings.Instructions})
	}
	return message.Request{
		Messages: append(all, l.conversation...),
		Tools:    tools,
	}
}

func (l *Loop) account(u message.Usage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.usage.Input += u.Input
	l.usage.Output += u.Output
	l.usage.Cached += u.Cached
	if u.Input > 0 {
		l.window = u.Input + u.Output
	}
}

// sayQueued adds what the person said meanwhile and reports whether there was anything.
func (l *Loop) sayQueued() (bool, error) {
	queue := l.Unqueue()
	for _, text := range queue {
		if err := l.addWords(text); err != nil {
			return false, err
		}
		l.notify(Dequeued{Text: text})
	}
	return len(queue) > 0, nil
}

// addWords adds a person's words, and before them what they attach: it is no part of what the person said.
func (l *Loop) addWords(text string) error {
	if l.settings.Attach != nil {
		for _, attached := range l.settings.Attach(text) {
			if err := l.add(message.Message{Role: message.System, Content: attached}); err != nil {
				return err
			}
		}
	}
	return l.add(message.Message{Role: message.User, Content: text})
}

// add keeps a message and makes it part of the conversation.
func (l *Loop) add(m message.Message) error {
	if err := l.keep(message.Entry{Message: &m}); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conversation = append(l.conversation, m)
	return nil
}

func (l *Loop) keep(e message.Entry) error {
	if l.settings.Keep == nil {
		return nil
	}
	e.At = l.settings.Now()
	if err := l.settings.Keep(e); err != nil {
		return fmt.Errorf("the session cannot be kept, so nothing is said; say it again when it can: %w", err)
	}
	return nil
}

func (l *Loop) notify(e Event) {
	if l.settings.Notify != nil {
		l.settings.Notify(e)
	}
}

// Mode is how calls are approved now.
func (l *Loop) Mode() Mode {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mode
}

// SetMode changes how calls are approved from the next call on. Only a person does this: nothing that a model, a tool
// or a memory says reaches it.
func (l *Loop) SetMode(m Mode) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mode = m
}

// Conversation is a copy of what was said so far.
func (l *Loop) Conversation() []message.Message {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]message.Message(nil), l.conversation...)
}

// Usage is what the session used so far, and how many tokens the newest request and its answer had.
func (l *Loop) Usage() (session message.Usage, window int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.usage, l.window
}
