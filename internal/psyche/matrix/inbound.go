package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/mention"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/rooms"
)

// operator is as whom the bridge makes rooms and lets members in.
var operator = psyche.Caller{Key: access.Key{Role: access.Owner, Principal: access.Local}}

// fromEvent is the metadata of a post that names the Matrix event which it was brought from.
const fromEvent = "matrix_event"

func keyOf(e id.EventID) string { return "matrix/" + string(e) }

// joined handles what was said in a room that an account is in.
func (b *Bridge) joined(ctx context.Context, a *account, at id.RoomID, news *mautrix.SyncJoinedRoom, first bool) error {
	if b.nativeOf(at) == "" {
		return nil
	}
	record := b.state.record(at)
	if record == nil {
		err := b.state.update(func() { record = b.recordOf(at) })
		if err != nil {
			return err
		}
	}
	if slices.ContainsFunc(slices.Concat(news.State.Events, news.Timeline.Events), encrypts) {
		return b.refuse(ctx, a, at)
	}
	refused := false
	b.state.read(func() { refused = record.Refused })
	if refused {
		return nil
	}
	entered, err := b.enter(ctx, a, at, titleOf(news))
	if err != nil {
		return err
	}
	p := b.open(at)
	p.mu.Lock()
	defer p.mu.Unlock()
	events, err := b.unseen(ctx, a, p, news, first, entered)
	if err != nil {
		return err
	}
	for _, e := range events {
		if err := b.bring(ctx, p, e); err != nil {
			return fmt.Errorf("bring %s of %s: %w", e.ID, at, err)
		}
		if err := b.pass(p, e); err != nil {
			return err
		}
	}
	return nil
}

func encrypts(e *event.Event) bool {
	return e.Type.Type == event.StateEncryption.Type && e.StateKey != nil
}

// refuse tells a room, once, that it is not served because it is encrypted, and ends its bridge.
func (b *Bridge) refuse(ctx context.Context, a *account, at id.RoomID) error {
	b.refusing.Lock()
	defer b.refusing.Unlock()
	refused := false
	b.state.read(func() { refused = b.recordOf(at).Refused })
	if refused {
		return nil
	}
	b.mu.Lock()
	if p := b.places[at]; p != nil {
		p.end()
	}
	b.mu.Unlock()
	b.Log.Warn("an encrypted room is not served", "account", a.user, "room", at)
	content := event.MessageEventContent{MsgType: event.MsgNotice, Body: "This room is encrypted, and Oneiros does not read " +
		"encrypted rooms: agents see nothing of it and answer nothing here. Invite them into a room without encryption."}
	_, err := b.deliver(ctx, a, at, "refused/"+string(at), content, true)
	if unlessRefused(err) != nil {
		return err
	}
	return b.state.update(func() { b.recordOf(at).Refused = true })
}

func titleOf(news *mautrix.SyncJoinedRoom) string {
	title := ""
	for _, e := range slices.Concat(news.State.Events, news.Timeline.Events) {
		name, _ := e.Content.Raw["name"].(string)
		if e.Type.Type == event.StateRoomName.Type && e.StateKey != nil && len(name) <= room.MaxText {
			title = name
		}
	}
	return title
}

// enter makes the native room where there is none, and lets the agents in whose accounts are in the Matrix room: not
// only that of a, because what mentions another may be handled before the other's own news. entered says that a was not
// there before.
func (b *Bridge) enter(ctx context.Context, a *account, at id.RoomID, title string) (entered bool, err error) {
	var record roomRecord
	b.state.read(func() { record = *b.state.Rooms[at] })
	if slices.Contains(record.Members, a.user) {
		return false, nil
	}
	native := b.nativeOf(at)
	place, err := b.Store.Get(ctx, room.AsOperator, native)
	if errors.Is(err, room.ErrNotFound) {
		place, err = b.Rooms.Create(ctx, operator, rooms.CreateRequest{
			ID:    native,
			Title: title,
			Meta:  map[string]string{"matrix_room": string(at), rooms.Replies: rooms.InThreads},
		})
	}
	if err != nil {
		return false, err
	}
	if len(record.Members) == 0 && record.After == 0 {
		err := b.state.update(func() { b.recordOf(at).After = place.Events })
		if err != nil {
			return false, err
		}
	}
	var there *mautrix.RespJoinedMembers
	err = b.persist(ctx, "list the members of a room", func(ctx context.Context) (err error) {
		there, err = a.client.JoinedMembers(ctx, at)
		return err
	})
	if err != nil {
		return false, unlessRefused(err)
	}
	for _, other := range b.accounts {
		if _, in := there.Joined[other.user]; in {
			if err := b.admit(ctx, other, at); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// admit lets the agent of an account into a native room.
func (b *Bridge) admit(ctx context.Context, a *account, at id.RoomID) error {
	var record roomRecord
	b.state.read(func() { record = *b.state.Rooms[at] })
	if slices.Contains(record.Members, a.user) {
		return nil
	}
	members, err := b.Store.Members(ctx, room.AsOperator, record.Native)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(members, func(m room.Member) bool { return m.Who == room.AgentID(a.agent.ID) }) {
		_, err := b.Rooms.Join(ctx, operator, rooms.JoinRequest{
			Room:       record.Native,
			Agent:      a.Handle,
			Subscribed: b.o.Subscribe || record.Direct,
		})
		if err != nil {
			return err
		}
	}
	b.Log.Info("a Matrix room is bridged", "agent", a.Handle, "room", record.Native, "matrix", at)
	return b.state.update(func() {
		r := b.recordOf(at)
		if !slices.Contains(r.Members, a.user) {
			r.Members = append(r.Members, a.user)
		}
	})
}

// unseen are the events of a room that were not handled yet, oldest first. What was said before the account joined, or
// before the bridge knew it, counts as handled. A gap is filled.
func (b *Bridge) unseen(ctx context.Context, a *account, p *place, news *mautrix.SyncJoinedRoom, first, entered bool) (
	[]*event.Event, error,
) {
	var seen []id.EventID
	invited := false
	b.state.read(func() {
		r := b.state.Rooms[p.id]
		seen, invited = slices.Clone(r.Seen), slices.Contains(r.Invited, a.user)
	})
	events := news.Timeline.Events
	if len(seen) == 0 && (first || entered) && !invited {
		return nil, b.pass(p, events...)
	}
	begins := func(e *event.Event) bool { // nothing before it is for us
		own := e.Type.Type == event.StateMember.Type && e.GetStateKey() == string(a.user)
		return slices.Contains(seen, e.ID) || len(seen) == 0 && own && e.Content.Raw["membership"] == "join"
	}
	if news.Timeline.Limited && !slices.ContainsFunc(events, begins) {
		missed, err := b.missed(ctx, a, p, news.Timeline.PrevBatch, begins)
		if err != nil {
			return nil, err
		}
		events = append(missed, events...)
	}
	if at := lastIndex(events, begins); at >= 0 && len(seen) == 0 {
		events = events[at:]
	}
	return slices.DeleteFunc(slices.Clone(events), func(e *event.Event) bool { return slices.Contains(seen, e.ID) }), nil
}

func lastIndex(events []*event.Event, is func(*event.Event) bool) int {
	for i := len(events) - 1; i >= 0; i-- {
		if is(events[i]) {
			return i
		}
	}
	return -1
}

// pass notes events as handled.
func (b *Bridge) pass(p *place, events ...*event.Event) error {
	return b.state.update(func() {
		for _, e := range events {
			b.recordOf(p.id).saw(e.ID)
		}
	})
}

// Pages of a gap.
const (
	pageSize  = 100
	mostPages = 50
)

// missed reads a gap backwards, until something that ends it. It returns the events oldest first.
func (b *Bridge) missed(ctx context.Context, a *account, p *place, from string, ends func(*event.Event) bool) (
	[]*event.Event, error,
) {
	var found []*event.Event
	for range mostPages {
		var page *mautrix.RespMessages
		err := b.persist(ctx, "read a gap", func(ctx context.Context) (err error) {
			page, err = a.client.Messages(ctx, p.id, from, "", mautrix.DirectionBackward, nil, pageSize)
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, e := range page.Chunk {
			found = append(found, e)
			if ends(e) {
				slices.Reverse(found)
				return found, nil
			}
		}
		if page.End == "" || page.End == from || len(page.Chunk) == 0 {
			break
		}
		from = page.End
	}
	b.Log.Warn("a gap is too long to be filled whole", "room", p.native, "events", len(found))
	slices.Reverse(found)
	return found, nil
}

// bring handles one event of a room. It may be repeated.
func (b *Bridge) bring(ctx context.Context, p *place, e *event.Event) error {
	switch {
	case e.Type.Type == event.StateMember.Type && e.Content.Raw["membership"] == "join":
		if a := b.ours(id.UserID(e.GetStateKey())); a != nil {
			return b.admit(ctx, a, p.id)
		}
		return nil
	case e.Type.Type == event.EventRedaction.Type:
		return b.redacted(ctx, p, e)
	case e.Type.Type != event.EventMessage.Type || e.StateKey != nil || len(e.Content.Raw) == 0:
		return nil
	}
	own := b.ours(e.Sender)
	if mark, ok := e.Content.Raw[marked].(string); ok && own != nil {
		return b.state.update(func() { b.recordOf(p.id).carried(mark, e.ID) })
	}
	var content event.MessageEventContent
	if err := json.Unmarshal(e.Content.VeryRaw, &content); err != nil {
		return nil // it is no message that a client could show
	}
	if own == nil && content.MsgType == event.MsgNotice {
		return nil // of a program: nobody answers it
	}
	author, err := b.author(ctx, p, e.Sender)
	if err != nil {
		return final(err)
	}
	if original := content.RelatesTo.GetReplaceID(); original != "" {
		return b.edited(ctx, p, e, original, content)
	}
	content.RemoveReplyFallback()
	body := b.text(e.Sender, content)
	post := rooms.PostRequest{
		Room:     p.native,
		Body:     body,
		Key:      keyOf(e.ID),
		Notice:   content.MsgType == event.MsgNotice,
		Mentions: b.named(content.Mentions, body),
		Meta:     map[string]string{fromEvent: string(e.ID)},
	}
	post.Thread, post.ReplyTo, err = b.relation(ctx, p, content.RelatesTo)
	if err != nil {
		return err
	}
	_, err = b.Rooms.Bring(ctx, author, post)
	if err != nil && final(err) == nil {
		b.Log.Warn("a message could not be brought", "room", p.native, "event", e.ID, "error", err)
	}
	return final(err)
}

// author lets the sender of an event into the native room, and returns who it is there.
func (b *Bridge) author(ctx context.Context, p *place, user id.UserID) (room.Who, error) {
	if own := b.ours(user); own != nil {
		return room.AgentID(own.agent.ID), nil
	}
	who, trust := room.PersonID(string(user)), dormancy.Stranger
	if b.counts(user) {
		trust = dormancy.Own
	}
	members, err := b.Store.Members(ctx, room.AsOperator, p.native)
	if err != nil {
		return who, err
	}
	if slices.ContainsFunc(members, func(m room.Member) bool { return m.Who == who && m.Trust == trust }) {
		return who, nil
	}
	join := rooms.JoinRequest{Room: p.native, Person: who.ID, Trust: trust, Name: strings.TrimPrefix(string(user), "@")}
	taken := func(m room.Member) bool { return m.Who != who && strings.EqualFold(m.Name, user.Localpart()) }
	if user.Homeserver() == b.accounts[0].user.Homeserver() && !slices.ContainsFunc(members, taken) {
		short := join
		short.Name = user.Localpart()
		if _, err := b.Rooms.Join(ctx, operator, short); err == nil || final(err) != nil {
			return who, err
		} // an agent has that name
	}
	_, err = b.Rooms.Join(ctx, operator, join)
	return who, err
}

// text is what a message says. What is no text is named.
func (r roster) text(sender id.UserID, content event.MessageEventContent) string {
	body := content.Body
	for _, a := range r.accounts {
		body = strings.ReplaceAll(body, string(a.user), "@"+a.Handle)
	}
	switch content.MsgType {
	case event.MsgText, event.MsgNotice:
		return body
	case event.MsgEmote:
		return "* " + sender.Localpart() + " " + body
	case event.MsgImage, event.MsgVideo, event.MsgAudio, event.MsgFile:
		kind := strings.TrimPrefix(string(content.MsgType), "m.")
		if caption := content.GetCaption(); caption != "" {
			return fmt.Sprintf("%s (with a file of kind %s: %s)", caption, kind, content.GetFileName())
		}
		return fmt.Sprintf("(a file of kind %s: %s)", kind, body)
	}
	return body
}

// named are the handles of the agents that a message mentions by their accounts: as its text names them, then others.
func (r roster) named(m *event.Mentions, body string) []string {
	if m == nil {
		return nil
	}
	var handles []string
	for _, user := range m.UserIDs {
		if a := r.ours(user); a != nil {
			handles = append(handles, a.Handle)
		}
	}
	written, _ := mention.Merge(nil, body)
	place := func(handle string) int {
		at := slices.Index(written, handle)
		if at < 0 {
			return len(written)
		}
		return at
	}
	slices.SortStableFunc(handles, func(a, b string) int { return place(a) - place(b) })
	return handles
}

// relation finds the posts on which a message hangs and to which it replies; empty where they were not brought.
func (b *Bridge) relation(ctx context.Context, p *place, rel *event.RelatesTo) (thread, replyTo string, err error) {
	if to := rel.GetReplyTo(); to != "" {
		found, err := b.postOf(ctx, p, to)
		if err != nil {
			return "", "", err
		}
		if found != nil {
			replyTo = found.ID
		}
	}
	if root := rel.GetThreadParent(); root != "" {
		found, err := b.postOf(ctx, p, root)
		if err != nil {
			return "", "", err
		}
		if found != nil {
			thread = found.ID
			if found.Thread != "" {
				thread = found.Thread
			}
		}
	}
	return thread, replyTo, nil
}

// postOf finds the post of an event: one that was brought from it, or one that it carries. nil when there is none.
func (b *Bridge) postOf(ctx context.Context, p *place, e id.EventID) (*room.Post, error) {
	var carried string
	b.state.read(func() { carried = b.recordOf(p.id).postOf(e) })
	var found room.Post
	var err error
	if carried != "" {
		found, err = b.Store.Find(ctx, room.AsOperator, carried)
	} else {
		found, err = b.Store.FindKey(ctx, room.AsOperator, p.native, keyOf(e))
	}
	if errors.Is(err, room.ErrNotFound) {
		return nil, nil
	}
	return &found, err
}

// actingAs is the caller that acts as the author of a post.
func actingAs(who room.Who) (c psyche.Caller, handle string) {
	if who.Kind == dormancy.Agent {
		return operator, who.ID
	}
	return psyche.Caller{Key: access.Key{Role: access.Client, Principal: who.ID}}, ""
}

// edited changes a post whose event was replaced by its sender.
func (b *Bridge) edited(ctx context.Context, p *place, e *event.Event, original id.EventID, content event.MessageEventContent) error {
	found, err := b.postOf(ctx, p, original)
	if err != nil || found == nil || found.State != room.Live || content.NewContent == nil {
		return err
	}
	next := *content.NewContent
	next.RemoveReplyFallback()
	body := b.text(e.Sender, next)
	author, err := b.author(ctx, p, e.Sender)
	if err != nil || author != found.Author || body == found.Body {
		return final(err)
	}
	caller, handle := actingAs(found.Author)
	_, err = b.Rooms.Edit(ctx, caller, rooms.EditRequest{
		Post:     found.ID,
		As:       handle,
		Revision: found.Revision,
		Body:     body,
		Mentions: b.named(next.Mentions, body),
	})
	return final(err)
}

// redacted empties the post of an event that was redacted; the homeserver has decided who may.
func (b *Bridge) redacted(ctx context.Context, p *place, e *event.Event) error {
	removed := e.Redacts
	if named, ok := e.Content.Raw["redacts"].(string); ok {
		removed = id.EventID(named)
	}
	if own := b.ours(e.Sender); own != nil && e.Content.Raw["reason"] == redaction {
		return nil
	}
	found, err := b.postOf(ctx, p, removed)
	if err != nil || found == nil || found.State != room.Live {
		return err
	}
	caller, handle := actingAs(found.Author)
	_, err = b.Rooms.Delete(ctx, caller, found.ID, handle)
	return final(err)
}
