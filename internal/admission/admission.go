// Package admission decides what becomes of a message for one agent that may answer it.
package admission

import "github.com/seed-56a03226/oneiros/activities/port/dormancy"

// Sender is how the author of a message counts.
type Sender string

// The senders.
const (
	Person   Sender = "person"
	Stranger Sender = "stranger" // a person whom nobody vouches for
	Agent    Sender = "agent"    // an agent, vouched for or not
)

// SenderOf is how an account counts.
func SenderOf(kind dormancy.Kind, trust dormancy.Trust) Sender {
	switch {
	case kind != dormancy.Person:
		return Agent
	case trust != dormancy.Own:
		return Stranger
	}
	return Person
}

// Address is how a message is meant for the agent.
type Address string

// The addresses.
const (
	Overheard Address = "overheard" // said in a room where the agent is
	InThread  Address = "thread"    // said in a thread in which the agent has written, without its name
	Mention   Address = "mention"   // the message names the agent
	Direct    Address = "direct"    // it was sent to the agent alone
)

// Activity is what the agent is doing. It is independent of its level.
type Activity string

// The activities.
const (
	Awake    Activity = "awake"
	Asleep   Activity = "asleep" // idle; whatever it answers wakes it
	Dreaming Activity = "dreaming"
)

// Limit is the guard that a message has reached. Package chatter decides it.
type Limit string

// The limits.
const (
	Within   Limit = ""
	Hops     Limit = "hops"     // too many answers of agents since a person spoke
	Pair     Limit = "pair"     // too much from this agent to that one
	Mentions Limit = "mentions" // too many mentions of that agent by this one
	Room     Limit = "room"     // too much among the agents of this room
	Called   Limit = "agent"    // this agent was called too often
	Alone    Limit = "alone"    // agents have talked among themselves for too long
	Often    Limit = "often"    // this person, or strangers together, have called this agent too often
)

// Case is a message and the agent that may answer it.
type Case struct {
	Level      dormancy.Level // that holds in the room
	Sender     Sender
	Address    Address
	Activity   Activity
	Subscribed bool // the agent sees all messages of the room
	Limit      Limit
}

// Action is what is done with a message.
type Action string

// The actions.
const (
	Answer Action = "answer" // the agent is called now; it may still choose to be silent
	Queue  Action = "queue"  // it waits in the inbox until the agent can be called
	Skip   Action = "skip"   // only the reason is logged
)

// Reason is why a message is queued or skipped, as logs show it beside the level.
type Reason string

// The reasons.
const (
	AtLevel      Reason = "level"        // the agent's level leaves such messages out, or it sleeps
	Unsubscribed Reason = "unsubscribed" // the agent is not subscribed to the room and is not called
	Unnamed      Reason = "unnamed"      // in threads only people are answered without a mention
	InDream      Reason = "dreaming"     // the agent dreams, and only a person's call interrupts it
)

// ReasonOf is the reason of a limit.
func ReasonOf(l Limit) Reason { return Reason("limit " + l) }

// Decision is what becomes of a message.
type Decision struct {
	Action    Action
	Reason    Reason // of Queue and Skip; empty for Answer
	EndSleep  bool   // the level sleep becomes active, which is announced
	Interrupt bool   // the agent's dream is interrupted as by a client that connects
	Tell      bool   // the room is told once why the agent does not answer now
}

// Decide is the rule. A person who calls an agent always gets through; sleep processes nothing that does not end it;
// an agent's call waits for the end of sleep or of a dream. Strangers count as people when they call within their
// limit, and otherwise wait. A limit only matters for what would be answered or queued without it.
func Decide(c Case) Decision {
	var d Decision
	if c.Address == Mention || c.Address == Direct {
		d = called(c)
	} else {
		d = overheard(c)
	}
	if c.Limit == Within || d.Action == Skip {
		return d
	}
	return limited(c, d)
}

// called decides about a message that names the agent or is for it alone.
func called(c Case) Decision {
	sleeps, dreams := c.Level == dormancy.Sleep, c.Activity == Dreaming
	switch {
	case c.Sender != Agent:
		return Decision{Action: Answer, EndSleep: sleeps, Interrupt: dreams}
	case sleeps:
		return Decision{Action: Queue, Reason: AtLevel, Tell: true}
	case dreams:
		return Decision{Action: Queue, Reason: InDream}
	}
	return Decision{Action: Answer}
}

// overheard decides about a message that calls nobody, or others.
func overheard(c Case) Decision {
	switch {
	case !c.Subscribed:
		return Decision{Action: Skip, Reason: Unsubscribed}
	case c.Level == dormancy.Sleep, c.Level == dormancy.MentionOnly:
		return Decision{Action: Skip, Reason: AtLevel}
	case c.Level == dormancy.HumanOnly && c.Sender != Person:
		return Decision{Action: Skip, Reason: AtLevel}
	case c.Address == InThread && c.Sender != Person:
		return Decision{Action: Skip, Reason: Unnamed}
	case c.Activity == Dreaming && c.Sender == Person:
		return Decision{Action: Queue, Reason: InDream}
	case c.Activity == Dreaming:
		return Decision{Action: Skip, Reason: InDream}
	}
	return Decision{Action: Answer}
}

// limited decides about a message that reached a limit, where d would hold without it.
func limited(c Case, d Decision) Decision {
	calls := c.Address == Mention || c.Address == Direct
	reason := ReasonOf(c.Limit)
	switch {
	case c.Sender == Person: // the next answer to the person takes it along
		d.Action, d.Reason = Queue, reason
		return d
	case c.Sender == Stranger && calls:
		return Decision{Action: Queue, Reason: reason}
	}
	return Decision{Action: Skip, Reason: reason, Tell: c.Limit == Hops || c.Limit == Alone}
}
