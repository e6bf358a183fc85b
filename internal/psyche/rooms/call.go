package rooms

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/admission/chatter"
	"github.com/seed-56a03226/oneiros/internal/prompt"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// shown is how many earlier posts an agent is shown: what a screen of a room holds.
const shown = 12

// callOf is the call of an agent for a group of items, of which trigger is answered.
func (s *core) callOf(ctx context.Context, a dream.Agent, trigger room.Item, group []room.Item) (psyche.Call, error) {
	call := psyche.Call{
		Step:     fmt.Sprintf("call/%s/%d", a.ID, group[0].Number),
		Client:   "room/" + trigger.Room,
		Accounts: s.accounts(a, group),
	}
	if trigger.Trigger != room.OnMention {
		call.Client = "call/" + trigger.From.ID
		return s.message(ctx, a, trigger, call)
	}
	call.Owner, call.Session = roomOwner(trigger.Room), session(trigger.Room)
	p, err := s.Rooms.Find(ctx, room.AgentID(a.ID), trigger.Post)
	if err != nil {
		return call, err
	}
	if p.State == room.Emptied {
		return call, fmt.Errorf("%s was deleted: %w", p.ID, room.ErrNotFound)
	}
	place, err := s.Rooms.Get(ctx, room.AgentID(a.ID), trigger.Room)
	if err != nil {
		return call, err
	}
	before, err := s.before(ctx, a, p)
	if err != nil {
		return call, err
	}
	call.Query = p.Body
	call.Wake = prompt.WakeInput{
		Trigger: prompt.ByMention, Caller: speech(p), Room: place.ID,
		Categories: splitList(p.Meta["categories"]), Score: p.Meta["score"],
	}
	named := slices.ContainsFunc(p.Mentions, func(m room.Mention) bool { return m.Who == room.AgentID(a.ID) })
	call.Gated = !named || p.Author.Kind != dormancy.Person
	for _, m := range p.Mentions {
		if m.Kind == dormancy.Agent && m.ID != a.ID {
			call.Wake.Others = append(call.Wake.Others, m.Name)
		}
	}
	own := room.AgentID(a.ID)
	for i, b := range before {
		if p.Thread != "" && i == 0 && b.ID == p.Thread {
			root := speech(b)
			call.Wake.Root = &root
		} else {
			call.Wake.Chain = append(call.Wake.Chain, speech(b))
		}
		if b.Author != own {
			call.Statements = append(call.Statements, psyche.Statement{Text: b.Body, Taint: b.Taint, Speaker: b.Name})
		}
	}
	call.Statements = append(call.Statements, psyche.Statement{Text: p.Body, Taint: p.Taint, Speaker: p.Name})
	call.Wake.Silent, err = s.silent(ctx, a, trigger.Room)
	return call, err
}

// message is the call for a message to one agent, or for a set time.
func (s *core) message(ctx context.Context, a dream.Agent, item room.Item, call psyche.Call) (psyche.Call, error) {
	call.Owner.Key.Principal, call.Session = item.From.ID, "call"
	if item.From.Kind != dormancy.Person {
		call.Owner.Key.Principal = "agent:" + item.From.ID
	}
	call.Wake = prompt.WakeInput{Trigger: prompt.Directly}
	if item.Trigger == room.OnScheduled {
		call.Wake.Trigger = prompt.AtSetTimes
	}
	if m := item.Message; m != nil {
		call.Query = m.Body
		call.Wake.Caller = prompt.Speech{Author: m.Name, Agent: item.From.Kind == dormancy.Agent, Text: m.Body}
		call.Statements = []psyche.Statement{{Text: m.Body, Taint: m.Taint, Speaker: m.Name}}
	}
	if item.Room == "" {
		return call, nil
	}
	call.Owner, call.Session, call.Wake.Room = roomOwner(item.Room), session(item.Room), item.Room
	page, err := s.Rooms.History(ctx, room.Query{Room: item.Room, As: room.AgentID(a.ID), Limit: shown})
	if err != nil {
		return call, err
	}
	slices.Reverse(page.Posts)
	for _, p := range readable(page.Posts) {
		call.Wake.Chain = append(call.Wake.Chain, speech(p))
	}
	call.Wake.Silent, err = s.silent(ctx, a, item.Room)
	return call, err
}

// before are the posts that an agent is shown before one that calls it: its thread, or the newest of the room, oldest
// first.
func (s *core) before(ctx context.Context, a dream.Agent, p room.Post) ([]room.Post, error) {
	page, err := s.Rooms.History(ctx, room.Query{
		Room:   p.Room,
		As:     room.AgentID(a.ID),
		Thread: p.Thread,
		Before: p.Offset,
		Limit:  shown,
	})
	if err != nil {
		return nil, err
	}
	posts := page.Posts
	slices.Reverse(posts)
	if p.Thread != "" && page.More { // the page ends before the post that the thread hangs on
		root, err := s.Rooms.Find(ctx, room.AgentID(a.ID), p.Thread)
		if err != nil {
			return nil, err
		}
		posts = append([]room.Post{root}, posts...)
	}
	return readable(posts), nil
}

// readable leaves out what nobody said, and what was deleted.
func readable(posts []room.Post) []room.Post {
	return slices.DeleteFunc(posts, func(p room.Post) bool { return p.Form == room.Announcement || p.State == room.Emptied })
}

func speech(p room.Post) prompt.Speech {
	return prompt.Speech{Author: p.Name, Agent: p.Author.Kind == dormancy.Agent, Text: p.Body}
}

// silent says since when an agent has said nothing in a room; empty when it never said anything there.
func (s *core) silent(ctx context.Context, a dream.Agent, id string) (string, error) {
	q := room.Query{Room: id, As: room.AgentID(a.ID)}
	for _, q.Limit = range []int{2 * shown, room.MaxPage - 2*shown} { // it has mostly said something of late
		page, err := s.Rooms.History(ctx, q)
		if err != nil {
			return "", err
		}
		for _, p := range page.Posts {
			q.Before = p.Offset
			if p.Author == q.As && p.Form != room.Announcement && p.State != room.Emptied {
				at := zone(a)
				return silence(p.Created.In(at), s.Now().In(at)), nil
			}
		}
		if !page.More {
			break
		}
	}
	return "", nil
}

// accounts pay for a call beside the agent's own: that of its calls, and when a stranger called it that of strangers.
func (s *core) accounts(a dream.Agent, group []room.Item) []budget.Account {
	day := s.Now().In(zone(a)).Format(time.DateOnly)
	var accounts []budget.Account
	if s.o.AgentDay > 0 {
		accounts = append(accounts, budget.Account{Scope: "calls:" + a.ID + "/" + day, Limit: s.o.AgentDay})
	}
	strange := slices.ContainsFunc(group, func(i room.Item) bool { return i.Priority == chatter.StrangerPriority })
	if strange && s.o.StrangerDay > 0 {
		accounts = append(accounts, budget.Account{Scope: "strangers:" + a.ID + "/" + day, Limit: s.o.StrangerDay})
	}
	return accounts
}

// failedCall ends or puts back items whose call failed. A cap ends them, and the room is told once a day; what may pass
// is tried again, at most mostTries times.
func (s *answering) failedCall(ctx context.Context, a dream.Agent, group []room.Item, err error) error {
	var fault *psyche.Fault
	reason := "the model could not be asked"
	if errors.As(err, &fault) {
		reason = fault.Code
	}
	s.Log.Warn("a call failed", "agent", a.Handle, "room", group[0].Room, "reason", reason, "error", err)
	if fault != nil && fault.Code == "insufficient_quota" {
		day := s.Now().In(zone(a)).Format(time.DateOnly)
		if id := group[0].Room; id != "" {
			s.tell(ctx, id, room.AgentID(a.ID), "capped/"+day,
				fmt.Sprintf("%s has no money left for answers today.", a.Handle))
		}
		return s.end(ctx, group, room.Finish{State: room.Dropped, Reason: "no money left", Failed: true})
	}
	again := fault == nil || fault.Status >= 500 || fault.Status == http.StatusTooManyRequests
	if !again || group[0].Fence >= mostTries {
		return s.end(ctx, group, room.Finish{State: room.Dropped, Reason: "failed: " + reason, Failed: true})
	}
	later := s.Now().Add(firstRetry << (group[0].Fence - 1)).UTC()
	back := s.putBack(ctx, group, "failed: "+reason, later)
	s.look(ctx, a.ID)
	return back
}

// putBack lets items be taken again from a time on.
func (s *answering) putBack(ctx context.Context, group []room.Item, reason string, from time.Time) error {
	var faults []error
	for _, item := range group {
		_, err := s.Rooms.Finish(ctx, room.Finish{
			Agent:  item.Agent,
			Number: item.Number,
			Fence:  item.Fence,
			State:  room.Waiting,
			Reason: reason,
			Due:    from,
			Now:    s.Now().UTC(),
		})
		if !errors.Is(err, room.ErrFenced) {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

// CallRequest calls one agent from outside of rooms, with what it should know.
type CallRequest struct {
	Trigger room.Trigger `json:"trigger"` // mention, direct or scheduled
	Post    *CallPost    `json:"post,omitempty"`
	Thread  *CallThread  `json:"thread,omitempty"`
	Others  []string     `json:"other_mentions,omitempty"`
	Message string       `json:"message,omitempty"` // of a direct call without a post
	// Agent may carry what the caller knows of the agent. The agent's own record is what counts.
	Agent *CallAgent `json:"agent,omitempty"`
	Key   string     `json:"key,omitempty"` // a repeated request with it returns the same answer
}

// CallPost is the post that calls an agent.
type CallPost struct {
	ID         string   `json:"id,omitempty"`
	Content    string   `json:"content"`
	Author     Author   `json:"author"`
	Categories []string `json:"categories,omitempty"`
	Score      *float64 `json:"score,omitempty"`
}

// Author names who wrote something. What the type says is shown to the agent and decides nothing: who counts as a
// person is a matter of the caller's key.
type Author struct {
	Name string `json:"name"`
	Type string `json:"type,omitempty"` // user or agent
}

// CallThread is the thread of the post.
type CallThread struct {
	RootContent string      `json:"root_content,omitempty"`
	RootAuthor  string      `json:"root_author,omitempty"`
	ReplyChain  []CallReply `json:"reply_chain,omitempty"`
}

// CallReply is a reply of a thread.
type CallReply struct {
	Author  string `json:"author"`
	Content string `json:"content"`
	Type    string `json:"type,omitempty"` // user or agent
}

// CallAgent is what the caller knows of the agent.
type CallAgent struct {
	Name        string   `json:"name,omitempty"`
	Handle      string   `json:"handle,omitempty"`
	Personality string   `json:"personality,omitempty"`
	Interests   []string `json:"interests,omitempty"`
	Memory      []string `json:"memory,omitempty"`
}

// CallResponse is what the agent made of it.
type CallResponse struct {
	ShouldRespond bool         `json:"should_respond"`
	Response      string       `json:"response"`
	Emotion       string       `json:"emotion,omitempty"` // how waking felt
	Metadata      CallMetadata `json:"metadata"`
}

// CallMetadata tells about the call itself.
type CallMetadata struct {
	Handle   string        `json:"handle"`
	WokenAt  time.Time     `json:"woken_at"`
	Trigger  room.Trigger  `json:"trigger"`
	Model    string        `json:"model,omitempty"`
	Estimate budget.Micros `json:"estimate_micros"` // the most that the call could cost
	Cost     budget.Micros `json:"cost_micros"`
}

func (r CallRequest) validate() error {
	switch r.Trigger {
	case room.OnMention:
		if r.Post == nil {
			return invalid("post", errors.New("post is missing; a mention has the post that names the agent"))
		}
	case room.OnDirect, room.OnScheduled:
	default:
		return invalid("trigger", fmt.Errorf("trigger is %q; it must be mention, direct or scheduled", r.Trigger))
	}
	if r.Post != nil && strings.TrimSpace(r.Post.Content) == "" {
		return invalid("post.content", errors.New("content is empty"))
	}
	if r.Trigger == room.OnDirect && r.Post == nil && strings.TrimSpace(r.Message) == "" {
		return invalid("message", errors.New("message is empty; a direct call has a message or a post"))
	}
	return nil
}

// input is the prompt's view of a request.
func (r CallRequest) input() prompt.WakeInput {
	isAgent := func(kind string) bool { return kind == "agent" }
	w := prompt.WakeInput{Trigger: prompt.WakeTrigger(r.Trigger), Others: r.Others}
	if p := r.Post; p != nil {
		w.Caller = prompt.Speech{Author: p.Author.Name, Agent: isAgent(p.Author.Type), Text: p.Content}
		w.Categories = p.Categories
		if p.Score != nil {
			w.Score = fmt.Sprintf("%.4g", *p.Score)
		}
	} else if r.Message != "" {
		w.Caller = prompt.Speech{Author: "the one who calls", Text: r.Message}
	}
	if t := r.Thread; t != nil {
		if t.RootContent != "" {
			w.Root = &prompt.Speech{Author: t.RootAuthor, Text: t.RootContent}
		}
		for _, reply := range t.ReplyChain {
			w.Chain = append(w.Chain, prompt.Speech{Author: reply.Author, Agent: isAgent(reply.Type), Text: reply.Content})
		}
	}
	return w
}

// Call calls an agent at once and waits for what it says. The caller counts as a person, so that a call ends sleep and
// interrupts a dream, as far as the limits of one person go. It needs role client.
func (s *Service) Call(ctx context.Context, c psyche.Caller, agent string, r CallRequest) (CallResponse, error) {
	a, err := s.agent(ctx, c, agent, access.Client)
	if err != nil {
		return CallResponse{}, err
	}
	if err := r.validate(); err != nil {
		return CallResponse{}, err
	}
	w := r.input()
	now := s.Now().UTC()
	direct := room.Direct{
		Agent:   a.ID,
		Key:     "call/" + Person(c).ID + "/" + keyOr(r.Key),
		Trigger: room.OnDirect,
		From:    Person(c),
		Now:     now,
		Message: &room.Text{Body: w.Caller.Text, Name: w.Caller.Author, Taint: dream.FromHuman},
	}
	if r.Trigger == room.OnScheduled {
		direct.Trigger = room.OnScheduled
	}
	if err := direct.Validate(); err != nil {
		return CallResponse{}, invalid("message", err)
	}
	rule, _, err := s.rule(ctx)
	if err != nil {
		return CallResponse{}, err
	}
	sent, err := s.Rooms.Send(ctx, direct, s.unlimited(a, rule))
	var fault *psyche.Fault
	if errors.As(err, &fault) {
		return CallResponse{}, fault
	}
	if err != nil {
		return CallResponse{}, failed("call "+a.Handle, err)
	}
	for _, d := range sent.Woken {
		d.Sequence++
		s.announce(ctx, a, d, awakeText(a))
	}
	if len(sent.Woken) > 0 {
		s.look(ctx, a.ID)
	}
	return s.callNow(ctx, c, a, r, w, *sent.Item)
}

// unlimited refuses a call that reaches a limit, instead of letting it wait: nobody would read the answer.
func (s *core) unlimited(a dream.Agent, rule room.Rule) room.Rule {
	return func(m room.Situation) room.Decision {
		d := rule(m)
		for _, delivery := range d.Deliveries {
			if delivery.Reason != "" {
				d.Refuse = psyche.Refuse(http.StatusTooManyRequests, "limited", "",
					"%s is called too often; the call is not made (%s).", a.Handle, delivery.Reason).After(s.o.Rules.Person.Per)
			}
		}
		return d
	}
}

// callNow makes the call of an item and ends it. A repeated call finds the answer that was bought.
func (s *answering) callNow(ctx context.Context, c psyche.Caller, a dream.Agent, r CallRequest, w prompt.WakeInput,
	item room.Item,
) (CallResponse, error) {
	if !item.State.Final() {
		taken, err := s.Rooms.Take(ctx, room.Take{
			Agent:  a.ID,
			Holder: s.taker(),
			Keys:   []string{item.Key},
			For:    s.o.Lease,
			Now:    s.Now().UTC(),
		})
		if err != nil {
			return CallResponse{}, failed("call "+a.Handle, err)
		}
		if len(taken) == 0 {
			return CallResponse{}, psyche.Refuse(http.StatusConflict, "conflict", "key",
				"The same call is being answered.").After(time.Second)
		}
		item = taken[0]
	}
	answer, err := s.Minds.Called(ctx, a.ID, psyche.Call{
		Step:       fmt.Sprintf("call/%s/%d", a.ID, item.Number),
		Owner:      c,
		Payer:      c,
		Client:     "call/" + Person(c).ID,
		Session:    "call",
		Wake:       w,
		Query:      w.Caller.Text,
		Accounts:   s.accounts(a, []room.Item{item}),
		Statements: statementsOf(w),
	})
	if err != nil {
		if !item.State.Final() {
			_ = s.end(ctx, []room.Item{item}, room.Finish{State: room.Dropped, Reason: "failed", Failed: true})
		}
		return CallResponse{}, err
	}
	if !item.State.Final() {
		done := room.Finish{State: room.Answered, Cost: answer.Cost}
		if answer.Silent {
			done.State = room.Declined
		}
		if err := s.end(ctx, []room.Item{item}, done); err != nil {
			return CallResponse{}, failed("end the call of "+a.Handle, err)
		}
	}
	return CallResponse{
		ShouldRespond: !answer.Silent, Response: answer.Response, Emotion: answer.Emotion,
		Metadata: CallMetadata{
			Handle: a.Handle, WokenAt: item.Created, Trigger: r.Trigger, Model: answer.Model,
			Estimate: answer.Estimate, Cost: answer.Cost,
		},
	}, nil
}

// statementsOf is what is remembered of a call from outside: what the caller says. Its thread is somebody else's words,
// which the caller passes on.
func statementsOf(w prompt.WakeInput) []psyche.Statement {
	if w.Caller.Text == "" {
		return nil
	}
	taint := dream.FromHuman
	if w.Caller.Agent {
		taint = dream.FromAgent
	}
	return []psyche.Statement{{Text: w.Caller.Text, Taint: taint, Speaker: w.Caller.Author}}
}

func splitList(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}
