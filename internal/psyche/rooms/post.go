package rooms

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/admission"
	"github.com/seed-56a03226/oneiros/internal/admission/chatter"
	"github.com/seed-56a03226/oneiros/internal/mention"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/selfcommand"
)

// PostRequest is something to say in a room.
type PostRequest struct {
	Room    string `json:"-"`
	As      string `json:"as,omitempty"` // handle of an agent that the caller operates; empty: the caller
	Body    string `json:"body"`
	ReplyTo string `json:"reply_to,omitempty"` // id of a post
	Thread  string `json:"thread,omitempty"`   // id of the post that the thread hangs on
	// Key is the client's own id of the post: a repeated request with it posts nothing more. Empty: a new one.
	Key      string            `json:"key,omitempty"`
	Notice   bool              `json:"notice,omitempty"`   // no agent answers it, though it names one
	Mentions []string          `json:"mentions,omitempty"` // handles, beside those that the body names
	Meta     map[string]string `json:"meta,omitempty"`
}

// Reached is what became of a post for one agent.
type Reached struct {
	Agent   string         `json:"agent"` // handle
	Outcome room.Outcome   `json:"outcome"`
	Reason  string         `json:"reason,omitempty"`
	Level   dormancy.Level `json:"level,omitempty"`
}

// PostResult is a stored post and what it did.
type PostResult struct {
	Post    room.Post `json:"post,omitzero"`
	Held    bool      `json:"held,omitempty"`    // the author sleeps: it is posted when the author wakes
	Reached []Reached `json:"reached,omitempty"` // agents that the post calls, or that see every post
	Absent  []string  `json:"absent,omitempty"`  // handles that it names and that are no members
	Woken   []string  `json:"woken,omitempty"`   // handles of agents whose sleep it ended
	Self    string    `json:"self,omitempty"`    // the answer to an "@self" command
}

// Post stores what a member says, and lets the agents that it calls answer. It returns before they have.
func (s *Service) Post(ctx context.Context, c psyche.Caller, r PostRequest) (PostResult, error) {
	author, err := s.actor(ctx, c, r.As)
	if err != nil {
		return PostResult{}, err
	}
	return s.say(ctx, author, r)
}

// Bring posts what a bridge brings from elsewhere, for a member that the bridge has let in.
func (s *Service) Bring(ctx context.Context, author room.Who, r PostRequest) (PostResult, error) {
	return s.say(ctx, author, r)
}

func (s *answering) say(ctx context.Context, author room.Who, r PostRequest) (PostResult, error) {
	members, err := s.Rooms.Members(ctx, author, r.Room)
	if err != nil {
		return PostResult{}, failed("post to "+r.Room, err)
	}
	draft := room.Draft{
		Room:    r.Room,
		Author:  author,
		Key:     cmp.Or(r.Key, strings.ToLower(rand.Text())),
		ReplyTo: r.ReplyTo,
		Thread:  r.Thread,
		Body:    r.Body,
		Meta:    r.Meta,
		Now:     s.Now().UTC(),
	}
	if r.Notice {
		draft.Form = room.Notice
	}
	result := PostResult{}
	draft.Mentions, result.Absent = s.named(members, r)
	if err := draft.Validate(); err != nil {
		return result, invalid("body", err)
	}
	var command *instruction
	if author.Kind == dormancy.Agent {
		command, result.Held, err = s.asAgent(ctx, r, &draft)
		if err != nil || result.Held {
			return result, err
		}
	}
	rule, notices, err := s.rule(ctx)
	if err != nil {
		return result, err
	}
	posted, err := s.Rooms.Post(ctx, draft, command.obeyed(rule))
	if err != nil {
		return result, failed("post to "+r.Room, err)
	}
	result.Post = posted.Post
	result.Reached, result.Woken = s.after(ctx, members, posted, notices())
	if command != nil {
		result.Self, err = s.answered(ctx, command, posted)
	}
	return result, err
}

// named converts the handles of a request and of its body to members. absent are those that are no members.
func (s *core) named(members []room.Member, r PostRequest) (found []room.Mention, absent []string) {
	handles, _ := mention.Merge(r.Mentions, r.Body)
	for _, handle := range handles {
		at := slices.IndexFunc(members, func(m room.Member) bool {
			return strings.EqualFold(m.Name, handle)
		})
		if at < 0 {
			absent = append(absent, handle)
			continue
		}
		found = append(found, room.Mention{Who: members[at].Who, Name: handle})
	}
	return found, absent
}

// asAgent prepares a post of an agent: how deep it stands in a chain of answers, and its "@self" command. An agent that
// sleeps says nothing: what it asks for is held until it wakes, unless it is a command.
func (s *core) asAgent(ctx context.Context, r PostRequest, d *room.Draft) (command *instruction, held bool, err error) {
	command, err = s.ordered(ctx, d.Author.ID, d.Body)
	if err != nil {
		return nil, false, err
	}
	states, err := s.Rooms.Dormancy(ctx, d.Author.ID)
	if err != nil {
		return nil, false, failed("read the levels of the author", err)
	}
	if command == nil && effective(states, d.Room).Level == dormancy.Sleep {
		return nil, true, s.hold(ctx, r, d)
	}
	d.Hops, err = s.hops(ctx, d)
	return command, false, err
}

// hops is how many answers of agents lead to a post of an agent: one more than the post that it replies to has, and
// without one than the newest post of the room, so that agents outside cannot begin anew with every post.
func (s *core) hops(ctx context.Context, d *room.Draft) (int, error) {
	if d.ReplyTo != "" {
		p, err := s.Rooms.Find(ctx, d.Author, d.ReplyTo)
		if err != nil {
			return 0, failed("read the post that is replied to", err)
		}
		return nextHops(p), nil
	}
	page, err := s.Rooms.History(ctx, room.Query{Room: d.Room, As: d.Author, Limit: 10})
	if err != nil {
		return 0, failed("read the room", err)
	}
	for _, p := range page.Posts {
		if p.Form != room.Message || p.Author == d.Author { // nobody answers the others
			continue
		}
		if s.Now().Sub(p.Created) > s.o.Rules.Rest {
			break
		}
		return nextHops(p), nil
	}
	return 0, nil
}

func nextHops(p room.Post) int {
	return chatter.NextHops(admission.SenderOf(p.Author.Kind, p.Trust), p.Hops)
}

// after does what follows a stored post: the room is told of what it changed, and the agents that it calls answer.
func (s *answering) after(ctx context.Context, members []room.Member, posted room.Posted, notices []string) (
	reached []Reached, woken []string,
) {
	p := posted.Post
	handle := func(agent string) string {
		for _, m := range members {
			if m.ID == agent && m.Kind == dormancy.Agent {
				return m.Name
			}
		}
		return agent
	}
	for _, d := range posted.Woken {
		if name := handle(d.Agent); !slices.Contains(woken, name) {
			woken = append(woken, name)
			s.tell(ctx, p.Room, room.AgentID(d.Agent), "awake/"+p.ID+"/"+d.Agent, selfcommand.AnnounceAwake(name, false))
			s.look(ctx, d.Agent) // what waits from other rooms, and what was held
		}
	}
	var called []room.Delivered
	for _, d := range posted.Delivered {
		w := d.Wake
		reached = append(reached, Reached{handle(w.Agent), w.Outcome, w.Reason, w.Level})
		s.logReached(w)
		switch {
		case d.Item != nil && w.Reason == "":
			called = append(called, d)
		case d.Item != nil:
			s.look(ctx, w.Agent)
			if w.Reason == string(admission.AtLevel) {
				s.tellWaiting(ctx, p, w.Agent, handle(w.Agent))
			}
		case w.Level != dormancy.Sleep && !posted.Existing:
			s.hear(ctx, w.Agent, p)
		}
	}
	for i, text := range notices {
		s.tell(ctx, p.Room, p.Author, fmt.Sprintf("notice/%s/%d", p.ID, i), text)
	}
	if !posted.Existing {
		slices.SortStableFunc(called, func(a, b room.Delivered) int { return placeOf(p, a) - placeOf(p, b) })
		s.answer(called)
	}
	return reached, woken
}

// placeOf is the place at which a post names an agent; those that it does not name come last.
func placeOf(p room.Post, d room.Delivered) int {
	at := slices.IndexFunc(p.Mentions, func(m room.Mention) bool { return m.Who == room.AgentID(d.Wake.Agent) })
	if at < 0 {
		return len(p.Mentions)
	}
	return at
}

func (s *core) logReached(w room.Wake) {
	if w.Outcome == room.Skipped {
		s.Log.Info("a post is not answered", "agent", w.Agent, "room", w.Room, "post", w.Post, "reason", w.Reason,
			"level", w.Level)
	}
}

// tell announces something in a room, once for a key. A failure is logged: nothing depends on it.
func (s *core) tell(ctx context.Context, id string, by room.Who, key, text string) {
	if text == "" {
		return
	}
	_, err := s.Rooms.Post(ctx, room.Draft{
		Room:   id,
		Author: by,
		Key:    key,
		Form:   room.Announcement,
		Body:   text,
		Now:    s.Now().UTC(),
	}, nil)
	if err != nil && !errors.Is(err, room.ErrTaken) {
		s.Log.Warn("a room could not be told", "room", id, "key", key, "error", err)
	}
}

// tellWaiting tells a room, once for each sleep, that the agent sleeps and calls of agents wait.
func (s *core) tellWaiting(ctx context.Context, p room.Post, agent, handle string) {
	states, err := s.Rooms.Dormancy(ctx, agent)
	if err != nil {
		s.Log.Warn("the levels of an agent could not be read", "agent", agent, "error", err)
		return
	}
	state := effective(states, p.Room)
	text := fmt.Sprintf("%s sleeps; what agents say to it waits until it wakes.", handle)
	s.tell(ctx, p.Room, room.AgentID(agent), fmt.Sprintf("waits/%d", state.Sequence), text)
}

// hear lets an agent remember a post that it saw and did not answer.
func (s *core) hear(ctx context.Context, agent string, p room.Post) {
	statements := []psyche.Statement{{Text: p.Body, Taint: p.Taint, Speaker: p.Name}}
	if err := s.Minds.Hear(ctx, agent, roomOwner(p.Room), session(p.Room), statements); err != nil {
		s.Log.Warn("a post could not be remembered", "agent", agent, "room", p.Room, "error", err)
	}
}

// EditRequest replaces the body of a post.
type EditRequest struct {
	Post     string   `json:"-"`
	As       string   `json:"as,omitempty"`
	Revision int      `json:"revision"` // that was read; an older one than the newest is refused
	Body     string   `json:"body"`
	Mentions []string `json:"mentions,omitempty"`
}

// Edit replaces the body of a post by its author. Agents that the edited post calls, and that it did not call before,
// answer it.
func (s *Service) Edit(ctx context.Context, c psyche.Caller, r EditRequest) (PostResult, error) {
	author, err := s.actor(ctx, c, r.As)
	if err != nil {
		return PostResult{}, err
	}
	id, _, err := room.ParsePostID(r.Post)
	if err != nil {
		return PostResult{}, invalid("post", err)
	}
	members, err := s.Rooms.Members(ctx, author, id)
	if err != nil {
		return PostResult{}, failed("edit "+r.Post, err)
	}
	edit := room.Edit{
		Post:     r.Post,
		Author:   author,
		Revision: r.Revision,
		Body:     r.Body,
		Now:      s.Now().UTC(),
	}
	result := PostResult{}
	edit.Mentions, result.Absent = s.named(members, PostRequest{Body: r.Body, Mentions: r.Mentions})
	if err := edit.Validate(); err != nil {
		return result, invalid("body", err)
	}
	rule, notices, err := s.rule(ctx)
	if err != nil {
		return result, err
	}
	posted, err := s.Rooms.Edit(ctx, edit, rule)
	if err != nil {
		return result, failed("edit "+r.Post, err)
	}
	result.Post = posted.Post
	result.Reached, result.Woken = s.after(ctx, members, posted, notices())
	return result, nil
}

// Delete empties a post, by its author or by an owner of the room. What waits because of it is dropped.
func (s *Service) Delete(ctx context.Context, c psyche.Caller, post, as string) (room.Post, error) {
	by, err := s.actor(ctx, c, as)
	if err != nil {
		return room.Post{}, err
	}
	deleted, err := s.Rooms.Delete(ctx, room.Deletion{Post: post, By: by, Now: s.Now().UTC()})
	return deleted, failed("delete "+post, err)
}

// History returns a page of a room's posts, or of a thread's.
func (s *Service) History(ctx context.Context, c psyche.Caller, q room.Query) (room.Page, error) {
	q.As = reader(c)
	page, err := s.Rooms.History(ctx, q)
	return page, failed("read "+q.Room, err)
}

// Events returns what happened in a room after an offset.
func (s *Service) Events(ctx context.Context, c psyche.Caller, id string, after int64, limit int) ([]room.Event, error) {
	events, err := s.Rooms.Events(ctx, reader(c), id, after, limit)
	return events, failed("follow "+id, err)
}

// Await returns when a room has events after an offset.
func (s *Service) Await(ctx context.Context, c psyche.Caller, id string, after int64) error {
	return failed("follow "+id, s.Rooms.Await(ctx, reader(c), id, after))
}

// Find returns a post.
func (s *Service) Find(ctx context.Context, c psyche.Caller, post string) (room.Post, error) {
	p, err := s.Rooms.Find(ctx, reader(c), post)
	return p, failed("read "+post, err)
}

// roomOwner is to whom belongs what agents remember of a room: memories of one room are not recalled in another. No
// principal has such a name.
func roomOwner(id string) psyche.Caller {
	var c psyche.Caller
	c.Key.Principal = "room:" + id
	return c
}

func session(id string) string { return "room/" + id }

// zone is the agent's time zone.
func zone(a dream.Agent) *time.Location {
	at, err := time.LoadLocation(a.Zone)
	if err != nil {
		return time.UTC
	}
	return at
}
