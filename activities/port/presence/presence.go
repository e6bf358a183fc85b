// Package presence defines the port that records which clients hold an agent awake, by lease and across processes, and
// the wake bus that interrupts a running dream.
//
// A Store belongs to a memory.DreamStore and is usually the same value. It is given the time by its callers and reads
// no clock, keeps times in UTC with nanoseconds, and compares leases with that time alone. Epochs are 0 before the
// first wake and rise by one. Raises, Visit.Rise and AppendDigest are the rules of a visit, Fence.Check of package
// memory that of a write. An unknown agent is no error: it has the zero Status. ErrNotFound of package memory is
// returned only for a visit with another handle than the agent's.
//
// LocalBus is the WakeBus of a program that runs starter and workers in one process.
package presence

import (
	"context"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/internal/circadian"
)

// Cause is what woke an agent.
type Cause string

// The causes of a wake.
const (
	Connect  Cause = "connect"  // a client connected
	Alarm    Cause = "alarm"    // a rule over the agent's feed fired
	Operator Cause = "operator" // a person who runs the deployment
)

// CauseOf reads a cause. What is stored and signalled under the former name of Connect is read as ever.
func CauseOf(text string) Cause {
	if text == "knock" {
		return Connect
	}
	return Cause(text)
}

// UnmarshalText reads a cause as CauseOf does.
func (c *Cause) UnmarshalText(text []byte) error {
	*c = CauseOf(string(text))
	return nil
}

// AlarmClient begins the client name of an alarm.
const AlarmClient = "alarm/"

// Visit is a request to hold the agent awake.
type Visit struct {
	Agent string // id
	// Client names the caller and is never empty; the same client renews its lease. That of an alarm is AlarmClient
	// followed by "<feed>/<rule>".
	Client string
	Cause  Cause
	Now    time.Time
	For    time.Duration // how long the lease lasts, > 0
	Lock   time.Duration // how long after Now no dream may begin, even when no lease is left

	// Handle, when set, must be the agent's current handle; otherwise memory.ErrNotFound.
	Handle string
	Notify bool // publish the wake notice in the same step, if the store can and the visit raises the epoch
}

// Wake is one rise of the epoch with what it fixed. Every client that connects sees the same values, and later writes
// of the woken dream do not change them.
type Wake struct {
	Agent  string    `json:"agent"`
	Epoch  int64     `json:"epoch"`
	Cause  Cause     `json:"cause"`
	Client string    `json:"client"`
	At     time.Time `json:"at"`
	Dream  string    `json:"dream,omitempty"` // the dream that held the slot; empty when none did
	Affect mood.PAD  `json:"affect"`          // after the mood shift of the woken dream; unshifted after an alarm
	Delta  float64   `json:"delta"`           // size of that shift, mood.PAD.Distance
	// Digest holds the ids of journal entries since the previous wake, at most Digested, never nil. This wake consumes
	// it.
	Digest []string `json:"digest"`
}

// LeftAsleep reports whether the wake leaves the agent asleep: an alarm or an operator does not wake an agent that
// sleeps without a dream, but keeps dreams from beginning.
func (w Wake) LeftAsleep() bool { return w.Dream == "" && (w.Cause == Alarm || w.Cause == Operator) }

// Digested is the maximum number of entries in a digest; the newest are kept.
const Digested = 5

// Arrival is the result of a visit.
type Arrival struct {
	Wake
	Raised   bool // this visit raised the epoch; otherwise the agent was awake and Wake is the newest wake
	Notified bool // the store has published the wake notice; listeners of this process have received it
}

// Lease keeps an agent awake until it ends.
type Lease struct {
	Client string    `json:"client"`
	Cause  Cause     `json:"cause"`
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until"`
}

// Status says who holds an agent awake.
type Status struct {
	Epoch    int64     `json:"epoch"`
	Leases   []Lease   `json:"leases"`        // live ones, by client
	Lock     time.Time `json:"lock"`          // the earliest time that a dream may begin
	Last     *Wake     `json:"last"`          // the newest wake; nil when there was none
	Recorded int64     `json:"told"`          // the newest epoch that the agent's workflow has recorded
	Seen     time.Time `json:"seen,omitzero"` // time of the last visit or departure

	// Visited says that a client connected while an alarm or an operator held the agent without waking it. The agent is
	// awake since then, until nothing holds it.
	Visited bool `json:"visited,omitempty"`
}

// Until returns the time from which the agent may dream if nobody connects again; it may be in the past.
func (s Status) Until() time.Time {
	until := s.Lock
	for _, l := range s.Leases {
		if l.Until.After(until) {
			until = l.Until
		}
	}
	return until
}

// Awake reports whether the agent is held awake.
func (s Status) Awake(now time.Time) bool { return s.Until().After(now) }

// State is the state of an agent, as Status.State computes it.
type State = circadian.State

// The states of an agent.
const (
	Sleeping = circadian.Sleeping // no client is connected, no dream runs
	Dreaming = circadian.Dreaming
	Waking   = circadian.Waking // a dream is being stopped
	Awake    = circadian.Awake  // a client is connected, or the wake lock or an alarm's hold is active
)

// State returns the agent's state by what the store knows; dreaming says whether a dream holds its slot. The command
// line, HTTP and MCP all show this state, whether or not Temporal responds.
func (s Status) State(dreaming bool, now time.Time) State {
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

// heldAsleep reports whether every lease belongs to an alarm or an operator that leaves the agent asleep.
func (s Status) heldAsleep() bool {
	client := slices.ContainsFunc(s.Leases, func(l Lease) bool { return l.Cause == Connect })
	return s.Last != nil && s.Last.LeftAsleep() && !s.Visited && !client
}

// Store keeps leases and epochs. Each method is one atomic, durable step, safe across processes. It is the same store
// as memory.Store, which refuses every fenced write of an older epoch (memory.ErrWoken) and refuses to begin a dream of
// an agent that is awake (memory.ErrAwake).
type Store interface {
	// Arrive grants or renews the client's lease and the wake lock. When the agent was not awake, or when a dream that
	// has not been woken holds its slot, the same step raises the epoch, applies the mood that the woken dream would
	// leave (unless the cause is an alarm), consumes the digest and stores the Wake. A client that finds the agent held
	// by an alarm or an operator does not raise the epoch, but sets Status.Visited until the next wake. Of many
	// simultaneous visits exactly one raises an epoch. With v.Notify the store may publish the notice in that step,
	// after the epoch has risen; Arrival.Notified says whether it did.
	Arrive(ctx context.Context, v Visit) (Arrival, error)
	// Depart ends a client's lease. lock is the length of the wake lock that begins with its departure. Without a lease
	// it changes nothing.
	Depart(ctx context.Context, agent, client string, now time.Time, lock time.Duration) (Status, error)
	// Dismiss ends every lease and the lock, on an operator's request.
	Dismiss(ctx context.Context, agent string, now time.Time) (Status, error)
	// Status returns who holds the agent awake, without leases that have expired by now. An agent that nobody has
	// visited has the zero Status.
	Status(ctx context.Context, agent string, now time.Time) (Status, error)
	// Epoch is the agent's current epoch: 0 before its first wake.
	Epoch(ctx context.Context, agent string) (int64, error)
	// Recorded marks the wake of an epoch as recorded by the agent's workflow. It never goes back. An epoch that was
	// never raised is an error that names it.
	Recorded(ctx context.Context, agent string, epoch int64) error
	// Unrecorded lists, by agent, the newest wakes that no workflow has recorded yet.
	Unrecorded(ctx context.Context) (map[string]Wake, error)
}

// EveryEpoch is above every epoch: a notice of it stops all running activities of the agent.
const EveryEpoch int64 = 1 << 62

// WakeNotice asks every process to stop the agent's activities that began under an earlier epoch.
type WakeNotice struct {
	Agent  string    `json:"agent"`
	Epoch  int64     `json:"epoch"`
	Cause  Cause     `json:"cause"`
	At     time.Time `json:"at"`     // when the visit was received
	Raised time.Time `json:"raised"` // when its epoch was durable
	// Local is set in the process that published the notice. A notice from elsewhere may be forged and is checked
	// against the store.
	Local bool `json:"-"`
}

// WakeBus carries wake notices. It may lose, repeat, delay or forge them, so nothing durable depends on it.
type WakeBus interface {
	// Publish reaches the listeners of this process before it returns, and those of others soon after.
	Publish(ctx context.Context, r WakeNotice) error
	// Listen calls hear for every notice until stop is called. hear is called from any goroutine and must return
	// quickly. Listen returns once it listens.
	Listen(hear func(WakeNotice)) (stop func(), err error)
}
