package chatter

import (
	"cmp"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/internal/admission"
)

// Priorities of items: higher ones are answered first, equal ones in the order of their arrival.
const (
	AgentPriority    = 1
	StrangerPriority = 2
	PersonPriority   = 5
	WakePriority     = 9 // the message that a person gave when waking the agent
)

const (
	// MostWaiting is how many items wait for one agent: what an agent that wakes can read in a few calls.
	MostWaiting = 200
	// KeptAnswered is how many ids of answered items are kept, so that an event that arrives twice is answered once.
	KeptAnswered = 1000
	// Lifetime is how long the calls of agents and strangers wait. Those of people wait until they are answered.
	Lifetime = 24 * time.Hour
)

// Item is a message that waits for an agent.
type Item struct {
	ID       string           `json:"id"` // of the message
	Sender   admission.Sender `json:"sender"`
	Priority int              `json:"priority"`
	Arrived  time.Time        `json:"arrived"`
}

// PriorityOf is the priority of a message by its sender.
func PriorityOf(s admission.Sender) int {
	switch s {
	case admission.Person:
		return PersonPriority
	case admission.Stranger:
		return StrangerPriority
	}
	return AgentPriority
}

// Expires is when an item ends unanswered; zero for never.
func (i Item) Expires() time.Time {
	if i.Sender == admission.Person {
		return time.Time{}
	}
	return i.Arrived.Add(Lifetime)
}

// Inbox holds what waits for one agent. Methods return changed copies.
type Inbox struct {
	Waiting  []Item   `json:"waiting,omitempty"`  // in the order in which they are answered
	Answered []string `json:"answered,omitempty"` // ids, the newest last
}

// Outcome is what became of an item that was put into an inbox.
type Outcome string

// The outcomes.
const (
	Kept      Outcome = "kept"
	Duplicate Outcome = "duplicate" // it waits already, or was answered
	Full      Outcome = "full"      // nothing of lower priority could make room
)

// Put adds an item. Where the inbox is full, the newest item of the lowest priority makes room for one of a higher
// priority and is returned as displaced; what has expired makes room before. Nothing displaces a person's item but
// the message of a wake.
func (b Inbox) Put(item Item, now time.Time) (next Inbox, outcome Outcome, displaced []Item) {
	b, displaced = b.Expire(now)
	if slices.Contains(b.Answered, item.ID) || slices.ContainsFunc(b.Waiting, func(i Item) bool { return i.ID == item.ID }) {
		return b, Duplicate, displaced
	}
	waiting := slices.Clone(b.Waiting)
	if len(waiting) >= MostWaiting {
		last := waiting[len(waiting)-1]
		if last.Priority >= item.Priority {
			return b, Full, displaced
		}
		waiting, displaced = waiting[:len(waiting)-1], append(displaced, last)
	}
	at, _ := slices.BinarySearchFunc(waiting, item, func(a, b Item) int {
		if a.Priority != b.Priority {
			return cmp.Compare(b.Priority, a.Priority)
		}
		return -1 // after those of the same priority
	})
	b.Waiting = slices.Insert(waiting, at, item)
	return b, Kept, displaced
}

// Expire removes the items that have expired and returns them.
func (b Inbox) Expire(now time.Time) (next Inbox, expired []Item) {
	var waiting []Item
	for _, item := range b.Waiting {
		end := item.Expires()
		if end.IsZero() || now.Before(end) {
			waiting = append(waiting, item)
		} else {
			expired = append(expired, item)
		}
	}
	b.Waiting = waiting
	return b, expired
}

// Take removes the first items for an answer, at most most, and remembers their ids.
func (b Inbox) Take(most int) (next Inbox, taken []Item) {
	most = max(0, min(most, len(b.Waiting)))
	taken = slices.Clone(b.Waiting[:most])
	b.Waiting = slices.Clone(b.Waiting[most:])
	answered := slices.Clone(b.Answered)
	for _, item := range taken {
		answered = append(answered, item.ID)
	}
	b.Answered = answered[max(0, len(answered)-KeptAnswered):]
	return b, taken
}
