package rooms

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// Store implements the port over a backend.
type Store struct{ backend Backend }

var _ room.Store = (*Store)(nil)

// New returns the rooms that a backend keeps.
func New(b Backend) *Store { return &Store{b} }

// Create makes a room with its owner.
func (s *Store) Create(ctx context.Context, r room.Room, owner room.Member) (room.Room, error) {
	r.Created, r.Posts, r.Events = utc(r.Created), 0, 0
	owner.Room, owner.Role, owner.Joined = r.ID, room.Owner, r.Created
	err := r.Validate()
	if err == nil {
		err = owner.Validate()
	}
	if err == nil && owner.Who != r.By {
		err = fmt.Errorf("by is %s and the owner is %s; they are the same", r.By, owner.Who)
	}
	if err != nil {
		return room.Room{}, store.Wrap(err, "create room ", r.ID)
	}
	return update(ctx, s, "create room "+r.ID, func(t *tx) room.Room { return t.create(r, owner) })
}

func (t *memberTx) create(r room.Room, owner room.Member) room.Room {
	if before, ok := get[room.Room](t.recordTx, roomName(r.ID)); ok {
		if before.Title != r.Title || before.By != r.By || !maps.Equal(before.Meta, r.Meta) {
			t.fail(fmt.Errorf("there is another room of this id, %q by %s: %w", before.Title, before.By, room.ErrTaken))
		}
		return before
	}
	t.setMember(owner)
	t.set(roomName(r.ID), r)
	t.announce(room.Event{Room: r.ID, Type: room.Created, At: r.Created, Who: r.By})
	r, _ = get[room.Room](t.recordTx, roomName(r.ID))
	return r
}

// Get returns a room.
func (s *Store) Get(ctx context.Context, as room.Who, id string) (room.Room, error) {
	return read(ctx, s, "room "+id, func(t *tx) room.Room { return t.visible(as, id) })
}

// List returns the rooms of a member.
func (s *Store) List(ctx context.Context, as room.Who) ([]room.Room, error) {
	return read(ctx, s, "rooms of "+as.String(), func(t *tx) []room.Room {
		prefix := index("member", escape(as.String())) + "/"
		if as == room.AsOperator {
			prefix = index("room") + "/"
		}
		return named[room.Room](t.recordTx, names(t.scan(Range{Prefix: prefix}), prefix, roomName))
	})
}

// names makes the name of a record from the rest of each name of an index.
func names(found []Record, prefix string, name func(rest string) string) []string {
	out := make([]string, len(found))
	for i, record := range found {
		out[i] = name(record.Name[len(prefix):])
	}
	return out
}

// place returns a room.
func (t *memberTx) place(id string) room.Room {
	r, ok := get[room.Room](t.recordTx, roomName(id))
	if !ok {
		t.fail(fmt.Errorf("room %q: %w", id, room.ErrNotFound))
	}
	return r
}

// visible returns a room to one of its members.
func (t *memberTx) visible(as room.Who, id string) room.Room {
	t.fetch(roomName(id), memberName(id, as))
	r := t.place(id)
	if as != room.AsOperator {
		t.member(id, as)
	}
	return r
}

func (t *memberTx) member(id string, who room.Who) room.Member {
	m, ok := get[room.Member](t.recordTx, memberName(id, who))
	if !ok {
		t.fail(fmt.Errorf("%s in room %s: %w", who, id, room.ErrNotMember))
	}
	return m
}

// setMember writes a member. An agent that was removed joins nothing.
func (t *memberTx) setMember(m room.Member) {
	if m.Kind == dormancy.Agent {
		t.agents[m.ID] = true
	}
	t.set(memberName(m.Room, m.Who), m)
}

// announce adds an event to the feed of its room.
func (t *memberTx) announce(e room.Event) {
	r := t.place(e.Room)
	r.Events++
	e.Offset, e.At = r.Events, utc(e.At)
	t.add(eventName(e.Room, e.Offset), e)
	t.set(roomName(e.Room), r)
	t.rooms[e.Room] = true
}

// Join adds or changes a member.
func (s *Store) Join(ctx context.Context, m room.Member) (room.Member, error) {
	m.Joined = utc(m.Joined)
	if err := m.Validate(); err != nil {
		return room.Member{}, store.Wrap(err, "join room ", m.Room)
	}
	return update(ctx, s, "join room "+m.Room, func(t *tx) room.Member { return t.join(m) })
}

func (t *memberTx) join(m room.Member) room.Member {
	t.place(m.Room)
	before, ok := get[room.Member](t.recordTx, memberName(m.Room, m.Who))
	what, at := room.Joined, m.Joined
	if ok {
		what, m.Joined = room.Changed, before.Joined
	}
	if before == m {
		return m
	}
	t.setMember(m)
	t.announce(room.Event{Room: m.Room, Type: what, At: at, Who: m.Who})
	return m
}

// Subscribe switches whether an agent sees every post.
func (s *Store) Subscribe(
	ctx context.Context, id string, who room.Who, on bool, now time.Time,
) (room.Member, error) {
	return update(ctx, s, "subscribe "+who.String()+" to room "+id, func(t *tx) room.Member {
		m := t.member(id, who)
		if m.Subscribed == on {
			return m
		}
		m.Subscribed = on
		t.fail(m.Validate())
		t.setMember(m)
		t.announce(room.Event{Room: id, Type: room.Changed, At: now, Who: who})
		return m
	})
}

// Members lists the members of a room.
func (s *Store) Members(ctx context.Context, as room.Who, id string) ([]room.Member, error) {
	return read(ctx, s, "members of room "+id, func(t *tx) []room.Member {
		t.visible(as, id)
		return slices.Concat(t.membersOf(id, dormancy.Agent), t.membersOf(id, dormancy.Person))
	})
}

func (t *memberTx) membersOf(id string, kind dormancy.Kind) []room.Member {
	return all[room.Member](t.recordTx, Range{Prefix: ofRoom(id, string(kind)) + "/"})
}

// Leave removes a member.
func (s *Store) Leave(ctx context.Context, id string, who room.Who, now time.Time) error {
	_, err := update(ctx, s, who.String()+" leaves room "+id, func(t *tx) struct{} {
		if _, ok := get[room.Member](t.recordTx, memberName(id, who)); ok {
			t.leave(id, who, now)
		}
		return struct{}{}
	})
	return err
}

func (t *tx) leave(id string, who room.Who, now time.Time) {
	t.drop(memberName(id, who))
	if who.Kind == dormancy.Agent {
		for _, item := range t.openItems(who.ID) {
			if item.Room == id {
				t.end(item, room.Dropped, "the agent left the room", now)
			}
		}
		for _, c := range t.checkIns(who.ID) {
			if c.Room == id {
				t.drop(checkInName(who.ID, c.Name))
			}
		}
		if s, ok := get[keptState](t.recordTx, dormancyName(who.ID, id)); ok && s.Level != "" {
			t.set(dormancyName(who.ID, id), keptState{State: s.Clear()})
		}
	}
	t.announce(room.Event{Room: id, Type: room.Left, At: now, Who: who})
}

// Events returns a page of a room's feed.
func (s *Store) Events(
	ctx context.Context, as room.Who, id string, after int64, limit int,
) ([]room.Event, error) {
	return read(ctx, s, "events of room "+id, func(t *tx) []room.Event {
		t.visible(as, id)
		return all[room.Event](t.recordTx, Range{
			Prefix: ofRoom(id, "event") + "/",
			After:  eventName(id, max(after, 0)),
			Limit:  page(limit, room.MaxPage),
		})
	})
}

// Await returns when a room has events after an offset.
func (s *Store) Await(ctx context.Context, as room.Who, id string, after int64) error {
	return store.Wrap(s.backend.AwaitRoom(ctx, id, func() (bool, error) {
		r, err := s.Get(ctx, as, id)
		return r.Events > after, err
	}), "await events of room ", id)
}
