package dream

import (
	"errors"
	"fmt"
	"regexp"
)

// TriggerKind is what makes an agent dream automatically.
type TriggerKind string

// The kinds. An agent without triggers has only the idle one.
const (
	OnIdle     TriggerKind = "idle"     // idle for long enough
	OnSchedule TriggerKind = "schedule" // at a time in its zone
	OnEpisodes TriggerKind = "episodes" // a number of new episodes since the last dream
	OnEvent    TriggerKind = "event"    // an event of its own, or a rule of its feed
	OnRequest  TriggerKind = "manual"   // a dream was requested, to begin as soon as it may
)

// TriggerKinds are the kinds that an agent may configure.
var TriggerKinds = []TriggerKind{OnIdle, OnSchedule, OnEpisodes, OnEvent}

// MostTriggers is the most triggers of an agent.
const MostTriggers = 16

// Trigger begins an automatic dream.
type Trigger struct {
	Name     string      `json:"name"`
	Kind     TriggerKind `json:"kind"`
	Schedule string      `json:"schedule,omitempty"` // as circadian.ParseSchedule reads it, in the agent's zone
	Episodes int         `json:"episodes,omitempty"` // since the last dream
	// type of an event in the agent's log that was not written by a dream
	Event    string  `json:"event,omitempty"`
	Residual float64 `json:"residual,omitempty"` // for PredictionResolved: the smallest absolute residual; 0: any
	Feed     string  `json:"feed,omitempty"`     // with Rule: a rule of the feed that the agent follows
	Rule     string  `json:"rule,omitempty"`
}

// IdleTrigger is the trigger of an agent without triggers.
var IdleTrigger = Trigger{Name: "idle", Kind: OnIdle}

// Triggered are an agent's triggers, or the idle one if it has none of its own.
func (a Agent) Triggered() []Trigger {
	if a.Triggers == nil {
		return []Trigger{IdleTrigger}
	}
	return a.Triggers
}

var triggerName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,31}$`)

// Validate returns every wrong field and what would be right. Schedules are checked by circadian.
func (t Trigger) Validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if !triggerName.MatchString(t.Name) {
		fault("name %q must be 1 to 32 of a-z, 0-9, - and _, and begin with a letter or a digit", t.Name)
	}
	if (t.Name == string(OnRequest) || t.Name == string(OnIdle)) && t.Name != string(t.Kind) {
		fault("name %q is taken by a trigger that every agent may have; choose another", t.Name)
	}
	bare := Trigger{Name: t.Name, Kind: t.Kind}
	switch t.Kind {
	case OnIdle:
	case OnSchedule:
		bare.Schedule = t.Schedule
		if t.Schedule == "" {
			fault("schedule is empty; write it like \"mon-fri 03:30\" or \"30 3 * * 1-5\"")
		}
	case OnEpisodes:
		bare.Episodes = t.Episodes
		if t.Episodes < 1 || t.Episodes > 100_000 {
			fault("episodes is %d; it must lie between 1 and 100000", t.Episodes)
		}
	case OnEvent:
		bare.Event = t.Event
		bare.Residual = t.Residual
		bare.Feed = t.Feed
		bare.Rule = t.Rule
		if (t.Event == "") == (t.Feed == "" || t.Rule == "") || t.Event != "" && t.Feed+t.Rule != "" {
			fault("event %q, feed %q, rule %q: name the type of an event, or a feed and a rule over it", t.Event,
				t.Feed, t.Rule)
		}
		if !(t.Residual >= 0 && t.Residual <= 1) {
			fault("residual is %v; it must lie between 0 and 1", t.Residual)
		}
	case OnRequest:
		fault("kind manual needs no trigger: a dream of every agent can be requested")
	default:
		fault("kind %q must be one of %v", t.Kind, TriggerKinds)
	}
	if len(faults) == 0 && t != bare {
		fault("it is of kind %s and names what belongs to another kind", t.Kind)
	}
	return errors.Join(faults...)
}

func validTriggers(triggers []Trigger) error {
	var faults []error
	if len(triggers) > MostTriggers {
		faults = append(faults, fmt.Errorf("there are %d triggers; at most %d", len(triggers), MostTriggers))
	}
	seen := map[string]bool{}
	for _, t := range triggers {
		if err := t.Validate(); err != nil {
			faults = append(faults, fmt.Errorf("trigger %s: %w", t.Name, err))
		}
		if seen[t.Name] {
			faults = append(faults, fmt.Errorf("trigger %s is there twice", t.Name))
		}
		seen[t.Name] = true
	}
	return errors.Join(faults...)
}
