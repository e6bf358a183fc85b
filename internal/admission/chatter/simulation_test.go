package chatter_test

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/internal/admission"
	"github.com/seed-56a03226/oneiros/internal/admission/chatter"
)

const (
	agents    = 10
	answering = 3 * time.Second // how long an answer takes
)

// post is a message of the played room.
type post struct {
	sender admission.Sender
	author int
	named  bool // it mentions all agents
	hops   int
	at     time.Time
}

// event is something that happens at a time; the number keeps the order of those at once.
type event struct {
	at     time.Time
	number int
	do     func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	if !e[i].at.Equal(e[j].at) {
		return e[i].at.Before(e[j].at)
	}
	return e[i].number < e[j].number
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// room plays one room in which every agent answers whatever it may, and names all others.
type room struct {
	guarded bool
	most    int // posts after which the play ends
	now     time.Time
	queue   events
	number  int

	windows map[string]chatter.Window
	alone   chatter.Alone
	bursts  [agents]chatter.Burst
	waiting [agents][]post

	posts, calls int
	callsOf      map[admission.Sender]int
	waits        []time.Duration // of people, from a post to each agent's call
	notices      []chatter.Notice
	unreasoned   int
}

func newRoom(guarded bool, most int) *room {
	return &room{
		guarded: guarded,
		most:    most,
		windows: map[string]chatter.Window{},
		callsOf: map[admission.Sender]int{},
	}
}

func (r *room) at(when time.Time, do func()) {
	r.number++
	heap.Push(&r.queue, event{when, r.number, do})
}

// play runs until nothing is left to happen.
func (r *room) play() {
	for r.queue.Len() > 0 && r.posts < r.most {
		next := heap.Pop(&r.queue).(event)
		r.now = next.at
		next.do()
	}
}

func (r *room) say(p post) {
	p.at = r.now
	r.posts++
	for agent := range agents {
		if p.sender != admission.Agent || p.author != agent {
			r.reach(agent, p)
		}
	}
}

// reach decides what becomes of a post for one agent.
func (r *room) reach(agent int, p post) {
	c := admission.Case{
		Level:      dormancy.Active,
		Sender:     p.sender,
		Address:    admission.Overheard,
		Activity:   admission.Awake,
		Subscribed: true,
	}
	if p.named {
		c.Address = admission.Mention
	}
	if !r.guarded {
		r.waiting[agent] = append(r.waiting[agent], p)
		r.call(agent)
		return
	}
	c.Limit = r.admit(agent, p)
	d := admission.Decide(c)
	if d.Action != admission.Answer && d.Reason == "" {
		r.unreasoned++
	}
	if d.Action == admission.Skip || d.Action == admission.Queue && p.sender == admission.Stranger {
		return
	}
	r.callsOf[p.sender]++
	r.waiting[agent] = append(r.waiting[agent], p)
	burst, start := r.bursts[agent].Add(r.now)
	r.bursts[agent] = burst
	switch start {
	case chatter.AtOnce:
		r.call(agent)
	case chatter.Later:
		r.at(burst.Next, func() {
			fired, ok := r.bursts[agent].Fire(r.now)
			r.bursts[agent] = fired
			if ok {
				r.call(agent)
			}
		})
	}
}

// admit asks the guards, with each record under its key.
func (r *room) admit(agent int, p post) admission.Limit {
	pair := fmt.Sprintf("pair/%d/%d", p.author, agent)
	person := fmt.Sprintf("person/%d/%d", p.author, agent)
	called := fmt.Sprintf("agent/%d", agent)
	records := chatter.Records{
		Pair:      r.windows[pair],
		Mentions:  r.windows["mentions"+pair],
		Room:      r.windows["room"],
		Agent:     r.windows[called],
		Person:    r.windows[person],
		Strangers: r.windows["strangers"+called],
		Alone:     r.alone,
	}
	limit, notice, records := chatter.Default.Admit(
		chatter.Call{Sender: p.sender, Named: p.named, Hops: p.hops}, records, r.now)
	r.windows[pair], r.windows["mentions"+pair] = records.Pair, records.Mentions
	r.windows["room"], r.windows[called] = records.Room, records.Agent
	r.windows[person], r.windows["strangers"+called] = records.Person, records.Strangers
	r.alone = records.Alone
	if notice != "" {
		r.notices = append(r.notices, notice)
	}
	return limit
}

// call makes an agent answer all that waits for it with one post.
func (r *room) call(agent int) {
	r.calls++
	hops := 0
	byPerson := false
	for _, p := range r.waiting[agent] {
		hops = max(hops, chatter.NextHops(p.sender, p.hops))
		if p.sender == admission.Person {
			byPerson = true
			r.waits = append(r.waits, r.now.Sub(p.at))
		}
	}
	if byPerson {
		hops = 1
	}
	r.waiting[agent] = nil
	r.at(r.now.Add(answering), func() {
		r.say(post{sender: admission.Agent, author: agent, named: true, hops: hops})
	})
}

var monday = time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)

// people lets three people write n posts, about one every seven seconds, half of which name all agents.
func (r *room) people(n int, dice *rand.Rand) (last time.Time) {
	last = monday
	for range n {
		last = last.Add(time.Duration(dice.ExpFloat64() * 7 * float64(time.Second)))
		p := post{sender: admission.Person, author: 100 + dice.IntN(3), named: dice.IntN(2) == 0}
		r.at(last, func() { r.say(p) })
	}
	return last
}

func percentile(waits []time.Duration, share float64) time.Duration {
	slices.Sort(waits)
	return waits[int(share*float64(len(waits)-1))]
}

func TestTenAgentsThatAnswerEverythingStayWithinTheBound(t *testing.T) {
	t.Parallel()
	const posts = 10_000
	r := newRoom(true, 1<<30)
	stretch := r.people(posts, rand.New(rand.NewPCG(1, 2))).Sub(monday)
	r.play()
	stretch = max(stretch, r.now.Sub(monday))

	rules := chatter.Default
	bound := min(rules.Stop*(posts+int(stretch/rules.Rest)+1), rules.Room.Bound(stretch), agents*rules.Agent.Bound(stretch))
	require.LessOrEqual(t, r.callsOf[admission.Agent], bound)
	require.Positive(t, r.callsOf[admission.Agent], "agents do talk with each other")
	require.Equal(t, agents*posts, r.callsOf[admission.Person])
	require.LessOrEqual(t, r.calls, agents*(int(stretch/chatter.Gather)+1), "a burst is one call")
	require.Equal(t, posts+r.calls, r.posts)
	require.Zero(t, r.unreasoned)

	require.Len(t, r.waits, agents*posts, "every agent hears every person")
	require.LessOrEqual(t, percentile(r.waits, .99), chatter.Gather)
	t.Logf("%d posts of people in %s: %d calls (%d by agents, at most %d), p99 of a person's wait %s, %d notices",
		posts, stretch.Round(time.Minute), r.calls, r.callsOf[admission.Agent], bound, percentile(r.waits, .99),
		len(r.notices))
}

// The control: without guards one post of a person is enough.
func TestWithoutGuardsOnePostBlowsUp(t *testing.T) {
	t.Parallel()
	const most = 50_000
	r := newRoom(false, most)
	r.at(monday, func() { r.say(post{sender: admission.Person, author: 100, named: true}) })
	r.play()
	require.Equal(t, most, r.posts)
	require.Less(t, r.now.Sub(monday), time.Minute)

	guarded := newRoom(true, most)
	guarded.at(monday, func() { guarded.say(post{sender: admission.Person, author: 100, named: true}) })
	guarded.play()
	require.LessOrEqual(t, guarded.calls, agents+chatter.Default.Stop)
	require.Equal(t, []chatter.Notice{
		"Only agents have talked here for 8 answers. After 12 they are stopped until a person writes.",
		"Only agents have talked here for 12 answers: they are stopped until a person writes, or for 30 minutes.",
	}, guarded.notices, "the room is told first, and once when it ends")
}

func TestAFloodOfStrangersCallsNobodyBeyondTheirLimit(t *testing.T) {
	t.Parallel()
	r := newRoom(true, 1<<30)
	const flood = 5_000
	for i := range flood {
		r.at(monday.Add(time.Duration(i)*time.Second), func() {
			r.say(post{sender: admission.Stranger, author: 1000 + i, named: true}) // each from another account
		})
	}
	r.at(monday.Add(flood/2*time.Second), func() { r.say(post{sender: admission.Person, author: 100, named: true}) })
	r.play()
	stretch := r.now.Sub(monday)
	require.LessOrEqual(t, r.callsOf[admission.Stranger], agents*chatter.Default.Strangers.Bound(stretch))
	require.Positive(t, r.callsOf[admission.Stranger])
	require.LessOrEqual(t, r.callsOf[admission.Agent],
		chatter.Default.Stop*(1+int(stretch/chatter.Default.Rest)+1), "strangers lift no limit of agents")
	require.Len(t, r.waits, agents, "a person is heard among them")
	require.LessOrEqual(t, slices.Max(r.waits), chatter.Gather)
}
