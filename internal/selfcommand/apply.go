package selfcommand

import (
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
)

// Scopes are the states of an agent that hold in a room: its state in general, and its own state in that room.
type Scopes struct {
	General dormancy.State
	Own     dormancy.State
}

// Effective is the state that holds in the room.
func (s Scopes) Effective() dormancy.State { return dormancy.Effective(s.General, s.Own) }

// Result is what a command has done.
type Result struct {
	Scopes Scopes
	// EveryRoom means that the own states of all other rooms are cleared, too.
	EveryRoom bool
	Reply     string // of the agent, in the first person
	Announce  string // to the room, in the third person; empty when nothing changed
}

// Apply carries out a command that an agent with this name gave in a room. now has the zone of the agent, in which
// times are shown. Dormancy in general replaces the own state of the room in which it is said, and of no other room.
func Apply(c Command, s Scopes, name string, now time.Time) Result {
	switch c.Verb {
	case Dormant:
		state := dormancy.State{Level: c.Level, Reason: c.Reason, Until: c.Until, SetAt: now}
		if c.Here {
			s.Own = s.Own.Set(state)
		} else {
			s.General, s.Own = s.General.Set(state), cleared(s.Own)
		}
		return Result{Scopes: s, Reply: GoingDormant(state, now), Announce: AnnounceDormant(name, state, now)}
	case Awake:
		announce := ""
		if s.General.Dormant() || s.Own.Dormant() {
			announce = AnnounceAwake(name, false)
		}
		if c.Here {
			s.Own = cleared(s.Own)
			if s.General.Dormant() {
				s.Own = s.Own.Set(dormancy.State{Level: dormancy.Active, SetAt: now})
			}
		} else {
			s.General, s.Own = cleared(s.General), cleared(s.Own)
		}
		return Result{Scopes: s, EveryRoom: !c.Here, Reply: AwakeAgain, Announce: announce}
	}
	return Result{Scopes: s, Reply: StatusOf(s.Effective(), now)}
}

// cleared leaves a state that is not set as it is, so that its timer, if another change sets one, keeps its sequence.
func cleared(s dormancy.State) dormancy.State {
	if s.Level == "" {
		return s
	}
	return s.Clear()
}

// AwakeAgain is what an agent says that has woken.
const AwakeAgain = "I'm awake and active again!"

// AutoWoke is what an agent says when its timer has ended its dormancy.
const AutoWoke = AwakeAgain + byTimer

const byTimer = " (auto-woke after timer)"

// GoingDormant is what an agent says that goes dormant.
func GoingDormant(s dormancy.State, now time.Time) string {
	return fmt.Sprintf("Going dormant (%s)%s. Mention me or use @self awake to wake me.", s.Level, untilOf(s, now))
}

// StatusOf is what an agent says of its state.
func StatusOf(s dormancy.State, now time.Time) string {
	if !s.Dormant() {
		return "Active - responding to all messages"
	}
	return fmt.Sprintf("Dormant (%s) since %s%s", s.Level, clock(s.SetAt, now), untilOf(s, now))
}

// AnnounceDormant tells a room that an agent goes dormant.
func AnnounceDormant(name string, s dormancy.State, now time.Time) string {
	if !s.Until.IsZero() {
		return fmt.Sprintf("%s is dormant (%s)%s", name, s.Level, untilOf(s, now))
	}
	return fmt.Sprintf("%s is now dormant (%s). Mention them or use @self awake to wake.", name, s.Level)
}

// AnnounceAwake tells a room that an agent is awake.
func AnnounceAwake(name string, timer bool) string {
	text := name + " is awake and active again!"
	if timer {
		text += byTimer
	}
	return text
}

func untilOf(s dormancy.State, now time.Time) string {
	if s.Until.IsZero() {
		return ""
	}
	return " until " + clock(s.Until, now)
}

// clock shows a time in the zone of now; the day only when it is another one.
func clock(at, now time.Time) string {
	at = at.In(now.Location())
	if at.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return at.Format("3:04 PM")
	}
	return at.Format("Jan 2, 2006, 3:04 PM")
}
