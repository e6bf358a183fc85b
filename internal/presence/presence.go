// Package presence says who is connected to an agent, by lease, across replicas, and carries the bell that rouses a
// dream.
package presence

import (
	"context"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/mood"
)

// Cause is what woke an agent.
type Cause string

// The causes.
const (
	Connect  Cause = "knock"    // a client connected
	Alarm    Cause = "alarm"    // a rule over the agent's feed fired
	Operator Cause = "operator" // a person who runs the deployment
)

// Visit is somebody who wants the agent awake.
type Visit struct {
	Agent string // id
	// names whoever comes; the same client renews its lease. Never empty: an alarm comes as "alarm/<feed>/<rule>"
	Client string
	Cause  Cause
	Now    time.Time
	For    time.Duration // how long the lease holds, > 0
	Lock   time.Duration // how long after Now no dream may begin, whatever happens to the leases

	// that the agent is known by; memory.ErrNotFound when it is called otherwise, or is gone. Empty: whoever it is
	Handle string
	Notify bool // a store that can ring in the same step does, when the visit raises the epoch
}

// Wake is one rise of the epoch and what was fixed by it: whoever connects sees this, and no later write of the dream
// that was woken changes it.
type Wake struct {
	Agent  string    `json:"agent"`
	Epoch  int64     `json:"epoch"`
	Cause  Cause     `json:"cause"`
	Client string    `json:"client"`
	At     time.Time `json:"at"`
	Dream  string    `json:"dream,omitempty"` // the dream that held the slot; empty when the agent only slept
	Affect mood.PAD  `json:"affect"`          // after the shift of a return of zero length; none after an alarm
	Delta  float64   `json:"delta"`           // how far that shift moved it, mood.PAD.Distance
	// ids of journal entries since the wake before, at most Digested, never nil; consumed by this wake
	Digest []string `json:"digest"`
}

// LeftAsleep says whether the wake only keeps dreams away: an alarm and an operator wake no agent that sleeps without a
// dream.
func (w Wake) LeftAsleep() bool { return w.Dream == "" && (w.Cause == Alarm || w.Cause == Operator) }

// Digested is how many entries a digest keeps: the newest.
const Digested = 5

// Arrival answers a visit.
type Arrival struct {
	Wake
	Raised   bool // this visit raised the epoch; otherwise the agent was awake already and Wake is the one that woke it
	Notified bool // the store has rung: this process's listeners have heard it, and others are told
}

// Lease keeps an agent awake until it ends.
type Lease struct {
	Client string    `json:"client"`
	Cause  Cause     `json:"cause"`
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until"`
}

// Status is who holds an agent awake.
type Status struct {
	Epoch    int64     `json:"epoch"`
	Leases   []Lease   `json:"leases"`        // live ones, by client
	Lock     time.Time `json:"lock"`          // no dream begins before it
	Last     *Wake     `json:"last"`          // the newest wake; nil when there was none
	Recorded int64     `json:"told"`          // the newest epoch that the agent's workflow has recorded
	Seen     time.Time `json:"seen,omitzero"` // the last visit or departure

	// Visited says that a client came while an alarm or an operator held the agent asleep; it is awake since, until
	// nobody holds it.
	Visited bool `json:"visited,omitempty"`
}

// Until is when the agent is free to dream if nobody comes again; not after now when it is free already.
func (s Status) Until() time.Time {
	until := s.Lock
	for _, l := range s.Leases {
		if l.Until.After(until) {
			until = l.Until
		}
	}
	return until
}

// Awake says whether somebody holds the agent awake.
func (s Status) Awake(now time.Time) bool { return s.Until().After(now) }

// State is where the agent stands by what the store knows; dreaming says whether a dream holds its slot. Every face of
// the agent tells this state: the command line, HTTP and MCP, whether Temporal answers or not.
func (s Status) State(dreaming bool, now time.Time) circadian.State {
	switch {
	case s.Awake(now) && dreaming:
		return circadian.Waking
	case s.Awake(now) && !s.heldAsleep():
		return circadian.Awake
	case dreaming:
		return circadian.Dreaming
	}
	return circadian.Sleeping
}

// heldAsleep says whether whoever holds the agent leaves it asleep.
func (s Status) heldAsleep() bool {
	client := slices.ContainsFunc(s.Leases, func(l Lease) bool { return l.Cause == Connect })
	return s.Last != nil && s.Last.LeftAsleep() && !s.Visited && !client
}

// Store keeps leases and epochs. Each method is one atomic, durable step, safe across processes. It is kept by the same
// store as memory, which refuses every fenced write of an older epoch (memory.ErrWoken) and a dream of an agent that is
// awake (memory.ErrAwake).
type Store interface {
	// Arrive grants or renews the client's lease and the wake lock. When the agent was not awake, or a dream that has
	// not been woken holds its slot, the same step raises the epoch, applies the mood that the woken dream would leave
	// (unless the cause is an alarm), consumes the digest and keeps the Wake. A client that finds the agent held asleep
	// by an alarm or an operator raises nothing; from then on, until the next wake, the agent's standing is Visited. An
	// epoch is raised by exactly one of many simultaneous visits. With v.Ring the store may ring in that step, after
	// the epoch has risen; Arrival.Rung says whether it did.
	Arrive(ctx context.Context, v Visit) (Arrival, error)
	// Depart ends a client's lease; lock is the wake lock that its going starts anew. A client without a lease changes
	// nothing.
	Depart(ctx context.Context, agent, client string, now time.Time, lock time.Duration) (Status, error)
	// Dismiss ends every lease and the lock, by the word of an operator.
	Dismiss(ctx context.Context, agent string, now time.Time) (Status, error)
	// Status tells who holds the agent awake; leases that have ended by now are left out. An agent nobody ever visited
	// has the zero Standing.
	Status(ctx context.Context, agent string, now time.Time) (Status, error)
	// Epoch is the agent's newest: 0 before its first wake.
	Epoch(ctx context.Context, agent string) (int64, error)
	// Recorded notes that the agent's workflow has recorded the wake of an epoch; it never goes back.
	Recorded(ctx context.Context, agent string, epoch int64) error
	// Untold lists the newest wakes that no workflow has recorded yet, by agent.
	Untold(ctx context.Context) (map[string]Wake, error)
}

// EveryEpoch is above every epoch: a ring of it stops whatever runs. Nothing durable rests on a ring.
const EveryEpoch int64 = 1 << 62

// WakeNotice tells every process to stop the deeds of an agent that began under an epoch before this one.
type WakeNotice struct {
	Agent  string    `json:"agent"`
	Epoch  int64     `json:"epoch"`
	Cause  Cause     `json:"cause"`
	At     time.Time `json:"at"`     // when the visit was received
	Raised time.Time `json:"raised"` // when its epoch was durable
	// it was rung in this process; a ring from elsewhere may be forged, and is checked against the store
	Local bool `json:"-"`
}

// WakeBus carries rings. It may lose, repeat, delay or forge them: nothing durable rests on it.
type WakeBus interface {
	// Publish reaches the listeners of this process before it returns, and those of others soon.
	Publish(ctx context.Context, r WakeNotice) error
	// Listen calls hear for every ring until stop is called, from any goroutine, quickly answered. It returns when it
	// listens.
	Listen(hear func(WakeNotice)) (stop func(), err error)
}
