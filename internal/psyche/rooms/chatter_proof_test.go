package rooms_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/admission/chatter"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/rooms"
)

// full plays everything at its full length.
var full = os.Getenv("PROVE") == "full"

// upTo is the number of something: all of it with PROVE=full.
func upTo(all, some int) int {
	if full {
		return all
	}
	return some
}

const (
	talkers   = 10
	callCosts = 7 // micro-dollars
	// gatheredAtOnce is how many posts one call answers at most.
	gatheredAtOnce = 50
)

// crowd is a hall with ten agents that answer everything and name all others, three people, and as many
// strangers as a test lets in. Its attendants work as the workflow does: they look when they are asked to, and when
// something is due.
type crowd struct {
	*rig
	agents []string
	people []psyche.Caller
	began  time.Time
	due    map[string]time.Time

	wallet sync.Mutex
	spent  map[string]budget.Micros
}

func newCrowd(t *testing.T, o rooms.Options) *crowd {
	t.Helper()
	c := &crowd{due: map[string]time.Time{}, spent: map[string]budget.Micros{}}
	for i := range talkers {
		c.agents = append(c.agents, fmt.Sprintf("agent%d", i))
	}
	c.rig = newRigAt(t, ":memory:", c.agents...)
	c.options = o
	c.options.Gather = -1
	c.Service = c.another("crowd")
	c.hall(c.agents...)
	for _, name := range []string{"ada", "bob", "eve"} {
		c.people = append(c.people, psyche.Caller{Key: access.Key{ID: "key_" + name, Role: access.Operator, Principal: name}})
		if name != "ada" { // who made the room
			_, err := c.Join(t.Context(), ada, rooms.JoinRequest{Room: "hall", Person: name})
			require.NoError(t, err)
		}
	}
	c.minds.answer = c.chat
	c.began = c.now()
	return c
}

// all names every agent.
func (c *crowd) all() string { return "@" + strings.Join(c.agents, " @") }

// chat answers everything, as far as the accounts of the call reach.
func (c *crowd) chat(_ string, call psyche.Call) (psyche.CallAnswer, error) {
	c.wallet.Lock()
	defer c.wallet.Unlock()
	for _, account := range call.Accounts {
		if account.Limit != budget.Unlimited && c.spent[account.Scope]+callCosts > account.Limit {
			return psyche.CallAnswer{}, psyche.Refuse(429, "insufficient_quota", "", "No money is left.")
		}
	}
	for _, account := range call.Accounts {
		c.spent[account.Scope] += callCosts
	}
	return says("Quite so: " + c.all())
}

// after lets time pass, and the attendants work.
func (c *crowd) after(d time.Duration) {
	c.Helper()
	c.pass(d)
	c.serve()
}

// serve lets the attendants do what is due now.
func (c *crowd) serve() {
	c.Helper()
	for _, handle := range c.agents {
		c.mu.Lock()
		requested := slices.Contains(c.looked, handle)
		c.looked = slices.DeleteFunc(c.looked, func(h string) bool { return h == handle })
		c.mu.Unlock()
		if due := c.due[handle]; requested || !due.IsZero() && !due.After(c.now()) {
			c.due[handle] = c.attend(handle)
		}
	}
}

// rest lets time pass until nothing is due any more.
func (c *crowd) rest() {
	c.Helper()
	for range 10_000 {
		c.serve()
		var next time.Time
		for _, at := range c.due {
			if !at.IsZero() && (next.IsZero() || at.Before(next)) {
				next = at
			}
		}
		if next.IsZero() {
			return
		}
		c.pass(next.Sub(c.now()))
	}
	require.Fail(c, "something is due for ever")
}

// fate is what became of the posts of one kind of author.
type fate struct {
	calls    int // that reached an inbox
	skipped  map[string]int
	outcomes map[room.Outcome]int
}

// tally counts what became of every post for every agent, by its author: person, stranger or agent. Everything but a
// call of the moment must have a reason.
func (c *crowd) tally() map[string]*fate {
	c.Helper()
	fates := map[string]*fate{}
	author := map[string]string{}
	for after := int64(0); ; {
		page, err := c.History(c.ctx, owner, room.Query{Room: "hall", From: room.Oldest, After: after})
		require.NoError(c, err)
		for _, p := range page.Posts {
			kind := string(p.Author.Kind)
			if p.Author.Kind == dormancy.Person && p.Trust == dormancy.Stranger {
				kind = "stranger"
			}
			author[p.ID] = kind
			after = p.Offset
		}
		if !page.More {
			break
		}
	}
	for _, handle := range c.agents {
		for after := int64(0); ; {
			wakes, err := c.Calls(c.ctx, ada, handle, after, 0)
			require.NoError(c, err)
			if len(wakes) == 0 {
				break
			}
			for _, w := range wakes {
				kind := author[w.Post]
				f := fates[kind]
				if f == nil {
					f = &fate{skipped: map[string]int{}, outcomes: map[room.Outcome]int{}}
					fates[kind] = f
				}
				f.outcomes[w.Outcome]++
				if w.Outcome == room.Skipped {
					require.NotEmpty(c, w.Reason, "%s: %s", handle, w.Post)
					f.skipped[w.Reason]++
				} else {
					f.calls++
				}
				require.NotEqual(c, room.Queued, w.Outcome, "%s: %s waits (%s)", handle, w.Post, w.Reason)
				after = w.Number
			}
		}
	}
	return fates
}

// bound is the most calls by agents that the package comment of chatter allows for posts of people in a stretch.
func bound(rules chatter.Rules, people int, stretch time.Duration) int {
	return min(rules.Stop*(people+int(stretch/rules.Rest)+1), rules.Room.Bound(stretch),
		talkers*rules.Agent.Bound(stretch))
}

// Ten agents that answer everything in one room with three people stay within what the limits promise: calls, posts and
// money; and no mention by a person is lost.
func TestTenAgentsThatAnswerEverythingStayInBounds(t *testing.T) {
	t.Parallel()
	posts := upTo(10_000, 250) // in the room, of people and agents
	dice := rand.New(rand.NewPCG(4, 4))
	c := newCrowd(t, rooms.Options{AgentDay: budget.Unlimited})
	people := 0
	for replied := int64(0); replied < int64(posts); {
		body := "What do you think?"
		if dice.IntN(2) == 0 {
			body = c.all() + ": " + body
		}
		p := c.say(c.people[dice.IntN(3)], "", body)
		people++
		c.after(time.Duration(dice.ExpFloat64() * 7 * float64(time.Second)))
		replied = p.Post.Offset
	}
	c.rest()
	stretch := c.now().Sub(c.began)
	fates := c.tally()

	byPeople, byAgents := fates["person"], fates["agent"]
	require.Equal(t, talkers*people, byPeople.calls, "every person reaches every agent: %v", byPeople.skipped)
	require.Equal(t, talkers*people, byPeople.outcomes[room.Replied], "and is answered")
	most := bound(chatter.Default, people, stretch)
	require.Positive(t, byAgents.calls, "agents do talk with each other")
	require.LessOrEqual(t, byAgents.calls, most)
	calls := len(c.minds.agentsCalled())
	require.LessOrEqual(t, calls, byPeople.calls+byAgents.calls, "a burst is one call")
	require.EqualValues(t, calls*callCosts, c.total("calls:"))
	t.Logf("%d posts of people in %s: %d calls, of %d by agents at most %d; %d posts of agents were skipped: %v",
		people, stretch.Round(time.Second), calls, byAgents.calls, most, byAgents.outcomes[room.Skipped], byAgents.skipped)
}

// total is what the accounts of a scope have paid.
func (c *crowd) total(scope string) (sum budget.Micros) {
	c.wallet.Lock()
	defer c.wallet.Unlock()
	for account, spent := range c.spent {
		if strings.HasPrefix(account, scope) {
			sum += spent
		}
	}
	return sum
}

// The control: the same room without limits talks until somebody stops it.
func TestWithoutLimitsOnePostOfAPersonBlowsUp(t *testing.T) {
	t.Parallel()
	const most = 100
	endless := chatter.Rate{Most: 1 << 20, Per: time.Minute}
	free := chatter.Rules{
		Hops:      1 << 20,
		Pair:      endless,
		Mentions:  endless,
		Room:      endless,
		Agent:     endless,
		Person:    endless,
		Strangers: endless,
		Warn:      1 << 20,
		Stop:      1 << 20,
		Rest:      time.Minute,
	}
	for _, rules := range []chatter.Rules{free, chatter.Default} {
		c := newCrowd(t, rooms.Options{Rules: rules})
		c.minds.answer = func(agent string, call psyche.Call) (psyche.CallAnswer, error) {
			if len(c.minds.agentsCalled()) > most {
				return psyche.CallAnswer{}, psyche.Refuse(400, "enough", "", "The test has seen enough.")
			}
			return c.chat(agent, call)
		}
		c.say(ada, "", c.all())
		if calls := len(c.minds.agentsCalled()); rules == free {
			require.Greater(t, calls, most)
		} else {
			require.LessOrEqual(t, calls, talkers+chatter.Default.Stop)
		}
	}
}

// Accounts cost strangers nothing: a flood of them calls, wakes and costs no more than their limits, and people are
// answered meanwhile.
func TestAFloodOfStrangersStaysWithinItsLimits(t *testing.T) {
	t.Parallel()
	const strangerDay = 20 * callCosts
	c := newCrowd(t, rooms.Options{AgentDay: budget.Unlimited, StrangerDay: strangerDay})
	for _, handle := range c.agents {
		_, err := c.Subscribe(t.Context(), ada, "hall", handle, false)
		require.NoError(t, err)
	}
	for i := range 20 {
		_, err := c.Join(t.Context(), ada, rooms.JoinRequest{
			Room: "hall", Person: fmt.Sprintf("stranger%d", i), Trust: dormancy.Stranger,
		})
		require.NoError(t, err)
	}
	dice := rand.New(rand.NewPCG(5, 5))
	flood := upTo(5_000, 150)
	requested, woken := 0, 0
	sleeper := c.agents[0]
	for i := range flood {
		who := room.PersonID(fmt.Sprintf("stranger%d", dice.IntN(20)))
		body := fmt.Sprintf("@%s @%s look at my offer!", sleeper, c.agents[1+dice.IntN(2)])
		done, err := c.Bring(c.ctx, who, rooms.PostRequest{Room: "hall", Body: body})
		require.NoError(t, err)
		c.settle()
		if slices.Contains(done.Woken, sleeper) {
			woken++
		}
		if i%20 == 7 {
			c.say(ada, sleeper, "@self dormant sleep")
		}
		if i%40 == 20 {
			reached := c.say(c.people[dice.IntN(3)], "", "@"+c.agents[1]+" are you there?").Reached
			at := slices.IndexFunc(reached, func(r rooms.Reached) bool { return r.Agent == c.agents[1] })
			require.Empty(t, reached[at].Reason, "a person is answered at once")
			requested++
		}
		c.after(time.Duration(dice.IntN(15)) * time.Second)
	}
	rate := chatter.Default.Strangers
	stretch := c.now().Sub(c.began) + rate.Per // until what waits last is answered
	c.rest()
	fates := c.tally()
	atOnce := rate.Bound(stretch)
	require.Positive(t, woken)
	require.LessOrEqual(t, woken, atOnce, "what waits wakes nobody")
	for _, handle := range c.agents {
		calls := 0
		for _, call := range c.minds.callsOf(handle) {
			strange := func(a budget.Account) bool { return strings.HasPrefix(a.Scope, "strangers:") }
			if slices.ContainsFunc(call.Accounts, strange) {
				calls++
			}
		}
		gathered := (chatter.MostWaiting / gatheredAtOnce) * (int(stretch/rate.Per) + 1)
		require.LessOrEqual(t, calls, atOnce+gathered, handle)
	}
	days := int(stretch/(24*time.Hour)) + 2
	require.Positive(t, c.total("strangers:"))
	require.LessOrEqual(t, c.total("strangers:"), budget.Micros(talkers*days*strangerDay))
	require.Zero(t, fates["person"].outcomes[room.Failed], "the money of strangers is not that of people")
	require.GreaterOrEqual(t, fates["person"].outcomes[room.Replied], requested)
	t.Logf("%d posts of strangers in %s: %d reached an inbox, skipped %v; they woke a sleeper %d times (at most %d) and "+
		"paid %s (at most %s a day and agent)", flood, stretch.Round(time.Second), fates["stranger"].calls,
		fates["stranger"].skipped, woken, atOnce, c.total("strangers:"), budget.Micros(strangerDay))
}
