package room

import (
	"context"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Trigger is why an agent is called.
type Trigger string

// The triggers.
const (
	OnMention   Trigger = "mention"   // a post mentions it, or it is subscribed to the room
	OnDirect    Trigger = "direct"    // a message to it alone
	OnScheduled Trigger = "scheduled" // at a time that was arranged
)

// ItemState is what became of an item of an inbox.
type ItemState string

// The states of an item.
const (
	Waiting  ItemState = "queued"
	Taken    ItemState = "taken" // somebody is about to answer it
	Answered ItemState = "answered"
	Declined ItemState = "declined" // the agent chose to be silent
	Expired  ItemState = "expired"
	Dropped  ItemState = "dropped"
)

// Final reports whether an item has come to its end.
func (s ItemState) Final() bool { return s != Waiting && s != Taken }

// Item is a post or a message that waits for an agent.
type Item struct {
	Agent    string    `json:"agent"`
	Number   int64     `json:"number"` // 1, 2, 3, … per agent: the order of arrival
	Key      string    `json:"key"`    // one item per agent and key; of a post its id
	Trigger  Trigger   `json:"trigger"`
	Room     string    `json:"room,omitempty"`
	Post     string    `json:"post,omitempty"` // id
	Message  *Text     `json:"message,omitempty"`
	From     Who       `json:"from,omitzero"`
	Hops     int       `json:"hops,omitempty"`
	Priority int       `json:"priority,omitempty"`
	Created  time.Time `json:"created"`
	Expires  time.Time `json:"expires,omitzero"`
	State    ItemState `json:"state"`
	Reason   string    `json:"reason,omitempty"`
	Reply    string    `json:"reply,omitempty"` // id of the post that answers it

	Fence  int64  `json:"fence,omitempty"` // rises each time that somebody else takes it
	Holder string `json:"holder,omitempty"`
	// Until is when others may take it from its holder; of an item that waits, before when nobody may take it.
	Until time.Time `json:"until,omitzero"`
	Ended time.Time `json:"ended,omitzero"`
}

// Text is a direct message.
type Text struct {
	Body  string      `json:"body"`
	Name  string      `json:"name"` // of the sender
	Taint dream.Taint `json:"taint"`
}

// Direct is a message, or a scheduled call, to one agent.
type Direct struct {
	Agent    string
	Key      string // one item per agent and key; never empty
	Trigger  Trigger
	From     Who
	Message  *Text // nil for a scheduled call without words
	Room     string
	Priority int
	Due      time.Time // nobody takes it before; zero: at once
	Expires  time.Time
	Now      time.Time
}

// Sent is what a message has done.
type Sent struct {
	Delivered
	Woken    []Dormancy // the states that the message has ended
	Existing bool       // it was sent before; nothing was changed
}

// Take takes waiting items, in the order of their priority and arrival.
type Take struct {
	Agent  string
	Holder string        // the same holder gets what it has taken again, under the same fence
	Keys   []string      // only these items; empty: any
	For    time.Duration // after which others may take them
	Limit  int           // 0 and below: MaxPage
	Now    time.Time
}

// Finish ends an item, or with State Waiting puts it back.
type Finish struct {
	Agent  string
	Number int64
	Fence  int64 // as it was taken
	State  ItemState
	Reason string
	// Reply answers it in the room in the same step. Author, key, room, hops and the post that it replies to are set by
	// the store; Rule is that of Post.
	Reply *Draft
	Rule  Rule
	// Failed makes the outcome of the wake failed, whatever the state.
	Failed bool
	Cost   budget.Micros // that the wake has cost
	Due    time.Time     // of an item that is put back: nobody takes it before; zero: at once
	Now    time.Time
}

// Finished is what a Finish has done.
type Finished struct {
	Item     Item
	Wake     Wake
	Posted   *Posted
	Existing bool // it was finished under this fence before
}

// Inboxes keeps what waits for agents.
type Inboxes interface {
	// Send puts a message into an inbox, with its wake record, in one step with what the rule decides. A nil rule queues
	// it with the priority and the expiry that it has.
	Send(ctx context.Context, d Direct, rule Rule) (Sent, error)
	// Inbox lists an agent's items after an order, oldest first; open leaves out those that have ended.
	Inbox(ctx context.Context, agent string, after int64, open bool, limit int) ([]Item, error)
	// Take takes waiting items. Those that have expired come to their end instead.
	Take(ctx context.Context, t Take) ([]Item, error)
	// Finish ends an item that its caller has taken, and completes its wake record. ErrFenced when somebody else has
	// taken or finished it, ErrNotFound.
	Finish(ctx context.Context, f Finish) (Finished, error)
	// Expire ends the items of an agent whose time is over, and returns how many.
	Expire(ctx context.Context, agent string, now time.Time) (int, error)
	// Unfinished lists the agents whose inbox holds items that wait or are taken.
	Unfinished(ctx context.Context) ([]string, error)
}

// Outcome is what became of a call of an agent.
type Outcome string

// The outcomes.
const (
	Queued  Outcome = "queued"
	Replied Outcome = "answered"
	Silent  Outcome = "silent"
	Failed  Outcome = "failed"
	Skipped Outcome = "skipped"
)

// Wake records one call of an agent: one per agent and post, or agent and message.
type Wake struct {
	Agent   string         `json:"agent"`
	Number  int64          `json:"number"` // 1, 2, 3, … per agent
	Key     string         `json:"key"`    // of the item; of a post its id
	Trigger Trigger        `json:"trigger"`
	Room    string         `json:"room,omitempty"`
	Post    string         `json:"post,omitempty"`
	Outcome Outcome        `json:"outcome"`
	Reason  string         `json:"reason,omitempty"`
	Level   dormancy.Level `json:"level,omitempty"` // that the agent was at when it was skipped or called
	Cost    budget.Micros  `json:"cost,omitempty"`
	At      time.Time      `json:"at"`
	Ended   time.Time      `json:"ended,omitzero"`
}

// Wakes keeps the record of calls.
type Wakes interface {
	// Wakes lists an agent's records after a number, oldest first.
	Wakes(ctx context.Context, agent string, after int64, limit int) ([]Wake, error)
	// Wake returns the record of a post or message. ErrNotFound.
	Wake(ctx context.Context, agent, key string) (Wake, error)
}
