package room

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Form is how a post is meant.
type Form string

// The forms of a post.
const (
	Message      Form = "message"
	Notice       Form = "notice"       // agents see it, and none answers it
	Announcement Form = "announcement" // the room is told of something; nobody answers it
)

// PostState is whether a post can be read.
type PostState string

// The states of a post.
const (
	Live    PostState = "live"
	Emptied PostState = "deleted" // its place in the history is left, without body, mentions and metadata
)

// Mention names somebody in a post.
type Mention struct {
	Who
	Name string `json:"name,omitempty"` // as it was written
}

// Post is what a member wrote.
type Post struct {
	ID       string            `json:"id"` // "<room>/<offset>"
	Room     string            `json:"room"`
	Offset   int64             `json:"offset"`           // 1, 2, 3, … in its room
	Thread   string            `json:"thread,omitempty"` // id of the post that the thread hangs on; empty outside of threads
	ReplyTo  string            `json:"reply_to,omitempty"`
	Author   Who               `json:"author"`
	Name     string            `json:"name"` // of the author when it was written
	Trust    dormancy.Trust    `json:"trust"`
	Taint    dream.Taint       `json:"taint"`
	Form     Form              `json:"form"`
	Body     string            `json:"body"`
	Mentions []Mention         `json:"mentions,omitempty"`
	Hops     int               `json:"hops,omitempty"` // answers of agents since a person spoke
	Meta     map[string]string `json:"meta,omitempty"`
	Created  time.Time         `json:"created"`
	Edited   time.Time         `json:"edited,omitzero"`
	Revision int               `json:"revision"` // 1, 2, 3, …; rises with every edit
	State    PostState         `json:"state"`
}

// PostID is the id of a room's post.
func PostID(room string, offset int64) string { return room + "/" + strconv.FormatInt(offset, 10) }

// ParsePostID reverses PostID.
func ParsePostID(id string) (room string, offset int64, err error) {
	room, digits, _ := strings.Cut(id, "/")
	offset, err = strconv.ParseInt(digits, 10, 64)
	if err != nil || offset < 1 || room == "" || PostID(room, offset) != id {
		return "", 0, fmt.Errorf("post id is %q; it has the form room/12", id)
	}
	return room, offset, nil
}

// Draft is a post to be stored.
type Draft struct {
	Room    string
	Author  Who
	Key     string // the client's own id of the post, once per author and room; never empty
	ReplyTo string // id of a post of this room
	Thread  string // id of the post that the thread hangs on; empty: that of ReplyTo, if that is in one
	Form    Form   // empty: a message
	Body    string
	// Mentions are those that a parser or a bridge found. Who is no member of the room is kept and not delivered to.
	Mentions []Mention
	Hops     int // of an agent's post; a person's has none
	Meta     map[string]string
	Now      time.Time
}

// Edit replaces the body and the mentions of a post by its author.
type Edit struct {
	Post     string
	Author   Who
	Revision int // that was read; ErrStale when there is a newer one
	Body     string
	Mentions []Mention
	Now      time.Time
}

// Deletion empties a post, by its author, by an owner of the room or by AsOperator.
type Deletion struct {
	Post string
	By   Who
	Now  time.Time
}

// Posted is what a post or an edit has done.
type Posted struct {
	Post     Post
	Existing bool // it was stored before; nothing was changed
	// Delivered says for each agent what became of the post when it was stored, as far as that was recorded.
	Delivered []Delivered
	Woken     []Dormancy // the states that the post has ended
}

// Delivered is what became of a post or of a message for one agent.
type Delivered struct {
	Wake Wake
	Item *Item // nil when nothing was put into the inbox
}

// Direction is the order of a page.
type Direction int

// The directions.
const (
	Newest Direction = iota // from the newest back
	Oldest                  // from the oldest on
)

// MaxPage is the most entries of a page; larger limits are cut down to it.
const MaxPage = 500

// Query asks for a page of a room's posts, or of a thread's.
type Query struct {
	Room   string
	As     Who
	Thread string // id of the post that it hangs on; the page has that post, too. Empty: all posts of the room
	From   Direction
	After  int64 // posts of a higher offset only; 0: any
	Before int64 // posts of a lower offset only; 0: any
	Limit  int   // 0 and below: MaxPage
}

// Page is a page of posts in the direction of its query.
type Page struct {
	Posts []Post
	More  bool // there are more in this direction
}

// Posts keeps what was written.
type Posts interface {
	// Post stores a draft in one step with its mentions, its event, the guard records, the wake records and what the rule
	// delivers to the inboxes. A nil rule delivers nothing. A draft of the same author and key is stored once; with
	// another content it is ErrTaken. ErrNotMember, ErrForbidden, ErrNotFound for a post that it replies to.
	Post(ctx context.Context, d Draft, rule Rule) (Posted, error)
	// Edit stores a new revision. The rule is called again; an agent that has got the post in its inbox gets it no
	// second time. ErrStale, ErrForbidden, ErrNotFound.
	Edit(ctx context.Context, e Edit, rule Rule) (Posted, error)
	// Delete empties a post. What waits in an inbox because of it is dropped. ErrForbidden, ErrNotFound.
	Delete(ctx context.Context, d Deletion) (Post, error)
	// Find returns a post by its id. ErrNotFound, ErrNotMember.
	Find(ctx context.Context, as Who, id string) (Post, error)
	// FindKey returns a post of a room by the key of its draft, whoever wrote it: a bridge finds again what it brought.
	// ErrNotFound, ErrNotMember.
	FindKey(ctx context.Context, as Who, room, key string) (Post, error)
	// History returns a page of posts. Deleted ones are in it, emptied.
	History(ctx context.Context, q Query) (Page, error)
}

// Listener is an agent that may answer a post: a member that the post mentions or that is subscribed, but not the
// author.
type Listener struct {
	Member
	Mentioned bool
	InThread  bool           // it has written in the thread of the post
	Dormancy  dormancy.State // of the agent as a whole
	InRoom    dormancy.State // in this room
	Waiting   int            // how many items wait in its inbox
}

// Situation is what a post meets, or a message to one agent.
type Situation struct {
	Direct    *Direct // a message: there is no room then, and no post, and the agent is the only listener
	Room      Room
	Post      Post
	Author    Member
	Edited    bool // an edit, not a new post
	ReplyTo   *Post
	Listeners []Listener // by id
	Now       time.Time
	// Guard returns the record of a guard by its key (GuardKey); nil for none.
	Guard func(key string) []byte
	// Own returns how dormant the author of a post is, an agent: as a whole first, then by room.
	Own func() []Dormancy
}

// Decision is what becomes of a post.
type Decision struct {
	Refuse     error // the post is not stored, and the guards stay; the error is returned
	Deliveries []Delivery
	// Guards are the records to store, each an object of JSON; nil deletes one.
	Guards map[string][]byte
	// Levels are changes of the author of a new post, an agent. Follow is what it says after the post, which is delivered
	// to nobody. Both are stored in the same step as the post.
	Levels []Change
	Follow []Draft
}

// Delivery says what becomes of a post for one listener.
type Delivery struct {
	Agent    string
	Outcome  Outcome // Queued puts the post into the inbox; Skipped only records why it was not answered
	Reason   string  // of a skip it is never empty; of a queued post it says why it waits
	Priority int     // 0 to 9; higher ones are taken first
	Expires  time.Time
	EndSleep bool // ends the sleep that holds in this room, as dormancy.EndSleep does
}

// Rule decides what becomes of a post. It must depend on the situation alone, because it may be called several times
// for one post.
type Rule func(Situation) Decision

// GuardKey is the key of a guard's record: a scope and whom it concerns. The records of a removed agent are found by
// the parts of their keys.
func GuardKey(scope string, parts ...string) string {
	for i, part := range parts {
		parts[i] = Escape(part)
	}
	return strings.Join(append([]string{Escape(scope)}, parts...), "/")
}

var escaped = strings.NewReplacer("%", "%25", "/", "%2F")

// Escape makes a text usable as one part of a key whose parts are separated by slashes.
func Escape(part string) string { return escaped.Replace(part) }
