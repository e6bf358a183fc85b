package workflows

import (
	"time"

	"github.com/seed-56a03226/oneiros/internal/circadian"
)

// AgentState is the state of an agent; all of it crosses continue-as-new.
type AgentState struct {
	State      string    `json:"state"` // sleeping, dreaming, waking or awake
	Dream      *Begun    `json:"dream,omitempty"`
	LastActive time.Time `json:"last_active"`
	LastDream  time.Time `json:"last_dream"`            // when the last one ended
	LastReason string    `json:"last_reason,omitempty"` // why the last automatic dream was not begun
	LastTry    time.Time `json:"last_try"`              // when an automatic dream was last planned in vain
	Dreams     int       `json:"dreams"`
	Settings   Settings  `json:"settings"`

	Epoch     int64     `json:"epoch,omitempty"`      // of the newest wake that is recorded
	Wake      *Wake     `json:"wake,omitempty"`       // that wake
	Since     time.Time `json:"since,omitzero"`       // of the state waking or awake
	Until     time.Time `json:"until,omitzero"`       // when to look next whether anybody is still connected
	Broken    *Broken   `json:"broken,omitempty"`     // the interrupted dream that may go on
	NotBefore time.Time `json:"not_before,omitzero"`  // quiet hours last until then
	Greeted   int64     `json:"greeted,omitempty"`    // the newest epoch that was announced
	Unraised  *Wake     `json:"unraised,omitempty"`   // a wake whose epoch could not be raised yet
	Wakes     int       `json:"wakes,omitempty"`      // wakes that were recorded
	Alarms    int       `json:"alarms,omitempty"`     // of them by an alarm
	LastWoken *Begun    `json:"last_woken,omitempty"` // the dream that the newest wake interrupted

	Triggering Triggering `json:"triggering,omitzero"`
}

// Broken is a dream that was interrupted and may go on until its time runs out.
type Broken struct {
	Begun
	Until time.Time `json:"until"`
}

// States of life, as circadian names them.
const (
	Sleeping = string(circadian.Sleeping)
	Dreaming = string(circadian.Dreaming)
	Waking   = string(circadian.Waking)
	Awake    = string(circadian.Awake)
)

const (
	// look is how often a life asks whether its dream still runs, in case a terminated dream could not say that it
	// ended.
	look = 2 * time.Minute
	// hard is how long an agent may take to wake at most; then it is awake, whatever its dream does.
	hard = time.Second
	// visited is how long a request counts when the deployment says nothing.
	visited = time.Minute
)

// Types of the errors that refuse what was asked of a life.
const (
	AlreadyDreaming = "AlreadyDreaming" // a second dream
	HeldAwake       = "HeldAwake"       // a dream of an agent that is awake, or being woken
	NothingToResume = "NothingToResume" // no interrupted dream waits
)
