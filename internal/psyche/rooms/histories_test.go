package rooms_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/admission/chatter"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/rooms"
	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

// history is a random run of two rooms: people, strangers and agents post, edit and delete, levels and clocks change,
// and processes stop in the middle of what they do.
type history struct {
	*rig
	dice    *rand.Rand // of the driver
	process *process   // that serves now
	stopped []*process
	beside  sync.WaitGroup
	keep    func(room.Store) room.Store // what processes see of the store; the controls break it
	log     []string

	posts     []room.Post // that may be edited or deleted
	held      []replied   // in the order in which sleeping agents asked for it
	back      bool        // the clock went back
	died      int
	number    int
	requested rooms.PostRequest // the last request of a person
	quietly   bool

	thinking sync.Mutex
	chance   *rand.Rand // of the minds
	bought   map[string]psyche.CallAnswer
}

type replied struct{ agent, room, body string }

var (
	dwellers = []string{"echo", "iris", "null"}
	places   = []string{"hall", "garden"}
	bob      = psyche.Caller{Key: access.Key{ID: "key_bob", Role: access.Client, Principal: "bob"}}
	mallory  = room.PersonID("mallory") // a stranger
)

// fault is how a process stops.
type fault int

// The faults.
const (
	none       fault = iota
	inCall           // the model has not answered yet
	afterReply       // the reply is posted, and the other posts that it answers are not ended yet
)

// process is a service with a store and minds that stop when the process does. It may go on much later, when others
// have taken over.
type process struct {
	*rooms.Service
	h *history

	mu      sync.Mutex
	next    fault
	gate    chan struct{} // closed when models answer; nil: they do at once
	replied bool
	halted  chan struct{}
	revived chan struct{}
	once    sync.Once
}

func (h *history) start() {
	h.number++
	p := &process{h: h, halted: make(chan struct{}), revived: make(chan struct{})}
	p.Service = rooms.New(rooms.Ports{
		Rooms:      kept{h.keep(h.store.Rooms()), p},
		Agents:     h,
		Minds:      p,
		Waker:      h.waker,
		Attendants: h,
		Now:        h.now,
	}, fmt.Sprintf("process%d", h.number), h.options)
	h.process, h.Service = p, p.Service
}

// halt stops the process here, until it is revived or ctx ends.
func (p *process) halt(ctx context.Context) {
	p.once.Do(func() { close(p.halted) })
	select {
	case <-p.revived:
	case <-ctx.Done():
	}
}

func (p *process) stops(at fault) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.halted:
		return true // nothing goes on in a process that has stopped
	default:
	}
	return p.next == at && (at != afterReply || p.replied)
}

func (p *process) Called(ctx context.Context, agent string, c psyche.Call) (psyche.CallAnswer, error) {
	p.mu.Lock()
	gate := p.gate
	p.mu.Unlock()
	if gate != nil {
		<-gate
	}
	if p.stops(inCall) {
		p.halt(ctx)
	}
	if ctx.Err() != nil {
		return psyche.CallAnswer{}, ctx.Err()
	}
	return p.h.think(agent, c)
}

func (p *process) Hear(context.Context, string, psyche.Caller, string, []psyche.Statement) error {
	return nil
}

// kept is the store of a process.
type kept struct {
	room.Store
	p *process
}

func (s kept) Finish(ctx context.Context, f room.Finish) (room.Finished, error) {
	if f.Reply == nil && s.p.stops(afterReply) {
		s.p.halt(ctx)
	}
	done, err := s.Store.Finish(ctx, f)
	if f.Reply != nil && err == nil {
		s.p.mu.Lock()
		s.p.replied = true
		s.p.mu.Unlock()
	}
	return done, err
}

// think answers a call, and the same call with what was bought before.
func (h *history) think(agent string, c psyche.Call) (psyche.CallAnswer, error) {
	h.thinking.Lock()
	defer h.thinking.Unlock()
	if answer, ok := h.bought[agent+c.Step]; ok {
		return answer, nil
	}
	answer := psyche.CallAnswer{Cost: callCosts}
	n := h.chance.IntN(100)
	switch {
	case h.quietly, n < 15:
		answer.Silent = true
	case n < 23:
		return answer, psyche.Refuse(503, "provider_unavailable", "", "The provider is down.")
	case n < 26:
		return answer, psyche.Refuse(400, "content_filter", "", "The provider refuses.")
	case n < 36:
		answer.Response = "Well.\n" + commands[h.chance.IntN(len(commands))]
	default:
		answer.Response = fmt.Sprintf("Thought %d. %s", h.chance.Int(), named(h.chance, dwellers))
	}
	h.bought[agent+c.Step] = answer
	return answer, nil
}

var commands = []string{
	"@self dormant sleep", "@self dormant sleep for 1h", "@self dormant sleep here", "@self dormant mention-only for 30m",
	"@self dormant human-only", "@self dormant human-only here for 2h", "@self awake", "@self awake here", "@self status",
	"@self dormant sleep for 0m",
}

// named names some of these.
func named(dice *rand.Rand, handles []string) string {
	var text []string
	for _, handle := range handles {
		if dice.IntN(2) == 0 {
			text = append(text, "@"+handle)
		}
	}
	return strings.Join(text, " ")
}

// inMemory is a store of a history.
func inMemory(t *testing.T) storeOfRig {
	t.Helper()
	store, err := sqlitestore.Open(t.Context(), ":memory:")
	require.NoError(t, err)
	return store
}

// onRedis is a store of a history on a server that other tests use, too.
func onRedis(t *testing.T) storeOfRig {
	t.Helper()
	store, err := redisstore.Open(t.Context(), redis.Shared(t).URL, redisstore.Prefix(redis.Prefix(t)),
		redisstore.Timeout(time.Minute))
	require.NoError(t, err)
	return store
}

func newHistory(t *testing.T, seed uint64, store storeOfRig, keep func(room.Store) room.Store) *history {
	t.Helper()
	if keep == nil {
		keep = func(s room.Store) room.Store { return s }
	}
	h := &history{
		rig: newRigOver(t, store, dwellers...), keep: keep,
		dice: rand.New(rand.NewPCG(seed, 1)), chance: rand.New(rand.NewPCG(seed, 2)),
		bought: map[string]psyche.CallAnswer{},
	}
	h.start()
	for _, id := range places {
		_, err := h.Create(t.Context(), ada, rooms.CreateRequest{ID: id, Join: dwellers[:2]})
		require.NoError(t, err)
		for _, r := range []rooms.JoinRequest{
			{Room: id, Agent: "null"}, // it is not subscribed
			{Room: id, Person: "bob"}, {Room: id, Person: "mallory", Trust: dormancy.Stranger},
		} {
			_, err := h.Join(t.Context(), ada, r)
			require.NoError(t, err)
		}
	}
	return h
}

func (h *history) did(format string, args ...any) {
	h.log = append(h.log, h.now().Format("15:04:05 ")+fmt.Sprintf(format, args...))
}

func pick[T any](dice *rand.Rand, of ...T) T { return of[dice.IntN(len(of))] }

func (h *history) request() rooms.PostRequest {
	h.number++
	r := rooms.PostRequest{
		Room: pick(h.dice, places...), Key: fmt.Sprintf("key%d", h.number),
		Body: fmt.Sprintf("Post %d %s", h.number, named(h.dice, dwellers)), Meta: map[string]string{"by": "driver"},
	}
	if h.dice.IntN(3) == 0 {
		for _, p := range h.posts {
			if p.Room == r.Room && p.Thread == "" && h.dice.IntN(3) == 0 {
				r.Thread = p.ID
				break
			}
		}
	}
	return r
}

// person posts as a person or a stranger.
func (h *history) person() {
	r := h.request()
	if h.dice.IntN(8) == 0 && h.requested.Room != "" {
		r = h.requested // the answer to the first request was lost
	}
	var done rooms.PostResult
	var err error
	switch h.dice.IntN(4) {
	case 0:
		done, err = h.Bring(h.ctx, mallory, r)
	case 1:
		done, err = h.Post(h.ctx, bob, r)
	default:
		done, err = h.Post(h.ctx, ada, r)
		h.requested = r
	}
	h.did("%s in %s: %q (%v)", done.Post.Author, r.Room, r.Body, err)
	require.NoError(h, err)
	existing := slices.ContainsFunc(h.posts, func(p room.Post) bool { return p.ID == done.Post.ID })
	if !existing && done.Post.State == room.Live {
		h.posts = append(h.posts, done.Post)
	}
}

// agent posts as an agent from outside.
func (h *history) agent() {
	r := h.request()
	r.As = pick(h.dice, dwellers...)
	if h.dice.IntN(3) == 0 {
		r.Body = pick(h.dice, commands...)
	}
	done, err := h.Post(h.ctx, ada, r)
	h.did("%s in %s: %q (held %t)", r.As, r.Room, r.Body, done.Held)
	require.NoError(h, err)
	if done.Held {
		h.held = append(h.held, replied{r.As, r.Room, r.Body})
	}
}

// revise edits or deletes a post of a person.
func (h *history) revise() {
	if len(h.posts) == 0 {
		return
	}
	p := pick(h.dice, h.posts...)
	c := ada
	if p.Author.ID == "bob" {
		c = bob
	}
	if p.Author == mallory {
		return
	}
	if h.dice.IntN(3) == 0 {
		_, err := h.Delete(h.ctx, c, p.ID, "")
		h.did("%s is deleted (%v)", p.ID, err)
		require.NoError(h, err)
		h.posts = slices.DeleteFunc(h.posts, func(o room.Post) bool { return o.ID == p.ID })
		return
	}
	now, err := h.Find(h.ctx, ada, p.ID)
	require.NoError(h, err)
	_, err = h.Edit(h.ctx, c, rooms.EditRequest{
		Post: p.ID, Revision: now.Revision, Body: now.Body + " and " + named(h.dice, dwellers),
	})
	h.did("%s is edited (%v)", p.ID, err)
	require.NoError(h, err)
}

func (h *history) level() {
	handle := pick(h.dice, dwellers...)
	r := rooms.DormancyRequest{Level: pick(h.dice, dormancy.Levels...), For: pick(h.dice, "", "10m", "1h", "3h")}
	if h.dice.IntN(3) == 0 {
		r.Room = pick(h.dice, places...)
	}
	_, err := h.SetDormancy(h.ctx, ada, handle, r)
	h.did("%s is set to %+v (%v)", handle, r, err)
	require.NoError(h, err)
}

func (h *history) awaken() {
	r := rooms.AwakenRequest{All: h.dice.IntN(4) == 0}
	if !r.All {
		r.Agents = []string{pick(h.dice, dwellers...)}
	}
	if h.dice.IntN(2) == 0 {
		r.Message = "come"
	}
	done, err := h.Awaken(h.ctx, ada, r)
	h.did("woken: %v (%v)", done.Woken, err)
	require.NoError(h, err)
}

func (h *history) visit() {
	handle := pick(h.dice, dwellers...)
	next, err := h.Attend(h.ctx, "id-"+handle)
	h.did("%s attended, next %s (%v)", handle, next.Format("15:04:05"), err)
	require.NoError(h, err)
}

func (h *history) call() {
	h.number++
	handle := pick(h.dice, dwellers...)
	_, err := h.Call(h.ctx, bob, handle, rooms.CallRequest{
		Trigger: room.OnDirect, Message: "hello", Key: fmt.Sprintf("call%d", h.number-h.dice.IntN(2)),
	})
	h.did("%s is called (%v)", handle, err)
}

// expect sets a check-in, once or every hour for some hours.
func (h *history) expect() {
	h.number++
	handle := pick(h.dice, dwellers...)
	r := rooms.CheckInRequest{Name: fmt.Sprint("c", h.number), Room: pick(h.dice, places...), Message: "look"}
	if h.dice.IntN(2) == 0 {
		r.Every, r.Until = "1h", h.now().Add(4*time.Hour)
	} else {
		r.At = h.now().Add(time.Duration(1+h.dice.IntN(7200)) * time.Second)
	}
	_, err := h.CheckIn(h.ctx, ada, handle, r)
	h.did("%s is called at set times: %+v (%v)", handle, r, err)
	require.NoError(h, err)
}

func (h *history) leap() {
	d := time.Duration(h.dice.IntN(90)) * time.Second
	switch h.dice.IntN(8) {
	case 0:
		d = -time.Duration(h.dice.IntN(3600)) * time.Second
		h.back = true
	case 1, 2:
		d = time.Duration(h.dice.IntN(4*3600)) * time.Second
	}
	h.pass(d)
	h.did("%s pass", d)
}

// die stops the process in the middle of what it does. Another one takes its place.
func (h *history) die() {
	p := h.process
	p.mu.Lock()
	p.next, p.replied, p.gate = pick(h.dice, inCall, afterReply), false, make(chan struct{})
	p.mu.Unlock()
	for range 1 + h.dice.IntN(5) { // what comes during the first calls becomes the next ones
		h.person()
	}
	close(p.gate)
	for _, handle := range dwellers {
		h.beside.Go(func() { _, _ = p.Attend(h.ctx, "id-"+handle) })
	}
	idle := make(chan struct{})
	go func() {
		_ = p.Wait(h.ctx)
		close(idle)
	}()
	select {
	case <-p.halted:
	case <-idle:
	}
	p.once.Do(func() { close(p.halted) })
	h.start()
	h.did("the process stops")
	h.died++
	if h.dice.IntN(2) == 0 {
		ended, cancel := context.WithCancel(h.ctx)
		cancel()
		h.beside.Go(func() { _ = p.Close(ended) })
	}
	h.stopped = append(h.stopped, p)
}

// revive lets a process that stopped go on where it was.
func (h *history) revive() {
	if len(h.stopped) == 0 {
		return
	}
	p := h.stopped[0]
	h.stopped = h.stopped[1:]
	h.did("a process that had stopped goes on")
	close(p.revived)
	require.NoError(h, p.Wait(h.ctx))
}

// run makes a history.
func (h *history) run(steps int) {
	for range steps {
		n := h.dice.IntN(100)
		switch {
		case n < 30:
			for range 1 + h.dice.IntN(3) {
				h.person()
			}
		case n < 45:
			h.agent()
		case n < 52:
			h.revise()
		case n < 58:
			h.level()
		case n < 62:
			h.awaken()
		case n < 72:
			h.visit()
		case n < 74:
			h.call()
		case n < 77:
			h.expect()
		case n < 90:
			h.leap()
		case n < 93:
			h.dreams(pick(h.dice, [][]string{nil, {"echo"}, {"iris", "null"}}...)...)
		case n < 97:
			h.die()
		default:
			h.revive()
		}
		h.settle()
	}
}

// finish lets everything come to its end: time passes while something is due within a stretch.
func (h *history) finish(within time.Duration) []string {
	h.thinking.Lock()
	h.quietly = true
	h.thinking.Unlock()
	h.dreams()
	end := h.now().Add(within)
	for range 500 {
		var next time.Time
		for _, handle := range dwellers {
			at, err := h.Attend(h.ctx, "id-"+handle)
			require.NoError(h, err)
			h.settle()
			if !at.IsZero() && (next.IsZero() || at.Before(next)) {
				next = at
			}
		}
		if next.IsZero() || next.After(end) {
			return nil
		}
		h.pass(max(0, next.Sub(h.now())))
	}
	return []string{"something is due for ever"}
}

// TestHistories runs random histories and checks what must hold after each.
func TestHistories(t *testing.T) {
	t.Parallel()
	playHistories(t, upTo(1_000, 20), inMemory)
}

// TestHistoriesOnRedis is TestHistories on the other store, with fewer: each step takes exchanges with a server.
func TestHistoriesOnRedis(t *testing.T) {
	t.Parallel()
	playHistories(t, upTo(100, 3), onRedis)
}

func playHistories(t *testing.T, histories int, open func(*testing.T) storeOfRig) {
	t.Helper()
	outcomes := map[room.Outcome]int{}
	posts, stopped := 0, 0
	for seed := range histories {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			h := newHistory(t, uint64(seed), open(t), nil)
			if faults := h.play(40); len(faults) > 0 {
				t.Fatalf("%s\n\nfaults:\n%s", strings.Join(h.log, "\n"), strings.Join(faults, "\n"))
			}
			k := h.record()
			posts += len(k.order)
			for _, keys := range k.wakes {
				for _, wakes := range keys {
					outcomes[wakes[0].Outcome]++
				}
			}
			stopped += h.died
		})
	}
	require.Positive(t, stopped)
	t.Logf("%d histories of %d posts, with %d processes that stopped: %v", histories, posts, stopped, outcomes)
}

// play runs a history to its end and returns what is wrong with it.
func (h *history) play(steps int) []string {
	h.run(steps)
	h.thinking.Lock()
	h.quietly = true
	h.thinking.Unlock()
	late := h.dice.IntN(2) == 0
	if !late { // those that stopped go on while others may not have noticed
		for len(h.stopped) > 0 {
			h.revive()
		}
	}
	faults := h.finish(12 * time.Hour)
	for len(h.stopped) > 0 {
		h.revive()
	}
	h.beside.Wait()
	faults = append(faults, h.finish(0)...)
	faults = append(faults, h.wrong(true)...)
	faults = append(faults, h.finish(100*24*time.Hour)...)
	return append(faults, h.wrong(false)...)
}

// record is all that is kept of a history.
type record struct {
	posts  map[string]room.Post
	order  []room.Post
	states map[string][]room.Dormancy // by agent
	wakes  map[string]map[string][]room.Wake
	items  map[string]map[string]room.Item
}

func (h *history) record() record {
	k := record{
		posts: map[string]room.Post{}, states: map[string][]room.Dormancy{},
		wakes: map[string]map[string][]room.Wake{}, items: map[string]map[string]room.Item{},
	}
	for _, id := range places {
		page, err := h.store.Rooms().History(h.ctx, room.Query{Room: id, As: room.AsOperator, From: room.Oldest})
		require.NoError(h, err)
		require.False(h, page.More)
		for _, p := range page.Posts {
			k.posts[p.ID] = p
			k.order = append(k.order, p)
		}
	}
	for _, handle := range dwellers {
		agent := "id-" + handle
		states, err := h.Dormancy(h.ctx, ada, handle)
		require.NoError(h, err)
		k.states[agent] = states
		k.wakes[agent], k.items[agent] = map[string][]room.Wake{}, map[string]room.Item{}
		for after := int64(0); ; {
			wakes, err := h.Calls(h.ctx, ada, handle, after, 0)
			require.NoError(h, err)
			if len(wakes) == 0 {
				break
			}
			for _, w := range wakes {
				k.wakes[agent][w.Key] = append(k.wakes[agent][w.Key], w)
				after = w.Number
			}
		}
		items, err := h.store.Rooms().Inbox(h.ctx, agent, 0, false, 0)
		require.NoError(h, err)
		for _, i := range items {
			k.items[agent][i.Key] = i // an edited post may have a second one
		}
	}
	return k
}

// sleeps says whether an agent sleeps in a room.
func (k record) sleeps(agent, id string) bool {
	var general, own dormancy.State
	for _, d := range k.states[agent] {
		switch d.Room {
		case "":
			general = d.State
		case id:
			own = d.State
		}
	}
	return dormancy.Effective(general, own).Level == dormancy.Sleep
}

// wrong lists what must not be. waiting says that what sleepers have not read may wait.
func (h *history) wrong(waiting bool) (faults []string) {
	k := h.record()
	bad := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	for _, p := range k.order {
		for _, m := range p.Mentions {
			if m.Kind == dormancy.Agent && m.Who != p.Author && len(k.wakes[m.ID][p.ID]) != 1 {
				bad("%s names %s, which has %d records of it", p.ID, m.ID, len(k.wakes[m.ID][p.ID]))
			}
		}
	}
	for agent, keys := range k.wakes {
		for key, wakes := range keys {
			if len(wakes) != 1 {
				bad("%s has %d records of %s", agent, len(wakes), key)
			}
			h.wake(k, agent, wakes[0], waiting, bad)
		}
		for _, d := range k.states[agent] {
			if !d.Until.IsZero() && !d.Until.After(h.now()) {
				bad("%s: the timer of %+v is lost", agent, d)
			}
		}
	}
	h.replies(k, bad)
	h.releases(k, bad)
	h.limits(k, bad)
	found, err := h.store.Verify(h.ctx)
	require.NoError(h, err)
	return append(faults, found.Faults...)
}

// wake checks how one call ended.
func (h *history) wake(k record, agent string, w room.Wake, waiting bool, bad func(string, ...any)) {
	item, kept := k.items[agent][w.Key]
	switch w.Outcome {
	case room.Skipped, room.Failed:
		if w.Reason == "" {
			bad("%s: %s is %s without a reason", agent, w.Key, w.Outcome)
		}
	case room.Queued:
		held := item.State == room.Taken && item.Until.After(h.now())
		if !waiting || !k.sleeps(agent, w.Room) || !kept || item.State.Final() || held {
			bad("%s: %s waits (%q), and nothing says why: %+v", agent, w.Key, w.Reason, item)
		}
		return
	}
	if kept && !item.State.Final() {
		bad("%s: %s is %s, and its item is %s", agent, w.Key, w.Outcome, item.State)
	}
}

// replies checks that no post is answered twice by one agent, and that what counts as answered is.
func (h *history) replies(k record, bad func(string, ...any)) {
	times := map[string]int{} // by agent and post
	unasked, checkIns := map[string]int{}, map[string]int{}
	for _, p := range k.order {
		if p.Author.Kind != dormancy.Agent || p.Form != room.Message || p.Meta["by"] != "" {
			continue
		}
		if p.ReplyTo == "" { // what a check-in made it say answers no post
			unasked[p.Author.ID]++
			continue
		}
		times[p.Author.ID+" "+p.ReplyTo]++
		for _, offset := range strings.Fields(p.Meta["answers"]) {
			times[p.Author.ID+" "+p.Room+"/"+offset]++
		}
	}
	for what, n := range times {
		if n > 1 {
			bad("%s is answered %d times", what, n)
		}
	}
	for agent, keys := range k.wakes {
		for _, wakes := range keys {
			w := wakes[0]
			if w.Outcome == room.Replied && w.Post == "" && w.Room != "" {
				checkIns[agent]++
			}
			if w.Outcome == room.Replied && w.Post != "" && times[agent+" "+w.Post] != 1 {
				bad("%s counts %s as answered (%q), and %d replies say so", agent, w.Post, w.Reason, times[agent+" "+w.Post])
			}
		}
		if unasked[agent] > checkIns[agent] {
			bad("%s says %d things unasked, and was called %d times for it", agent, unasked[agent], checkIns[agent])
		}
	}
}

// releases checks that what was held is posted once, in order, or held still by a sleeper.
func (h *history) releases(k record, bad func(string, ...any)) {
	last := map[string]int64{}
	for _, s := range h.held {
		var at []int64
		for _, p := range k.order {
			if p.Room == s.room && p.Body == s.body && p.Author.ID == "id-"+s.agent && p.Created.After(time.Time{}) &&
				!strings.HasPrefix(s.body, "@self") {
				at = append(at, p.Offset)
			}
		}
		where := s.agent + " in " + s.room
		switch {
		case len(at) > 1:
			bad("%s said %q %d times", where, s.body, len(at))
		case len(at) == 0:
			actions, err := h.Held(h.ctx, ada, s.agent, 0, 0)
			require.NoError(h, err)
			kept := slices.ContainsFunc(actions, func(a room.Action) bool { return strings.Contains(string(a.Body), s.body) })
			if !kept || !k.sleeps("id-"+s.agent, s.room) {
				bad("%s never said %q (held %t)", where, s.body, kept)
			}
		case at[0] < last[where]:
			bad("%s said %q before what it asked for earlier", where, s.body)
		default:
			last[where] = at[0]
		}
	}
}

// limits checks hops, and how often agents called one agent, where no clock went back.
func (h *history) limits(k record, bad func(string, ...any)) {
	rules := chatter.Default
	for agent, keys := range k.wakes {
		var called []time.Time
		for _, wakes := range keys {
			w := wakes[0]
			p := k.posts[w.Post]
			if w.Outcome == room.Skipped || p.Author.Kind != dormancy.Agent {
				continue
			}
			if p.Hops >= rules.Hops {
				bad("%s is called by %s, which has %d hops", agent, p.ID, p.Hops)
			}
			called = append(called, w.At)
		}
		slices.SortFunc(called, time.Time.Compare)
		for i := rules.Agent.Most; i < len(called) && !h.back; i++ {
			if called[i].Sub(called[i-rules.Agent.Most]) < rules.Agent.Per {
				bad("%s is called more than %d times in %s", agent, rules.Agent.Most, rules.Agent.Per)
			}
		}
	}
}

// The controls: what TestHistories checks is broken, and it notices. Each breaks the store that the processes see.
func TestHistoriesNotice(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]struct {
		keep func(room.Store) room.Store
		want string
	}{
		"posts that a reply had answered are not looked for": {
			func(s room.Store) room.Store { return blind{s} }, "is answered 2 times",
		},
		"replies are posted without a fence": {
			func(s room.Store) room.Store { return unfenced{s} }, "is answered 2 times",
		},
		"timers end nothing": {
			func(s room.Store) room.Store { return timeless{s} }, "something is due for ever",
		},
		"what was held is ended and not posted": {
			func(s room.Store) room.Store { return forgetful{s} }, "never said",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := uint64(1); seed < 200; seed++ {
				faults := newHistory(t, seed, inMemory(t), broken.keep).play(40)
				if slices.ContainsFunc(faults, func(f string) bool { return strings.Contains(f, broken.want) }) {
					t.Logf("seed %d: %d faults, the first %q", seed, len(faults), faults[0])
					return
				}
			}
			require.Fail(t, "no history notices it")
		})
	}
}

type blind struct{ room.Store }

func (s blind) History(ctx context.Context, q room.Query) (room.Page, error) {
	if q.As == room.AsOperator && q.From == room.Oldest {
		return room.Page{}, nil
	}
	return s.Store.History(ctx, q)
}

type unfenced struct{ room.Store }

func (s unfenced) Finish(ctx context.Context, f room.Finish) (room.Finished, error) {
	var posted *room.Posted
	if f.Reply != nil {
		items, err := s.Inbox(ctx, f.Agent, f.Number-1, false, 1)
		if err != nil {
			return room.Finished{}, err
		}
		d := *f.Reply
		d.Room, d.Author = items[0].Room, room.AgentID(f.Agent)
		d.ReplyTo, d.Hops = items[0].Post, items[0].Hops+1
		d.Key, d.Now = fmt.Sprint("unfenced", rand.Int()), f.Now
		p, err := s.Post(ctx, d, f.Rule)
		if err != nil {
			return room.Finished{}, err
		}
		posted, f.Reply = &p, nil
	}
	done, err := s.Store.Finish(ctx, f)
	done.Posted = posted
	return done, err
}

type timeless struct{ room.Store }

func (s timeless) SetDormancy(ctx context.Context, c room.Change) (room.Dormancy, error) {
	if strings.HasPrefix(c.Key, "timer/") {
		return room.Dormancy{Agent: c.Agent, Room: c.Room}, nil
	}
	return s.Store.SetDormancy(ctx, c)
}

type forgetful struct{ room.Store }

func (s forgetful) Hold(ctx context.Context, a room.Action) (room.Action, error) {
	a, err := s.Store.Hold(ctx, a)
	if err != nil {
		return a, err
	}
	return s.EndAction(ctx, a.Agent, a.Key, room.Done, "", a.Created)
}
