// Package circadian holds the rules of an agent's states (sleeping, dreaming, waking, awake), of the time of the next
// automatic dream, of triggers and schedules, and of urgency and vitality.
//
// The states of an agent. "stays" marks an event that changes nothing; "no" one that is refused with a reason.
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

// State is the state of an agent. The phase of a dream is a dream.Phase, not a State.
type State string

// The states.
const (
	Sleeping State = "sleeping" // no client is connected, no dream runs
	Dreaming State = "dreaming"
	Waking   State = "waking" // a dream is being stopped
	Awake    State = "awake"  // a client is connected, or the wake lock or an alarm's hold is active
)

// States in the order of a cycle.
var States = []State{Sleeping, Dreaming, Waking, Awake}

// Event is what may change the state of an agent.
type Event string

// The events.
const (
	IdleTimeout Event = "idle_timeout" // idle for long enough
	Requested   Event = "asked"        // a dream is requested
	Resumed     Event = "resumed"      // an interrupted dream is to be resumed
	Connect     Event = "connect"      // a client connects
	Alarm       Event = "alarm"        // a rule of the agent's feed fired
	Operator    Event = "operator"     // woken by an operator of the deployment
	Ready       Event = "ready"        // what the client is to see is fixed
	Ended       Event = "ended"        // a dream ended or was interrupted
	ClientLeft  Event = "left"         // the last lease and the wake lock have ended
)

// Events in the order of the table above.
var Events = []Event{IdleTimeout, Requested, Resumed, Connect, Alarm, Operator, Ready, Ended, ClientLeft}

// Refused says that an event is not allowed in a state. The state does not change.
type Refused struct {
	State  State
	Event  Event
	Reason string // for people
}

// Error is the message for people.
func (r *Refused) Error() string {
	what := descriptions[r.Event]
	if what == "" {
		what = fmt.Sprintf("%q", r.Event)
	}
	return fmt.Sprintf("%s while the agent is %s: %s", what, r.State, r.Reason)
}

// descriptions is how refused events read at the beginning of a message.
var descriptions = map[Event]string{
	IdleTimeout: "the idle timer ran out",
	Requested:   "a dream was requested",
	Resumed:     "a dream was to be resumed",
	Ready:       "the context became ready",
}

// cell is one cell of the table: the next state, or the reason of a refusal.
type cell struct {
	to     State
	refuse string
}

func moves(to State) cell     { return cell{to: to} }
func refuses(why string) cell { return cell{refuse: why} }

const (
	oneDream  = "it has one dream at a time; wait until that one has ended, or wake it"
	wakesUp   = "it is being woken; try again when it sleeps"
	heldAwake = "a client, an alarm or the wake lock holds it awake; try again when it sleeps"
	noTimer   = "the idle timer runs only while it sleeps"
	notWoken  = "nothing has woken it"
)

// transitions is the table above, a row for each state.
var transitions = map[State]map[Event]cell{
	Sleeping: {
		IdleTimeout: moves(Dreaming), Requested: moves(Dreaming), Resumed: moves(Dreaming),
		Connect: moves(Waking), Alarm: moves(Sleeping), Operator: moves(Sleeping),
		Ready: refuses(notWoken), Ended: moves(Sleeping), ClientLeft: moves(Sleeping),
	},
	Dreaming: {
		IdleTimeout: refuses(noTimer), Requested: refuses(oneDream), Resumed: refuses(oneDream),
		Connect: moves(Waking), Alarm: moves(Waking), Operator: moves(Waking),
		Ready: refuses(notWoken), Ended: moves(Sleeping), ClientLeft: moves(Dreaming),
	},
	Waking: { // the first wake counts, the others wait for awake; leases are checked again once it is awake
		IdleTimeout: refuses(noTimer), Requested: refuses(wakesUp), Resumed: refuses(wakesUp),
		Connect: moves(Waking), Alarm: moves(Waking), Operator: moves(Waking),
		Ready: moves(Awake), Ended: moves(Waking), ClientLeft: moves(Waking),
	},
	Awake: {
		IdleTimeout: refuses(noTimer), Requested: refuses(heldAwake), Resumed: refuses(heldAwake),
		Connect: moves(Awake), Alarm: moves(Awake), Operator: moves(Awake),
		Ready: refuses("it is awake already"), Ended: moves(Awake), ClientLeft: moves(Sleeping),
	},
}

// Step is the state after an event. An event without effect returns the same state; a refused one returns it with a
// *Refused.
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
