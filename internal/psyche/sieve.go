package psyche

import (
	"bytes"

	"github.com/seed-56a03226/oneiros/internal/jsonscan"
)

// sieve adjusts the usage in a stream: it removes the event that holds only usage when the client did not ask for it,
// or inserts one when the client asked and the provider sends none. Everything else passes unchanged, as soon as its
// event is complete.
type sieve struct {
	outlet
	wait  []byte         // an incomplete event
	open  bool           // an event was too long to wait for: everything passes from now on
	count func() counted // nil: usage is removed; else it is inserted
	seen  bool           // usage has passed
	named []byte         // the data of the first event with the fields that all share
}

// outlet holds what is ready to be passed on.
type outlet struct {
	out   []byte
	taken int // bytes at its beginning
}

// mostReused is how many bytes of memory a stream that waits for its next piece holds on to.
const mostReused = 1 << 10

func (o *outlet) empty() bool { return o.taken == len(o.out) }

func (o *outlet) take(p []byte) int {
	n := copy(p, o.out[o.taken:])
	o.taken += n
	if o.empty() {
		o.out, o.taken = reused(o.out), 0
	}
	return n
}

// reused empties a buffer, and drops it when it is large.
func reused(b []byte) []byte {
	if cap(b) > mostReused {
		return nil
	}
	return b[:0]
}

// counted is usage as clients know it.
type counted struct{ prompt, completion, total int64 }

func (s *sieve) push(b []byte, end bool) {
	rest := b
	if len(s.wait) > 0 {
		s.wait = append(s.wait, b...)
		rest = s.wait
	}
	for !s.open {
		at := eventEnd(rest)
		if at < 0 {
			break
		}
		s.pass(rest[:at])
		rest = rest[at:]
	}
	switch {
	case len(s.wait) == 0:
		s.wait = append(s.wait, rest...)
	case len(rest) < len(s.wait):
		s.wait = append(reused(s.wait), rest...)
	}
	s.open = s.open || len(s.wait) > mostHeard
	if s.open || end {
		if s.open {
			s.out = append(s.out, s.wait...)
		} else {
			s.pass(s.wait)
		}
		s.wait = nil
	}
}

// pass passes a complete event on, drops it, or inserts usage before it.
func (s *sieve) pass(event []byte) {
	if s.count == nil {
		if !onlyUsage(event) {
			s.out = append(s.out, event...)
		}
		return
	}
	data, ok := bytes.CutPrefix(bytes.TrimSpace(event), []byte("data:"))
	data = bytes.TrimSpace(data)
	switch {
	case !ok || s.seen:
	case string(data) == "[DONE]":
		s.seen = true
		s.out = append(append(append(s.out, "data: "...), s.usage()...), "\n\n"...)
	case !bytes.Contains(s.named, []byte(`"object"`)):
		s.named = append(s.named[:0], data...)
		fallthrough
	default:
		s.seen = tellsUsage(data)
	}
	s.out = append(s.out, event...)
}

// usage is an event that holds only usage, and the fields that all events of one answer share.
func (s *sieve) usage() []byte {
	var w jsonscan.Writer
	w.Begin()
	_ = jsonscan.Members(s.named, func(key, value []byte) error { // those that are missing are left out
		switch name := jsonscan.Unquoted(key); name {
		case "id", "object", "created", "model":
			w.Raw(name, value)
		}
		return nil
	})
	w.List("choices", 0, nil)
	u := s.count()
	w.Object("usage")
	w.Number("prompt_tokens", u.prompt)
	w.Number("completion_tokens", u.completion)
	w.Number("total_tokens", u.total)
	w.End()
	w.End()
	return w.Buf
}

func tellsUsage(data []byte) bool {
	_, usage := choicesAndUsage(data)
	return len(usage) > 0 && usage[0] == '{'
}

// choicesAndUsage are two members of an event; nil where it has none, or is no JSON.
func choicesAndUsage(data []byte) (choices, usage []byte) {
	if !bytes.Contains(data, []byte(`"usage"`)) {
		return nil, nil
	}
	err := jsonscan.Members(data, func(key, value []byte) error {
		switch string(key) {
		case `"choices"`:
			choices = value
		case `"usage"`:
			usage = value
		}
		return nil
	})
	if err != nil {
		return nil, nil
	}
	return choices, usage
}

// eventEnd is the position after the first complete event; -1 when there is none.
func eventEnd(b []byte) int {
	best := -1
	for _, mark := range []string{"\n\n", "\r\n\r\n", "\r\r"} {
		if i := bytes.Index(b, []byte(mark)); i >= 0 && (best < 0 || i+len(mark) < best) {
			best = i + len(mark)
		}
	}
	return best
}

func onlyUsage(event []byte) bool {
	data, ok := bytes.CutPrefix(bytes.TrimSpace(event), []byte("data:"))
	if !ok {
		return false
	}
	choices, usage := choicesAndUsage(data)
	if len(usage) == 0 || usage[0] != '{' {
		return false
	}
	list, err := jsonscan.Elements(choices)
	return err == nil && len(list) == 0
}
