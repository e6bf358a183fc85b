package rooms

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/room"
)

// meeting is a post on its way to its listeners.
type meeting struct {
	*tx
	room.Situation
}

// meet reads what a post meets.
func (t *tx) meet(p room.Post, author room.Member, parent *room.Post, now time.Time) *meeting {
	m := &meeting{tx: t, Situation: room.Situation{
		Room:    t.place(p.Room),
		Post:    p,
		Author:  author,
		ReplyTo: parent,
		Now:     now,
		Guard:   t.guard,
		Own:     func() []room.Dormancy { return t.states(author.ID) },
	}}
	if p.Form != room.Announcement {
		m.Listeners = t.listeners(p)
	}
	return m
}

// guard returns the record of a guard; nil for none.
func (t *tx) guard(key string) []byte { return t.body(guardName(key)) }

func (t *tx) listeners(p room.Post) []room.Listener {
	var found []room.Listener
	var wanted []string
	for _, m := range t.membersOf(p.Room, dormancy.Agent) {
		mentioned := slices.ContainsFunc(p.Mentions, func(n room.Mention) bool { return n.Who == m.Who })
		if m.Who != p.Author && (mentioned || m.Subscribed) {
			found = append(found, room.Listener{Member: m, Mentioned: mentioned})
			wanted = append(wanted, aboutName(m.ID), dormancyName(m.ID, ""), dormancyName(m.ID, p.Room))
		}
	}
	t.fetch(wanted...)
	for i := range found {
		t.fill(&found[i])
		found[i].InThread = p.Thread != "" && t.wroteIn(p.Thread, found[i].Who)
	}
	return found
}

// fill reads the states of a listener and how much waits for it.
func (t *tx) fill(l *room.Listener) {
	l.Dormancy = t.state(l.ID, "")
	if l.Room != "" {
		l.InRoom = t.state(l.ID, l.Room)
	}
	counts, _ := get[agentAbout](t.recordTx, aboutName(l.ID))
	l.Waiting = counts.Open
}

// wroteIn reports whether somebody wrote the post that a thread hangs on, or one in the thread.
func (t *tx) wroteIn(thread string, who room.Who) bool {
	root := t.postOf(thread)
	return root.Author == who ||
		t.last(index("wrote", root.Room, number(root.Offset), escape(who.String()))+"/") != 0
}

// decide asks the rule, and checks what it says.
func (m *meeting) decide(rule room.Rule) room.Decision {
	if rule == nil || m.err != nil {
		return room.Decision{}
	}
	d := rule(m.Situation)
	m.fail(d.Refuse)
	for _, delivery := range d.Deliveries {
		m.fail(delivery.Validate())
		if m.listener(delivery.Agent) == nil {
			m.fail(fmt.Errorf("the rule delivers to agent %q, which does not listen to %q", delivery.Agent, m.Post.ID))
		}
	}
	for key, body := range d.Guards {
		if key == "" || body != nil && (len(body) == 0 || body[0] != '{' || !json.Valid(body)) {
			m.fail(fmt.Errorf("guard %q: %w", key, errors.New("a record has a key and is an object of JSON")))
		}
	}
	return d
}

func (m *meeting) listener(agent string) *room.Listener {
	for i := range m.Listeners {
		if m.Listeners[i].ID == agent {
			return &m.Listeners[i]
		}
	}
	return nil
}

// follow carries out what the rule says of the author of a new post: how dormant it is from now on, and what it says
// after the post.
func (m *meeting) follow(d room.Decision) {
	for _, c := range d.Levels {
		if m.err == nil && c.Agent != m.Post.Author.ID {
			m.fail(fmt.Errorf("the rule changes the level of %q, which is not the author of %q", c.Agent, m.Post.ID))
		}
		m.fail(c.Validate())
		if m.err == nil {
			m.change(c)
		}
	}
	for _, draft := range d.Follow {
		m.fail(draft.Validate())
		if m.err == nil {
			m.post(draft, nil)
		}
	}
}

// carryOut writes the guards and delivers to each listener that the decision names.
func (m *meeting) carryOut(d room.Decision, call room.Item) (done []room.Delivered, woken []room.Dormancy) {
	for _, key := range slices.Sorted(maps.Keys(d.Guards)) {
		m.put(guardName(key), d.Guards[key])
	}
	for _, delivery := range d.Deliveries {
		if m.err != nil {
			break
		}
		m.agents[delivery.Agent] = true
		if delivery.EndSleep {
			woken = append(woken, m.endSleep(delivery.Agent, call.Room, m.Now)...)
		}
		if delivered := m.deliver(delivery, call); delivered != nil {
			done = append(done, *delivered)
		}
	}
	return done, woken
}

// callOf is the item of a post, before anybody gets it.
func callOf(p room.Post) room.Item {
	return room.Item{
		Key:     p.ID,
		Trigger: room.OnMention,
		Room:    p.Room,
		Post:    p.ID,
		From:    p.Author,
		Hops:    p.Hops,
	}
}

// deliver records the call of an agent, and puts it into its inbox when it is queued. Nil when an edited post was
// delivered before.
func (m *meeting) deliver(d room.Delivery, call room.Item) *room.Delivered {
	l := m.listener(d.Agent)
	w := room.Wake{
		Agent:   d.Agent,
		Key:     call.Key,
		Trigger: call.Trigger,
		Room:    call.Room,
		Post:    call.Post,
		Outcome: d.Outcome,
		Reason:  d.Reason,
		Level:   dormancy.Effective(l.Dormancy, l.InRoom).Level,
		At:      utc(m.Now),
	}
	if m.Edited {
		before, ok := m.wakeOf(d.Agent, call.Key)
		if ok && (before.Outcome != room.Skipped || d.Outcome == room.Skipped) {
			return nil
		}
		w.Number = before.Number
	}
	if d.Outcome == room.Skipped {
		w.Ended = w.At
		return &room.Delivered{Wake: m.setWake(w)}
	}
	call.Agent, call.Priority, call.Reason = d.Agent, d.Priority, d.Reason
	call.Created, call.Expires = w.At, utc(d.Expires)
	item := m.arrive(call)
	return &room.Delivered{Wake: m.setWake(w), Item: &item}
}

// setWake writes a wake record, as a new one when it has no number yet.
func (t *tx) setWake(w room.Wake) room.Wake {
	if w.Number == 0 {
		counts, _ := get[agentAbout](t.recordTx, aboutName(w.Agent))
		counts.Wakes++
		t.set(aboutName(w.Agent), counts)
		w.Number = counts.Wakes
		t.add(wakeName(w.Agent, w.Number), w)
		return w
	}
	t.set(wakeName(w.Agent, w.Number), w)
	return w
}

// arrive puts a new item at the end of an inbox.
func (t *tx) arrive(i room.Item) room.Item {
	counts, _ := get[agentAbout](t.recordTx, aboutName(i.Agent))
	counts.Items++
	counts.Open++
	t.set(aboutName(i.Agent), counts)
	i.Number, i.State = counts.Items, room.Waiting
	t.add(itemName(i.Agent, i.Number), i)
	return i
}
