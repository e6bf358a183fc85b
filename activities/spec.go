// Package activities holds the activities that workflows call, their requests and results, and the error types that
// workflows match.
package activities

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/policy"
)

// SpecVersion is the version of Spec. Fields are only added.
const SpecVersion = 1

// Spec is everything that a dream needs to know, frozen before it begins. It holds no text of memories or themes:
// those stay in the store.
type Spec struct {
	Version int                   `json:"version"`
	Dream   string                `json:"dream"` // also the workflow id: "dream/echo/0042"
	Agent   string                `json:"agent"`
	Handle  string                `json:"handle"`
	Tier    dream.Tier            `json:"tier"`
	Seed    uint64                `json:"seed"`
	AsOf    time.Time             `json:"as_of"`  // the dream's present; later memories are not used
	Day     string                `json:"day"`    // the day that is charged, YYYY-MM-DD in the agent's zone
	Models  map[dream.Role]string `json:"models"` // every role resolved
	Knobs   dream.Knobs           `json:"knobs"`
	Budget  budget.Micros         `json:"budget"` // hard cap of this dream
	// every cap above the phase's: dream, day, month, deployment
	Accounts   []budget.Account `json:"accounts"`
	DayLimit   budget.Micros    `json:"day_limit"`  // of the agent's allowance
	Free       bool             `json:"free"`       // every model states a price of zero
	Searchable bool             `json:"searchable"` // the cluster has our search attributes
	// and the one of the days on which it was interrupted
	Interruptions bool `json:"interruptions,omitempty"`

	Owner string `json:"owner,omitempty"` // the workflow that is informed when the dream ends
	// it begins automatically: its record is written when it begins
	Alone bool `json:"alone,omitempty"`
	// the agent's behaviour when it began; empty: no limits
	Behaviour dream.Behaviour `json:"behaviour,omitempty"`
	// the vitality at which each behaviour begins; nil: circadian.DefaultThresholds
	Thresholds *circadian.Thresholds `json:"thresholds,omitempty"`
	// how long it may be resumed after an interruption; 0: it ends with the first
	ResumeTTL time.Duration `json:"resume_ttl,omitempty"`
	// the most stretches it may have; 0: unlimited
	Stretches int `json:"stretches,omitempty"`
	// how its depth is chosen when it begins; nil: always the peak
	Depth *DepthRule `json:"depth,omitempty"`

	Holds *Holds `json:"holds,omitempty"` // how long a wake without a time keeps the agent awake; nil: a minute

	Hooks []HookRule `json:"hooks,omitempty"` // the hooks that are called at its borders

	Steering *inference.Steering `json:"steering,omitempty"` // of the onset's ideas; nil: none

	// whether its results need a person's review; empty: they count at once
	Review dream.Review `json:"review,omitempty"`
	// the dream whose earlier phases it takes over; nil: it runs all of them
	Redreams *dream.Redream `json:"redreams,omitempty"`

	// how each role's model is loosened; none: by temperature and min-p
	Loosening map[dream.Role]dream.Loosening `json:"loosening,omitempty"`

	// which episodes NREM replays first; nil: all are drawn by surprise
	Curriculum *Curriculum `json:"curriculum,omitempty"`

	Policy *policy.Rules `json:"policy,omitempty"` // what it may not develop; nil: nothing is barred

	// whether fragments are judged singly or together, and why; nil: the older observer, singly, without markers and
	// bias
	Observer *hypnagogia.JudgingChoice `json:"observer,omitempty"`
}

// Holds are the times for which a wake keeps the agent awake when it reached the dream directly and names none.
type Holds struct {
	Alarm  time.Duration `json:"alarm,omitempty"`  // of an alarm (agent.alarm_hold); 0: a minute
	Client time.Duration `json:"client,omitempty"` // of a client's request (agent.client_timeout); 0: a minute
	Lock   time.Duration `json:"lock,omitempty"`   // the wake lock (agent.wake_lock)
}

// Of is how long a wake of this cause holds; 0: the default.
func (h *Holds) Of(cause presence.Cause) time.Duration {
	switch {
	case h == nil:
		return 0
	case cause == presence.Alarm:
		return h.Alarm
	case cause == presence.Connect:
		return h.Client
	}
	return 0
}

// Validate returns every fault of a spec.
func (s Spec) Validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if s.Version != SpecVersion {
		fault("version is %d; this program understands %d", s.Version, SpecVersion)
	}
	if s.Dream == "" || s.Agent == "" || s.Handle == "" {
		fault("dream %q, agent %q and handle %q must not be empty", s.Dream, s.Agent, s.Handle)
	}
	if s.Tier != dream.Core && s.Tier != dream.Hardened {
		fault("tier %q must be core or hardened", s.Tier)
	}
	if s.AsOf.IsZero() {
		fault("as_of is missing")
	}
	if _, err := time.Parse(time.DateOnly, s.Day); err != nil {
		fault("day %q must be written YYYY-MM-DD", s.Day)
	}
	for _, role := range dream.Roles {
		if s.Models[role] == "" {
			fault("no model for the role %s", role)
		}
	}
	if s.Budget < 0 || s.DayLimit < 0 {
		fault("budget is %s and day_limit %s; they must not be negative", s.Budget, s.DayLimit)
	}
	if s.ResumeTTL < 0 {
		fault("resume_ttl is %s; it must not be negative", s.ResumeTTL)
	}
	if h := s.Holds; h != nil && (h.Alarm < 0 || h.Client < 0 || h.Lock < 0) {
		fault("holds are alarm %s, client %s and lock %s; they must not be negative", h.Alarm, h.Client, h.Lock)
	}
	if s.Stretches < 0 {
		fault("stretches is %d; it must not be negative", s.Stretches)
	}
	faults = append(faults, s.validateWays()...)
	return errors.Join(append(faults, s.validateParts()...)...)
}

// validateWays returns what is wrong with the words by which a dream goes its way.
func (s Spec) validateWays() (faults []error) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if s.Behaviour != "" && !slices.Contains(dream.Behaviours, s.Behaviour) {
		fault("behaviour %q must be one of %v, or empty", s.Behaviour, dream.Behaviours)
	}
	for _, role := range dream.Roles {
		if way, named := s.Loosening[role]; named && !slices.Contains(dream.Loosenings, way) {
			fault("loosening of the role %s is %q; it must be one of %v", role, way, dream.Loosenings)
		}
	}
	if s.Observer != nil && s.Observer.Way != dream.BySingle && s.Observer.Way != dream.ByTogether {
		fault("the observer's way is %q; it must be %s or %s", s.Observer.Way, dream.BySingle, dream.ByTogether)
	}
	if !s.Review.Valid() {
		fault("review is %q; it must be one of %v, or empty", s.Review, dream.Reviews)
	}
	if r := s.Redreams; r != nil && (r.Dream == "" || r.Dream == s.Dream || !slices.Contains(dream.Redreamt, r.From)) {
		fault("it goes on from %q, from %q; it must be another dream, and one of %v", r.Dream, r.From, dream.Redreamt)
	}
	return faults
}

// validateParts returns the faults of those parts that validate themselves.
func (s Spec) validateParts() (faults []error) {
	for _, hook := range s.Hooks {
		faults = append(faults, hook.Validate())
	}
	if s.Steering != nil {
		faults = append(faults, s.Steering.Validate())
	}
	if s.Depth != nil {
		faults = append(faults, s.Depth.Prior.Validate())
	}
	if s.Curriculum != nil {
		faults = append(faults, s.Curriculum.Validate())
	}
	if s.Policy != nil {
		faults = append(faults, s.Policy.Validate())
	}
	return append(faults, s.Knobs.Validate())
}

// Record is the record of the dream before it has begun.
func (s Spec) Record(theme string, feeling dream.Affect, now time.Time) *dream.Record {
	n := &dream.Record{
		Head: dream.Head{
			ID:    s.Dream,
			Agent: s.Agent,
			Kind:  dream.KindRecord,
			At:    now.UTC(),
			State: dream.Live,
			Taint: dream.FromDream,
			Dream: s.Dream,
		},
		Workflow: s.Dream,
		Tier:     s.Tier,
		Theme:    theme,
		Seed:     s.Seed,
		AsOf:     s.AsOf,
		Budget:   s.Budget,
		Paid:     !s.Free,
		Redreams: s.Redreams,
	}
	n.Affect(feeling, s.AsOf)
	if s.Review.Holds() {
		n.Review = s.Review
	}
	for _, role := range dream.Roles {
		n.Models = append(n.Models, string(role)+"="+s.Models[role])
	}
	return n
}

// Stretch identifies a stretch of a dream. Every activity request carries it, and the store fences writes by it.
type Stretch struct {
	Agent string `json:"agent"`
	Dream string `json:"dream"`
	Run   string `json:"run"`
	// the agent's epoch when the stretch began; a higher one stops its activities
	Epoch int64 `json:"epoch,omitempty"`

	Now time.Time `json:"now,omitzero"` // the workflow's time of the request
}

// InStretch is the stretch of any request that embeds one.
func (s Stretch) InStretch() Stretch { return s }

// Fence is what the store fences writes of the stretch by.
func (s Stretch) Fence() memory.Fence {
	return memory.Fence{Dream: s.Dream, Run: s.Run, Epoch: s.Epoch}
}

// End is how a paid activity ended, if not with an error.
type End string

// The ends. EndCap names its cap in CallOutcome.Scope. EndCut means that the activity was cancelled, EndWoken that the
// agent was woken; the text received by then is kept until it is judged (CallOutcome.Cut).
const (
	EndDone       End = ""
	EndCap        End = "cap"
	EndCut        End = "cut"
	EndWoken      End = "woken"
	EndUnreadable End = "unreadable" // neither the answer nor its repair could be read
)

// CallOutcome is how a paid activity ended.
type CallOutcome struct {
	End    End    `json:"end,omitempty"`
	Scope  string `json:"scope,omitempty"`
	Reason string `json:"reason,omitempty"`
	Reused bool   `json:"reused,omitempty"`

	NoCall bool `json:"no_call,omitempty"` // there was nothing to call a model for

	Cut *CutCall `json:"cut,omitempty"` // how it was interrupted
}

// Interrupted says whether the activity was interrupted.
func (d CallOutcome) Interrupted() bool { return d.End == EndCut || d.End == EndWoken }

// MadeItem is an item that an activity made: its id and what planning needs.
type MadeItem struct {
	ID    string  `json:"id"`
	Score float64 `json:"score"`
	Kept  bool    `json:"kept"`

	Chosen bool `json:"chosen,omitempty"` // rated promote at lucid capture: to be developed in this dream

	Sense *hypnagogia.Sense `json:"sense,omitempty"` // for a judged partial: how coherent it still was
}

// Kept counts the kept items.
func Kept(made []MadeItem) int {
	n := 0
	for _, m := range made {
		if m.Kept {
			n++
		}
	}
	return n
}
