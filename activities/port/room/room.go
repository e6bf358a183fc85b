// Package room defines the port that keeps rooms: who is in them, what was posted, what waits in the inbox of an agent,
// how dormant an agent is, and what became of each mention.
//
// A Store reads no clock: callers give it the time. It keeps times in UTC. Every method that writes is one atomic,
// durable step, safe across processes, and may be repeated: the second call changes nothing and returns what the first
// one did. What is read of a room is read as one of its members, or as AsOperator; ErrNotMember otherwise. Rules are
// decided elsewhere: a Rule is a pure function that the store calls inside the step that stores a post, so that it
// decides by the state that the post meets. Timers lie elsewhere, too: the store only keeps until when a state holds.
//
// Package roomtest tests the contract.
package room

import (
	"context"
	"errors"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// Errors that callers branch on.
var (
	ErrNotFound  = memory.ErrNotFound
	ErrTaken     = memory.ErrTaken   // the id or the key was used for something else
	ErrRemoved   = memory.ErrRemoved // the agent was removed
	ErrNotMember = errors.New("not a member of the room")
	ErrForbidden = errors.New("the member's role does not allow it")
	ErrStale     = errors.New("changed since it was read")
	ErrFenced    = errors.New("taken by another holder, or finished")
)

// Who is a member, an author or a caller. Its kind belongs to a key or an account and never to what was written.
type Who struct {
	Kind dormancy.Kind `json:"kind"`
	ID   string        `json:"id"` // of an agent its id; of a person a name of the account that is unique in the deployment
}

// AsOperator reads every room. It is no member and writes nothing.
var AsOperator = Who{Kind: "operator", ID: "*"}

// AgentID is an agent by its id.
func AgentID(id string) Who { return Who{Kind: dormancy.Agent, ID: id} }

// PersonID is a person by the name of the account.
func PersonID(id string) Who { return Who{Kind: dormancy.Person, ID: id} }

// String is kind and id, such as "agent:echo".
func (w Who) String() string { return string(w.Kind) + ":" + w.ID }

// Role is what a member may do in a room.
type Role string

// The roles, from the least to the most.
const (
	Reader Role = "reader" // reads
	Writer Role = "writer" // posts, and edits its own posts
	Owner  Role = "owner"  // deletes any post and removes members
)

// Room is a place where members post.
type Room struct {
	ID      string            `json:"id"` // a to z, digits, hyphens and dots; at most 64 characters
	Title   string            `json:"title,omitempty"`
	Meta    map[string]string `json:"meta,omitempty"` // of a bridge, for example the room's id elsewhere
	By      Who               `json:"by"`
	Created time.Time         `json:"created"`

	Posts  int64 `json:"posts"`  // offset of the newest post; 0 for none
	Events int64 `json:"events"` // offset of the newest event
}

// Member is who may read a room, and perhaps write.
type Member struct {
	Room string `json:"room"`
	Who
	Name       string         `json:"name"` // by which it is shown and mentioned; an agent's handle
	Role       Role           `json:"role"`
	Trust      dormancy.Trust `json:"trust"`
	Subscribed bool           `json:"subscribed"` // an agent that sees every post, not only those that mention it
	Joined     time.Time      `json:"joined"`
}

// Taint is the taint of what the member writes.
func (m Member) Taint() dream.Taint {
	switch {
	case m.Trust != dormancy.Own:
		return dream.FromWeb
	case m.Kind == dormancy.Agent:
		return dream.FromAgent
	}
	return dream.FromHuman
}

// Store keeps rooms. It is made of small interfaces, so that a caller names what it needs.
type Store interface {
	Rooms
	Members
	Posts
	Feed
	Inboxes
	Dormancies
	Actions
	CheckIns
	Wakes
	Webhooks
}

// Rooms keeps the rooms themselves.
type Rooms interface {
	// Create makes a room, with the member By as its owner. The same room again changes nothing and returns what there
	// is; another one of the same id is ErrTaken.
	Create(ctx context.Context, r Room, owner Member) (Room, error)
	// Get returns a room. ErrNotFound, ErrNotMember.
	Get(ctx context.Context, as Who, id string) (Room, error)
	// List returns the rooms of a member by id; AsOperator lists all.
	List(ctx context.Context, as Who) ([]Room, error)
}

// Members keeps who is in a room.
type Members interface {
	// Join adds a member, or changes the name, role, trust and subscription of one. When it joined is kept.
	Join(ctx context.Context, m Member) (Member, error)
	// Leave removes a member. What waits in an agent's inbox from this room is dropped, and its dormancy in this room
	// ends. No member of that name is no error.
	Leave(ctx context.Context, room string, who Who, now time.Time) error
	// Subscribe switches whether an agent sees every post. ErrNotMember.
	Subscribe(ctx context.Context, room string, who Who, on bool, now time.Time) (Member, error)
	// Members lists the members of a room, agents first, then by id.
	Members(ctx context.Context, as Who, room string) ([]Member, error)
}

// EventType says what happened in a room.
type EventType string

// What happens in a room.
const (
	Created  EventType = "created"
	Joined   EventType = "joined"
	Changed  EventType = "changed" // a member's name, role, trust or subscription
	Left     EventType = "left"
	Added    EventType = "posted"
	Edited   EventType = "edited"
	Deleted  EventType = "deleted"
	Reset    EventType = "dormancy" // of an agent of the room; Dormancy says what it is now
	Resolved EventType = "wake"     // a mention or a message came to its end; Wake says how
)

// Event is one entry of a room's feed.
type Event struct {
	Room     string          `json:"room"`
	Offset   int64           `json:"offset"` // 1, 2, 3, …
	Type     EventType       `json:"type"`
	At       time.Time       `json:"at"`
	Who      Who             `json:"who"` // who did it, or the agent that it is about
	Post     string          `json:"post,omitempty"`
	Revision int             `json:"revision,omitempty"` // of the post
	Dormancy *dormancy.State `json:"dormancy,omitempty"` // without its reason
	InRoom   bool            `json:"in_room,omitempty"`  // the dormancy is that in this room alone
	Outcome  Outcome         `json:"outcome,omitempty"`  // of a wake
}

// Feed is what happened in a room, in order. A stream that was cut off goes on after the offset of its last event.
type Feed interface {
	// Events returns up to limit events of a room after an offset; 0 and below take MaxPage.
	Events(ctx context.Context, as Who, room string, after int64, limit int) ([]Event, error)
	// Await returns when the room has events after an offset.
	Await(ctx context.Context, as Who, room string, after int64) error
}
