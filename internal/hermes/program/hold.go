package program

import (
	"context"
	"sync"

	"github.com/seed-56a03226/oneiros/internal/hermes/remote"
	"github.com/seed-56a03226/oneiros/internal/hermes/ui"
)

// holder holds the agent awake while Hermes runs, and lets it go when the person wants to see it dream.
type holder struct {
	mu      sync.Mutex
	held    context.CancelFunc // of the session that is held; nil while none is
	off     bool
	changed chan struct{} // has room for one
}

func newHolder() *holder { return &holder{changed: make(chan struct{}, 1)} }

// letGo ends the session until again is called.
func (l *holder) letGo() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.off = true
	if l.held != nil {
		l.held()
	}
}

// again holds the agent again.
func (l *holder) again() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.off {
		return
	}
	l.off = false
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// begin returns the context of a session, or waits until one is wanted. It is nil when ctx is canceled.
func (l *holder) begin(ctx context.Context) context.Context {
	for {
		l.mu.Lock()
		if !l.off && ctx.Err() == nil {
			holding, cancel := context.WithCancel(ctx)
			l.held = cancel
			l.mu.Unlock()
			return holding
		}
		l.mu.Unlock()
		select {
		case <-l.changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// keepAwake holds the agent awake until ctx ends, and shows whether it is.
func (h *hermes) keepAwake(ctx context.Context) {
	if h.found.Kind != remote.Oneiros {
		h.wire.Present(ui.Presence{Text: "no presence here"})
		return
	}
	for {
		holding := h.hold.begin(ctx)
		if holding == nil {
			return
		}
		err := h.holdOnce(holding)
		switch {
		case ctx.Err() != nil:
			return
		case holding.Err() == nil:
			h.wire.Present(ui.Presence{Text: "not held: " + err.Error()})
			h.hold.letGo() // what the server refuses for good is tried again with the next turn
		default:
			h.wire.Present(ui.Presence{Text: "let go, so that it can dream"})
		}
	}
}

// holdOnce holds one session until holding is canceled or the server refuses it for good.
func (h *hermes) holdOnce(holding context.Context) error {
	if h.over != nil {
		h.wire.Present(ui.Presence{Text: "awake over MCP", Awake: true})
		return h.over.client.Hold(holding)
	}
	return h.server.Hold(holding, func(s remote.Holding) {
		text := s.Presence.String()
		if s.Presence == remote.Held {
			text = "awake"
		}
		h.wire.Present(ui.Presence{
			Text:    text,
			Awake:   s.Presence == remote.Held,
			Passing: s.Presence == remote.Connecting,
		})
	})
}
