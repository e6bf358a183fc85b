package chatter

import "time"

// Gather is how long messages to one agent in one room are gathered after a call of it, and become the next call. The
// first one calls at once. Two seconds are shorter than an answer takes, so that nobody waits longer for them.
const Gather = 2 * time.Second

// Burst gathers the messages to one agent in one room. The zero Burst has called nobody.
type Burst struct {
	Next time.Time `json:"next,omitzero"` // before it nothing is called
	Due  bool      `json:"due,omitempty"` // messages wait for a call at Next
}

// Start says when a message is answered.
type Start string

// The starts.
const (
	AtOnce Start = "at once"
	Later  Start = "later"  // a call is due at Next; the caller sets a timer
	Joined Start = "joined" // the call that is due takes it along
)

// Add adds a message.
func (b Burst) Add(now time.Time) (Burst, Start) {
	if b.Next.After(now.Add(Gather)) { // the clock went back
		b.Next = now.Add(Gather)
	}
	switch {
	case b.Due:
		return b, Joined
	case now.Before(b.Next):
		return Burst{Next: b.Next, Due: true}, Later
	}
	return Burst{Next: now.Add(Gather)}, AtOnce
}

// Fire is the timer of a call that is due. It answers false when none is, as for a timer that fires twice.
func (b Burst) Fire(now time.Time) (Burst, bool) {
	if !b.Due || now.Before(b.Next) {
		return b, false
	}
	return Burst{Next: now.Add(Gather)}, true
}
