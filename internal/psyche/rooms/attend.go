package rooms

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/admission"
	"github.com/seed-56a03226/oneiros/internal/admission/chatter"
)

// attendance is what this process does for one agent in one room.
type attendance struct {
	mu   sync.Mutex // one call at a time: what comes meanwhile becomes the next call
	last time.Time  // when the last call began

	waits *attendance // whose reply is posted before that of the call; Service.mu guards it
}

// turn is the call of an agent that a post names, after those that it names before.
type turn struct {
	of     *attendance
	done   chan struct{}
	before *turn
}

// await returns when the replies before this one are posted, or not due any more. Two agents that two posts name in
// different orders would wait for each other: then the second one does not wait.
func (s *answering) await(ctx context.Context, at *attendance, before *turn) {
	timer := time.NewTimer(inOrder)
	defer timer.Stop()
	defer s.wait(at, nil)
	for ; before != nil; before = before.before {
		if !s.wait(at, before.of) {
			continue
		}
		select {
		case <-before.done:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// wait notes for whom a call waits, unless that one waits for it.
func (s *answering) wait(at, before *attendance) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for other := before; other != nil; other = other.waits {
		if other == at {
			return false
		}
	}
	at.waits = before
	return true
}

func (s *answering) attendanceOf(agent, id string) *attendance {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := agent + "\x00" + id
	if s.attended[key] == nil {
		s.attended[key] = &attendance{}
	}
	return s.attended[key]
}

// Waits and limits of answers.
const (
	lookAgain  = 30 * time.Second // until a dream is looked at again whose end an agent's call waits for
	inOrder    = 30 * time.Second // how long a reply waits for that of an agent that the same post named before
	mostTries  = 3                // of an item, before it counts as failed
	firstRetry = 5 * time.Second
	mostAtOnce = 50 // items of one call
)

// look asks an attendant to go on with an agent.
func (s *core) look(ctx context.Context, agent string) {
	if s.Attendants == nil {
		return
	}
	a, err := s.Agents.Agent(ctx, agent)
	if err != nil {
		s.Log.Warn("nobody goes on with what waits for an agent", "agent", agent, "error", err)
		return
	}
	s.Attendants.Look(a)
}

// answer lets the agents of one post answer beside the caller: all at once, with their replies in the order in which
// the post names them.
func (s *answering) answer(called []room.Delivered) {
	var before *turn
	for _, d := range called {
		agent, id := d.Wake.Agent, d.Wake.Room
		previous, now := before, &turn{s.attendanceOf(agent, id), make(chan struct{}), before}
		before = now
		answers := s.detach(func(ctx context.Context) {
			defer close(now.done)
			if err := s.pass(ctx, agent, id, previous); err != nil && ctx.Err() == nil {
				s.Log.Warn("an agent could not answer; it is tried again", "agent", agent, "room", id, "error", err)
				s.look(ctx, agent)
			}
		})
		if !answers { // the service is closed, and its own context has ended
			s.look(context.Background(), agent)
		}
	}
}

// Attend does what is due for an agent: it ends levels whose time is over, carries out what was held, and answers what
// waits and may be answered. It returns when to attend again; zero when nothing waits. A durable workflow calls it.
func (s *Service) Attend(ctx context.Context, agent string) (time.Time, error) {
	a, err := s.Agents.Agent(ctx, agent)
	if errors.Is(err, memory.ErrNotFound) {
		return time.Time{}, nil // it was removed, with everything that waited for it
	}
	if err != nil {
		return time.Time{}, err
	}
	if err := s.expire(ctx, a, s.Now().UTC()); err != nil {
		return time.Time{}, fmt.Errorf("end the levels of %s: %w", a.Handle, err)
	}
	if _, err := s.Rooms.Expire(ctx, a.ID, s.Now().UTC()); err != nil {
		return time.Time{}, fmt.Errorf("end what waited too long for %s: %w", a.Handle, err)
	}
	if err := s.release(ctx, a); err != nil {
		return time.Time{}, fmt.Errorf("carry out what was held for %s: %w", a.Handle, err)
	}
	if err := s.checkIn(ctx, a.ID); err != nil {
		return time.Time{}, fmt.Errorf("call %s at its set times: %w", a.Handle, err)
	}
	open, err := s.open(ctx, a.ID)
	if err != nil {
		return time.Time{}, err
	}
	var ids []string
	for _, item := range open {
		if !slices.Contains(ids, item.Room) {
			ids = append(ids, item.Room)
		}
	}
	var faults []error
	for _, id := range ids {
		faults = append(faults, s.pass(ctx, a.ID, id, nil))
	}
	next, err := s.next(ctx, a.ID)
	return next, errors.Join(append(faults, err)...)
}

// next is when something is due for an agent; zero when nothing is.
func (s *answering) next(ctx context.Context, agent string) (time.Time, error) {
	var next time.Time
	due := func(at time.Time) {
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	states, err := s.Rooms.Dormancy(ctx, agent)
	if err != nil {
		return next, err
	}
	for _, d := range states {
		due(d.Until)
	}
	checkIns, err := s.Rooms.CheckIns(ctx, agent)
	if err != nil {
		return next, err
	}
	for _, c := range checkIns {
		due(c.Next)
	}
	open, err := s.open(ctx, agent)
	if err != nil {
		return next, err
	}
	dreaming, err := s.dreaming(ctx, agent)
	if err != nil {
		return next, err
	}
	for _, item := range open {
		_, at := s.answerable(item, states, dreaming)
		due(at)
		if item.State != room.Taken || at.Before(item.Expires) { // nobody ends what is being answered
			due(item.Expires)
		}
	}
	held, err := s.held(ctx, agent)
	for _, action := range held {
		if effective(states, action.Room).Level != dormancy.Sleep {
			due(s.Now())
		}
	}
	return next, err
}

// Sweep asks attendants to go on with every agent for whom something is due within a time: what a process left that was
// killed before it could ask.
func (s *Service) Sweep(ctx context.Context, within time.Duration) error {
	agents, err := s.Rooms.Unfinished(ctx)
	if err != nil {
		return fmt.Errorf("list the agents for whom something waits: %w", err)
	}
	states, err := s.Rooms.Dormant(ctx)
	if err != nil {
		return fmt.Errorf("list the dormant agents: %w", err)
	}
	for _, d := range states {
		agents = append(agents, d.Agent)
	}
	expecting, err := s.Rooms.Expecting(ctx)
	if err != nil {
		return fmt.Errorf("list the agents that are called at set times: %w", err)
	}
	agents = append(agents, expecting...)
	slices.Sort(agents)
	for _, agent := range slices.Compact(agents) {
		next, err := s.next(ctx, agent)
		if err != nil {
			return fmt.Errorf("look what is due for %s: %w", agent, err)
		}
		if !next.IsZero() && next.Before(s.Now().Add(within)) {
			s.look(ctx, agent)
		}
	}
	return nil
}

func (s *core) dreaming(ctx context.Context, agent string) (bool, error) {
	slots, err := s.Agents.Slots(ctx)
	_, dreaming := slots[agent]
	return dreaming, err
}

// answerable says whether an item may be answered now, and otherwise when it is worth looking again; zero when only a
// change of the agent's level lets it be answered.
func (s *core) answerable(item room.Item, states []room.Dormancy, dreaming bool) (bool, time.Time) {
	now := s.Now()
	fromAgent := item.From.Kind == dormancy.Agent
	switch limited := admission.ReasonOf(admission.Often); {
	case item.State == room.Taken && item.Until.After(now):
		return false, item.Until
	case item.State == room.Waiting && item.Until.After(now): // put back, to be tried again
		return false, item.Until
	case effective(states, item.Room).Level == dormancy.Sleep && item.Priority < chatter.PersonPriority:
		return false, time.Time{} // what a person asked before the agent fell asleep is answered still
	case dreaming && (fromAgent || item.Trigger == room.OnScheduled || item.Reason == string(admission.InDream)):
		return false, now.Add(lookAgain)
	case item.Reason == string(limited) && s.limited(item).After(now):
		return false, s.limited(item)
	}
	return true, now
}

// limited is until when an item waits that came beyond the limit of a person, or of strangers: the end of a stretch of
// that limit, so that all that came during it becomes one call.
func (s *core) limited(item room.Item) time.Time {
	per := s.o.Rules.Person.Per
	if item.Priority == chatter.StrangerPriority {
		per = s.o.Rules.Strangers.Per
	}
	return item.Created.Truncate(per).Add(per)
}

// pass answers what waits for an agent from one room, or of messages to it alone. Its reply is posted after that of
// before; nil: at once.
func (s *answering) pass(ctx context.Context, agent, id string, before *turn) error {
	at := s.attendanceOf(agent, id)
	at.mu.Lock()
	defer at.mu.Unlock()
	if wait := s.o.Gather - s.Now().Sub(at.last); wait > 0 && wait <= s.o.Gather {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	keys, err := s.answerableKeys(ctx, agent, id)
	if err != nil || len(keys) == 0 {
		return err
	}
	taken, err := s.Rooms.Take(ctx, room.Take{
		Agent:  agent,
		Holder: s.taker(),
		Keys:   keys,
		For:    s.o.Lease,
		Limit:  mostAtOnce,
		Now:    s.Now().UTC(),
	})
	if err != nil || len(taken) == 0 {
		return err
	}
	at.last = s.Now()
	var faults []error
	for _, group := range groups(taken) {
		faults = append(faults, s.respond(ctx, agent, group, func() { s.await(ctx, at, before) }))
	}
	if len(keys) > len(taken) {
		s.look(ctx, agent)
	}
	return errors.Join(faults...)
}

func (s *answering) answerableKeys(ctx context.Context, agent, id string) ([]string, error) {
	open, err := s.open(ctx, agent)
	if err != nil || len(open) == 0 {
		return nil, err
	}
	states, err := s.Rooms.Dormancy(ctx, agent)
	if err != nil {
		return nil, err
	}
	dreaming, err := s.dreaming(ctx, agent)
	if err != nil {
		return nil, err
	}
	var keys []string
	for _, item := range open {
		if ok, _ := s.answerable(item, states, dreaming); ok && item.Room == id {
			keys = append(keys, item.Key)
		}
	}
	return keys, nil
}

// groups divides taken items into those that one call answers. Each message has a call of its own. Posts that were
// taken before are answered apart from new ones, so that the call that may have been paid for is found again. Posts of
// strangers are answered apart from others, so that nobody else waits when no money is left for strangers.
func groups(taken []room.Item) [][]room.Item {
	slices.SortFunc(taken, func(a, b room.Item) int { return int(a.Number - b.Number) })
	var all [][]room.Item
	place := map[string]int{}
	for _, item := range taken {
		if item.Trigger != room.OnMention {
			all = append(all, []room.Item{item})
			continue
		}
		key := fmt.Sprintf("%s/%t/%t", item.Room, item.Fence > 1, item.Priority == chatter.StrangerPriority)
		if at, ok := place[key]; ok {
			all[at] = append(all[at], item)
			continue
		}
		place[key] = len(all)
		all = append(all, []room.Item{item})
	}
	return all
}

// respond calls an agent once for a group of items, and ends them. await returns when the reply may be posted.
func (s *answering) respond(ctx context.Context, agent string, group []room.Item, await func()) error {
	a, err := s.Agents.Agent(ctx, agent)
	if err != nil {
		return err
	}
	group, err = s.unanswered(ctx, agent, group)
	if err != nil || len(group) == 0 {
		return err
	}
	trigger := triggerOf(group)
	call, err := s.callOf(ctx, a, trigger, group)
	if errors.Is(err, room.ErrNotFound) || errors.Is(err, room.ErrNotMember) {
		return s.end(ctx, group, room.Finish{State: room.Dropped, Reason: "the post is gone"})
	}
	if err != nil {
		return err
	}
	answer, err := s.Minds.Called(ctx, a.ID, call)
	if err != nil {
		return s.failedCall(ctx, a, group, err)
	}
	await()
	if answer.Silent || strings.TrimSpace(answer.Response) == "" {
		return s.end(ctx, group, room.Finish{State: room.Declined, Cost: answer.Cost})
	}
	if trigger.Room == "" {
		return s.end(ctx, group, room.Finish{State: room.Answered, Cost: answer.Cost, Reason: clip(answer.Response)})
	}
	return s.post(ctx, a, trigger, group, answer.Response, answer.Cost)
}

// clip cuts an answer to a message down to what a record holds.
func clip(text string) string {
	if len(text) <= room.MaxText {
		return text
	}
	return strings.ToValidUTF8(text[:room.MaxText-3], "") + "…"
}

// triggerOf is the item of a group to which the agent replies: the newest of a person, or else the newest.
func triggerOf(group []room.Item) room.Item {
	for i := len(group) - 1; i >= 0; i-- {
		if group[i].From.Kind == dormancy.Person {
			return group[i]
		}
	}
	return group[len(group)-1]
}

// answeredWith names, in the metadata of a reply, the other posts that it answers, by their offsets.
const answeredWith = "answers"

// offsetOf is the offset of a post in its room, as answeredWith names it.
func offsetOf(post string) string { return post[strings.LastIndexByte(post, '/')+1:] }

// unanswered leaves out, and ends, the items that a reply has answered whose process died before it could end them.
func (s *answering) unanswered(ctx context.Context, agent string, group []room.Item) ([]room.Item, error) {
	if group[0].Trigger != room.OnMention || group[0].Fence < 2 {
		return group, nil
	}
	_, offset, err := room.ParsePostID(group[0].Post)
	if err != nil {
		return group, err
	}
	page, err := s.Rooms.History(ctx, room.Query{
		Room:  group[0].Room,
		As:    room.AsOperator,
		From:  room.Oldest,
		After: offset,
		Limit: room.MaxPage,
	})
	if err != nil {
		return group, err
	}
	var left []room.Item
	for _, item := range group {
		at := slices.IndexFunc(page.Posts, func(p room.Post) bool {
			return p.Author == room.AgentID(agent) && slices.Contains(strings.Fields(p.Meta[answeredWith]), offsetOf(item.Post))
		})
		if at < 0 {
			left = append(left, item)
			continue
		}
		done := room.Finish{State: room.Answered, Reason: "with " + page.Posts[at].ReplyTo}
		if err := s.end(ctx, []room.Item{item}, done); err != nil {
			return group, err
		}
	}
	return left, nil
}

// Replies as InThreads in the metadata of a room makes the reply to a post that stands in no thread begin one.
const (
	Replies   = "replies"
	InThreads = "threads"
)

// answerThread is the post that the reply to an item hangs on; empty for that of the post that is answered, if it is in
// one.
func (s *answering) answerThread(ctx context.Context, trigger room.Item) (string, error) {
	if trigger.Post == "" {
		return "", nil
	}
	place, err := s.Rooms.Get(ctx, room.AsOperator, trigger.Room)
	if err != nil || place.Meta[Replies] != InThreads {
		return "", err
	}
	p, err := s.Rooms.Find(ctx, room.AsOperator, trigger.Post)
	return cmp.Or(p.Thread, trigger.Post), err
}

// post posts an agent's reply, ends the items that it answers, and lets the agents that it names answer.
func (s *answering) post(ctx context.Context, a dream.Agent, trigger room.Item, group []room.Item, text string,
	cost budget.Micros,
) error {
	id := trigger.Room
	members, err := s.Rooms.Members(ctx, room.AsOperator, id)
	if err != nil {
		return err
	}
	rule, notices, err := s.rule(ctx)
	if err != nil {
		return err
	}
	reply := room.Draft{Body: text}
	reply.Thread, err = s.answerThread(ctx, trigger)
	if err != nil {
		return err
	}
	reply.Mentions, _ = s.named(members, PostRequest{Body: text})
	var others []string
	for _, item := range group {
		if item.Number != trigger.Number {
			others = append(others, offsetOf(item.Post))
		}
	}
	if len(others) > 0 {
		reply.Meta = map[string]string{answeredWith: clip(strings.Join(others, " "))}
	}
	command, err := s.ordered(ctx, a.ID, text)
	if err != nil {
		return err
	}
	done, err := s.Rooms.Finish(ctx, room.Finish{
		Agent:  a.ID,
		Number: trigger.Number,
		Fence:  trigger.Fence,
		State:  room.Answered,
		Reply:  &reply,
		Rule:   command.obeyed(rule),
		Cost:   cost,
		Now:    s.Now().UTC(),
	})
	if errors.Is(err, room.ErrFenced) {
		return nil // somebody else has answered it, or it was deleted
	}
	if errors.Is(err, room.ErrForbidden) || errors.Is(err, room.ErrNotMember) {
		return s.end(ctx, group, room.Finish{State: room.Dropped, Reason: isReader, Cost: cost})
	}
	if err != nil {
		return err
	}
	rest := slices.DeleteFunc(slices.Clone(group), func(i room.Item) bool { return i.Number == trigger.Number })
	fault := s.end(ctx, rest, room.Finish{State: room.Answered, Reason: "with " + trigger.Post})
	if done.Posted != nil {
		s.after(ctx, members, *done.Posted, notices())
		if command != nil {
			_, err := s.answered(ctx, command, *done.Posted)
			fault = errors.Join(fault, err)
		}
	}
	return fault
}

// end ends items with the same result. The first carries the cost.
func (s *answering) end(ctx context.Context, group []room.Item, how room.Finish) error {
	var faults []error
	for i, item := range group {
		f := how
		f.Agent, f.Number, f.Fence = item.Agent, item.Number, item.Fence
		f.Now = s.Now().UTC()
		if i > 0 {
			f.Cost = 0
		}
		_, err := s.Rooms.Finish(ctx, f)
		if !errors.Is(err, room.ErrFenced) {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}
