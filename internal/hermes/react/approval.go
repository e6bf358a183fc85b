package react

import (
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/hermes/message"
)

// Mode is how calls of tools are approved.
type Mode string

// The modes, the most careful first.
const (
	ReadOnly Mode = "read" // reading is allowed; nothing else is offered
	AskFirst Mode = "ask"  // reading is allowed; a person approves everything else
	Edits    Mode = "edit" // reading and writing in the workspace are allowed; a person approves commands
	Auto     Mode = "auto" // commands are allowed, too, where the kernel confines them
)

// Modes lists the modes in the order in which a person switches through them.
var Modes = []Mode{AskFirst, Edits, Auto, ReadOnly}

// ParseMode reads the name of a mode.
func ParseMode(name string) (Mode, error) {
	for _, m := range Modes {
		if string(m) == name {
			return m, nil
		}
	}
	return "", fmt.Errorf("the approval mode is %q; it must be read, ask, edit or auto", name)
}

// Next is the mode behind m.
func (m Mode) Next() Mode {
	for i, each := range Modes {
		if each == m {
			return Modes[(i+1)%len(Modes)]
		}
	}
	return AskFirst
}

// Says describes the mode in a few words.
func (m Mode) Says() string {
	switch m {
	case ReadOnly:
		return "reads only"
	case Edits:
		return "edits without asking, asks before commands"
	case Auto:
		return "edits and runs confined commands without asking"
	}
	return "asks before writing and running"
}

// need is what a call needs before it runs.
type need int

const (
	nothing need = iota
	approval
	refusal
)

// needs decides by the mode and by what the tool can change, and by nothing that was said.
func needs(m Mode, effect message.Effect, confined bool) need {
	switch {
	case effect == message.Reads:
		return nothing
	case m == ReadOnly:
		return refusal
	case effect == message.Writes && (m == Edits || m == Auto):
		return nothing
	case effect == message.Runs && m == Auto && confined:
		return nothing
	}
	return approval
}

// offered are the tools that a model is told of in a mode.
func offered(all []message.Tool, m Mode) []message.Tool {
	var some []message.Tool
	for _, t := range all {
		if needs(m, t.Effect, true) != refusal {
			some = append(some, t)
		}
	}
	return some
}

// Ask is a call that waits for a person.
type Ask struct {
	Call    message.Call
	Effect  message.Effect
	Preview message.Preview
}

// Decision is a person's answer.
type Decision struct {
	Allow bool
	// ForSession allows the same call again without asking: of a command the very same text, of a tool that writes any
	// file, of another server's tool any arguments.
	ForSession bool
	// Reason is what the model is told when the call is refused; may be empty.
	Reason string
}

// sameCall names what an allowance for the session covers.
func sameCall(c message.Call, effect message.Effect) string {
	if effect == message.Runs && !strings.Contains(c.Name, "__") {
		return c.Name + "\x00" + c.Arguments
	}
	return c.Name
}
