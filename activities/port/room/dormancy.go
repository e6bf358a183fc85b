package room

import (
	"context"
	"encoding/json"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
)

// Dormancy is how dormant an agent is, as a whole or in one room.
type Dormancy struct {
	Agent string `json:"agent"`
	Room  string `json:"room,omitempty"` // empty: as a whole
	dormancy.State
}

// AnySequence as a change's If sets a state whatever it is now.
const AnySequence int64 = -1

// Change sets how dormant an agent is.
type Change struct {
	Agent  string
	Room   string         // of which the agent is a member; empty: as a whole
	Level  dormancy.Level // empty: nothing is set any more
	Reason string
	Until  time.Time // zero: until it is changed
	If     int64     // sequence that the state must have; AnySequence for any
	Key    string    // once per agent and room, if it is not empty: a repeated change returns what it made
	Now    time.Time
}

// Awakening ends every dormancy of an agent.
type Awakening struct {
	Agent   string
	By      Who
	Message *Direct // put into the inbox in the same step; nil for none
	Now     time.Time
}

// Awakened is what an Awakening has done.
type Awakened struct {
	Ended     []Dormancy // as they were; empty when the agent was active
	Delivered *Delivered
}

// Dormancies keeps how dormant agents are.
type Dormancies interface {
	// Dormancy returns an agent's states: as a whole first, then by room. States in which
	// nothing is set are left out.
	Dormancy(ctx context.Context, agent string) ([]Dormancy, error)
	// SetDormancy changes a state if its sequence is still the one that was read (ErrStale). The sequence rises with
	// every change and never goes back, so an old timer ends nothing new. The rooms concerned get an event.
	SetDormancy(ctx context.Context, c Change) (Dormancy, error)
	// Awaken clears every state of an agent.
	Awaken(ctx context.Context, a Awakening) (Awakened, error)
	// Dormant lists every state that is set and not active, by agent and room.
	Dormant(ctx context.Context) ([]Dormancy, error)
}

// ActionState is what became of a held action.
type ActionState string

// The states of an action.
const (
	Held      ActionState = "held"
	Done      ActionState = "done"
	Abandoned ActionState = "dropped"
)

// Action is something that a sleeping agent asked to do in a room. It is held until the agent wakes.
type Action struct {
	Agent   string          `json:"agent"`
	Number  int64           `json:"number"` // 1, 2, 3, … per agent
	Key     string          `json:"key"`    // once per agent; never empty
	Room    string          `json:"room,omitempty"`
	Name    string          `json:"name"` // of what is to be done, such as "post"
	Body    json.RawMessage `json:"body"` // its arguments, an object
	Created time.Time       `json:"created"`
	State   ActionState     `json:"state"`
	Reason  string          `json:"reason,omitempty"`
	Ended   time.Time       `json:"ended,omitzero"`
}

// Actions keeps what sleeping agents asked for.
type Actions interface {
	// Hold keeps an action. The same key again returns what is kept; with another content it is ErrTaken.
	Hold(ctx context.Context, a Action) (Action, error)
	// Held lists the held actions of an agent in the order they were asked for, after an order.
	Held(ctx context.Context, agent string, after int64, limit int) ([]Action, error)
	// EndAction ends a held action as done or dropped. What has ended stays as it is. ErrNotFound.
	EndAction(ctx context.Context, agent, key string, state ActionState, reason string, now time.Time) (Action, error)
}
