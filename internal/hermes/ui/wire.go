package ui

import (
	"context"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/internal/hermes/react"
)

// frameTime is how long pieces of an answer are collected before they are shown together: 40 frames a second.
const frameTime = 25 * time.Millisecond

// Wire carries what happens in a turn to the screen, and the person's decisions back. A Wire belongs to one screen.
type Wire struct {
	mu     sync.Mutex
	send   func(any)
	pieces string
	timer  *time.Timer
	before []any // what was sent before a screen was there
}

// NewWire makes a wire. What is sent before a screen is there is shown first when it is.
func NewWire() *Wire { return &Wire{} }

type (
	eventMsg struct{ event react.Event }
	pieceMsg struct{ text string }
	// askMsg waits for a decision. The channel has room for one.
	askMsg struct {
		ask    react.Ask
		answer chan react.Decision
	}
	// unaskMsg tells that nobody waits for the decision any more.
	unaskMsg    struct{ answer chan react.Decision }
	presenceMsg Presence
	noteMsg     struct {
		text string
		bad  bool
	}
)

// attach connects a screen and gives it what was sent before.
func (w *Wire) attach(send func(any)) {
	for {
		w.mu.Lock()
		before := w.before
		w.before = nil
		if len(before) == 0 {
			w.send = send
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()
		for _, m := range before {
			send(m)
		}
	}
}

func (w *Wire) pass(m any) {
	w.mu.Lock()
	send := w.send
	if send == nil {
		w.before = append(w.before, m)
	}
	w.mu.Unlock()
	if send != nil {
		send(m)
	}
}

// Notify shows an event of a turn. Pieces of an answer are collected for a frame.
func (w *Wire) Notify(e react.Event) {
	if piece, ok := e.(react.Piece); ok {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.pieces += piece.Text
		if w.timer == nil {
			w.timer = time.AfterFunc(frameTime, w.flush)
		}
		return
	}
	w.flush()
	w.pass(eventMsg{e})
}

func (w *Wire) flush() {
	w.mu.Lock()
	text := w.pieces
	w.pieces = ""
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
	w.mu.Unlock()
	if text != "" {
		w.pass(pieceMsg{text})
	}
}

// Approve asks the person and waits.
func (w *Wire) Approve(ctx context.Context, ask react.Ask) react.Decision {
	answer := make(chan react.Decision, 1)
	w.pass(askMsg{ask, answer})
	select {
	case decision := <-answer:
		return decision
	case <-ctx.Done():
		w.pass(unaskMsg{answer})
		return react.Decision{}
	}
}

// Present shows how the agent is held awake.
func (w *Wire) Present(p Presence) { w.pass(presenceMsg(p)) }

// Note tells the person something; bad where it is a failure.
func (w *Wire) Note(text string, bad bool) { w.pass(noteMsg{text, bad}) }
