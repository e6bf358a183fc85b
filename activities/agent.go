package activities

import (
	"context"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/circadian"
)

// PlanRequest is the input of DreamRun.Plan.
type PlanRequest struct {
	Agent       string        `json:"agent"`
	Now         time.Time     `json:"now"`
	IdleTimeout time.Duration `json:"idle_timeout"`

	Resume *Stretch `json:"resume,omitempty"` // resume this interrupted dream instead of planning one
	// automatic dreams begin only within these hours, in the agent's zone; none: always
	Windows []string `json:"windows,omitempty"`
	Quiet   []string `json:"quiet,omitempty"` // and never within these

	// a delay after the hours open, so that the agents of a zone do not all begin at once
	Jitter time.Duration `json:"jitter,omitempty"`
}

// PlanResult is a dream's spec, or why there is none. With neither, the agent is not idle: it has a newer memory.
type PlanResult struct {
	Spec   Spec   `json:"spec"`
	Reason string `json:"reason,omitempty"` // why no dream begins now; empty: it may
	// the time of the newest memory or of the last client, whichever is later; zero for none
	Active time.Time `json:"active"`

	// a client holds the agent awake until then, which the workflow does not know yet
	Awake     time.Time `json:"awake,omitzero"`
	NotBefore time.Time `json:"not_before,omitzero"` // quiet hours last until then
	Resume    bool      `json:"resume,omitempty"`    // resume the interrupted dream
	Removed   bool      `json:"removed,omitempty"`   // the agent was removed: its workflow completes
}

// Wake asks an agent, or one dream, to wake up. It carries the epoch when its sender has raised one. With the zero
// Wake, which a person may send with any tool, the receiver raises it.
type Wake struct {
	Epoch   int64          `json:"epoch,omitempty"`
	Cause   presence.Cause `json:"cause,omitempty"`   // empty: operator; alarm for the alarm signal
	Client  string         `json:"client,omitempty"`  // which client connected
	At      time.Time      `json:"at,omitzero"`       // when the request was received
	Raised  time.Time      `json:"raised,omitzero"`   // when its epoch was durable
	Trigger string         `json:"trigger,omitempty"` // of an alarm: "feed/rule"
	// how long an agent without clients stays awake for it; 0: a minute
	Hold time.Duration `json:"hold,omitempty"`
	// the dream that the sender signals itself, beside the agent's workflow
	SignalledDream string `json:"signalled_dream,omitempty"`
}

// RaiseEpochRequest is the input of DreamRun.RaiseEpoch.
type RaiseEpochRequest struct {
	Agent string    `json:"agent"`
	Wake  Wake      `json:"wake"`
	Now   time.Time `json:"now"`

	Lock time.Duration `json:"lock,omitempty"` // the wake lock
}

// RaiseEpochResult is the wake with the agent's current epoch.
type RaiseEpochResult struct {
	Wake
	// a client connected while an alarm or an operator held the agent, so no epoch was raised
	Joined bool `json:"joined,omitempty"`
}

// AnnounceWakeRequest says that an agent's workflow has recorded a wake, or that the agent may sleep again.
type AnnounceWakeRequest struct {
	Agent string    `json:"agent"`
	Epoch int64     `json:"epoch"`
	Cause string    `json:"cause,omitempty"`
	Dream string    `json:"dream,omitempty"`
	Now   time.Time `json:"now"`

	Asleep bool `json:"asleep,omitempty"` // the wake left the agent asleep: nothing is announced
}

// AnnounceWakeResult reports a wake whose epoch was never raised in the store.
type AnnounceWakeResult struct {
	Forged bool  `json:"forged,omitempty"`
	Epoch  int64 `json:"epoch,omitempty"` // the agent's newest epoch, if the announced one is above it
}

// CheckClientsRequest is the input of DreamRun.CheckClients.
type CheckClientsRequest struct {
	Agent string    `json:"agent"`
	Now   time.Time `json:"now"`

	// the workflow has the agent asleep: nothing is announced when no client is there
	Asleep bool `json:"asleep,omitempty"`
}

// CheckClientsResult is until when an agent stays awake, and its newest wake.
type CheckClientsResult struct {
	Until time.Time `json:"until,omitzero"` // not after now: it may sleep
	Epoch int64     `json:"epoch"`
	Last  Wake      `json:"last"` // the newest wake
	Seen  time.Time `json:"seen,omitzero"`
	Visit Wake      `json:"visit,omitzero"` // the last client that connected by itself and is still there
}

// CheckTriggersRequest is the input of DreamRun.CheckTriggers.
type CheckTriggersRequest struct {
	Agent       string                 `json:"agent"`
	Now         time.Time              `json:"now"`
	Zone        string                 `json:"zone,omitempty"` // of the schedules; empty: UTC
	Schedules   []dream.Trigger        `json:"schedules,omitempty"`
	UrgencyRule *circadian.UrgencyRule `json:"eager,omitempty"` // nil: urgency is not computed
}

// Appointment is the next time at which a schedule calls.
type Appointment struct {
	Trigger string    `json:"trigger"`
	At      time.Time `json:"at,omitzero"` // zero: never
	Fault   string    `json:"fault,omitempty"`
}

// CheckTriggersResult has the next times of the schedules and the urgency.
type CheckTriggersResult struct {
	Appointments []Appointment      `json:"appointments,omitempty"`
	Urgency      *circadian.Urgency `json:"urgency,omitempty"`
	Early        bool               `json:"early,omitempty"` // urgent enough to dream after the shorter idle time
}

// Embedders say which model embeds an agent's texts outside of a dream, or why none does.
type Embedders interface {
	Embedder(ctx context.Context, agent dream.Agent) (model, why string)
}
