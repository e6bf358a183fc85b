package inference

import (
	"fmt"
	"slices"
	"strings"
)

// Wires are the forms of requests that a provider answers as they are.
type Wires uint8

// The wires. Requests of a wire that a provider does not speak are said to it as chat completions, and these, where it
// does not speak them either, as responses or as Messages.
const (
	ChatWire      Wires = 1 << iota // POST /chat/completions
	ResponsesWire                   // POST /responses
	MessagesWire                    // POST /messages
)

// wireNames are the names of the wires in configurations, in order.
var wireNames = []string{"chat", "responses", "messages"}

// WireNames lists the names of the wires.
func WireNames() []string { return slices.Clone(wireNames) }

// ReadWires reads names of wires.
func ReadWires(names []string) (Wires, error) {
	var w Wires
	for _, name := range names {
		i := slices.Index(wireNames, name)
		if i < 0 {
			return 0, fmt.Errorf("%q is no wire; there are %s", name, strings.Join(wireNames, ", "))
		}
		w |= 1 << i
	}
	return w, nil
}

// Speaks reports whether all wires of another set are among these.
func (w Wires) Speaks(other Wires) bool { return w&other == other }

// ChatByResponses reports whether chat completions, and what dreams ask, are said as responses.
func (w Wires) ChatByResponses() bool { return w.Speaks(ResponsesWire) && !w.Speaks(ChatWire) }

// On is what is known of a model where its provider speaks these wires. Responses have no min-p, no seed and no stop
// sequences.
func (s Spec) On(w Wires) Spec {
	s.Wires = w
	if w.ChatByResponses() {
		s.MinP, s.Seed, s.Stop = false, false, false
	}
	return s
}

// Names are the names of the wires, in order.
func (w Wires) Names() []string {
	var names []string
	for i, name := range wireNames {
		if w.Speaks(1 << i) {
			names = append(names, name)
		}
	}
	return names
}
