package workflows

import (
	"time"

	"github.com/seed-56a03226/oneiros/internal/circadian"
)

// AgentState is the state of an agent. All of it is carried across continue-as-new.
type AgentState struct {
	State      string        `json:"state"` // sleeping, dreaming, waking or awake
	Dream      *StartedDream `json:"dream,omitempty"`
	LastActive time.Time     `json:"last_active"`
	LastDream  time.Time     `json:"last_dream"`            // when the last one ended
	LastReason string        `json:"last_reason,omitempty"` // why the last automatic dream did not begin
	LastTry    time.Time     `json:"last_try"`              // when an automatic dream was last planned without success
	Dreams     int           `json:"dreams"`
	Settings   Settings      `json:"settings"`

	Epoch int64     `json:"epoch,omitempty"` // of the newest recorded wake
	Wake  *Wake     `json:"wake,omitempty"`  // that wake
	Since time.Time `json:"since,omitzero"`  // of the state waking or awake
	// when to check next whether a client is still connected
	Until       time.Time         `json:"until,omitzero"`
	Interrupted *InterruptedDream `json:"interrupted,omitempty"` // the interrupted dream that may be resumed
	NotBefore   time.Time         `json:"not_before,omitzero"`   // quiet hours last until then
	Greeted     int64             `json:"greeted,omitempty"`     // the newest epoch whose wake was announced
	Unraised    *Wake             `json:"unraised,omitempty"`    // a wake whose epoch could not be raised yet
	Wakes       int               `json:"wakes,omitempty"`       // recorded wakes
	Alarms      int               `json:"alarms,omitempty"`      // those caused by an alarm
	LastWoken   *StartedDream     `json:"last_woken,omitempty"`  // the dream that the newest wake interrupted

	Triggering Triggering `json:"triggering,omitzero"`
}

// InterruptedDream is an interrupted dream and the deadline for resuming it.
type InterruptedDream struct {
	StartedDream
	Until time.Time `json:"until"`
}

// States of an agent, named as in package circadian.
const (
	Sleeping = string(circadian.Sleeping)
	Dreaming = string(circadian.Dreaming)
	Waking   = string(circadian.Waking)
	Awake    = string(circadian.Awake)
)

const (
	// lookInterval is how often an agent's workflow checks whether its dream still runs: a dream that was terminated
	// cannot report its end.
	lookInterval = 2 * time.Minute
	// wakeDeadline is the longest time between a wake and the state awake, even if the dream has not stopped by then.
	wakeDeadline = time.Second
	// defaultClientTimeout is how long a request keeps an agent awake when the settings do not say.
	defaultClientTimeout = time.Minute
)

// Types of the errors that refuse a request to an agent's workflow.
const (
	AlreadyDreaming = "AlreadyDreaming" // another dream is running
	HeldAwake       = "HeldAwake"       // the agent is awake or being woken, so no dream may begin
	NothingToResume = "NothingToResume" // there is no interrupted dream
	InvalidSpec     = "InvalidSpec"     // the spec of a dream has a fault
	InvalidRequest  = "InvalidRequest"  // the input of an agent's or a feed's workflow has a fault
)
