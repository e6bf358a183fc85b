// Package dormancy holds how reachable an agent chose to be, in general and in one room, and what kind of account a
// message comes from.
package dormancy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Level is how much of what is said in rooms an agent answers.
type Level string

// The levels, from the most to the least reachable.
const (
	Active      Level = "active"       // answers all messages of the rooms that it subscribes to
	MentionOnly Level = "mention-only" // sees all messages and answers those that mention it
	HumanOnly   Level = "human-only"   // answers people, and messages that mention it
	Sleep       Level = "sleep"        // processes nothing; mentions wait in its inbox
)

// Levels are all levels in a fixed order.
var Levels = []Level{Active, MentionOnly, HumanOnly, Sleep}

// Valid says whether it is one of the levels.
func (l Level) Valid() bool { return slices.Contains(Levels, l) }

// Kind is what sort of account a message comes from. It is a property of the key or of a bridge's account, and never
// of the text.
type Kind string

// The kinds of accounts.
const (
	Person Kind = "person"
	Agent  Kind = "agent"
)

// Kinds are all kinds in a fixed order.
var Kinds = []Kind{Person, Agent}

// Valid says whether it is one of the kinds.
func (k Kind) Valid() bool { return slices.Contains(Kinds, k) }

// Trust says who vouches for an account.
type Trust string

// The kinds of trust.
const (
	Own      Trust = "own"      // a key of this deployment does, or a bridge that counts the account as one of its people
	Stranger Trust = "stranger" // nobody: the account's words are worth no more than those of the web
)

// Trusts are all kinds of trust in a fixed order.
var Trusts = []Trust{Own, Stranger}

// Valid says whether it is one of the kinds of trust.
func (t Trust) Valid() bool { return slices.Contains(Trusts, t) }

// State is the level that an agent set, in general or in one room, with its cause and its end. In a state without a
// level nothing is set: a room then follows the general state, and the agent is active in general.
type State struct {
	Level  Level     `json:"level,omitempty"`
	Reason string    `json:"reason,omitempty"`
	Until  time.Time `json:"until,omitzero"` // when a timer ends it; zero: no timer
	SetAt  time.Time `json:"set_at,omitzero"`
	// rises with every change and never goes back; the timer of a state carries it
	Sequence int64 `json:"sequence,omitempty"`
}

// Effective is the state that holds in a room: the room's own one where there is one, and otherwise the general one.
// An own state may be active, too: dormant in general, active in this room.
func Effective(general, own State) State {
	if own.Level != "" {
		return own
	}
	if general.Level != "" {
		return general
	}
	return State{Level: Active}
}

// Dormant says whether the level is set and is another one than Active.
func (s State) Dormant() bool { return s.Level != Active && s.Level != "" }

// Set replaces a state by the next one, with its timer.
func (s State) Set(next State) State {
	next.Sequence = s.Sequence + 1
	return next
}

// Clear removes level, reason, timer and beginning of a state.
func (s State) Clear() State { return State{Sequence: s.Sequence + 1} }

// Expire clears a state for the timer that was set with this sequence. It answers false, and changes nothing, when the
// state has changed since or its end has not come.
func (s State) Expire(sequence int64, now time.Time) (State, bool) {
	if s.Sequence != sequence || s.Until.IsZero() || now.Before(s.Until) {
		return s, false
	}
	return s.Clear(), true
}

// EndSleep ends the sleep that holds in a room, as a mention by a person does: the sleep of the room, and that in
// general. Another level that the agent chose in general stays. It answers false, and changes nothing, where the agent
// does not sleep.
func EndSleep(general, own State) (nextGeneral, nextOwn State, ended bool) {
	if Effective(general, own).Level != Sleep {
		return general, own, false
	}
	if own.Level == Sleep {
		own = own.Clear()
	}
	if general.Level == Sleep {
		general = general.Clear()
	}
	return general, own, true
}

// LongestReason bounds a reason, in characters: what a line of a room shows.
const LongestReason = 200

// Validate returns the first wrong field of a state that somebody sets, and what would be right. An end in the past is
// valid: the timer ends such a state at once.
func (s State) Validate() error {
	if !s.Level.Valid() {
		return fmt.Errorf("level %q must be active, mention-only, human-only or sleep", s.Level)
	}
	if n := utf8.RuneCountInString(s.Reason); n > LongestReason {
		return fmt.Errorf("reason has %d characters; it must have at most %d", n, LongestReason)
	}
	if strings.ContainsAny(s.Reason, "\r\n") {
		return fmt.Errorf("reason %q must be one line", s.Reason)
	}
	if s.SetAt.IsZero() {
		return errors.New("set_at is empty; it must be the time of the change")
	}
	return nil
}
