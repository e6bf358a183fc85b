package room

import (
	"context"
	"regexp"
	"slices"
	"time"
)

// Webhook connects a room with a program elsewhere: with a URL it sends there what happens in the room, and without
// one it takes posts.
type Webhook struct {
	Room    string      `json:"room"`
	Name    string      `json:"name"` // once per room
	URL     string      `json:"url,omitempty"`
	Events  []EventType `json:"events,omitempty"` // that are sent; empty: all
	Sender  Who         `json:"sender,omitzero"`  // by whom posts are that it takes
	Salt    string      `json:"salt"`             // of its secret; another one of this name has another
	By      Who         `json:"by"`
	Created time.Time   `json:"created"`

	After  int64     `json:"after"`           // offset of the newest event that was sent
	Tries  int       `json:"tries,omitempty"` // of the next one, so far in vain
	Due    time.Time `json:"due,omitzero"`    // of the next try
	Fault  string    `json:"fault,omitempty"` // of the last try
	Holder string    `json:"holder,omitempty"`
	Until  time.Time `json:"until,omitzero"` // when others may send in place of the holder
}

// SentEvents is how far a webhook has come.
type SentEvents struct {
	Room, Name string
	Holder     string // as it was taken
	After      int64
	Tries      int
	Due        time.Time
	Fault      string
}

// eventTypes are all types of events.
var eventTypes = []EventType{Created, Joined, Changed, Left, Added, Edited, Deleted, Reset, Resolved}

var webAddress = regexp.MustCompile(`^https?://[^\s/?#@]+([/?#]\S*)?$`)

// Validate names every invalid field of a webhook and what would be valid.
func (w Webhook) Validate() error {
	var f faults
	f.room("room", w.Room)
	f.add(!checkInName.MatchString(w.Name),
		"name is %q; it has 1 to 64 of a to z, digits, - and _, and begins with a letter or digit", w.Name)
	outward := w.URL != ""
	f.add(outward && !webAddress.MatchString(w.URL),
		"url is not an address such as https://example.org/oneiros, without a user and a password")
	f.text("url", w.URL, 2*MaxText)
	f.add(!outward && len(w.Events) > 0, "events are named without a url; a webhook that takes posts sends none")
	for _, e := range w.Events {
		f.add(!slices.Contains(eventTypes, e), "event is %q; events are %v", e, eventTypes)
	}
	if !outward {
		f.who("sender", w.Sender)
	}
	f.name("salt", w.Salt)
	f.who("by", w.By)
	f.add(w.Created.IsZero(), "created is not given")
	return f.err()
}

// Webhooks keeps the webhooks of rooms. It sends nothing.
type Webhooks interface {
	// AddWebhook keeps a webhook. One with a URL begins after the newest event. Its name may not be in use: ErrTaken.
	AddWebhook(ctx context.Context, w Webhook) (Webhook, error)
	// Webhooks lists those of a room by name, or all when there is no room.
	Webhooks(ctx context.Context, room string) ([]Webhook, error)
	// RemoveWebhook removes a webhook and returns it. ErrNotFound.
	RemoveWebhook(ctx context.Context, room, name string) (Webhook, error)
	// TakeWebhook lets a holder send for a time. ErrFenced while another one does, ErrNotFound.
	TakeWebhook(ctx context.Context, room, name, holder string, span time.Duration, now time.Time) (Webhook, error)
	// NoteSent keeps how far a webhook has come. ErrFenced when another holder has taken it.
	NoteSent(ctx context.Context, s SentEvents) error
}
