package roomcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
	service "github.com/seed-56a03226/oneiros/internal/psyche/rooms"
)

// conversation is a post and what agents make of it.
type conversation struct {
	app  *cli.App
	s    *deploy.RoomSession
	out  *speaker
	room string
	f    waitFlags

	after   int64 // offset of the newest event that was seen
	done    service.PostResult
	replies []room.Post
	calls   []made
}

// made is what became of the call of an agent by the post.
type made struct {
	Agent   string       `json:"agent"` // handle
	Outcome room.Outcome `json:"outcome"`
	Reason  string       `json:"reason,omitempty"`

	id string
}

func newConversation(app *cli.App, s *deploy.RoomSession, id string, f waitFlags) *conversation {
	return &conversation{
		app:  app,
		s:    s,
		out:  newSpeaker(app),
		room: id,
		f:    f,
	}
}

// hold posts, waits for the answers and prints both.
func (c *conversation) hold(ctx context.Context, post func() (service.PostResult, error)) error {
	v, err := c.s.Show(ctx, local, c.room)
	if err != nil {
		return err
	}
	c.after = v.Events
	if err := c.endLevels(ctx, v); err != nil {
		return err
	}
	if c.f.not { // it stores posts and answers none
		if err := c.s.Service.Close(ctx); err != nil {
			return err
		}
	}
	c.done, err = post()
	if err != nil {
		return err
	}
	c.begin(v)
	fault := errors.Join(c.wait(ctx), c.release(ctx, v))
	if !c.app.Json {
		for _, m := range c.calls {
			c.report(m)
		}
		return fault
	}
	return errors.Join(c.app.Answer(struct {
		service.PostResult
		Replies []room.Post `json:"replies"`
		Calls   []made      `json:"calls"`
	}{c.done, cli.OrEmpty(c.replies), cli.OrEmpty(c.calls)}), fault)
}

// endLevels ends the levels of the room's agents whose time is over, where no server has done it.
func (c *conversation) endLevels(ctx context.Context, v service.View) error {
	for _, m := range v.Members {
		if m.Dormancy == nil || m.Dormancy.Until.IsZero() || m.Dormancy.Until.After(c.app.Now()) {
			continue
		}
		if _, err := c.s.Attend(ctx, m.ID); err != nil {
			return err
		}
	}
	return nil
}

// release lets the agents that the post has woken go on with what waited while they slept, as a server does.
func (c *conversation) release(ctx context.Context, v service.View) error {
	if c.f.not || ctx.Err() != nil {
		return nil
	}
	waiting, cancel := context.WithTimeout(ctx, c.f.timeout)
	defer cancel()
	for _, m := range v.Members {
		if m.Kind != dormancy.Agent || !slices.Contains(c.done.Woken, m.Name) {
			continue
		}
		if _, err := c.s.Attend(waiting, m.ID); err != nil && waiting.Err() == nil {
			return err
		}
	}
	if len(c.done.Woken) == 0 {
		return nil
	}
	return c.follow(ctx, waiting)
}

// begin prints the post, and who is not called by it.
func (c *conversation) begin(v service.View) {
	ids := map[string]string{}
	for _, m := range v.Members {
		if m.Kind == dormancy.Agent {
			ids[m.Name] = m.ID
		}
	}
	for _, r := range c.done.Reached {
		if r.Outcome == room.Queued && r.Reason == "" {
			c.calls = append(c.calls, made{Agent: r.Agent, Outcome: room.Queued, id: ids[r.Agent]})
		}
	}
	if c.app.Json {
		return
	}
	if c.done.Held {
		c.out.remark("its author sleeps: the post is held until it wakes (oneiros agents wake)")
		return
	}
	c.out.print(c.done.Post)
	for _, r := range c.done.Reached {
		if text := notCalled(r); text != "" {
			c.out.remark("%s %s", r.Agent, text)
		}
	}
	for _, handle := range c.done.Absent {
		c.out.remark("@%s is no member of %s: nobody is called by that name", handle, c.room)
	}
	if c.done.Self != "" {
		c.out.remark("%s is told: %s", c.done.Post.Name, c.done.Self)
	}
}

// wait waits until every call has come to its end, and prints what is said meanwhile.
func (c *conversation) wait(ctx context.Context) error {
	if c.f.not || c.done.Post.ID == "" {
		return nil
	}
	waiting, cancel := context.WithTimeout(ctx, c.f.timeout)
	defer cancel()
	deadline := c.app.Now().Add(c.f.timeout)
	for {
		if err := c.follow(ctx, waiting); err != nil {
			return err
		}
		again, err := c.settle(ctx)
		if err != nil {
			return err
		}
		open := c.open()
		if len(open) == 0 || waiting.Err() != nil || again.IsZero() || again.After(deadline) {
			break
		}
		if err := pause(waiting, again.Sub(c.app.Now())); err != nil {
			break
		}
		for _, m := range open {
			if _, err := c.s.Attend(waiting, m.id); err != nil && waiting.Err() == nil {
				return err
			}
		}
	}
	return c.ended(ctx)
}

// ended is the error of calls that came to no good end.
func (c *conversation) ended(ctx context.Context) error {
	var names []string
	for _, m := range c.open() {
		names = append(names, m.Agent)
	}
	if len(names) > 0 && ctx.Err() != nil {
		return exit.Errorf(exit.Failure, "left off waiting for %s; %s was posted", strings.Join(names, ", "),
			c.done.Post.ID)
	}
	if len(names) > 0 {
		return exit.Errorf(exit.Unreachable, "%s did not answer within %s; %s was posted, and waits in the inbox",
			strings.Join(names, ", "), c.f.timeout, c.done.Post.ID)
	}
	code := exit.Refused
	for _, m := range c.calls {
		if m.Outcome == room.Failed {
			names = append(names, fmt.Sprintf("%s could not answer: %s", m.Agent, cmp.Or(m.Reason, "no reason was recorded")))
		}
		if m.Outcome == room.Failed && m.Reason != noMoney {
			code = exit.Failure
		}
	}
	if len(names) == 0 {
		return nil
	}
	return exit.Errorf(code, "%s", strings.Join(names, "; "))
}

// noMoney is the reason of a call that a cap forbids.
const noMoney = "no money left"

func (c *conversation) open() []made {
	return slices.DeleteFunc(slices.Clone(c.calls), func(m made) bool { return m.Outcome != room.Queued })
}

// follow prints what is said until this process has nothing left to answer, or waiting ends.
func (c *conversation) follow(ctx, waiting context.Context) error {
	idle, stop := context.WithCancel(waiting)
	defer stop()
	go func() {
		_ = c.s.Wait(idle) // it fails only when waiting ends, which is looked at
		stop()
	}()
	for idle.Err() == nil {
		if err := c.catchUp(ctx); err != nil {
			return err
		}
		if err := c.s.Await(idle, local, c.room, c.after); err != nil && idle.Err() == nil {
			return err
		}
	}
	return c.catchUp(context.WithoutCancel(ctx))
}

// catchUp prints what was said since it was last called.
func (c *conversation) catchUp(ctx context.Context) error {
	for {
		events, err := c.s.Events(ctx, local, c.room, c.after, 0)
		if err != nil || len(events) == 0 {
			return err
		}
		for _, e := range events {
			c.after = e.Offset
			if err := c.see(ctx, e); err != nil {
				return err
			}
		}
	}
}

func (c *conversation) see(ctx context.Context, e room.Event) error {
	if e.Type == room.Resolved && e.Post == c.done.Post.ID {
		for i, m := range c.calls {
			if m.id == e.Who.ID {
				c.calls[i].Outcome = e.Outcome
			}
		}
	}
	if e.Type != room.Added || e.Post == c.done.Post.ID {
		return nil
	}
	p, err := c.s.Find(ctx, local, e.Post)
	if errors.Is(err, memory.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	c.replies = append(c.replies, p)
	if !c.app.Json {
		c.out.print(p)
	}
	return nil
}

// settle reads of calls that were not answered why, and when one of them is tried again; zero when none is.
func (c *conversation) settle(ctx context.Context) (again time.Time, err error) {
	ctx = context.WithoutCancel(ctx)
	for i, m := range c.calls {
		switch m.Outcome {
		case room.Failed:
			record, err := recordOf(ctx, c.s, m.Agent, c.done.Post.ID)
			if err != nil {
				return again, err
			}
			c.calls[i].Reason = record.Reason
		case room.Queued:
			items, err := itemsOf(ctx, c.s, m.Agent)
			if err != nil {
				return again, err
			}
			at := slices.IndexFunc(items, func(item room.Item) bool { return item.Post == c.done.Post.ID })
			if at < 0 {
				continue
			}
			c.calls[i].Reason = items[at].Reason
			next := items[at].Until
			if items[at].State == room.Taken { // another process answers it
				next = c.app.Now().Add(lookEvery)
			}
			if !next.IsZero() && (again.IsZero() || next.Before(again)) {
				again = next
			}
		}
	}
	return again, nil
}

// report prints what became of a call, unless the answer says it.
func (c *conversation) report(m made) {
	switch {
	case m.Outcome == room.Silent:
		c.out.remark("%s has read it and chooses to be silent", m.Agent)
	case m.Outcome == room.Queued && c.f.not:
		c.out.remark("%s is called; a server lets it answer, or oneiros agents wake %s", m.Agent, m.Agent)
	case m.Outcome == room.Queued && m.Reason != "":
		c.out.remark("%s has not answered (%s)", m.Agent, m.Reason)
	}
}

// notCalled says why an agent is not called by a post; empty when it is.
func notCalled(r service.Reached) string {
	if r.Outcome == room.Queued && r.Reason == "" {
		return ""
	}
	text := reasonText(r.Reason, r.Level)
	if r.Outcome == room.Queued {
		return "answers later: " + text
	}
	return "is not called: " + text
}

// reasonText says in words why a call was skipped or waits.
func reasonText(reason string, level dormancy.Level) string {
	switch {
	case reason == "level" && level == dormancy.Sleep:
		return "it sleeps"
	case reason == "level":
		return fmt.Sprintf("its level is %s", level)
	}
	texts := map[string]string{
		"unsubscribed":   "it sees only posts that name it",
		"unnamed":        "in a thread agents answer an agent only when it names them",
		"dreaming":       "it dreams",
		"notice":         "nobody answers a notice",
		"full":           "its inbox is full",
		"waits":          "the call before has not been answered",
		"reader":         "it may only read there",
		"limit hops":     "agents have answered each other too often since a person spoke",
		"limit alone":    "agents have talked among themselves for too long",
		"limit pair":     "the author has called it too often",
		"limit mentions": "the author has named it too often",
		"limit room":     "the agents of this room talk too much",
		"limit agent":    "it was called too often",
		"limit often":    "the author, or strangers together, have called it too often",
	}
	return cmp.Or(texts[reason], reason)
}

// recordOf is the record of an agent's call by a post or a message; a record without an outcome when there is none.
func recordOf(ctx context.Context, s *deploy.RoomSession, agent, key string) (room.Wake, error) {
	records, err := recordsOf(ctx, s, agent)
	if err != nil {
		return room.Wake{}, err
	}
	at := slices.IndexFunc(records, func(w room.Wake) bool { return w.Key == key })
	if at < 0 {
		return room.Wake{}, nil
	}
	return records[at], nil
}

// recordsOf are the records of an agent's calls, oldest first.
func recordsOf(ctx context.Context, s *deploy.RoomSession, agent string) ([]room.Wake, error) {
	return service.AllPages(func(after int64) ([]room.Wake, error) {
		return s.Calls(ctx, local, agent, after, room.MaxPage)
	}, func(w room.Wake) int64 { return w.Number })
}

// itemsOf is what waits for an agent, oldest first.
func itemsOf(ctx context.Context, s *deploy.RoomSession, agent string) ([]room.Item, error) {
	return service.AllPages(func(after int64) ([]room.Item, error) {
		return s.Inbox(ctx, local, agent, after, room.MaxPage)
	}, func(i room.Item) int64 { return i.Number })
}

// lookEvery is how often it is looked whether another process has answered.
const lookEvery = 300 * time.Millisecond

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
