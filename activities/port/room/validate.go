package room

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
)

// What a post may hold at most. A longer one is refused before anything is stored.
const (
	MaxBody     = 64 << 10 // bytes
	MaxMentions = 100
	MaxMeta     = 32 // entries
	MaxText     = 1024
)

// MaxPriority is the highest priority of an item; the lowest is 0.
const MaxPriority = 9

var roomID = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{0,63}$`)

// faults collects what is wrong with a value.
type faults []error

func (f *faults) add(wrong bool, format string, args ...any) {
	if wrong {
		*f = append(*f, fmt.Errorf(format, args...))
	}
}

func (f faults) err() error { return errors.Join(f...) }

// text refuses a text that is too long or not UTF-8.
func (f *faults) text(field, value string, most int) {
	f.add(!utf8.ValidString(value), "%s is not UTF-8 text", field)
	f.add(len(value) > most, "%s has %d bytes; at most %d are allowed", field, len(value), most)
}

// name refuses a name that is empty, too long or not UTF-8.
func (f *faults) name(field, value string) {
	f.add(value == "", "%s is empty", field)
	f.text(field, value, MaxText)
}

func (f *faults) room(field, id string) {
	f.add(!roomID.MatchString(id),
		"%s is %q; the id of a room has 1 to 64 of a to z, digits, hyphens and dots, and begins with a letter or digit",
		field, id)
}

func (f *faults) who(field string, w Who) {
	f.add(!w.Kind.Valid(), "%s is of kind %q; kinds are person and agent", field, w.Kind)
	f.name(field, w.ID)
}

func (f *faults) meta(meta map[string]string) {
	f.add(len(meta) > MaxMeta, "meta has %d entries; at most %d are allowed", len(meta), MaxMeta)
	for name, value := range meta {
		f.name("a name in meta", name)
		f.text("meta "+name, value, MaxText)
	}
}

func (f *faults) body(body string, mentions []Mention) {
	f.text("body", body, MaxBody)
	f.add(len(mentions) > MaxMentions, "the post has %d mentions; at most %d are allowed", len(mentions), MaxMentions)
	for _, m := range mentions {
		f.who("a mention", m.Who)
		f.text("a mention's name", m.Name, MaxText)
	}
}

// Validate names every invalid field of a room and what would be valid.
func (r Room) Validate() error {
	var f faults
	f.room("room", r.ID)
	f.text("title", r.Title, MaxText)
	f.who("by", r.By)
	f.meta(r.Meta)
	f.add(r.Created.IsZero(), "created is not given")
	return f.err()
}

// Validate names every invalid field of a member and what would be valid.
func (m Member) Validate() error {
	var f faults
	f.room("room", m.Room)
	f.who("member", m.Who)
	f.name("name", m.Name)
	f.add(!slices.Contains([]Role{Reader, Writer, Owner}, m.Role), "role is %q; roles are reader, writer and owner",
		m.Role)
	f.add(!m.Trust.Valid(), "trust is %q; it is own or stranger", m.Trust)
	f.add(m.Subscribed && m.Kind != dormancy.Agent, "subscribed is set for a %s; only agents subscribe", m.Kind)
	f.add(m.Joined.IsZero(), "joined is not given")
	return f.err()
}

// Validate names every invalid field of a draft and what would be valid.
func (d Draft) Validate() error {
	var f faults
	f.room("room", d.Room)
	f.who("author", d.Author)
	f.name("key", d.Key)
	f.body(d.Body, d.Mentions)
	f.meta(d.Meta)
	f.add(strings.TrimSpace(d.Body) == "", "body is empty")
	f.add(!slices.Contains([]Form{"", Message, Notice, Announcement}, d.Form),
		"form is %q; forms are %s, %s and %s", d.Form, Message, Notice, Announcement)
	f.add(d.Hops < 0, "hops is %d; it is not negative", d.Hops)
	f.add(d.Hops > 0 && d.Author.Kind == dormancy.Person, "hops is %d; a person's post has none", d.Hops)
	f.add(d.Now.IsZero(), "now is not given")
	return f.err()
}

// Validate names every invalid field of an edit and what would be valid.
func (e Edit) Validate() error {
	var f faults
	f.body(e.Body, e.Mentions)
	f.who("author", e.Author)
	f.add(strings.TrimSpace(e.Body) == "", "body is empty; to empty a post, delete it")
	f.add(e.Revision < 1, "revision is %d; the first is 1", e.Revision)
	f.add(e.Now.IsZero(), "now is not given")
	return f.err()
}

// Validate names every invalid field of a delivery and what would be valid.
func (d Delivery) Validate() error {
	var f faults
	f.name("agent", d.Agent)
	f.add(d.Outcome != Queued && d.Outcome != Skipped, "outcome is %q; a delivery is %s or %s", d.Outcome, Queued,
		Skipped)
	f.add(d.Outcome == Skipped && d.Reason == "", "reason is empty; a skip says why")
	f.text("reason", d.Reason, MaxText)
	f.priority(d.Priority)
	return f.err()
}

func (f *faults) priority(p int) {
	f.add(p < 0 || p > MaxPriority, "priority is %d; it is 0 to %d", p, MaxPriority)
}

// Validate names every invalid field of a message and what would be valid.
func (d Direct) Validate() error {
	var f faults
	f.name("agent", d.Agent)
	f.name("key", d.Key)
	f.add(d.Trigger != OnDirect && d.Trigger != OnScheduled, "trigger is %q; a message is %s or %s", d.Trigger, OnDirect,
		OnScheduled)
	f.who("from", d.From)
	if d.Message != nil {
		f.text("message", d.Message.Body, MaxBody)
		f.text("message's name", d.Message.Name, MaxText)
		f.add(!d.Message.Taint.Valid(), "message's taint is %q", d.Message.Taint)
	}
	if d.Room != "" {
		f.room("room", d.Room)
	}
	f.priority(d.Priority)
	f.add(d.Now.IsZero(), "now is not given")
	return f.err()
}

// Validate names every invalid field of a take and what would be valid.
func (t Take) Validate() error {
	var f faults
	f.name("agent", t.Agent)
	f.name("holder", t.Holder)
	f.add(t.For <= 0, "the take lasts %v; it must be longer than zero", t.For)
	f.add(t.Now.IsZero(), "now is not given")
	return f.err()
}

// Validate names every invalid field of an end and what would be valid.
func (e Finish) Validate() error {
	var f faults
	f.name("agent", e.Agent)
	states := []ItemState{Waiting, Answered, Declined, Expired, Dropped}
	f.add(!slices.Contains(states, e.State), "state is %q; states are %v", e.State, states)
	f.add(e.Reply != nil && e.State != Answered, "there is a reply and state is %q; with a reply it is %s", e.State,
		Answered)
	f.text("reason", e.Reason, MaxText)
	f.add(e.Cost < 0, "cost is %d micro-dollars; it is not negative", e.Cost)
	f.add(e.Now.IsZero(), "now is not given")
	return f.err()
}

// Validate names every invalid field of a change and what would be valid.
func (c Change) Validate() error {
	var f faults
	f.name("agent", c.Agent)
	if c.Room != "" {
		f.room("room", c.Room)
	}
	if c.Level != "" {
		state := dormancy.State{Level: c.Level, Reason: c.Reason, Until: c.Until, SetAt: c.Now}
		f = append(f, state.Validate())
	}
	f.add(c.Level == "" && !c.Until.IsZero(), "until is %s and no level is set", c.Until)
	f.text("key", c.Key, MaxText)
	f.add(c.Now.IsZero(), "now is not given")
	return f.err()
}

// Validate names every invalid field of an action and what would be valid.
func (a Action) Validate() error {
	var f faults
	f.name("agent", a.Agent)
	f.name("key", a.Key)
	f.name("name", a.Name)
	if a.Room != "" {
		f.room("room", a.Room)
	}
	f.add(len(a.Body) == 0 || a.Body[0] != '{' || !json.Valid(a.Body), "body is no object of JSON")
	f.add(len(a.Body) > MaxBody, "body has %d bytes; at most %d are allowed", len(a.Body), MaxBody)
	f.add(a.Created.IsZero(), "created is not given")
	return f.err()
}
