package turnhttp

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"sync"

	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
)

// Relay passes a response on as its provider sent it.
type Relay struct {
	Passage
	w       http.ResponseWriter
	control *http.ResponseController
	event   func(f *psyche.Fault) []byte // of a stream that broke off
}

// NewRelay passes a response on to w. event is the last event of a stream that broke off.
func NewRelay(p Passage, w http.ResponseWriter, event func(f *psyche.Fault) []byte) *Relay {
	return &Relay{Passage: p, w: w, control: http.NewResponseController(w), event: event}
}

// Answer writes a reply to the client and closes it.
func (p *Relay) Answer(r *http.Request, reply *psyche.Reply) {
	defer func() { _ = reply.Body.Close() }()
	p.Answered(reply)
	maps.Copy(p.w.Header(), reply.Header)
	SetHeaders(r.Context(), p.w.Header(), reply.Report)
	if p.Stream {
		p.stream(r, reply)
	} else {
		p.relayWhole(r, reply)
	}
}

// The buffers of responses under way. A provider's piece is a few hundred bytes, and a waiting stream holds no more
// than that; while more comes at once, it uses a large one.
const (
	ordinary = 1 << 10
	large    = 8 << 10
)

var (
	pieces = sync.Pool{New: func() any { return new([ordinary]byte) }}
	lumps  = sync.Pool{New: func() any { return new([large]byte) }}
)

// stream passes events on as they come. A stream that breaks off ends with an error event.
func (p *Relay) stream(r *http.Request, reply *psyche.Reply) {
	p.w.Header().Set("X-Accel-Buffering", "no") // nginx would buffer the pieces
	p.w.WriteHeader(reply.Status)
	head := HoldHead(p.control)
	defer head.Release()
	piece := pieces.Get().(*[ordinary]byte)
	defer pieces.Put(piece)
	var lump *[large]byte
	buffer := piece[:]
	var last [2]byte
	begun := false
	for {
		n, err := reply.Body.Read(buffer)
		if n > 0 {
			if !begun {
				begun = true
				head.Release()
				p.NoteFirst()
			}
			if _, fault := p.w.Write(buffer[:n]); fault != nil || p.control.Flush() != nil {
				p.ClientGone = true
				return
			}
			last[0] = last[1]
			if n > 1 {
				last[0] = buffer[n-2]
			}
			last[1] = buffer[n-1]
		}
		if err != nil {
			failed := reply.Failed != nil && reply.Failed() // the client has the provider's own error
			if p.broke(r, err) && !failed {
				head.Release()
				p.endWithError(r, last, err)
				return
			}
			noteFailure(r, reply)
			return
		}
		switch {
		case n == len(buffer) && lump == nil:
			lump = lumps.Get().(*[large]byte)
			buffer = lump[:]
		case n < ordinary && lump != nil:
			lumps.Put(lump)
			lump, buffer = nil, piece[:]
		}
	}
}

// noteFailure notes that the provider has said in a response that it failed: such a one is not kept.
func noteFailure(r *http.Request, reply *psyche.Reply) {
	if reply.Failed != nil && reply.Failed() {
		front.WriteError(r.Context(), providerFailed)
	}
}

// providerFailed is the fault of a response in which the provider has said that it failed.
var providerFailed = psyche.Refuse(http.StatusBadGateway, "upstream_error", "",
	"The provider ended its answer with an error.")

// broke notes whether a response broke off by the provider's fault, and reports whether the client is to be shown an
// error. A client that hangs up ends the provider's response too, and so does a server that stops: neither is the
// provider's fault.
func (p *Relay) broke(r *http.Request, err error) bool {
	off := !errors.Is(err, io.EOF)
	p.Broken = off && r.Context().Err() == nil
	return off && !errors.Is(context.Cause(r.Context()), context.Canceled)
}

// endWithError ends a stream that broke off with an error event. An incomplete event before it stays as it is.
func (p *Relay) endWithError(r *http.Request, last [2]byte, err error) {
	fault := BrokenOff(err)
	front.WriteError(r.Context(), fault)
	end := "\n\n"
	if last == [2]byte{} || last == [2]byte{'\n', '\n'} {
		end = ""
	}
	if _, fault := p.w.Write(append([]byte(end), p.event(fault)...)); fault == nil {
		_ = p.control.Flush()
	}
}

// relayWhole passes a response of one piece on. When it breaks off before its first byte the client gets an error;
// later the connection is cut, so that the part is not taken for the whole.
func (p *Relay) relayWhole(r *http.Request, reply *psyche.Reply) {
	buffer := lumps.Get().(*[large]byte)
	defer lumps.Put(buffer)
	n, err := reply.Body.Read(buffer[:])
	for n == 0 && err == nil {
		n, err = reply.Body.Read(buffer[:])
	}
	if n == 0 && !errors.Is(err, io.EOF) {
		if !p.broke(r, err) {
			front.Refuse(p.w, r, r.Context().Err())
			return
		}
		p.w.Header().Del("Content-Type")
		front.Refuse(p.w, r, BrokenOff(err))
		return
	}
	p.NoteFirst()
	p.w.WriteHeader(reply.Status)
	for {
		if _, fault := p.w.Write(buffer[:n]); fault != nil {
			p.ClientGone = true
			return
		}
		if err != nil {
			if !p.broke(r, err) {
				noteFailure(r, reply)
				return
			}
			front.Refuse(p.w, r, BrokenOff(err))
			return
		}
		n, err = reply.Body.Read(buffer[:])
	}
}
