package rooms

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// Post stores a draft with everything that follows from it.
func (s *Store) Post(ctx context.Context, d room.Draft, rule room.Rule) (room.Posted, error) {
	if err := d.Validate(); err != nil {
		return room.Posted{}, store.Wrap(err, "post to room ", d.Room)
	}
	return update(ctx, s, "post to room "+d.Room, func(t *tx) room.Posted { return t.post(d, rule) })
}

func (t *tx) post(d room.Draft, rule room.Rule) room.Posted {
	t.fetch(roomName(d.Room), memberName(d.Room, d.Author))
	t.place(d.Room)
	author := t.member(d.Room, d.Author)
	digest := digestOf(d)
	if offset := t.last(keyIndex(d.Room, d.Author, d.Key)); offset != 0 {
		return t.posted(d, offset, digest)
	}
	if author.Role == room.Reader {
		t.fail(fmt.Errorf("%s is a reader of room %s: %w", d.Author, d.Room, room.ErrForbidden))
	}
	p, parent := t.draftedPost(d, author)
	m := t.meet(p, author, parent, d.Now)
	decided := m.decide(rule)
	if t.err != nil {
		return room.Posted{}
	}
	r := t.place(d.Room)
	r.Posts++
	t.set(roomName(d.Room), r)
	t.add(postName(p.Room, p.Offset), keptPost{Post: p, Key: d.Key, Digest: digest})
	if author.Kind == dormancy.Agent {
		t.agents[author.ID] = true
	}
	t.announce(room.Event{
		Room:     p.Room,
		Type:     room.Added,
		At:       d.Now,
		Who:      p.Author,
		Post:     p.ID,
		Revision: 1,
	})
	out := room.Posted{Post: p}
	out.Delivered, out.Woken = m.carryOut(decided, callOf(p))
	m.follow(decided)
	return out
}

// digestOf recognises a repeated draft. The time and the metadata of a client may differ.
func digestOf(d room.Draft) string {
	body, err := json.Marshal([]string{d.ReplyTo, d.Thread, string(d.Form), d.Body})
	if err != nil {
		return "" // strings always encode
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:16])
}

// posted returns what an earlier call has stored.
func (t *tx) posted(d room.Draft, offset int64, digest string) room.Posted {
	p := t.postAt(d.Room, offset)
	if p.Digest != "" && p.Digest != digest { // what was forgotten has none
		t.fail(fmt.Errorf("key %q belongs to post %s of another content: %w", d.Key, p.ID, room.ErrTaken))
	}
	out := room.Posted{Post: p.Post, Existing: true}
	for _, m := range t.membersOf(d.Room, dormancy.Agent) {
		if w, ok := t.wakeOf(m.ID, p.ID); ok {
			out.Delivered = append(out.Delivered, room.Delivered{Wake: w, Item: t.itemOf(m.ID, p.ID)})
		}
	}
	return out
}

func (t *tx) postAt(id string, offset int64) keptPost {
	p, ok := get[keptPost](t.recordTx, postName(id, offset))
	if !ok {
		t.fail(fmt.Errorf("post %s: %w", room.PostID(id, offset), room.ErrNotFound))
	}
	return p
}

// postOf returns a post by its id.
func (t *tx) postOf(id string) keptPost {
	in, offset, err := room.ParsePostID(id)
	t.fail(err)
	return t.postAt(in, offset)
}

// draftedPost makes the post of a draft, and returns the post that it replies to.
func (t *tx) draftedPost(d room.Draft, author room.Member) (room.Post, *room.Post) {
	p := room.Post{
		Room:     d.Room,
		Offset:   t.place(d.Room).Posts + 1,
		Thread:   d.Thread,
		ReplyTo:  d.ReplyTo,
		Author:   d.Author,
		Name:     author.Name,
		Trust:    author.Trust,
		Taint:    author.Taint(),
		Form:     d.Form,
		Body:     d.Body,
		Mentions: d.Mentions,
		Hops:     d.Hops,
		Meta:     d.Meta,
		Created:  utc(d.Now),
		Revision: 1,
		State:    room.Live,
	}
	p.ID = room.PostID(p.Room, p.Offset)
	if p.Form == "" {
		p.Form = room.Message
	}
	var parent *room.Post
	if d.ReplyTo != "" {
		found := t.within(d.Room, d.ReplyTo)
		parent = &found
	}
	if p.Thread == "" && parent != nil {
		p.Thread = parent.Thread
	}
	if p.Thread != "" && t.within(d.Room, p.Thread).Thread != "" {
		t.fail(fmt.Errorf("thread is %s, which is in a thread itself; name the post that it hangs on", p.Thread))
	}
	return p, parent
}

// within returns a post that must be of this room.
func (t *tx) within(id, post string) room.Post {
	in, _, err := room.ParsePostID(post)
	t.fail(err)
	if err == nil && in != id {
		t.fail(fmt.Errorf("post %s is of another room than %s: %w", post, id, room.ErrNotFound))
	}
	return t.postOf(post).Post
}

// Edit stores a new revision of a post.
func (s *Store) Edit(ctx context.Context, e room.Edit, rule room.Rule) (room.Posted, error) {
	if err := e.Validate(); err != nil {
		return room.Posted{}, store.Wrap(err, "edit post ", e.Post)
	}
	return update(ctx, s, "edit post "+e.Post, func(t *tx) room.Posted { return t.edit(e, rule) })
}

func (t *tx) edit(e room.Edit, rule room.Rule) room.Posted {
	kept := t.postOf(e.Post)
	p := kept.Post
	if t.err != nil {
		return room.Posted{}
	}
	author := t.member(p.Room, e.Author)
	switch {
	case p.Author != e.Author:
		t.fail(fmt.Errorf("it was written by %s: %w", p.Author, room.ErrForbidden))
	case author.Role == room.Reader:
		t.fail(fmt.Errorf("%s is a reader of room %s: %w", e.Author, p.Room, room.ErrForbidden))
	case p.State != room.Live:
		t.fail(fmt.Errorf("it was deleted: %w", room.ErrNotFound))
	case p.Revision == e.Revision+1 && p.Body == e.Body: // the answer to the first call was lost
		return room.Posted{Post: p, Existing: true}
	case p.Revision != e.Revision:
		t.fail(fmt.Errorf("its revision is %d, and %d was read: %w", p.Revision, e.Revision, room.ErrStale))
	}
	p.Body, p.Mentions = e.Body, e.Mentions
	p.Edited, p.Revision = utc(e.Now), p.Revision+1
	var parent *room.Post
	if p.ReplyTo != "" {
		found := t.postOf(p.ReplyTo).Post
		parent = &found
	}
	m := t.meet(p, author, parent, e.Now)
	m.Edited = true
	decided := m.decide(rule)
	kept.Post = p
	t.set(postName(p.Room, p.Offset), kept)
	t.announce(room.Event{
		Room:     p.Room,
		Type:     room.Edited,
		At:       e.Now,
		Who:      p.Author,
		Post:     p.ID,
		Revision: p.Revision,
	})
	out := room.Posted{Post: p}
	out.Delivered, out.Woken = m.carryOut(decided, callOf(p))
	return out
}

// Delete empties a post.
func (s *Store) Delete(ctx context.Context, d room.Deletion) (room.Post, error) {
	return update(ctx, s, "delete post "+d.Post, func(t *tx) room.Post {
		kept := t.postOf(d.Post)
		if t.err != nil || kept.State != room.Live {
			return kept.Post
		}
		if d.By != room.AsOperator {
			by := t.member(kept.Room, d.By)
			if kept.Author != d.By && by.Role != room.Owner {
				t.fail(fmt.Errorf("it was written by %s: %w", kept.Author, room.ErrForbidden))
			}
		}
		return t.empty(kept, d.By, d.Now)
	})
}

// empty deletes what a post says, and drops what waits because of it.
func (t *tx) empty(kept keptPost, by room.Who, now time.Time) room.Post {
	kept.Body, kept.Digest = "", ""
	kept.Mentions, kept.Meta = nil, nil
	kept.State, kept.Edited, kept.Revision = room.Emptied, utc(now), kept.Revision+1
	t.set(postName(kept.Room, kept.Offset), kept)
	for _, m := range t.membersOf(kept.Room, dormancy.Agent) {
		if item := t.itemOf(m.ID, kept.ID); item != nil && !item.State.Final() {
			t.end(*item, room.Dropped, "the post was deleted", now)
		}
	}
	t.announce(room.Event{
		Room:     kept.Room,
		Type:     room.Deleted,
		At:       now,
		Who:      by,
		Post:     kept.ID,
		Revision: kept.Revision,
	})
	return kept.Post
}

// Find returns a post.
func (s *Store) Find(ctx context.Context, as room.Who, id string) (room.Post, error) {
	return read(ctx, s, "post "+id, func(t *tx) room.Post {
		in, offset, err := room.ParsePostID(id)
		t.fail(err)
		if t.err != nil {
			return room.Post{}
		}
		t.visible(as, in)
		return t.postAt(in, offset).Post
	})
}

// FindKey returns a post by its client's key.
func (s *Store) FindKey(ctx context.Context, as room.Who, id, key string) (room.Post, error) {
	return read(ctx, s, fmt.Sprintf("post %q of room %s", key, id), func(t *tx) room.Post {
		t.visible(as, id)
		offset := t.last(index("key", id, escape(key)) + "/")
		if offset == 0 {
			t.fail(room.ErrNotFound)
			return room.Post{}
		}
		return t.postAt(id, offset).Post
	})
}

// History returns a page of posts.
func (s *Store) History(ctx context.Context, q room.Query) (room.Page, error) {
	return read(ctx, s, "history of room "+q.Room, func(t *tx) room.Page {
		t.visible(q.As, q.Room)
		limit := page(q.Limit, room.MaxPage)
		var kept []keptPost
		if q.Thread == "" {
			kept = all[keptPost](t.recordTx, pageOf(q, ofRoom(q.Room, "post")+"/", limit+1))
		} else {
			kept = t.thread(q, limit+1)
		}
		out := room.Page{Posts: []room.Post{}, More: len(kept) > limit}
		for _, p := range kept[:min(limit, len(kept))] {
			out.Posts = append(out.Posts, p.Post)
		}
		return out
	})
}

// pageOf returns the range of a query among records whose names end with an offset.
func pageOf(q room.Query, prefix string, limit int) Range {
	r := Range{Prefix: prefix, Back: q.From == room.Newest, Limit: limit}
	if q.After > 0 {
		r.After = prefix + number(q.After)
	}
	if q.Before > 0 {
		r.Before = prefix + number(q.Before)
	}
	return r
}

// thread returns posts of a thread with the post that it hangs on, which is older than all others.
func (t *tx) thread(q room.Query, limit int) []keptPost {
	t.within(q.Room, q.Thread)
	_, root, err := room.ParsePostID(q.Thread)
	t.fail(err)
	offsets := t.numbers(pageOf(q, index("thread", q.Room, number(root))+"/", limit))
	if root > q.After && (q.Before == 0 || root < q.Before) {
		if q.From == room.Newest {
			offsets = append(offsets, root)
		} else {
			offsets = slices.Insert(offsets, 0, root)
		}
	}
	offsets = offsets[:min(limit, len(offsets))]
	posts := make([]string, len(offsets))
	for i, offset := range offsets {
		posts[i] = postName(q.Room, offset)
	}
	return named[keptPost](t.recordTx, posts)
}
