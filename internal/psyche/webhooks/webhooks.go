// Package webhooks connects rooms with programs elsewhere by signed HTTP requests: what happens in a room is sent to a
// URL, and posts come in.
//
// What is sent is signed as hooks are (package governor). Each event is sent in the order of its room, at least once, and
// again after a growing pause until it is accepted. How far a webhook has come lies in the store, so that another process
// goes on there.
package webhooks

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/governor"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/rooms"
)

// Speaker lets a webhook's sender into a room and speak there; *rooms.Service does.
type Speaker interface {
	Join(ctx context.Context, c psyche.Caller, r rooms.JoinRequest) (room.Member, error)
	Bring(ctx context.Context, author room.Who, r rooms.PostRequest) (rooms.PostResult, error)
}

// Agents finds agents.
type Agents interface {
	Agent(ctx context.Context, name string) (dream.Agent, error)
}

// Ports are what a Service needs.
type Ports struct {
	Rooms  room.Store
	Agents Agents
	Speak  Speaker
	Key    func() ([]byte, error) // from which every secret is made
	Client *http.Client           // nil: one that follows no redirect
	Now    func() time.Time
	Log    *slog.Logger // it never gets text of a post
}

// Service keeps the webhooks of a deployment, takes their posts and sends their events.
type Service struct {
	Ports
	holder string
	pace   pace
}

// pace is how a service sends.
type pace struct {
	look    time.Duration // between two looks for new webhooks
	lease   time.Duration // of the process that sends
	timeout time.Duration // of a request
	first   time.Duration // pause after a first failure; each further one is twice as long
	longest time.Duration
}

var usual = pace{
	look:    2 * time.Second,
	lease:   time.Minute,
	timeout: 10 * time.Second,
	first:   time.Second,
	longest: 5 * time.Minute,
}

// New makes a Service. holder names this process, as no other does.
func New(p Ports, holder string) *Service {
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	if p.Client == nil {
		p.Client = governor.Direct
	}
	return &Service{Ports: p, holder: holder, pace: usual}
}

// AddRequest describes a webhook: with a URL one that sends, and without one that takes posts of a sender.
type AddRequest struct {
	Name   string           `json:"name"`             // once per room
	URL    string           `json:"url,omitempty"`    // what happens in the room is sent there
	Events []room.EventType `json:"events,omitempty"` // only these; empty: all
	// Sender is how the posts count that it takes: person, stranger or agent. A person of its own has the webhook's name.
	Sender string `json:"sender,omitempty"`
	Agent  string `json:"agent,omitempty"` // of the sender agent: as which member it speaks
}

// View is a webhook as it is shown.
type View struct {
	Room    string           `json:"room"`
	Name    string           `json:"name"`
	URL     string           `json:"url,omitempty"` // without its path, which may be a secret
	Events  []room.EventType `json:"events,omitempty"`
	Sender  *room.Who        `json:"sender,omitempty"`
	After   int64            `json:"after,omitempty"` // newest event that was accepted
	Tries   int              `json:"tries,omitempty"` // of the next one, so far in vain
	Fault   string           `json:"fault,omitempty"` // of the last try
	Created time.Time        `json:"created"`
	// Secret signs the requests. It is shown once, when the webhook is added.
	Secret string `json:"secret,omitempty"`
}

func viewed(w room.Webhook) View {
	v := View{
		Room:    w.Room,
		Name:    w.Name,
		Events:  w.Events,
		Created: w.Created,
	}
	if w.URL == "" {
		v.Sender = &w.Sender
		return v
	}
	v.After, v.Tries, v.Fault = w.After, w.Tries, w.Fault
	u, err := url.Parse(w.URL)
	if err == nil {
		v.URL = u.Scheme + "://" + u.Host
	}
	return v
}

func invalid(param, format string, args ...any) error {
	return psyche.Refuse(http.StatusBadRequest, "invalid_value", param, format+".", args...)
}

// fault converts an error of the store for a client.
func fault(what string, err error) error {
	var refusal *psyche.Fault
	switch {
	case err == nil, errors.As(err, &refusal):
		return err
	case errors.Is(err, room.ErrNotFound):
		return psyche.Refuse(http.StatusNotFound, "not_found", "", "%s: %v.", what, err).From(err)
	}
	return psyche.Refuse(http.StatusServiceUnavailable, "store_unavailable", "", "The store did not answer: %s.", what).From(err)
}

// secret is what a webhook's requests are signed with. It is made from the key of the deployment and stored nowhere.
func (s *Service) secret(w room.Webhook) ([]byte, error) {
	key, err := s.Key()
	if err != nil {
		return nil, fmt.Errorf("read the key of webhooks: %w", err)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("webhook/" + w.Room + "/" + w.Name + "/" + w.Salt))
	return []byte("whsec_" + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))), nil
}

// Add adds a webhook to a room. Its result alone has the secret. It needs role operator.
func (s *Service) Add(ctx context.Context, c psyche.Caller, id string, r AddRequest) (View, error) {
	if err := operator(c); err != nil {
		return View{}, err
	}
	w := room.Webhook{
		Room:    id,
		Name:    r.Name,
		URL:     r.URL,
		Events:  r.Events,
		Salt:    rand.Text(),
		By:      rooms.Person(c),
		Created: s.Now().UTC(),
	}
	join, err := s.sender(ctx, c, r)
	if err != nil {
		return View{}, err
	}
	if join != nil {
		w.Sender = room.PersonID(join.Person)
		join.Room = id
	}
	if join != nil && join.Agent != "" {
		a, err := s.Agents.Agent(ctx, join.Agent)
		if err != nil {
			return View{}, fault("look up the agent", err)
		}
		w.Sender = room.AgentID(a.ID)
	}
	if err := w.Validate(); err != nil {
		return View{}, invalid("webhook", "%v", err)
	}
	secret, err := s.secret(w)
	if err != nil {
		return View{}, psyche.Refuse(http.StatusServiceUnavailable, "key_unavailable", "", "%v.", err)
	}
	if err := s.admit(ctx, c, w, join); err != nil {
		return View{}, err
	}
	kept, err := s.Rooms.AddWebhook(ctx, w)
	if errors.Is(err, room.ErrTaken) {
		return View{}, inUse(w)
	}
	if err != nil {
		return View{}, fault("add webhook "+r.Name+" to "+id, err)
	}
	v := viewed(kept)
	v.Secret = string(secret)
	return v, nil
}

// sender is the member that a webhook which takes posts speaks as; nil for one that sends.
func (s *Service) sender(ctx context.Context, c psyche.Caller, r AddRequest) (*rooms.JoinRequest, error) {
	switch {
	case r.URL != "" && (r.Sender != "" || r.Agent != ""):
		return nil, invalid("sender", "sender and url are given; a webhook either sends to a url or takes posts of a sender")
	case r.URL != "":
		return nil, nil
	case r.Sender == "" && r.Agent == "":
		return nil, invalid("url", "url is missing, to which a webhook sends; or name the sender whose posts it takes: "+
			"person, stranger or agent")
	case r.Sender == "agent" && r.Agent == "":
		return nil, invalid("agent", "agent is missing: the handle of the agent as which the webhook speaks")
	case r.Agent != "" && r.Sender != "" && r.Sender != "agent":
		return nil, invalid("agent", "agent is given and sender is %q; an agent speaks only where sender is agent", r.Sender)
	}
	switch r.Sender {
	case "person":
		return &rooms.JoinRequest{Person: account(r.Name), Name: r.Name}, nil
	case "stranger":
		return &rooms.JoinRequest{Person: account(r.Name), Name: r.Name, Trust: dormancy.Stranger}, nil
	case "agent", "":
		a, err := s.Agents.Agent(ctx, r.Agent)
		if errors.Is(err, memory.ErrNotFound) || err == nil && !c.May(access.Operator, a.Handle) {
			return nil, psyche.Refuse(http.StatusNotFound, "agent_not_found", "agent",
				"There is no agent %q that you operate.", r.Agent)
		}
		return &rooms.JoinRequest{Agent: a.Handle}, fault("look up the agent", err)
	}
	return nil, invalid("sender", "sender is %q; it must be person, stranger or agent", r.Sender)
}

// account is the account of a webhook's own person. No key speaks as it.
func account(name string) string { return "webhook/" + name }

// admit lets a webhook's own person into the room. An agent must be a member.
func (s *Service) admit(ctx context.Context, c psyche.Caller, w room.Webhook, join *rooms.JoinRequest) error {
	if join == nil {
		return nil
	}
	existing, err := s.Rooms.Webhooks(ctx, w.Room)
	if err != nil {
		return fault("list the webhooks of "+w.Room, err)
	}
	for _, other := range existing {
		if other.Name == w.Name {
			return inUse(w)
		}
	}
	if join.Agent == "" {
		_, err := s.Speak.Join(ctx, c, *join)
		return err
	}
	members, err := s.Rooms.Members(ctx, room.AsOperator, w.Room)
	if err != nil {
		return fault("list the members of "+w.Room, err)
	}
	for _, m := range members {
		if m.Who == w.Sender {
			return nil
		}
	}
	return psyche.Refuse(http.StatusForbidden, "not_a_member", "agent", "%s is no member of %s.", join.Agent, w.Room)
}

func inUse(w room.Webhook) error {
	return psyche.Refuse(http.StatusConflict, "conflict", "name",
		"%s has a webhook %q; remove it first, or choose another name.", w.Room, w.Name)
}

func operator(c psyche.Caller) error {
	if c.Key.Role.Includes(access.Operator) {
		return nil
	}
	return psyche.Refuse(http.StatusForbidden, "role_required", "", "This needs a key of the role %s.", access.Operator)
}

// List lists the webhooks of a room by name. It needs role operator.
func (s *Service) List(ctx context.Context, c psyche.Caller, id string) ([]View, error) {
	if err := operator(c); err != nil {
		return nil, err
	}
	if _, err := s.Rooms.Get(ctx, room.AsOperator, id); err != nil {
		return nil, fault("read room "+id, err)
	}
	all, err := s.Rooms.Webhooks(ctx, id)
	views := make([]View, len(all))
	for i, w := range all {
		views[i] = viewed(w)
	}
	return views, fault("list the webhooks of "+id, err)
}

// Remove removes a webhook. Its own person leaves the room. It needs role operator.
func (s *Service) Remove(ctx context.Context, c psyche.Caller, id, name string) (View, error) {
	if err := operator(c); err != nil {
		return View{}, err
	}
	removed, err := s.Rooms.RemoveWebhook(ctx, id, name)
	if errors.Is(err, room.ErrNotFound) {
		return View{}, psyche.Refuse(http.StatusNotFound, "not_found", "webhook", "%s has no webhook %q.", id, name)
	}
	if err != nil {
		return View{}, fault("remove webhook "+name+" of "+id, err)
	}
	if removed.Sender == room.PersonID(account(name)) {
		err = s.Rooms.Leave(ctx, id, removed.Sender, s.Now().UTC())
	}
	return viewed(removed), fault("take the sender out of "+id, err)
}

// IncomingPost is a post that comes in.
type IncomingPost struct {
	// ID is the sender's own id of the post. The same one again posts nothing more.
	ID       string            `json:"id"`
	Body     string            `json:"body"`
	ReplyTo  string            `json:"reply_to,omitempty"`
	Thread   string            `json:"thread,omitempty"`
	Notice   bool              `json:"notice,omitempty"`   // no agent answers it
	Mentions []string          `json:"mentions,omitempty"` // handles, beside those that the body names
	Meta     map[string]string `json:"meta,omitempty"`
}

// Check returns the webhook of a request that is to be trusted: it was signed with its secret, and not long ago. To any
// other the answer is the same, so that nobody learns which webhooks there are.
func (s *Service) Check(ctx context.Context, id, name string, header http.Header, body []byte) (room.Webhook, error) {
	all, err := s.Rooms.Webhooks(ctx, id)
	if err != nil {
		return room.Webhook{}, fault("look up the webhook", err)
	}
	wanted := room.Webhook{Room: id, Name: name, Salt: rand.Text()}
	for _, w := range all {
		if w.Name == name && w.URL == "" {
			wanted = w
		}
	}
	secret, err := s.secret(wanted)
	if err != nil {
		return wanted, psyche.Refuse(http.StatusServiceUnavailable, "key_unavailable", "", "%v.", err)
	}
	if err := governor.VerifySignature(secret, header, body, s.Now()); err != nil {
		return wanted, psyche.Refuse(http.StatusUnauthorized, "invalid_signature", "", "%v.", err)
	}
	return wanted, nil
}

// Receive posts what a trusted request says, by the sender of its webhook.
func (s *Service) Receive(ctx context.Context, w room.Webhook, r IncomingPost) (rooms.PostResult, error) {
	if strings.TrimSpace(r.ID) == "" || len(r.ID) > longestID {
		return rooms.PostResult{}, invalid("id", "id has %d bytes; it must be your own id of the post, of 1 to %d bytes",
			len(r.ID), longestID)
	}
	return s.Speak.Bring(ctx, w.Sender, rooms.PostRequest{
		Room:     w.Room,
		Key:      "webhook/" + w.Name + "/" + r.ID,
		Body:     r.Body,
		ReplyTo:  r.ReplyTo,
		Thread:   r.Thread,
		Notice:   r.Notice,
		Mentions: r.Mentions,
		Meta:     r.Meta,
	})
}

// longestID is the longest id of a post that comes in, in bytes.
const longestID = 200

// pauseAfter is how long a webhook waits after so many tries in vain.
func (p pace) pauseAfter(tries int) time.Duration {
	return min(p.first<<min(tries-1, 20), p.longest)
}
