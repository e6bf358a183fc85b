// Package chatter keeps agents from talking each other into a bill: how often, how deep and how long they may answer
// each other, what a burst of messages becomes, and what waits in an inbox.
//
// The bound. Let a room with n agents get p posts of people and s posts of strangers during T. People and strangers
// call each agent at most once a post, and strangers no more often than Rules.Strangers allows. Agents call agents at
// most Rules.Stop times between two posts of people, or between two rests, so that
//
//	calls by agents    ≤ min(Stop · (p + T/Rest + 1), Room.Bound(T), n · Agent.Bound(T))
//	calls by strangers ≤ n · min(s, Strangers.Bound(T))
//	calls by people    ≤ n · p
//
// and as an agent writes one post a call, there are no more posts of agents than calls. A call costs at most what is
// reserved for it. Posts of strangers beyond their limit wait, at most MostWaiting for an agent, and become a few calls
// when a stretch of Strangers.Per ends; an account of their own bounds what they cost.
package chatter

import (
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/internal/admission"
)

// Rules are the limits. Where a number has no source it was chosen for rooms of ten agents, as in the tests.
type Rules struct {
	// Hops is from how many answers of agents in a row on a post calls no agent.
	Hops int
	// What agents may do: one agent calling another, one agent mentioning another, all agents calling others in a room,
	// all agents calling one.
	Pair, Mentions, Room, Agent Rate
	Person                      Rate // one person calling one agent; beyond it the calls wait
	Strangers                   Rate // all strangers together calling one agent: accounts cost them nothing
	// After Warn calls of agents by agents, with no person speaking in the room, the room is told; after Stop they end,
	// until a person speaks or Rest is over. A room of agents alone thus goes on, slowly.
	Warn, Stop int
	Rest       time.Duration
}

// Default are the limits of a deployment. Mentions is the rule of Team-Commonly (issue 521). Hops and Pair are limits
// in use elsewhere against loops such as that of two bots with 132 messages (hermes-agent, issue 91481).
var Default = Rules{
	Hops:      4,
	Pair:      Rate{Most: 3, Per: time.Minute, CoolDown: time.Minute},
	Mentions:  Rate{Most: 3, Per: 5 * time.Minute},
	Room:      Rate{Most: 30, Per: time.Minute},
	Agent:     Rate{Most: 10, Per: time.Minute},
	Person:    Rate{Most: 20, Per: time.Minute},
	Strangers: Rate{Most: 5, Per: 10 * time.Minute},
	Warn:      8,
	Stop:      12,
	Rest:      30 * time.Minute,
}

// NextHops is the number of hops of an agent's answer: one more than that of what it answers. A person's post has none,
// whatever its metadata says.
func NextHops(of admission.Sender, hops int) int {
	if of == admission.Person {
		return 1
	}
	return max(hops, 0) + 1
}

// Call is an attempt of a message to call one agent.
type Call struct {
	Sender admission.Sender
	Named  bool // by a mention
	Hops   int  // of the message
}

// Records are what the guards keep. Each has its own key: the pair of caller and called, again the pair, the room,
// the called agent, the person and the called agent, the called agent, the room.
type Records struct {
	Pair, Mentions, Room, Agent, Person, Strangers Window

	Alone Alone
}

// Alone is how long agents have been talking in a room without a person.
type Alone struct {
	Calls   int       `json:"calls,omitempty"`
	Last    time.Time `json:"last,omitzero"` // when the last one was allowed
	Stopped bool      `json:"stopped,omitempty"`
	Deep    bool      `json:"deep,omitempty"` // the room knows that the hops were cut off
}

// Notice is what the room is told, once until a person speaks or a rest is over; empty for nothing.
type Notice string

// Admit says which limit a call reaches, if any, and what the room is told. It returns the records as they are then: a
// refused call counts nowhere. A person's call lifts the limits on how deep and how long agents talk in the room.
func (r Rules) Admit(c Call, records Records, now time.Time) (admission.Limit, Notice, Records) {
	switch c.Sender {
	case admission.Person:
		records.Alone = Alone{}
		limit := take(now, use{admission.Often, &records.Person, r.Person})
		return limit, "", records
	case admission.Stranger:
		limit := take(now, use{admission.Often, &records.Strangers, r.Strangers})
		return limit, "", records
	}
	return r.agents(c, records, now)
}

// agents admits a call of an agent by another.
func (r Rules) agents(c Call, records Records, now time.Time) (admission.Limit, Notice, Records) {
	alone := &records.Alone
	if alone.Last.After(now) { // the clock went back
		alone.Last = now
	}
	if alone.Calls > 0 && now.Sub(alone.Last) >= r.Rest {
		*alone = Alone{}
	}
	if c.Hops >= r.Hops {
		notice := Notice("")
		if !alone.Deep {
			alone.Deep = true
			notice = Notice(fmt.Sprintf("Agents have answered each other %d times in a row: this goes no further until "+
				"a person writes.", r.Hops))
		}
		return admission.Hops, notice, records
	}
	if alone.Calls >= r.Stop {
		notice := Notice("")
		if !alone.Stopped {
			alone.Stopped = true
			notice = Notice(fmt.Sprintf("Only agents have talked here for %d answers: they are stopped until a person "+
				"writes, or for %s.", r.Stop, minutes(r.Rest)))
		}
		return admission.Alone, notice, records
	}
	uses := []use{
		{admission.Pair, &records.Pair, r.Pair},
		{admission.Room, &records.Room, r.Room},
		{admission.Called, &records.Agent, r.Agent},
	}
	if c.Named {
		uses = append(uses, use{admission.Mentions, &records.Mentions, r.Mentions})
	}
	limit := take(now, uses...)
	if limit != admission.Within {
		return limit, "", records
	}
	alone.Calls++
	alone.Last = now
	notice := Notice("")
	if alone.Calls == r.Warn {
		notice = Notice(fmt.Sprintf("Only agents have talked here for %d answers. After %d they are stopped until a "+
			"person writes.", r.Warn, r.Stop))
	}
	return admission.Within, notice, records
}

func minutes(d time.Duration) string { return fmt.Sprintf("%d minutes", d/time.Minute) }

// use is one window that a call needs.
type use struct {
	limit  admission.Limit
	window *Window
	rate   Rate
}

// take counts a call in all windows, or in none when one is full.
func take(now time.Time, uses ...use) admission.Limit {
	taken := make([]Window, len(uses))
	for i, u := range uses {
		next, ok := u.window.Take(u.rate, now)
		if !ok {
			*u.window = next
			return u.limit
		}
		taken[i] = next
	}
	for i, u := range uses {
		*u.window = taken[i]
	}
	return admission.Within
}
