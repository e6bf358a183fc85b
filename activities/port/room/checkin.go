package room

import (
	"context"
	"errors"
	"regexp"
	"time"
)

// MaxCheckIns is how many check-ins an agent may have at once.
const MaxCheckIns = 20

// ErrTooMany says that an agent has MaxCheckIns check-ins.
var ErrTooMany = errors.New("the agent has as many check-ins as it may have")

// CheckIn calls an agent at a time to come, once or again and again. What it is called for lies in its inbox from that
// time on.
type CheckIn struct {
	Agent   string    `json:"agent"`
	Name    string    `json:"name"`           // once per agent
	Room    string    `json:"room,omitempty"` // of which the agent is a member; empty: none
	Message *Text     `json:"message,omitempty"`
	From    Who       `json:"from"`            // who set it
	Every   string    `json:"every,omitempty"` // a duration, or local times; empty: once
	Zone    string    `json:"zone,omitempty"`  // of local times
	First   time.Time `json:"first"`           // the first call, from which a duration counts
	Until   time.Time `json:"until,omitzero"`  // no call after it; zero: until it is cancelled
	Next    time.Time `json:"next"`
	Created time.Time `json:"created"`
}

var checkInName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// Validate names every invalid field of a check-in and what would be valid.
func (c CheckIn) Validate() error {
	var f faults
	f.name("agent", c.Agent)
	f.add(!checkInName.MatchString(c.Name),
		"name is %q; it has 1 to 64 of a to z, digits, - and _, and begins with a letter or digit", c.Name)
	if c.Room != "" {
		f.room("room", c.Room)
	}
	if c.Message != nil {
		f.text("message", c.Message.Body, MaxBody)
		f.text("message's name", c.Message.Name, MaxText)
		f.add(!c.Message.Taint.Valid(), "message's taint is %q", c.Message.Taint)
	}
	f.who("from", c.From)
	f.text("every", c.Every, MaxText)
	f.text("zone", c.Zone, MaxText)
	f.add(c.First.IsZero(), "first is not given")
	f.add(c.Next.IsZero(), "next is not given")
	f.add(c.Created.IsZero(), "created is not given")
	return f.err()
}

// CheckIns keeps when agents are called. It calls nobody.
type CheckIns interface {
	// SetCheckIn keeps a check-in. The same one again returns what is kept; another one of its name is ErrTaken, and one
	// too many ErrTooMany. With a room of which the agent is no member it is ErrNotMember.
	SetCheckIn(ctx context.Context, c CheckIn) (CheckIn, error)
	// CheckIns lists the check-ins of an agent by name.
	CheckIns(ctx context.Context, agent string) ([]CheckIn, error)
	// MoveCheckIn sets when a check-in calls next, if it is still due at from; zero ends it. ErrStale when it was moved
	// or cancelled meanwhile.
	MoveCheckIn(ctx context.Context, agent, name string, from, next time.Time) error
	// CancelCheckIn ends a check-in and returns it. ErrNotFound.
	CancelCheckIn(ctx context.Context, agent, name string) (CheckIn, error)
	// Expecting lists the agents that have check-ins.
	Expecting(ctx context.Context) ([]string, error)
}
