package turnhttp

import (
	"net/http"
	"sync"
	"time"
)

// HeadWithin is how long the headers of a stream wait for its first piece at most, so that both go in one packet: most
// providers send them together. A client that waits for the first word does not notice.
const HeadWithin = 5 * time.Millisecond

// Head is the beginning of a stream, which is held back until its first piece, HeadWithin at most: the headers, and
// what was written after them.
type Head struct {
	control *http.ResponseController

	mu   sync.Mutex // held to send it
	over bool       // it is sent, or will be with the first piece
}

// HoldHead holds the beginning of a stream back that was written and not flushed. Release must be called before more is
// written.
func HoldHead(control *http.ResponseController) *Head { return late.hold(control) }

// send sends a head whose first piece is late.
func (h *Head) send() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.over {
		h.over = true
		_ = h.control.Flush() // a client that has hung up ends the request
	}
}

// Release leaves the head to the next flush; afterwards nothing else writes. It may be repeated.
func (h *Head) Release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
}

// isOver reports whether a head no longer waits.
func (h *Head) isOver() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.over
}

// late sends the heads whose first piece is late.
var late lateHeads

// lateHeads has one timer for all heads: to set one for each wakes a thread for each. A head that comes while the timer
// runs is sent with the one that began it, so after less than HeadWithin.
type lateHeads struct {
	mu    sync.Mutex
	heads []*Head // empty while no timer runs
}

func (l *lateHeads) hold(control *http.ResponseController) *Head {
	h := &Head{control: control}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.heads) == 0 {
		time.AfterFunc(HeadWithin, l.send)
	}
	l.heads = append(l.heads, h)
	return h
}

func (l *lateHeads) send() {
	l.mu.Lock()
	heads := l.heads
	l.heads = nil
	l.mu.Unlock()
	for _, h := range heads {
		if !h.isOver() {
			go h.send() // a client that reads slowly holds no other up
		}
	}
}
