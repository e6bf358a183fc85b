package dream

import (
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/mood"
)

// Caps are the hard limits of what an agent may spend. Zero means nothing may be spent.
type Caps struct {
	Dream budget.Micros `json:"dream"`
	Day   budget.Micros `json:"day"`
	Month budget.Micros `json:"month"`
}

// DefaultCaps are the consent defaults of Z13.
var DefaultCaps = Caps{Dream: budget.Dollar / 2, Day: 2 * budget.Dollar, Month: 15 * budget.Dollar}

// Agent is somebody who remembers and dreams.
type Agent struct {
	ID        string          `json:"id"`
	Handle    string          `json:"handle"`
	Persona   string          `json:"persona"`
	Interests []string        `json:"interests,omitempty"`
	Zone      string          `json:"zone"` // IANA time zone: its day and its money's day follow it
	Tier      Tier            `json:"tier"`
	Models    map[Role]string `json:"models,omitempty"` // overrides of the configured model by role
	Caps      Caps            `json:"caps"`
	Feed      string          `json:"feed,omitempty"`
	Auto      bool            `json:"auto"` // dream by itself when idle
	Created   time.Time       `json:"created"`

	Vitality *float64 `json:"vitality,omitempty"` // in [0, 1], set from outside; nil: what is left under its caps

	Review Review `json:"review,omitempty"` // what becomes of what its dreams leave behind; empty: ReviewAuto

	Triggers []Trigger `json:"triggers,omitzero"` // what makes it dream by itself; nil: idleness alone, empty: nothing
}

// Affect is how an agent feels, and since when.
type Affect struct {
	PAD   mood.PAD  `json:"pad"`
	Since time.Time `json:"since"`
	Cause string    `json:"cause"`
}

// At is what is left of the affect at a time: moods settle by themselves, and reading one does not refresh it. An
// affect that says nothing of when it began is taken as it is.
func (a Affect) At(now time.Time) mood.PAD {
	if a.Since.IsZero() {
		return a.PAD
	}
	return mood.Settled(a.PAD, mood.PAD{}, now.Sub(a.Since))
}

// Same says whether two affects feel the same from the later of them on, whatever they are called.
func (a Affect) Same(o Affect) bool {
	at := a.Since
	if o.Since.After(at) {
		at = o.Since
	}
	return a.At(at).Distance(o.At(at)) < sameFeeling
}

// sameFeeling is the distance below which two moods differ by rounding alone.
const sameFeeling = 1e-9

var handle = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)

// IsHandle says whether an agent may be called so.
func IsHandle(name string) bool { return handle.MatchString(name) }

// Validate names every field that is wrong and what would be right.
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
		a.Zone == "Local" { // "Local" is another zone on every machine
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
