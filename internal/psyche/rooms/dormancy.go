package rooms

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/admission/chatter"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/selfcommand"
)

// instruction is an "@self" command of an agent, or what is wrong with it.
type instruction struct {
	agent   dream.Agent
	command selfcommand.Command
	fault   error

	answer string // of the command, once its post is stored
	timed  bool   // it may have set an end, which a timer must end
}

// ordered reads the "@self" command of an agent's words; nil when there is none.
func (s *core) ordered(ctx context.Context, agent, body string) (*instruction, error) {
	a, err := s.Agents.Agent(ctx, agent)
	if err != nil {
		return nil, failed("look up the agent", err)
	}
	command, found, fault := selfcommand.Find(dormancy.Agent, body, s.Now().In(zone(a)))
	if !found && fault == nil {
		return nil, nil
	}
	o := &instruction{agent: a, command: command, fault: fault}
	if fault != nil {
		o.answer = fmt.Sprintf("%v. %s", fault, selfcommand.Usage)
	}
	return o, nil
}

// obeyed adds to a rule what the author of a post commands itself in it. It is stored in the same step as the post, so
// that no process dies between the two.
func (o *instruction) obeyed(rule room.Rule) room.Rule {
	if o == nil || o.fault != nil {
		return rule
	}
	return func(m room.Situation) room.Decision {
		d := rule(m)
		d.Levels, d.Follow = o.obey(m)
		return d
	}
}

// obey is how the levels of an author change that has posted a command, and what the room is told.
func (o *instruction) obey(m room.Situation) (levels []room.Change, follow []room.Draft) {
	p, states := m.Post, m.Own()
	before := scopes(states, p.Room)
	done := selfcommand.Apply(o.command, before, o.agent.Handle, m.Now.In(zone(o.agent)))
	o.answer, o.timed = done.Reply, done.Announce != ""
	change := func(id string, was, is dormancy.State) {
		if was.Sequence == is.Sequence {
			return
		}
		levels = append(levels, room.Change{
			Agent:  o.agent.ID,
			Room:   id,
			Level:  is.Level,
			Reason: is.Reason,
			Until:  is.Until,
			If:     room.AnySequence, // what the agent says last holds
			Key:    "self/" + p.ID,
			Now:    m.Now,
		})
	}
	change("", before.General, done.Scopes.General)
	change(p.Room, before.Own, done.Scopes.Own)
	for _, d := range states {
		if done.EveryRoom && d.Room != "" && d.Room != p.Room {
			change(d.Room, d.State, d.Clear())
		}
	}
	line := room.Draft{
		Room:   p.Room,
		Author: p.Author,
		Key:    "self/" + p.ID,
		Form:   room.Announcement,
		Body:   done.Announce,
		Now:    m.Now,
	}
	if done.Announce == "" { // the room is told of no change, and the author is answered
		line.Key, line.Form = "status/"+p.ID, room.Notice
		line.ReplyTo, line.Body = p.ID, done.Reply
	}
	return levels, []room.Draft{line}
}

// answered is what the author of a stored post is told about its command.
func (s *core) answered(ctx context.Context, o *instruction, posted room.Posted) (string, error) {
	if o.timed {
		s.look(ctx, o.agent.ID)
	}
	if o.answer != "" {
		return o.answer, nil
	}
	states, err := s.Rooms.Dormancy(ctx, o.agent.ID) // the command was obeyed when the post was stored
	if err != nil {
		return "", failed("read the levels of "+o.agent.Handle, err)
	}
	return selfcommand.Apply(o.command, scopes(states, posted.Post.Room), o.agent.Handle, s.Now().In(zone(o.agent))).Reply, nil
}

func scopes(states []room.Dormancy, id string) selfcommand.Scopes {
	var both selfcommand.Scopes
	for _, d := range states {
		switch d.Room {
		case "":
			both.General = d.State
		case id:
			both.Own = d.State
		}
	}
	return both
}

// DormancyRequest sets how reachable an agent is.
type DormancyRequest struct {
	Level  dormancy.Level `json:"level"`            // active ends it
	Room   string         `json:"room,omitempty"`   // only there; empty: in general
	Reason string         `json:"reason,omitempty"` // one line
	For    string         `json:"for,omitempty"`    // a duration such as 90m or 2h
	Until  time.Time      `json:"until,omitzero"`   // or a time
	Key    string         `json:"key,omitempty"`    // a repeated request with it changes nothing more
}

// end is when a requested dormancy ends; zero for never.
func (r DormancyRequest) end(now time.Time) (time.Time, error) {
	switch {
	case r.For != "" && !r.Until.IsZero():
		return time.Time{}, invalid("for", errors.New("name either a duration or a time"))
	case r.For != "":
		d, err := time.ParseDuration(r.For)
		if err != nil || d <= 0 {
			return time.Time{}, invalid("for",
				fmt.Errorf("for is %q; it must be a duration above zero such as 90m or 2h", r.For))
		}
		return now.Add(d), nil
	case !r.Until.IsZero() && !r.Until.After(now):
		return time.Time{}, invalid("until", fmt.Errorf("until is %s, which is past", r.Until.Format(time.RFC3339)))
	}
	return r.Until.UTC(), nil
}

// SetDormancy sets how reachable an agent is, in general or in one room, and tells the rooms concerned. It needs role
// operator.
func (s *Service) SetDormancy(ctx context.Context, c psyche.Caller, agent string, r DormancyRequest) (room.Dormancy, error) {
	a, err := s.agent(ctx, c, agent, access.Operator)
	if err != nil {
		return room.Dormancy{}, err
	}
	if !r.Level.Valid() {
		return room.Dormancy{}, invalid("level",
			fmt.Errorf("level is %q; it must be active, mention-only, human-only or sleep", r.Level))
	}
	now := s.Now().UTC()
	change := room.Change{
		Agent:  a.ID,
		Room:   r.Room,
		Level:  r.Level,
		Reason: r.Reason,
		If:     room.AnySequence,
		Key:    r.Key,
		Now:    now,
	}
	change.Until, err = r.end(now)
	if err != nil {
		return room.Dormancy{}, err
	}
	if r.Level == dormancy.Active {
		change.Reason, change.Until = "", time.Time{}
		if r.Room == "" {
			change.Level = ""
		}
	}
	if err := change.Validate(); err != nil {
		return room.Dormancy{}, invalid("level", err)
	}
	states, err := s.Rooms.Dormancy(ctx, a.ID)
	if err != nil {
		return room.Dormancy{}, failed("read the levels of "+a.Handle, err)
	}
	set, err := s.Rooms.SetDormancy(ctx, change)
	if err != nil {
		return set, failed("set the level of "+a.Handle, err)
	}
	switch {
	case set.Dormant():
		s.announce(ctx, a, set, selfcommand.AnnounceDormant(a.Handle, set.State, now.In(zone(a))))
	case effective(states, r.Room).Dormant():
		s.announce(ctx, a, set, awakeText(a))
	}
	s.look(ctx, a.ID)
	return set, nil
}

// announce tells the rooms concerned of a new state: that of its own, or for one in general every room of the agent.
func (s *core) announce(ctx context.Context, a dream.Agent, d room.Dormancy, text string) {
	ids := []string{d.Room}
	if d.Room == "" {
		all, err := s.Rooms.List(ctx, room.AgentID(a.ID))
		if err != nil {
			s.Log.Warn("no room could be told of a new level", "agent", a.Handle, "error", err)
			return
		}
		ids = ids[:0]
		for _, r := range all {
			ids = append(ids, r.ID)
		}
	}
	for _, id := range ids {
		s.tell(ctx, id, room.AgentID(a.ID), fmt.Sprintf("level/%s/%d", d.Room, d.Sequence), text)
	}
}

// Dormancy returns the levels of an agent that are set: in general first, then by room.
func (s *Service) Dormancy(ctx context.Context, c psyche.Caller, agent string) ([]room.Dormancy, error) {
	a, err := s.agent(ctx, c, agent, access.Client)
	if err != nil {
		return nil, err
	}
	states, err := s.Rooms.Dormancy(ctx, a.ID)
	return states, failed("read the levels of "+a.Handle, err)
}

// AwakenRequest wakes agents: those that are named, or all that are dormant.
type AwakenRequest struct {
	Agents  []string `json:"agents,omitempty"`
	All     bool     `json:"all,omitempty"`
	Message string   `json:"message,omitempty"` // is answered before everything that waits
	Key     string   `json:"key,omitempty"`     // a repeated request with it sends no second message
}

// Awoken is what an AwakenRequest has done.
type Awoken struct {
	Success bool     `json:"success"`
	Woken   []string `json:"woken"` // handles
	Error   string   `json:"error,omitempty"`
}

// Awaken ends the dormancy of agents and interrupts their dreams. One that fails stops no other. It needs role
// operator.
func (s *Service) Awaken(ctx context.Context, c psyche.Caller, r AwakenRequest) (Awoken, error) {
	if r.All == (len(r.Agents) > 0) {
		return Awoken{Woken: []string{}, Error: "Must specify an agent or --all"},
			psyche.Refuse(http.StatusBadRequest, "invalid_value", "agents", "Must specify an agent or --all")
	}
	var agents []dream.Agent
	if r.All {
		dormant, err := s.dormant(ctx, c)
		if err != nil {
			return Awoken{}, err
		}
		agents = dormant
	}
	for _, name := range r.Agents {
		a, err := s.agent(ctx, c, name, access.Operator)
		if err != nil {
			return Awoken{}, err
		}
		agents = append(agents, a)
	}
	done := Awoken{Woken: []string{}}
	var faults []error
	for _, a := range agents {
		if err := s.awaken(ctx, c, a, r); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", a.Handle, err))
			continue
		}
		done.Woken = append(done.Woken, a.Handle)
	}
	done.Success = len(faults) == 0
	if !done.Success {
		done.Error = errors.Join(faults...).Error()
	}
	return done, nil
}

// dormant are the agents that are dormant anywhere and that the caller operates.
func (s *core) dormant(ctx context.Context, c psyche.Caller) ([]dream.Agent, error) {
	states, err := s.Rooms.Dormant(ctx)
	if err != nil {
		return nil, failed("list the dormant agents", err)
	}
	var agents []dream.Agent
	for _, d := range states {
		a, err := s.Agents.Agent(ctx, d.Agent)
		if err != nil {
			return nil, failed("look up the agent", err)
		}
		existing := slices.ContainsFunc(agents, func(b dream.Agent) bool { return b.ID == a.ID })
		if !existing && c.May(access.Operator, a.Handle) {
			agents = append(agents, a)
		}
	}
	return agents, nil
}

func (s *answering) awaken(ctx context.Context, c psyche.Caller, a dream.Agent, r AwakenRequest) error {
	now := s.Now().UTC()
	wake := room.Awakening{Agent: a.ID, By: Person(c), Now: now}
	if r.Message != "" {
		wake.Message = &room.Direct{
			Agent: a.ID, Key: "wake/" + keyOr(r.Key) + "/" + a.ID, Trigger: room.OnDirect, From: Person(c),
			Message:  &room.Text{Body: r.Message, Name: Person(c).ID, Taint: dream.FromHuman},
			Priority: chatter.WakePriority,
			Now:      now,
		}
		if err := wake.Message.Validate(); err != nil {
			return invalid("message", err)
		}
	}
	woken, err := s.Rooms.Awaken(ctx, wake)
	if err != nil {
		return failed("wake "+a.Handle, err)
	}
	if _, err := s.Waker.Wake(ctx, a.ID, "wake/"+Person(c).ID, s.o.Hold); err != nil {
		return failed("wake "+a.Handle, err)
	}
	for _, d := range woken.Ended {
		d.Sequence++ // of the state that follows
		s.announce(ctx, a, d, selfcommand.AnnounceAwake(a.Handle, false))
	}
	if woken.Delivered != nil && woken.Delivered.Item != nil {
		s.answer([]room.Delivered{*woken.Delivered})
	}
	s.look(ctx, a.ID)
	return nil
}

// expire ends the levels whose time is over, and tells the rooms concerned. A level that was changed meanwhile stays.
func (s *core) expire(ctx context.Context, a dream.Agent, now time.Time) error {
	states, err := s.Rooms.Dormancy(ctx, a.ID)
	if err != nil {
		return err
	}
	for _, d := range states {
		if d.Until.IsZero() || d.Until.After(now) {
			continue
		}
		ended, err := s.Rooms.SetDormancy(ctx, room.Change{
			Agent: a.ID,
			Room:  d.Room,
			If:    d.Sequence,
			Key:   fmt.Sprintf("timer/%d", d.Sequence),
			Now:   now,
		})
		if errors.Is(err, room.ErrStale) {
			continue
		}
		if err != nil {
			return err
		}
		s.announce(ctx, a, ended, selfcommand.AnnounceAwake(a.Handle, true))
	}
	return nil
}

func awakeText(a dream.Agent) string { return selfcommand.AnnounceAwake(a.Handle, false) }
