// Package homeserver is a Matrix homeserver in memory that tests script: it does what the specification says of the
// requests that a bridge makes, can limit or refuse them, and can cut a bridge off before or after any of them.
package homeserver

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Name is the server's part of user ids.
const Name = "example.org"

// Server is a homeserver. Its methods may be called at any time.
type Server struct {
	*httptest.Server
	mu      sync.Mutex
	changed chan struct{} // closed and replaced at each change
	tokens  map[string]string
	devices map[string]string // newest token by user and device
	rooms   map[string]*chat
	now     int // position of the newest event
	sent    map[string]string
	status  map[string]Presence
	logins  int

	// Intercept is called with each request and its user before it is served; true: it was answered otherwise.
	Intercept func(w http.ResponseWriter, r *http.Request, user string) bool
	// Served is called after a request was carried out and before it is answered; false: the connection is cut.
	Served func(r *http.Request, user string) bool
}

// Presence is what a user shows.
type Presence struct {
	Presence string `json:"presence"`
	Status   string `json:"status_msg"`
}

// Event is an event of a room.
type Event struct {
	ID       string         `json:"event_id"`
	Type     string         `json:"type"`
	Sender   string         `json:"sender"`
	Room     string         `json:"room_id"`
	StateKey *string        `json:"state_key,omitempty"`
	Content  map[string]any `json:"content"`
	Redacts  string         `json:"redacts,omitempty"`
	Time     int64          `json:"origin_server_ts"`
	at       int
}

type chat struct {
	events  []*Event
	members map[string]string // membership by user
	since   map[string]int    // when it began
}

// New starts a homeserver.
func New() *Server {
	s := &Server{
		changed: make(chan struct{}),
		tokens:  map[string]string{},
		devices: map[string]string{},
		rooms:   map[string]*chat{},
		sent:    map[string]string{},
		status:  map[string]Presence{},
	}
	s.Server = httptest.NewServer(s)
	return s
}

// Token returns a token of a user, whom it makes.
func (s *Server) Token(user string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token(user, "")
}

func (s *Server) token(user, device string) string {
	if device != "" {
		delete(s.tokens, s.devices[user+"/"+device])
	}
	s.logins++
	token := fmt.Sprintf("token-%d-%s", s.logins, user)
	s.tokens[token] = user
	s.devices[user+"/"+device] = token
	return token
}

// Revoke makes the tokens of a user invalid.
func (s *Server) Revoke(user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for token, of := range s.tokens {
		if of == user {
			delete(s.tokens, token)
		}
	}
}

// Events returns what stands in a room, oldest first.
func (s *Server) Events(room string) []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Event
	for _, e := range s.rooms[room].events {
		all = append(all, *e)
	}
	return all
}

// Presence returns what a user shows.
func (s *Server) Presence(user string) Presence {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status[user]
}

// Membership returns whether a user is in a room: join, invite, leave or nothing.
func (s *Server) Membership(room, user string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rooms[room].members[user]
}

// Changed is closed at the next change.
func (s *Server) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

func (s *Server) change() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Fail answers a request with an error of Matrix.
func Fail(w http.ResponseWriter, status int, code string, more map[string]any) {
	body := map[string]any{"errcode": code, "error": code}
	for name, value := range more {
		body[name] = value
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client has removed
}

// Cut ends a connection without an answer.
func Cut(w http.ResponseWriter) {
	if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
		_ = conn.Close()
	}
}

type refusal struct {
	status int
	code   string
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.Split(strings.TrimPrefix(r.URL.Path, "/_matrix/client/v3/"), "/")
	s.mu.Lock()
	user := s.tokens[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	intercept, served := s.Intercept, s.Served
	s.mu.Unlock()
	if intercept != nil && intercept(w, r, user) {
		return
	}
	body := map[string]any{}
	if r.Body != nil && r.Method != http.MethodGet {
		_ = json.NewDecoder(r.Body).Decode(&body) // an empty body is none
	}
	if user == "" && path[0] != "login" {
		Fail(w, http.StatusUnauthorized, "M_UNKNOWN_TOKEN", nil)
		return
	}
	answer, fault := s.answer(r, user, path, body)
	if served != nil && !served(r, user) {
		Cut(w)
		return
	}
	if fault != nil {
		Fail(w, fault.status, fault.code, nil)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // the client has removed
}

func (s *Server) answer(r *http.Request, user string, path []string, body map[string]any) (any, *refusal) {
	switch path[0] {
	case "login":
		return s.login(body)
	case "account":
		return map[string]any{"user_id": user}, nil
	case "createRoom":
		return s.create(user, body), nil
	case "directory":
		return s.resolve(path[2])
	case "presence":
		return s.present(r, path[1], body)
	case "sync":
		return s.sync(r, user), nil
	case "rooms":
		return s.inRoom(r, user, path[1], path[2:], body)
	}
	return nil, &refusal{http.StatusNotFound, "M_UNRECOGNIZED"}
}

// login accepts the password "of " and the user.
func (s *Server) login(body map[string]any) (any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	who, _ := body["identifier"].(map[string]any)
	user, _ := who["user"].(string)
	device, _ := body["device_id"].(string)
	if body["password"] != "of "+user {
		return nil, &refusal{http.StatusForbidden, "M_FORBIDDEN"}
	}
	return map[string]any{"user_id": user, "access_token": s.token(user, device), "device_id": device}, nil
}

func (s *Server) create(user string, body map[string]any) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	room := fmt.Sprintf("!room%d:%s", len(s.rooms)+1, Name)
	s.rooms[room] = &chat{members: map[string]string{}, since: map[string]int{}}
	s.member(room, user, user, "join", false)
	if name, _ := body["name"].(string); name != "" {
		s.state(room, user, "m.room.name", "", map[string]any{"name": name})
	}
	if alias, _ := body["room_alias_name"].(string); alias != "" {
		s.state(room, user, "m.room.canonical_alias", "", map[string]any{"alias": "#" + alias + ":" + Name})
	}
	initial, _ := body["initial_state"].([]any)
	for _, one := range initial {
		e := one.(map[string]any)
		content, _ := e["content"].(map[string]any)
		s.state(room, user, e["type"].(string), "", content)
	}
	invited, _ := body["invite"].([]any)
	for _, who := range invited {
		s.member(room, user, who.(string), "invite", body["is_direct"] == true)
	}
	return map[string]any{"room_id": room}
}

func (s *Server) resolve(alias string) (any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, c := range s.rooms {
		for _, e := range c.events {
			if e.Content["alias"] == alias {
				return map[string]any{"room_id": id, "servers": []string{Name}}, nil
			}
		}
	}
	return nil, &refusal{http.StatusNotFound, "M_NOT_FOUND"}
}

func (s *Server) present(r *http.Request, user string, body map[string]any) (any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method == http.MethodPut {
		shown, _ := body["presence"].(string)
		status, _ := body["status_msg"].(string)
		s.status[user] = Presence{shown, status}
		s.change()
		return map[string]any{}, nil
	}
	return s.status[user], nil
}

func (s *Server) inRoom(r *http.Request, user, room string, path []string, body map[string]any) (any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.rooms[room]
	if c == nil {
		return nil, &refusal{http.StatusNotFound, "M_NOT_FOUND"}
	}
	switch {
	case path[0] == "leave":
		s.member(room, user, user, "leave", false)
		return map[string]any{}, nil
	case path[0] == "join" && c.members[user] == "invite":
		s.member(room, user, user, "join", false)
		return map[string]any{"room_id": room}, nil
	}
	if c.members[user] != "join" {
		return nil, &refusal{http.StatusForbidden, "M_FORBIDDEN"}
	}
	switch path[0] {
	case "invite":
		s.member(room, user, body["user_id"].(string), "invite", false)
	case "kick":
		s.member(room, user, body["user_id"].(string), "leave", false)
	case "state":
		return map[string]any{"event_id": s.state(room, user, path[1], "", body)}, nil
	case "send", "redact":
		transaction := r.Header.Get("Authorization") + r.URL.Path
		if s.sent[transaction] == "" {
			e := &Event{Type: path[1], Sender: user, Content: body}
			if path[0] == "redact" {
				e.Type, e.Redacts = "m.room.redaction", path[1]
			}
			s.sent[transaction] = s.add(room, e)
		}
		return map[string]any{"event_id": s.sent[transaction]}, nil
	case "messages":
		return c.page(r), nil
	case "joined_members":
		joined := map[string]any{}
		for who, membership := range c.members {
			if membership == "join" {
				joined[who] = map[string]any{}
			}
		}
		return map[string]any{"joined": joined}, nil
	default:
		return nil, &refusal{http.StatusNotFound, "M_UNRECOGNIZED"}
	}
	return map[string]any{}, nil
}

func (s *Server) add(room string, e *Event) string {
	s.now++
	e.ID, e.Room = fmt.Sprintf("$event%d", s.now), room
	e.at, e.Time = s.now, int64(s.now)
	s.rooms[room].events = append(s.rooms[room].events, e)
	s.change()
	return e.ID
}

func (s *Server) state(room, user, kind, key string, content map[string]any) string {
	return s.add(room, &Event{Type: kind, Sender: user, StateKey: &key, Content: content})
}

func (s *Server) member(room, by, who, membership string, direct bool) {
	content := map[string]any{"membership": membership}
	if direct {
		content["is_direct"] = true
	}
	c := s.rooms[room]
	c.members[who] = membership
	s.state(room, by, "m.room.member", who, content)
	c.since[who] = s.now
}

// page is a page of history from the newest back.
func (c *chat) page(r *http.Request) any {
	from, limit := 1<<30, 10
	if token := r.URL.Query().Get("from"); token != "" {
		from, _ = strconv.Atoi(strings.TrimLeft(token, "sp"))
	}
	if n, err := strconv.Atoi(r.URL.Query().Get("limit")); err == nil {
		limit = n
	}
	found := []*Event{}
	answer := map[string]any{"start": r.URL.Query().Get("from")}
	for i := len(c.events) - 1; i >= 0 && len(found) < limit; i-- {
		if c.events[i].at < from {
			found = append(found, c.events[i])
		}
	}
	if len(found) == limit {
		answer["end"] = fmt.Sprintf("p%d", found[limit-1].at)
	}
	answer["chunk"] = found
	return answer
}

// timeline is how many events of a room one answer to /sync has; fewer than the filter asks for, so that gaps are
// common.
const timeline = 5

func (s *Server) sync(r *http.Request, user string) any {
	since, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Query().Get("since"), "s"))
	wait, _ := strconv.Atoi(r.URL.Query().Get("timeout"))
	ends := time.NewTimer(time.Duration(wait) * time.Millisecond)
	defer ends.Stop()
	for {
		s.mu.Lock()
		answer, news := s.news(user, since)
		changed := s.changed
		s.mu.Unlock()
		if news || wait == 0 {
			return answer
		}
		select {
		case <-changed:
		case <-ends.C:
			wait = 0
		case <-r.Context().Done():
			return answer
		}
	}
}

func (s *Server) news(user string, since int) (answer any, found bool) {
	joined, invited, removed := map[string]any{}, map[string]any{}, map[string]any{}
	for id, c := range s.rooms {
		began := c.since[user]
		switch c.members[user] {
		case "invite":
			if began > since {
				invited[id] = map[string]any{"invite_state": map[string]any{"events": c.stateBefore(1 << 30)}}
			}
		case "leave":
			if began > since && since > 0 {
				removed[id] = map[string]any{"timeline": map[string]any{"events": []any{}}}
			}
		case "join":
			events := slices.DeleteFunc(slices.Clone(c.events), func(e *Event) bool { return began <= since && e.at <= since })
			if len(events) == 0 {
				continue
			}
			limited := len(events) > timeline
			events = events[max(0, len(events)-timeline):]
			joined[id] = map[string]any{
				"state": map[string]any{"events": c.stateBefore(events[0].at)},
				"timeline": map[string]any{
					"events": events, "limited": limited, "prev_batch": fmt.Sprintf("p%d", events[0].at),
				},
			}
		}
	}
	rooms := map[string]any{"join": joined, "invite": invited, "leave": removed}
	next := fmt.Sprintf("s%d", cmp.Or(s.now, 1))
	return map[string]any{"next_batch": next, "rooms": rooms}, len(joined)+len(invited)+len(removed) > 0
}

func (c *chat) stateBefore(at int) []*Event {
	found := []*Event{}
	for _, e := range c.events {
		if e.StateKey != nil && e.at < at {
			found = append(found, e)
		}
	}
	return found
}
