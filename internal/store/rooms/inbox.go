package rooms

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// Send puts a message into an inbox.
func (s *Store) Send(ctx context.Context, d room.Direct, rule room.Rule) (room.Sent, error) {
	if err := d.Validate(); err != nil {
		return room.Sent{}, store.Wrap(err, "send to ", d.Agent)
	}
	return update(ctx, s, "send to "+d.Agent, func(t *tx) room.Sent { return t.send(d, rule) })
}

func (t *tx) send(d room.Direct, rule room.Rule) room.Sent {
	if before, ok := t.wakeOf(d.Agent, d.Key); ok {
		return room.Sent{Delivered: room.Delivered{Wake: before, Item: t.itemOf(d.Agent, d.Key)}, Existing: true}
	}
	l := room.Listener{Member: room.Member{Room: d.Room, Who: room.AgentID(d.Agent)}}
	t.fill(&l)
	m := &meeting{tx: t, Situation: room.Situation{
		Direct:    &d,
		Author:    room.Member{Who: d.From},
		Listeners: []room.Listener{l},
		Now:       d.Now,
		Guard:     t.guard,
	}}
	decided := m.decide(rule)
	if rule == nil {
		decided.Deliveries = []room.Delivery{{
			Agent: d.Agent, Outcome: room.Queued, Priority: d.Priority, Expires: d.Expires,
		}}
	}
	if t.err == nil && len(decided.Deliveries) != 1 {
		t.fail(fmt.Errorf("the rule delivers the message %d times; a message is queued or skipped once",
			len(decided.Deliveries)))
	}
	delivered, woken := m.carryOut(decided, room.Item{
		Key:     d.Key,
		Trigger: d.Trigger,
		Room:    d.Room,
		Message: d.Message,
		From:    d.From,
		Until:   utc(d.Due),
	})
	if t.err != nil {
		return room.Sent{}
	}
	return room.Sent{Delivered: delivered[0], Woken: woken}
}

// itemOf returns the item of a key; nil for none.
func (t *tx) itemOf(agent, key string) *room.Item {
	n := t.last(index("item", escape(agent), escape(key)) + "/")
	if n == 0 {
		return nil
	}
	item := t.item(agent, n)
	return &item
}

func (t *tx) item(agent string, n int64) room.Item {
	item, ok := get[room.Item](t.recordTx, itemName(agent, n))
	if !ok {
		t.fail(fmt.Errorf("item %d of the inbox of %s: %w", n, agent, room.ErrNotFound))
	}
	return item
}

func (t *tx) wakeOf(agent, key string) (room.Wake, bool) {
	n := t.last(index("wake", escape(agent), escape(key)) + "/")
	if n == 0 {
		return room.Wake{}, false
	}
	return get[room.Wake](t.recordTx, wakeName(agent, n))
}

// openItems returns the items that wait or are taken, in the order in which they are taken.
func (t *tx) openItems(agent string) []room.Item {
	orders := t.numbers(Range{Prefix: index("queue", escape(agent)) + "/"})
	items := make([]string, len(orders))
	for i, n := range orders {
		items[i] = itemName(agent, n)
	}
	return named[room.Item](t.recordTx, items)
}

// Inbox lists items by their order.
func (s *Store) Inbox(ctx context.Context, agent string, after int64, open bool, limit int) ([]room.Item, error) {
	return read(ctx, s, "inbox of "+agent, func(t *tx) []room.Item {
		limit := page(limit, room.MaxPage)
		if !open {
			return all[room.Item](t.recordTx, Range{Prefix: ofAgent(agent, "item") + "/", After: itemName(agent, max(after, 0)), Limit: limit})
		}
		items := slices.DeleteFunc(t.openItems(agent), func(i room.Item) bool { return i.Number <= after || i.State.Final() })
		slices.SortFunc(items, func(a, b room.Item) int { return int(a.Number - b.Number) })
		return items[:min(limit, len(items))]
	})
}

// Take takes waiting items.
func (s *Store) Take(ctx context.Context, take room.Take) ([]room.Item, error) {
	if err := take.Validate(); err != nil {
		return nil, store.Wrap(err, "take from the inbox of ", take.Agent)
	}
	return update(ctx, s, "take from the inbox of "+take.Agent, func(t *tx) []room.Item { return t.take(take) })
}

func (t *tx) take(take room.Take) []room.Item {
	taken := []room.Item{}
	for _, i := range t.openItems(take.Agent) {
		if len(taken) == page(take.Limit, room.MaxPage) {
			break
		}
		if len(take.Keys) > 0 && !slices.Contains(take.Keys, i.Key) {
			continue
		}
		mine := i.State == room.Taken && i.Holder == take.Holder
		if !mine && i.Until.After(take.Now) { // taken by another holder, or not due yet
			continue
		}
		if !mine && over(i, take.Now) {
			t.end(i, room.Expired, "it expired before it was read", take.Now)
			continue
		}
		if !mine {
			i.Fence++
		}
		i.State, i.Holder, i.Until = room.Taken, take.Holder, utc(take.Now.Add(take.For))
		t.set(itemName(i.Agent, i.Number), i)
		taken = append(taken, i)
	}
	return taken
}

func over(i room.Item, now time.Time) bool { return !i.Expires.IsZero() && !i.Expires.After(now) }

// Expire ends the items whose time is over.
func (s *Store) Expire(ctx context.Context, agent string, now time.Time) (int, error) {
	return update(ctx, s, "expire the inbox of "+agent, func(t *tx) int {
		n := 0
		for _, i := range t.openItems(agent) {
			if over(i, now) && (i.State == room.Waiting || !i.Until.After(now)) {
				t.end(i, room.Expired, "it expired before it was read", now)
				n++
			}
		}
		return n
	})
}

// end ends an open item that nobody answers, and completes its wake record.
func (t *tx) end(i room.Item, state room.ItemState, reason string, now time.Time) {
	i.State, i.Reason = state, reason
	t.finish(i, room.Skipped, reason, 0, now)
}

// finish writes an item that has come to its end, and its wake record.
func (t *tx) finish(i room.Item, outcome room.Outcome, reason string, cost budget.Micros, now time.Time) room.Wake {
	i.Ended = utc(now)
	t.set(itemName(i.Agent, i.Number), i)
	counts, _ := get[agentAbout](t.recordTx, aboutName(i.Agent))
	counts.Open--
	t.set(aboutName(i.Agent), counts)
	w, ok := t.wakeOf(i.Agent, i.Key)
	if !ok {
		t.fail(fmt.Errorf("item %d of %s has no wake record", i.Number, i.Agent))
	}
	w.Outcome, w.Reason, w.Ended = outcome, reason, i.Ended
	w.Cost += cost
	t.setWake(w)
	if i.Room != "" {
		t.announce(room.Event{
			Room:    i.Room,
			Type:    room.Resolved,
			At:      now,
			Who:     room.AgentID(i.Agent),
			Post:    i.Post,
			Outcome: outcome,
		})
	}
	return w
}

// Unfinished lists the agents with open items.
func (s *Store) Unfinished(ctx context.Context) ([]string, error) {
	return read(ctx, s, "agents with unread items", func(t *tx) []string {
		prefix := index("unfinished") + "/"
		return names(t.scan(Range{Prefix: prefix}), prefix, unescape)
	})
}

// Wakes lists wake records by their number.
func (s *Store) Wakes(ctx context.Context, agent string, after int64, limit int) ([]room.Wake, error) {
	return read(ctx, s, "wakes of "+agent, func(t *tx) []room.Wake {
		return all[room.Wake](t.recordTx, Range{
			Prefix: ofAgent(agent, "wake") + "/",
			After:  wakeName(agent, max(after, 0)),
			Limit:  page(limit, room.MaxPage),
		})
	})
}

// Wake returns one wake record.
func (s *Store) Wake(ctx context.Context, agent, key string) (room.Wake, error) {
	return read(ctx, s, "wake "+key+" of "+agent, func(t *tx) room.Wake {
		w, ok := t.wakeOf(agent, key)
		if !ok {
			t.fail(room.ErrNotFound)
		}
		return w
	})
}
