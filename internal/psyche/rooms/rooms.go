// Package rooms runs the rooms in which agents and people talk: who may do what there, which agents a post calls, and
// how they answer.
//
// The process that takes a post answers it at once. What it cannot finish, because it is killed or because the agent
// sleeps or dreams, stays in the inbox; Attend, which a durable workflow calls, goes on with it.
package rooms

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/admission/chatter"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// Agents is what rooms read of the agents themselves.
type Agents interface {
	Agent(ctx context.Context, name string) (dream.Agent, error)
	Agents(ctx context.Context) ([]dream.Agent, error)
	Slots(ctx context.Context) (map[string]memory.Slot, error)
}

// Minds answers for agents; psyche.Service does.
type Minds interface {
	Called(ctx context.Context, agent string, c psyche.Call) (psyche.CallAnswer, error)
	Hear(ctx context.Context, agent string, owner psyche.Caller, session string, statements []psyche.Statement) error
}

// Attendants go on with what a process leaves unfinished. Look returns at once; the attendant calls Service.Attend.
type Attendants interface {
	Look(agent dream.Agent)
}

// Ports are what a Service needs.
type Ports struct {
	Rooms      room.Store
	Agents     Agents
	Minds      Minds
	Waker      psyche.Waker
	Attendants Attendants // nil: nobody goes on but this process
	Now        func() time.Time
	Log        *slog.Logger // it never gets text of a post
}

// Options configure a Service. The zero Options have the defaults named here.
type Options struct {
	Rules       chatter.Rules // zero: chatter.Default
	AgentDay    budget.Micros // most that the calls of one agent may cost a day; budget.Unlimited: only its own caps
	StrangerDay budget.Micros // most that the calls of one agent by strangers may cost a day
	Hold        time.Duration // how long a wake without a message holds the agent awake; 0: one minute
	// Lease is how long the process that takes an item has to answer it; then another may. 0: two minutes.
	Lease time.Duration
	// Gather is how long posts are gathered after a call, and become the next one. 0: chatter.Gather; below: not at all.
	Gather time.Duration
}

// Service runs the rooms of a deployment. Several processes may share one store.
type Service struct{ answering }

// core is what all parts of a service share.
type core struct {
	Ports
	o Options
}

// answering lets agents answer what waits for them.
type answering struct {
	core
	holder string // names this process in what it takes
	takes  atomic.Int64

	running context.Context // of answers under way
	stop    context.CancelFunc
	beside  underway
	gate    sync.RWMutex // write-locked to set closed
	closed  bool

	mu       sync.Mutex
	attended map[string]*attendance // by agent
}

// Defaults of Options.
const (
	defaultLease = 2 * time.Minute
	defaultHold  = time.Minute
)

// New makes a Service. holder names this process, as no other does.
func New(p Ports, holder string, o Options) *Service {
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	if o.Rules == (chatter.Rules{}) {
		o.Rules = chatter.Default
	}
	o.Lease, o.Hold = cmp.Or(o.Lease, defaultLease), cmp.Or(o.Hold, defaultHold)
	o.Gather = cmp.Or(o.Gather, chatter.Gather)
	s := new(Service)
	s.core = core{Ports: p, o: o}
	s.holder, s.attended = holder, map[string]*attendance{}
	s.running, s.stop = context.WithCancel(context.Background())
	return s
}

// Close waits until answers under way are given. When ctx ends before, they are stopped; what they leave is answered
// by another process, or when this one starts anew.
func (s *Service) Close(ctx context.Context) error {
	s.gate.Lock()
	s.closed = true
	s.gate.Unlock()
	defer s.stop()
	defer context.AfterFunc(ctx, s.stop)()
	<-s.beside.none()
	return ctx.Err()
}

// taker names one take of this process: a take that is repeated raises the fence, like that of another process.
func (s *answering) taker() string { return s.holder + "/" + strconv.FormatInt(s.takes.Add(1), 10) }

// detach runs do beside the caller, unless the service is closed: then it returns false.
func (s *answering) detach(do func(ctx context.Context)) bool {
	s.gate.RLock()
	defer s.gate.RUnlock()
	if s.closed {
		return false
	}
	s.beside.run(func() { do(s.running) })
	return true
}

// Wait returns when this process has nothing left to answer, or ctx ends.
func (s *Service) Wait(ctx context.Context) error {
	select {
	case <-s.beside.none():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// underway counts what runs beside callers. Unlike of a sync.WaitGroup, more may begin while somebody waits.
type underway struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when nothing is left
}

func (u *underway) run(do func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.n == 0 {
		u.idle = make(chan struct{})
	}
	u.n++
	go func() {
		defer u.end()
		do()
	}()
}

func (u *underway) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.n--
	if u.n == 0 {
		close(u.idle)
	}
}

// none is closed when nothing of what runs now is left.
func (u *underway) none() <-chan struct{} {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.idle == nil {
		u.idle = make(chan struct{})
		close(u.idle)
	}
	return u.idle
}

// Local is the person of requests without a key.
const Local = access.Local

// Person is how a caller counts in rooms.
func Person(c psyche.Caller) room.Who { return room.PersonID(c.Key.PrincipalName()) }

// actor is who acts: the caller, or with as an agent of it, which needs role operator for that agent.
func (s *core) actor(ctx context.Context, c psyche.Caller, as string) (room.Who, error) {
	if as == "" {
		return Person(c), nil
	}
	a, err := s.agent(ctx, c, as, access.Operator)
	return room.AgentID(a.ID), err
}

// agent finds an agent that the caller reaches in a role.
func (s *core) agent(ctx context.Context, c psyche.Caller, name string, need access.Role) (dream.Agent, error) {
	a, err := s.Agents.Agent(ctx, name)
	if errors.Is(err, memory.ErrNotFound) || err == nil && !c.Key.Reaches(a.Handle) {
		return dream.Agent{}, psyche.Refuse(http.StatusNotFound, "agent_not_found", "agent", "There is no agent %q.", name)
	}
	if err != nil {
		return a, failed("look up the agent", err)
	}
	if !c.May(need, a.Handle) {
		return dream.Agent{}, roleRequired(need)
	}
	return a, nil
}

func roleRequired(need access.Role) error {
	return psyche.Refuse(http.StatusForbidden, "role_required", "", "This needs a key of the role %s.", need)
}

// reader is as whom a caller reads a room: an owner of the deployment reads every room.
func reader(c psyche.Caller) room.Who {
	if c.Key.Role.Includes(access.Owner) && len(c.Key.Agents) == 0 {
		return room.AsOperator
	}
	return Person(c)
}

// failed converts an error of the store for a client.
func failed(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, room.ErrNotFound):
		return psyche.Refuse(http.StatusNotFound, "not_found", "", "%s: %v.", what, err).From(err)
	case errors.Is(err, room.ErrNotMember):
		return psyche.Refuse(http.StatusForbidden, "not_a_member", "", "%s: %v.", what, err).From(err)
	case errors.Is(err, room.ErrForbidden):
		return psyche.Refuse(http.StatusForbidden, "role_required", "", "%s: %v.", what, err).From(err)
	case errors.Is(err, room.ErrTaken), errors.Is(err, room.ErrStale):
		return psyche.Refuse(http.StatusConflict, "conflict", "", "%s: %v.", what, err).From(err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	if f := psyche.StoreFault(err); f != nil {
		return f
	}
	return psyche.Refuse(http.StatusServiceUnavailable, "store_unavailable", "", "The store did not answer: %s.", what).
		After(time.Second).From(err)
}

// invalid is a fault of the request itself.
func invalid(param string, err error) error {
	return psyche.Refuse(http.StatusBadRequest, "invalid_value", param, "%v.", err)
}

// CreateRequest describes a room to make.
type CreateRequest struct {
	ID    string            `json:"id"`              // a to z, digits, hyphens and dots; at most 64 characters
	Title string            `json:"title,omitempty"` // for people
	Meta  map[string]string `json:"meta,omitempty"`
	Join  []string          `json:"join,omitempty"` // handles of agents that join at once and see every post
}

// Create makes a room with the caller as its owner, or returns the one that the caller has made before. It needs role
// operator.
func (s *Service) Create(ctx context.Context, c psyche.Caller, r CreateRequest) (room.Room, error) {
	if !c.Key.Role.Includes(access.Operator) {
		return room.Room{}, roleRequired(access.Operator)
	}
	now := s.Now().UTC()
	place := room.Room{
		ID:      r.ID,
		Title:   r.Title,
		Meta:    r.Meta,
		By:      Person(c),
		Created: now,
	}
	owner := room.Member{
		Room:   r.ID,
		Who:    Person(c),
		Name:   Person(c).ID,
		Role:   room.Owner,
		Trust:  dormancy.Own,
		Joined: now,
	}
	if err := errors.Join(place.Validate(), owner.Validate()); err != nil {
		return room.Room{}, invalid("id", err)
	}
	for _, handle := range r.Join {
		if _, err := s.agent(ctx, c, handle, access.Client); err != nil {
			return room.Room{}, err
		}
	}
	made, err := s.Rooms.Create(ctx, place, owner)
	if err != nil {
		return made, failed("make room "+r.ID, err)
	}
	for _, handle := range r.Join {
		if _, err := s.Join(ctx, c, JoinRequest{Room: r.ID, Agent: handle, Subscribed: true}); err != nil {
			return made, err
		}
	}
	return made, nil
}

// List returns the rooms that the caller may read, by id.
func (s *Service) List(ctx context.Context, c psyche.Caller) ([]room.Room, error) {
	all, err := s.Rooms.List(ctx, reader(c))
	return all, failed("list rooms", err)
}

// Get returns a room without its members.
func (s *Service) Get(ctx context.Context, c psyche.Caller, id string) (room.Room, error) {
	place, err := s.Rooms.Get(ctx, reader(c), id)
	return place, failed("read room "+id, err)
}

// MemberView is a member as a list shows it.
type MemberView struct {
	room.Member
	Online   bool            `json:"online"` // of an agent: it is awake
	Dreaming bool            `json:"dreaming,omitempty"`
	Dormancy *dormancy.State `json:"dormancy,omitempty"` // of an agent that is not active in this room
}

// View is a room with its members.
type View struct {
	room.Room
	Members []MemberView `json:"members"`
}

// Show returns a room with its members, their levels, and who is awake.
func (s *Service) Show(ctx context.Context, c psyche.Caller, id string) (View, error) {
	place, err := s.Rooms.Get(ctx, reader(c), id)
	if err != nil {
		return View{}, failed("read room "+id, err)
	}
	members, err := s.Rooms.Members(ctx, reader(c), id)
	if err != nil {
		return View{}, failed("list the members of "+id, err)
	}
	slots, err := s.Agents.Slots(ctx)
	if err != nil {
		return View{}, failed("ask who dreams", err)
	}
	view := View{Room: place, Members: make([]MemberView, len(members))}
	for i, m := range members {
		view.Members[i], err = s.viewed(ctx, m, slots)
		if err != nil {
			return View{}, err
		}
	}
	return view, nil
}

func (s *core) viewed(ctx context.Context, m room.Member, slots map[string]memory.Slot) (MemberView, error) {
	v := MemberView{Member: m}
	if m.Kind != dormancy.Agent {
		return v, nil
	}
	status, err := s.Waker.Status(ctx, m.ID)
	if err != nil {
		return v, failed("ask who is awake", err)
	}
	_, v.Dreaming = slots[m.ID]
	v.Online = status.Until().After(s.Now())
	states, err := s.Rooms.Dormancy(ctx, m.ID)
	if err != nil {
		return v, failed("read the levels of "+m.Name, err)
	}
	if state := effective(states, m.Room); state.Dormant() {
		v.Dormancy = &state
	}
	return v, nil
}

// effective is the state that holds in a room; an empty room is the agent in general.
func effective(states []room.Dormancy, id string) dormancy.State {
	var general, own dormancy.State
	for _, d := range states {
		switch {
		case d.Room == "":
			general = d.State
		case d.Room == id:
			own = d.State
		}
	}
	return dormancy.Effective(general, own)
}

// JoinRequest adds a member to a room: an agent by its handle, or a person by the name of its account.
type JoinRequest struct {
	Room       string         `json:"-"`
	Agent      string         `json:"agent,omitempty"`
	Person     string         `json:"person,omitempty"`
	Name       string         `json:"name,omitempty"`  // of a person, as it is shown; empty: the account
	Role       room.Role      `json:"role,omitempty"`  // empty: writer
	Trust      dormancy.Trust `json:"trust,omitempty"` // empty: own
	Subscribed bool           `json:"subscribed,omitempty"`
}

// Join adds a member, or changes one. It needs role operator.
func (s *Service) Join(ctx context.Context, c psyche.Caller, r JoinRequest) (room.Member, error) {
	if !c.Key.Role.Includes(access.Operator) {
		return room.Member{}, roleRequired(access.Operator)
	}
	m := room.Member{
		Room:       r.Room,
		Role:       cmp.Or(r.Role, room.Writer),
		Trust:      cmp.Or(r.Trust, dormancy.Own),
		Subscribed: r.Subscribed,
		Joined:     s.Now().UTC(),
	}
	switch {
	case (r.Agent == "") == (r.Person == ""):
		return m, invalid("agent", errors.New("name either an agent or a person"))
	case r.Agent != "":
		a, err := s.agent(ctx, c, r.Agent, access.Client)
		if err != nil {
			return m, err
		}
		m.Who, m.Name = room.AgentID(a.ID), a.Handle
	default:
		m.Who, m.Name = room.PersonID(r.Person), cmp.Or(r.Name, r.Person)
		if err := s.unclaimed(ctx, m.Name); err != nil {
			return m, err
		}
	}
	if err := m.Validate(); err != nil {
		return m, invalid("member", err)
	}
	joined, err := s.Rooms.Join(ctx, m)
	return joined, failed("join "+r.Room, err)
}

// unclaimed refuses a name of a person under which an agent is called.
func (s *core) unclaimed(ctx context.Context, name string) error {
	_, err := s.Agents.Agent(ctx, name)
	switch {
	case errors.Is(err, memory.ErrNotFound):
		return nil
	case err != nil:
		return failed("look up the name", err)
	}
	return invalid("name", fmt.Errorf("name is %q, which is an agent's; a person is shown under another", name))
}

// Leave removes a member. Who leaves by itself needs no role; to remove another needs role operator.
func (s *Service) Leave(ctx context.Context, c psyche.Caller, id, name string) error {
	who, err := s.memberNamed(ctx, c, id, name)
	if err != nil {
		return err
	}
	if who != Person(c) && !c.Key.Role.Includes(access.Operator) {
		return roleRequired(access.Operator)
	}
	return failed("leave "+id, s.Rooms.Leave(ctx, id, who, s.Now().UTC()))
}

// Subscribe switches whether an agent sees every post of a room. It needs role operator.
func (s *Service) Subscribe(ctx context.Context, c psyche.Caller, id, agent string, on bool) (room.Member, error) {
	a, err := s.agent(ctx, c, agent, access.Operator)
	if err != nil {
		return room.Member{}, err
	}
	m, err := s.Rooms.Subscribe(ctx, id, room.AgentID(a.ID), on, s.Now().UTC())
	return m, failed("subscribe "+agent+" to "+id, err)
}

// memberNamed finds a member by name, as a post names it, or by account; the empty name is the caller.
func (s *core) memberNamed(ctx context.Context, c psyche.Caller, id, name string) (room.Who, error) {
	if name == "" {
		return Person(c), nil
	}
	members, err := s.Rooms.Members(ctx, reader(c), id)
	if err != nil {
		return room.Who{}, failed("list the members of "+id, err)
	}
	at := slices.IndexFunc(members, func(m room.Member) bool { return m.Name == name || m.ID == name })
	if at < 0 {
		return room.Who{}, psyche.Refuse(http.StatusNotFound, "not_found", "member", "%q is no member of %s.", name, id)
	}
	return members[at].Who, nil
}
