package dream

import (
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
)

// Caps are the hard limits of what an agent may spend. Zero means nothing may be spent.
type Caps struct {
	Dream budget.Micros `json:"dream"`
	Day   budget.Micros `json:"day"`
	Month budget.Micros `json:"month"`
}

// DefaultCaps are the spending limits of an agent whose owner has set none.
var DefaultCaps = Caps{Dream: budget.Dollar / 2, Day: 2 * budget.Dollar, Month: 15 * budget.Dollar}

// Agent is an agent with a memory that it dreams over.
type Agent struct {
	ID        string          `json:"id"`
	Handle    string          `json:"handle"`
	Persona   string          `json:"persona"`
	Interests []string        `json:"interests,omitempty"`
	Zone      string          `json:"zone"` // IANA time zone of its days, and of the days its money is counted by
	Tier      Tier            `json:"tier"`
	Models    map[Role]string `json:"models,omitempty"` // overrides of the configured model by role
	Caps      Caps            `json:"caps"`
	Feed      string          `json:"feed,omitempty"`
	Auto      bool            `json:"auto"` // dream automatically when idle
	Created   time.Time       `json:"created"`

	// in [0, 1], set from outside; nil: derived from the money left under its caps
	Vitality *float64 `json:"vitality,omitempty"`

	Review Review `json:"review,omitempty"` // whether results of its dreams need a person's review; empty: ReviewAuto

	// what begins an automatic dream; nil: idleness alone, empty: nothing
	Triggers []Trigger `json:"triggers,omitzero"`
}

// Affect is the mood of an agent and its start.
type Affect struct {
	PAD   mood.PAD  `json:"pad"`
	Since time.Time `json:"since"`
	Cause string    `json:"cause"`
}

// At is the mood at a time: it decays toward neutral, and reading it does not refresh it. An affect without a start
// does not decay.
func (a Affect) At(now time.Time) mood.PAD {
	if a.Since.IsZero() {
		return a.PAD
	}
	return mood.Settled(a.PAD, mood.PAD{}, now.Sub(a.Since))
}

// Same says whether two affects have the same mood from the later of their starts on, whatever their causes.
func (a Affect) Same(o Affect) bool {
	at := a.Since
	if o.Since.After(at) {
		at = o.Since
	}
	return a.At(at).Distance(o.At(at)) < sameFeeling
}

// sameFeeling is the distance below which two moods differ only by rounding.
const sameFeeling = 1e-9

var handle = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)

// IsHandle says whether a name is a valid handle.
func IsHandle(name string) bool { return handle.MatchString(name) }

// Validate returns every wrong field and what would be right.
func (a Agent) Validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if !handle.MatchString(a.Handle) {
		fault("handle %q must be 1 to 32 of a-z, 0-9, - and _, and begin with a letter", a.Handle)
	}
	if a.ID == "" {
		fault("id is empty")
	}
	if a.Tier != Core && a.Tier != Hardened {
		fault("tier %q must be core or hardened", a.Tier)
	}
	if a.Zone == "" {
		fault("zone is empty; use an IANA name such as Europe/Berlin or UTC")
	} else if _, err := time.LoadLocation(a.Zone); err != nil ||
		a.Zone == "Local" { // "Local" means another zone on every machine
		fault("zone %q is not an IANA time zone such as Europe/Berlin", a.Zone)
	}
	if a.Caps.Dream < 0 || a.Caps.Day < 0 || a.Caps.Month < 0 {
		fault("caps must not be negative")
	}
	if a.Caps.Dream > a.Caps.Day {
		fault("cap of one dream (%s) is above the cap of a day (%s)", a.Caps.Dream, a.Caps.Day)
	}
	if a.Caps.Day > a.Caps.Month {
		fault("cap of a day (%s) is above the cap of a month (%s)", a.Caps.Day, a.Caps.Month)
	}
	if v := a.Vitality; v != nil && !(*v >= 0 && *v <= 1) {
		fault("vitality is %v; it must lie between 0 and 1, or be absent", *v)
	}
	if !a.Review.Valid() {
		fault("review %q must be one of %v", a.Review, Reviews)
	}
	if err := validTriggers(a.Triggers); err != nil {
		faults = append(faults, err)
	}
	for role := range a.Models {
		found := false
		for _, r := range Roles {
			found = found || r == role
		}
		if !found {
			fault("model role %q is unknown; roles are %s", role, RoleNames())
		}
	}
	return errors.Join(faults...)
}
