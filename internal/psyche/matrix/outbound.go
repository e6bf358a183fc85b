package matrix

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/mention"
	"github.com/seed-56a03226/oneiros/internal/selfcommand"
)

const (
	// marked is the field of an event that names what it carries: the id of a post, and of an edit its revision.
	marked = "org.oneiros.post"
	// redaction is the reason of redactions that follow a deletion in a native room.
	redaction = "deleted in Oneiros"
	// longest is how many bytes of a post are sent: an event has at most 64 KiB, with its text as HTML, too.
	longest = 20 << 10
)

// message is the content of an event that we send.
type message struct {
	event.MessageEventContent
	Mark string `json:"org.oneiros.post"`
}

// send sends what happens in a native room, from where it was left, until ctx ends.
func (b *Bridge) send(ctx context.Context, p *place) {
	unsure := true // whether the first post was sent before the bridge ended the last time
	for ctx.Err() == nil {
		b.insist(ctx, "send what was answered", func() error {
			var after int64
			b.state.read(func() { after = b.recordOf(p.id).After })
			events, err := b.Store.Events(ctx, room.AsOperator, p.native, after, 0)
			if err != nil {
				return err
			}
			for _, e := range events {
				if err := b.carry(ctx, p, e, unsure); err != nil {
					return err
				}
				unsure = unsure && e.Type != room.Added
				err := b.state.update(func() { b.recordOf(p.id).After = e.Offset })
				if err != nil {
					return err
				}
				after = e.Offset
			}
			return b.Store.Await(ctx, room.AsOperator, p.native, after)
		})
	}
}

// carry sends one event of a native room.
func (b *Bridge) carry(ctx context.Context, p *place, e room.Event, unsure bool) error {
	switch e.Type {
	case room.Added, room.Edited:
		found, err := b.Store.Find(ctx, room.AsOperator, e.Post)
		if err != nil || found.State != room.Live || found.Meta[fromEvent] != "" {
			return err
		}
		if e.Type == room.Edited {
			return b.replace(ctx, p, found, unsure)
		}
		return b.post(ctx, p, found, unsure)
	case room.Deleted:
		return b.withdraw(ctx, p, e.Post)
	case room.Reset:
		for _, a := range b.accounts {
			if e.Who == room.AgentID(a.agent.ID) {
				b.present(ctx, a)
			}
		}
	}
	return nil
}

// speaker is the account that sends a post: its author's, or another one of the room that says who wrote it. nil when
// none of ours is in the room.
func (b *Bridge) speaker(p *place, author room.Who) (speaker *account, own bool) {
	var members []id.UserID
	b.state.read(func() { members = slices.Clone(b.recordOf(p.id).Members) })
	for _, user := range members {
		a := b.ours(user)
		if a == nil || a.removed() {
			continue
		}
		if author == room.AgentID(a.agent.ID) {
			return a, true
		}
		if speaker == nil {
			speaker = a
		}
	}
	return speaker, false
}

func (a *account) removed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.dead
}

func (b *Bridge) post(ctx context.Context, p *place, post room.Post, unsure bool) error {
	a, own := b.speaker(p, post.Author)
	if a == nil {
		return nil
	}
	content, err := b.content(ctx, p, post, own)
	if err != nil {
		return err
	}
	content.RelatesTo, err = b.hangsOn(ctx, p, post)
	if err != nil {
		return err
	}
	sent, err := b.deliver(ctx, a, p.id, post.ID, content, unsure)
	if refused(err) {
		b.Log.Warn("an answer could not be sent", "account", a.user, "room", p.native, "post", post.ID, "error", err)
		return nil
	}
	if err != nil {
		return err
	}
	return b.state.update(func() { b.recordOf(p.id).carried(post.ID, sent) })
}

// replace sends the new text of a post that was edited.
func (b *Bridge) replace(ctx context.Context, p *place, post room.Post, unsure bool) error {
	original, err := b.eventOf(ctx, p, post.ID)
	a, own := b.speaker(p, post.Author)
	if err != nil || original == "" || a == nil {
		return err
	}
	content, err := b.content(ctx, p, post, own)
	if err != nil {
		return err
	}
	content.SetEdit(original)
	_, err = b.deliver(ctx, a, p.id, fmt.Sprintf("%s#%d", post.ID, post.Revision), content, unsure)
	return unlessRefused(err)
}

// withdraw redacts the event of a post that was deleted.
func (b *Bridge) withdraw(ctx context.Context, p *place, post string) error {
	var carried id.EventID
	b.state.read(func() { carried = b.recordOf(p.id).eventOf(post) })
	if carried == "" {
		return nil
	}
	found, err := b.Store.Find(ctx, room.AsOperator, post)
	a, _ := b.speaker(p, found.Author)
	if err != nil || a == nil {
		return err
	}
	err = b.persist(ctx, "redact", func(ctx context.Context) error {
		_, err := a.client.RedactEvent(ctx, p.id, carried, mautrix.ReqRedact{
			Reason: redaction,
			TxnID:  transaction(post + "#deleted"),
		})
		return err
	})
	return unlessRefused(err)
}

// content is a post as Matrix shows it: a notice, so that no program answers it, with typed mentions.
func (b *Bridge) content(ctx context.Context, p *place, post room.Post, own bool) (event.MessageEventContent, error) {
	body := post.Body
	if len(body) > longest {
		body = strings.ToValidUTF8(body[:longest], "") + "…"
	}
	if !own && post.Form != room.Announcement {
		body = post.Name + ": " + body
	}
	content := event.MessageEventContent{MsgType: event.MsgNotice, Body: body, Mentions: &event.Mentions{}}
	links := map[string]string{}
	for _, m := range post.Mentions {
		user := id.UserID(m.ID)
		if m.Kind == dormancy.Agent {
			at := slices.IndexFunc(b.accounts, func(a *account) bool { return a.agent.ID == m.ID })
			if at < 0 {
				continue
			}
			user = b.accounts[at].user
		}
		if strings.HasPrefix(string(user), "@") {
			content.Mentions.Add(user)
			links[strings.ToLower(m.Name)] = user.URI().MatrixToURL()
		}
	}
	if len(links) > 0 {
		content.Format = event.FormatHTML
		content.FormattedBody = linked(body, links)
	}
	return content, nil
}

// linked is a text as HTML in which mentions are links.
func linked(text string, links map[string]string) string {
	var out strings.Builder
	done := 0
	found, _ := mention.Extract(text)
	for _, m := range found {
		if to := links[m.Handle]; to != "" {
			out.WriteString(event.TextToHTML(text[done:m.Start]))
			fmt.Fprintf(&out, `<a href="%s">%s</a>`, event.TextToHTML(to), event.TextToHTML(text[m.Start:m.End]))
			done = m.End
		}
	}
	return out.String() + event.TextToHTML(text[done:])
}

// hangsOn is the relation of a post: it hangs on the first post of its thread, and replies to a post.
func (b *Bridge) hangsOn(ctx context.Context, p *place, post room.Post) (*event.RelatesTo, error) {
	var replyTo, root id.EventID
	var err error
	if post.ReplyTo != "" {
		replyTo, err = b.eventOf(ctx, p, post.ReplyTo)
	}
	if post.Thread != "" && err == nil {
		root, err = b.eventOf(ctx, p, post.Thread)
	}
	if err != nil || replyTo == "" && root == "" {
		return nil, err
	}
	relation := &event.RelatesTo{}
	if root != "" {
		relation.SetThread(root, "")
	}
	if replyTo != "" {
		relation.SetReplyTo(replyTo)
	}
	return relation, nil
}

// eventOf is the Matrix event of a post: the one that it was brought from, or that carries it. Empty when there is none.
func (b *Bridge) eventOf(ctx context.Context, p *place, post string) (id.EventID, error) {
	var carried id.EventID
	b.state.read(func() { carried = b.recordOf(p.id).eventOf(post) })
	if carried != "" {
		return carried, nil
	}
	found, err := b.Store.Find(ctx, room.AsOperator, post)
	if errors.Is(err, room.ErrNotFound) {
		return "", nil
	}
	return id.EventID(found.Meta[fromEvent]), err
}

// transaction names a request to send, so that a homeserver that has carried it out does not do so again.
func transaction(mark string) string {
	return "oneiros." + strings.NewReplacer("/", ".", "#", ".").Replace(mark)
}

// deliver sends an event, once for its mark. Transactions end with the login; unsure looks in the room first.
func (b *Bridge) deliver(ctx context.Context, a *account, at id.RoomID, mark string, content event.MessageEventContent,
	unsure bool,
) (sent id.EventID, err error) {
	if unsure {
		sent, err = b.sentBefore(ctx, a, at, mark)
		if sent != "" || err != nil {
			return sent, err
		}
	}
	err = b.persist(ctx, "send", func(ctx context.Context) error {
		answer, err := a.client.SendMessageEvent(ctx, at, event.EventMessage, message{content, mark},
			mautrix.ReqSendEvent{TransactionID: transaction(mark)})
		if err == nil {
			sent = answer.EventID
		}
		return err
	})
	return sent, err
}

// sentBefore finds an event with a mark among the newest of a room; empty when there is none.
func (b *Bridge) sentBefore(ctx context.Context, a *account, at id.RoomID, mark string) (found id.EventID, err error) {
	err = b.persist(ctx, "look what was sent", func(ctx context.Context) error {
		page, err := a.client.Messages(ctx, at, "", "", mautrix.DirectionBackward, nil, pageSize)
		if err != nil {
			return err
		}
		for _, e := range page.Chunk {
			if e.Content.Raw[marked] == mark && b.ours(e.Sender) != nil {
				found = e.ID
			}
		}
		return nil
	})
	return found, err
}

// badges are the levels as Matrix shows them.
var badges = map[dormancy.Level]event.Presence{
	"":                   event.PresenceOnline,
	dormancy.Active:      event.PresenceOnline,
	dormancy.MentionOnly: event.PresenceUnavailable,
	dormancy.HumanOnly:   event.PresenceUnavailable,
	dormancy.Sleep:       event.PresenceOffline,
}

// present shows the level of an agent beside its name. Nothing depends on it: where it fails, it is shown with the next
// change.
func (b *Bridge) present(ctx context.Context, a *account) {
	states, err := b.Store.Dormancy(ctx, a.agent.ID)
	if err != nil {
		b.Log.Warn("the level of an agent could not be read", "agent", a.Handle, "error", err)
		return
	}
	var general dormancy.State
	for _, d := range states {
		if d.Room == "" {
			general = d.State
		}
	}
	zone, err := time.LoadLocation(a.agent.Zone)
	if err != nil {
		zone = time.UTC
	}
	badge := mautrix.ReqPresence{
		Presence:  badges[general.Level],
		StatusMsg: selfcommand.StatusOf(general, b.Now().In(zone)),
	}
	a.mu.Lock()
	same := a.shown == badge
	a.shown = badge
	a.mu.Unlock()
	if same {
		return
	}
	err = b.persist(ctx, "show a level", func(ctx context.Context) error { return a.client.SetPresence(ctx, badge) })
	if err != nil && ctx.Err() == nil {
		b.Log.Warn("a level could not be shown", "agent", a.Handle, "error", err)
	}
}

// presence is what polling for news shows.
func (a *account) presence() event.Presence {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.shown.Presence
}
