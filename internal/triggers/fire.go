package triggers

import (
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Fire tells an agent's workflow that a trigger calls for a dream.
type Fire struct {
	Trigger string            `json:"trigger"`
	Kind    dream.TriggerKind `json:"kind"`
	At      time.Time         `json:"at"`
	Key     string            `json:"key,omitempty"`  // identifies the cause: a repeated call counts once
	Reason  string            `json:"why,omitempty"`  // for people; no text of a memory
	Drop    bool              `json:"drop,omitempty"` // remove the waiting call of this trigger
}

// OnUrgency is the kind of a call without a trigger: an idle agent is urgent.
const OnUrgency dream.TriggerKind = "urgency"
