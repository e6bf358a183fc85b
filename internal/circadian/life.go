// Package circadian owns an agent's sleeping, dreaming, waking and awake: which step follows which event, and when the
// next dream by itself may begin.
//
// The life of an agent. "stays" is an event that is heard and moves nothing; "no" is one that is refused, with a
// reason.
//
//	              sleeping   dreaming   waking   awake
//	idle_timeout  dreaming   no         no       no
//	asked         dreaming   no         no       no
//	resumed       dreaming   no         no       no
//	connect       waking     waking     stays    stays
//	alarm         stays      waking     stays    stays
//	operator      stays      waking     stays    stays
//	ready         no         no         awake    no
//	ended         stays      sleeping   stays    stays
//	left          stays      stays      stays    sleeping
package circadian

import "fmt"

// State is where an agent stands in its life. What goes on inside a dream is a dream.Phase, never a State, and how
// reachable an agent chose to be is neither.
type State string

// The states.
const (
	Sleeping State = "sleeping" // nobody is connected, nothing is dreamt
	Dreaming State = "dreaming"
	Waking   State = "waking" // a dream is being put down
	Awake    State = "awake"  // somebody is connected, or the wake lock or an alarm's hold still runs
)

// States in the order of a night.
var States = []State{Sleeping, Dreaming, Waking, Awake}

// Event is what may move an agent from one state to another.
type Event string

// The events.
const (
	IdleTimeout Event = "idle_timeout" // it has been quiet for long enough
	Asked       Event = "asked"        // a dream is asked for
	Resumed     Event = "resumed"      // an interrupted dream is to go on
	Connect     Event = "connect"      // a client came
	Alarm       Event = "alarm"        // a rule over the agent's feed fired
	Operator    Event = "operator"     // woken by a person who runs the deployment
	Ready       Event = "ready"        // what the client is to see is fixed
	Ended       Event = "ended"        // a dream ended, or paused
	Left        Event = "left"         // the last lease is over and the wake lock has passed
)

// Events in the order of the table above.
var Events = []Event{IdleTimeout, Asked, Resumed, Connect, Alarm, Operator, Ready, Ended, Left}

// Refused says that an event cannot happen in a state, or must not. The state stays as it is.
type Refused struct {
	State  State
	Event  Event
	Reason string // for people
}

// Error is what a person reads.
func (r *Refused) Error() string {
	text := said[r.Event]
	if text == "" {
		text = fmt.Sprintf("%q", r.Event)
	}
	return fmt.Sprintf("%s while the agent is %s: %s", text, r.State, r.Reason)
}

// said is how the events that may be refused read at the head of a sentence.
var said = map[Event]string{
	IdleTimeout: "the idle timer ran out",
	Asked:       "a dream was asked for",
	Resumed:     "a dream was to go on",
	Ready:       "the context became ready",
}

// answer is one cell of the table: the state that follows, or the reason why none does.
type answer struct {
	to     State
	refuse string
}

func moves(to State) answer     { return answer{to: to} }
func refuses(why string) answer { return answer{refuse: why} }

const (
	oneDream  = "it has one dream at a time; wait until that one has ended, or wake it"
	wakesUp   = "it is being woken; ask again when it sleeps"
	heldAwake = "a client, an alarm or the wake lock holds it awake; ask again when it sleeps"
	noTimer   = "the idle timer runs only while it sleeps"
	notWoken  = "nothing has woken it"
)

// transitions is the table of the package comment, a row for each state.
var transitions = map[State]map[Event]answer{
	Sleeping: {
		IdleTimeout: moves(Dreaming), Asked: moves(Dreaming), Resumed: moves(Dreaming),
		Connect: moves(Waking), Alarm: moves(Sleeping), Operator: moves(Sleeping),
		Ready: refuses(notWoken), Ended: moves(Sleeping), Left: moves(Sleeping),
	},
	Dreaming: {
		IdleTimeout: refuses(noTimer), Asked: refuses(oneDream), Resumed: refuses(oneDream),
		Connect: moves(Waking), Alarm: moves(Waking), Operator: moves(Waking),
		Ready: refuses(notWoken), Ended: moves(Sleeping), Left: moves(Dreaming),
	},
	Waking: { // the first wake wins, the others wait for awake; who left is looked for again once it is awake
		IdleTimeout: refuses(noTimer), Asked: refuses(wakesUp), Resumed: refuses(wakesUp),
		Connect: moves(Waking), Alarm: moves(Waking), Operator: moves(Waking),
		Ready: moves(Awake), Ended: moves(Waking), Left: moves(Waking),
	},
	Awake: {
		IdleTimeout: refuses(noTimer), Asked: refuses(heldAwake), Resumed: refuses(heldAwake),
		Connect: moves(Awake), Alarm: moves(Awake), Operator: moves(Awake),
		Ready: refuses("it is awake already"), Ended: moves(Awake), Left: moves(Sleeping),
	},
}

// Step is the state that follows an event. What leaves the agent where it is answers the same state; what is refused
// answers it too, with a *Refused.
func Step(s State, e Event) (State, error) {
	row, ok := transitions[s]
	if !ok {
		return s, &Refused{State: s, Event: e, Reason: fmt.Sprintf("there is no state %q; there are %v", s, States)}
	}
	a, ok := row[e]
	if !ok {
		return s, &Refused{State: s, Event: e, Reason: fmt.Sprintf("there is no event %q; there are %v", e, Events)}
	}
	if a.refuse != "" {
		return s, &Refused{State: s, Event: e, Reason: a.refuse}
	}
	return a.to, nil
}
