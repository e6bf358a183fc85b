package turnhttp

import (
	"net/http"
	"sync"
	"time"
)

// headWithin is how long the headers of a stream wait for its first piece, so that both go in one packet: most
// providers send them together. A client that waits for the first word does not notice.
const headWithin = 5 * time.Millisecond

// Head is the beginning of a stream, which is held back until its first piece, headWithin at most: the headers, and
// what was written after them.
type Head struct {
	control *http.ResponseController
	late    *time.Timer

	mu   sync.Mutex // held to send it
	over bool       // it is sent, or will be with the first piece
}

// HoldHead holds the beginning of a stream back that was written and not flushed. Release must be called before more is
// written.
func HoldHead(control *http.ResponseController) *Head {
	h := &Head{control: control}
	h.late = time.AfterFunc(headWithin, h.send)
	return h
}

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
	h.late.Stop()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
}
