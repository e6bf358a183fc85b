package rooms

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/admission"
	"github.com/seed-56a03226/oneiros/internal/admission/chatter"
)

// Reasons of skips beside those of admission.
const (
	isNotice  = "notice" // nobody answers a notice
	isReader  = "reader" // the agent may not write in the room
	inboxFull = "full"   // too much waits in the inbox
)

// rule returns the rule for a post or a message, and what it says that the room be told.
func (s *core) rule(ctx context.Context) (rule room.Rule, notices func() []string, err error) {
	slots, err := s.Agents.Slots(ctx)
	if err != nil {
		return nil, nil, failed("ask who dreams", err)
	}
	dreaming := map[string]bool{}
	for agent := range slots {
		dreaming[agent] = true
	}
	var latest []string
	rule = func(m room.Situation) room.Decision {
		d, texts := decide(m, s.o.Rules, dreaming)
		latest = texts
		return d
	}
	return rule, func() []string { return latest }, nil
}

// decide applies admission to every listener of a situation.
func decide(m room.Situation, rules chatter.Rules, dreaming map[string]bool) (room.Decision, []string) {
	g := guards{read: m.Guard, changed: map[string][]byte{}}
	if _, sender := caller(m); sender == admission.Person && m.Direct == nil && m.Post.Form != room.Notice {
		g.spoken(m.Room.ID)
	}
	d := room.Decision{}
	var notices []string
	for _, l := range m.Listeners {
		delivery, notice := deliver(m, l, rules, dreaming[l.ID], &g)
		d.Deliveries = append(d.Deliveries, delivery)
		if notice != "" && !slices.Contains(notices, notice) {
			notices = append(notices, notice)
		}
	}
	d.Guards = g.changed
	return d, notices
}

// caller is who calls in a situation, and how it counts.
func caller(m room.Situation) (room.Who, admission.Sender) {
	if m.Direct != nil {
		return m.Direct.From, admission.SenderOf(m.Direct.From.Kind, dormancy.Own)
	}
	return m.Author.Who, admission.SenderOf(m.Author.Kind, m.Author.Trust)
}

func address(m room.Situation, l room.Listener) admission.Address {
	switch {
	case m.Direct != nil:
		return admission.Direct
	case l.Mentioned:
		return admission.Mention
	case l.InThread:
		return admission.InThread
	}
	return admission.Overheard
}

func deliver(m room.Situation, l room.Listener, rules chatter.Rules, dreaming bool, g *guards) (room.Delivery, string) {
	from, sender := caller(m)
	if l.Role == room.Reader {
		return room.Delivery{Agent: l.ID, Outcome: room.Skipped, Reason: isReader}, ""
	}
	if m.Post.Form == room.Notice {
		return room.Delivery{Agent: l.ID, Outcome: room.Skipped, Reason: isNotice}, ""
	}
	c := admission.Case{
		Level:      dormancy.Effective(l.Dormancy, l.InRoom).Level,
		Sender:     sender,
		Address:    address(m, l),
		Activity:   admission.Asleep,
		Subscribed: l.Subscribed,
	}
	if dreaming {
		c.Activity = admission.Dreaming
	}
	decided, notice := admission.Decide(c), chatter.Notice("")
	if decided.Action != admission.Skip {
		call := chatter.Call{Sender: sender, Named: c.Address == admission.Mention, Hops: m.Post.Hops}
		c.Limit, notice = g.admit(rules, call, from, l.ID, m)
		decided = admission.Decide(c)
	}
	if decided.Action != admission.Skip && sender != admission.Person && l.Waiting >= chatter.MostWaiting {
		return room.Delivery{Agent: l.ID, Outcome: room.Skipped, Reason: inboxFull}, string(notice)
	}
	delivery := room.Delivery{
		Agent:    l.ID,
		Outcome:  room.Queued,
		Reason:   string(decided.Reason),
		Priority: chatter.PriorityOf(sender),
		EndSleep: decided.EndSleep,
	}
	if decided.Action == admission.Skip {
		delivery.Outcome = room.Skipped
	}
	if m.Direct != nil {
		delivery.Priority = max(delivery.Priority, m.Direct.Priority)
	}
	if sender != admission.Person {
		delivery.Expires = m.Now.Add(chatter.Lifetime)
	}
	return delivery, string(notice)
}

// guards reads and changes the records of guards in one step. What one listener has counted, the next one sees.
type guards struct {
	read    func(key string) []byte
	changed map[string][]byte
}

// admit counts a call, and says which limit it reaches.
func (g *guards) admit(rules chatter.Rules, call chatter.Call, from room.Who, agent string, m room.Situation) (
	admission.Limit, chatter.Notice,
) {
	place := m.Room.ID
	var r chatter.Records
	at := []struct {
		key  string
		into any
	}{
		{room.GuardKey("pair", from.ID, agent), &r.Pair},
		{room.GuardKey("mentions", from.ID, agent), &r.Mentions},
		{room.GuardKey("room", place), &r.Room},
		{room.GuardKey("agent", agent), &r.Agent},
		{room.GuardKey("person", from.ID, agent), &r.Person},
		{room.GuardKey("strangers", agent), &r.Strangers},
		{room.GuardKey("alone", place), &r.Alone},
	}
	before := make([]string, len(at))
	for i, a := range at {
		body := g.of(a.key)
		if len(body) > 0 {
			_ = json.Unmarshal(body, a.into) // an unreadable record counts as none
		}
		before[i] = encoded(a.into)
	}
	limit, notice, after := rules.Admit(call, r, m.Now)
	r = after
	for i, a := range at {
		if now := encoded(a.into); now != before[i] {
			g.changed[a.key] = []byte(now)
		}
	}
	return limit, notice
}

// spoken notes that a person has spoken in a room, whether or not that calls anybody.
func (g *guards) spoken(place string) {
	key := room.GuardKey("alone", place)
	var alone chatter.Alone
	if json.Unmarshal(g.of(key), &alone) == nil && alone != (chatter.Alone{}) {
		g.changed[key] = []byte(encoded(chatter.Alone{}))
	}
}

func (g *guards) of(key string) []byte {
	if body, ok := g.changed[key]; ok {
		return body
	}
	return g.read(key)
}

func encoded(record any) string {
	body, err := json.Marshal(record)
	if err != nil {
		return ""
	}
	return string(body)
}
