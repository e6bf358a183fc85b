package rooms

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/room"
)

// Names of records. Agents, keys and accounts are escaped, numbers have 16 digits.
//
//	a/<agent>/about               agentAbout
//	a/<agent>/action/<order>      room.Action
//	a/<agent>/checkin/<name>      room.CheckIn
//	a/<agent>/dormancy/<room>     keptState; the room is empty for the agent as a whole
//	a/<agent>/item/<order>        room.Item
//	a/<agent>/wake/<number>       room.Wake
//	g/<key>                       record of a guard
//	h/<room>/webhook/<name>       room.Webhook, apart from its room, because it changes with every event
//	r/<room>/about                room.Room
//	r/<room>/agent/<id>           room.Member; the same for person
//	r/<room>/event/<offset>       room.Event
//	r/<room>/post/<offset>        keptPost
//
// The indexes follow from the records (derive); an archive leaves them out.
//
//	x/action/<agent>/<key>/<order>           every action
//	x/author/<room>/<author>/<offset>        every post
//	x/dormant/<agent>/<room>                 states that are not active
//	x/expecting/<agent>/<name>               every check-in
//	x/held/<agent>/<order>                   held actions
//	x/item/<agent>/<key>/<order>             every item
//	x/key/<room>/<key>/<author>/<offset>     every post
//	x/member/<member>/<room>                 every member
//	x/queue/<agent>/<9-priority>/<order>     items that wait or are taken
//	x/room/<room>                            every room
//	x/thread/<room>/<root>/<offset>          posts in threads
//	x/unfinished/<agent>                     agents with such items
//	x/wake/<agent>/<key>/<number>            every wake record
//	x/webhook/<room>/<name>                  every webhook
//	x/wrote/<room>/<root>/<author>/<offset>  posts in threads
const (
	agents  = "a/"
	guards  = "g/"
	hooks   = "h/"
	places  = "r/"
	indexes = "x/"
)

// about names the first record of an agent or a room: it sorts before the others, so an import reads it first.
const about = "about"

// number is the form of a number in a name: it sorts as the number does.
func number(n int64) string { return fmt.Sprintf("%016d", n) }

var escape = room.Escape

// unescape reverses escape.
func unescape(part string) string { return unescaped.Replace(part) }

var unescaped = strings.NewReplacer("%2F", "/", "%25", "%")

func ofAgent(agent string, parts ...string) string {
	return agents + escape(agent) + "/" + strings.Join(parts, "/")
}

func ofRoom(id string, parts ...string) string { return places + id + "/" + strings.Join(parts, "/") }

func index(parts ...string) string { return indexes + strings.Join(parts, "/") }

func roomName(id string) string                 { return ofRoom(id, about) }
func memberName(id string, who room.Who) string { return ofRoom(id, string(who.Kind), escape(who.ID)) }
func postName(id string, offset int64) string   { return ofRoom(id, "post", number(offset)) }
func eventName(id string, offset int64) string  { return ofRoom(id, "event", number(offset)) }
func aboutName(agent string) string             { return ofAgent(agent, about) }
func itemName(agent string, n int64) string     { return ofAgent(agent, "item", number(n)) }
func wakeName(agent string, n int64) string     { return ofAgent(agent, "wake", number(n)) }
func actionName(agent string, n int64) string   { return ofAgent(agent, "action", number(n)) }
func dormancyName(agent, inRoom string) string  { return ofAgent(agent, "dormancy", inRoom) }
func checkInName(agent, name string) string     { return ofAgent(agent, "checkin", name) }
func webhookName(id, name string) string        { return hooks + id + "/webhook/" + name }
func guardName(key string) string               { return guards + key }
func keyIndex(id string, by room.Who, key string) string {
	return index("key", id, escape(key), escape(by.String())) + "/"
}

// agentAbout counts what is kept for an agent.
type agentAbout struct {
	Items   int64 `json:"items,omitempty"` // orders given so far
	Wakes   int64 `json:"wakes,omitempty"`
	Actions int64 `json:"actions,omitempty"`
	Open    int   `json:"open,omitempty"` // items that wait or are taken
}

// keptPost is a post with what recognises a repeated draft.
type keptPost struct {
	room.Post
	Key    string `json:"key"`
	Digest string `json:"digest"`
}

// keptState is a state with the key of the change that made it.
type keptState struct {
	dormancy.State
	Key string `json:"key,omitempty"`
}

// split splits a name into its owner, which is an agent or a room, the kind of its record and the rest.
func split(name string) (space, owner, kind, rest string) {
	parts := strings.SplitN(name, "/", 4)
	for len(parts) < 4 {
		parts = append(parts, "")
	}
	return parts[0] + "/", parts[1], parts[2], parts[3]
}

// derive returns the names of the indexes that follow from a record.
func derive(name string, body []byte) ([]string, error) {
	if body == nil {
		return nil, nil
	}
	space, owner, kind, rest := split(name)
	switch space + kind {
	case agents + about:
		return derived(body, func(a agentAbout) []string { return optional(a.Open > 0, index("unfinished", owner)) })
	case agents + "item":
		return derived(body, func(i room.Item) []string {
			return append(optional(!i.State.Final(), index("queue", owner, fmt.Sprint(room.MaxPriority-i.Priority), rest)),
				index("item", owner, escape(i.Key), rest))
		})
	case agents + "wake":
		return derived(body, func(w room.Wake) []string { return []string{index("wake", owner, escape(w.Key), rest)} })
	case agents + "action":
		return derived(body, func(a room.Action) []string {
			return append(optional(a.State == room.Held, index("held", owner, rest)),
				index("action", owner, escape(a.Key), rest))
		})
	case agents + "checkin":
		return []string{index("expecting", owner, rest)}, nil
	case hooks + "webhook":
		return []string{index("webhook", owner, rest)}, nil
	case agents + "dormancy":
		return derived(body, func(s keptState) []string {
			return optional(s.Dormant(), index("dormant", owner, rest))
		})
	case places + about:
		return []string{index("room", owner)}, nil
	case places + string(dormancy.Agent), places + string(dormancy.Person):
		return derived(body, func(m room.Member) []string {
			return []string{index("member", escape(m.String()), owner)}
		})
	case places + "post":
		return derived(body, func(p keptPost) []string { return p.indexes(rest) })
	}
	return nil, nil
}

func (p keptPost) indexes(offset string) []string {
	names := []string{
		keyIndex(p.Room, p.Author, p.Key) + offset, index("author", p.Room, escape(p.Author.String()), offset),
	}
	if p.Thread == "" {
		return names
	}
	_, root, err := room.ParsePostID(p.Thread)
	if err != nil {
		return names
	}
	return append(names, index("thread", p.Room, number(root), offset),
		index("wrote", p.Room, number(root), escape(p.Author.String()), offset))
}

func optional(there bool, name string) []string {
	if there {
		return []string{name}
	}
	return nil
}

func derived[T any](body []byte, names func(T) []string) ([]string, error) {
	var value T
	if err := json.Unmarshal(body, &value); err != nil {
		return nil, err
	}
	return names(value), nil
}
