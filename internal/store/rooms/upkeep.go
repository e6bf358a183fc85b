package rooms

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/room"
)

// RemoveAgent returns the changes that remove an agent from all rooms. Its posts are emptied, and its inbox, wake
// records, actions and guards are deleted. Its counters stay, and the sequences of its states, so that no number is
// used twice and no timer of it ends a later state.
func RemoveAgent(v View, agent string, now time.Time) (Changes, error) {
	t := newTx(v)
	who := room.AgentID(agent)
	for _, p := range t.postsOf(who) {
		if p.State == room.Live {
			p.Name = ""
			t.empty(p, who, now)
		}
	}
	for _, id := range t.roomsOf(who) {
		t.drop(memberName(id, who))
		t.announce(room.Event{Room: id, Type: room.Left, At: now, Who: who})
	}
	for _, record := range t.scan(Range{Prefix: ofAgent(agent)}) {
		switch _, _, kind, _ := split(record.Name); kind {
		case about:
			counts, _ := get[agentAbout](t.recordTx, record.Name)
			counts.Open = 0
			t.set(record.Name, counts)
		case "dormancy":
			s, _ := get[keptState](t.recordTx, record.Name)
			t.set(record.Name, keptState{State: s.Clear()})
		default:
			t.drop(record.Name)
		}
	}
	own := []string{escape(agent), escape(who.String())}
	for _, record := range t.scan(Range{Prefix: guards}) {
		for _, part := range strings.Split(record.Name[len(guards):], "/")[1:] {
			if slices.Contains(own, part) {
				t.drop(record.Name)
			}
		}
	}
	return t.changes(), t.err
}

// postsOf returns every post of an author.
func (t *tx) postsOf(who room.Who) []keptPost {
	var posts []string
	prefix := index("room") + "/"
	for _, id := range names(t.scan(Range{Prefix: prefix}), prefix, func(id string) string { return id }) {
		for _, offset := range t.numbers(Range{Prefix: index("author", id, escape(who.String())) + "/"}) {
			posts = append(posts, postName(id, offset))
		}
	}
	return named[keptPost](t.recordTx, posts)
}

// Scrub returns the changes that remove what an agent forgets from what it wrote in rooms, and from its inbox, wake
// records, states and actions. What others said in a room stays there.
func Scrub(v View, agent string, words memory.Words, now time.Time) (Changes, error) {
	t := newTx(v)
	who := room.AgentID(agent)
	for _, p := range t.postsOf(who) {
		if body, changed := scrubbed(words, p.Body); changed {
			p.Digest = ""
			p.Body, p.Edited, p.Revision = body, utc(now), p.Revision+1
			t.set(postName(p.Room, p.Offset), p)
			t.announce(room.Event{
				Room:     p.Room,
				Type:     room.Edited,
				At:       now,
				Who:      who,
				Post:     p.ID,
				Revision: p.Revision,
			})
		}
	}
	for _, record := range t.scan(Range{Prefix: ofAgent(agent)}) {
		t.scrub(record, words)
	}
	return t.changes(), t.err
}

// scrub removes forgotten words from one record of an agent.
func (t *tx) scrub(record Record, words memory.Words) {
	switch _, _, kind, _ := split(record.Name); kind {
	case "item":
		i, _ := get[room.Item](t.recordTx, record.Name)
		reason, changed := scrubbed(words, i.Reason)
		i.Reason = reason
		if i.Message != nil {
			text, also := scrubbed(words, i.Message.Body)
			i.Message.Body, changed = text, changed || also
		}
		if changed {
			t.set(record.Name, i)
		}
	case "wake":
		w, _ := get[room.Wake](t.recordTx, record.Name)
		if reason, changed := scrubbed(words, w.Reason); changed {
			w.Reason = reason
			t.set(record.Name, w)
		}
	case "dormancy":
		s, _ := get[keptState](t.recordTx, record.Name)
		if reason, changed := scrubbed(words, s.Reason); changed {
			s.Reason = reason
			t.set(record.Name, s)
		}
	case "checkin":
		c, _ := get[room.CheckIn](t.recordTx, record.Name)
		if c.Message == nil {
			return
		}
		if text, changed := scrubbed(words, c.Message.Body); changed {
			c.Message.Body = text
			t.set(record.Name, c)
		}
	case "action":
		a, _ := get[room.Action](t.recordTx, record.Name)
		if body, changed := words.Note(a.Body); changed {
			a.Body = body
			t.set(record.Name, a)
		}
	}
}

// scrubbed removes forgotten words from a text.
func scrubbed(words memory.Words, text string) (string, bool) {
	type note struct {
		Text string `json:"text"`
	}
	body, err := json.Marshal(note{text})
	if text == "" || err != nil {
		return text, false
	}
	left, changed := words.Note(body)
	var n note
	if !changed || json.Unmarshal(left, &n) != nil {
		return text, false
	}
	return n.Text, true
}
