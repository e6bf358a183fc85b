// Package activities holds the deeds a workflow may ask for, and how their failures are told.
package activities

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/inference"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/policy"
	"github.com/seed-56a03226/oneiros/internal/presence"
)

// SpecVersion is the version of Order. Fields are only added.
const SpecVersion = 1

// Spec is everything a dream needs to know, frozen before it begins (decision 6). It holds no text of memories or
// themes: those stay in the store.
type Spec struct {
	Version int                   `json:"version"`
	Dream   string                `json:"dream"` // also the workflow id: "dream/echo/0042"
	Agent   string                `json:"agent"`
	Handle  string                `json:"handle"`
	Tier    dream.Tier            `json:"tier"`
	Seed    uint64                `json:"seed"`
	AsOf    time.Time             `json:"as_of"`  // the night's now; memories after it are not seen
	Day     string                `json:"day"`    // the day that pays, YYYY-MM-DD in the agent's zone
	Models  map[dream.Role]string `json:"models"` // every role resolved
	Knobs   dream.Knobs           `json:"knobs"`
	Budget  budget.Micros         `json:"budget"` // hard cap of this dream
	// every cap above the phase's: dream, day, month, fleet
	Accounts   []budget.Account `json:"accounts"`
	DayLimit   budget.Micros    `json:"day_limit"`       // of the agent's allowance
	Free       bool             `json:"free"`            // every model states a price of zero
	Searchable bool             `json:"searchable"`      // the cluster has our search attributes
	Owner      string           `json:"owner,omitempty"` // workflow to tell when the dream has ended
	// it begins by itself: its record is opened when it lies down
	Alone bool `json:"alone,omitempty"`
	// how the agent was doing when it began; empty bounds nothing
	Behaviour dream.Behaviour `json:"behaviour,omitempty"`
	// of vitality, where each behavioural phase begins; nil: circadian.DefaultThresholds
	Thresholds *circadian.Thresholds `json:"thresholds,omitempty"`
	// how long after an interruption it may go on; 0: it ends with the first
	ResumeTTL time.Duration `json:"resume_ttl,omitempty"`
	// how often it may lie down; 0: as often as it is woken
	Stretches int `json:"sittings,omitempty"`
	// how its depth is chosen when it lies down; nil: always to the peak
	Depth *DepthRule `json:"depth,omitempty"`

	Holds *Holds `json:"holds,omitempty"` // how long a wake that names no time keeps the agent awake; nil: a minute

	Hooks []HookRule `json:"hooks,omitempty"` // who is asked at its borders

	Steering *inference.Steering `json:"steering,omitempty"` // of the onset's ideas; nil: none

	// what becomes of what it would leave behind; empty: it counts at once
	Review dream.Review `json:"review,omitempty"`
	// the dream whose earlier phases it takes over; nil: it dreams all of them
	Redreams *dream.Redream `json:"redreams,omitempty"`

	// the way of each role that dreams; none: heat and min-p
	Loosening map[dream.Role]dream.Loosening `json:"loosening,omitempty"`

	Curriculum *Curriculum `json:"curriculum,omitempty"` // what NREM replays first; nil: everything by surprise alone

	Policy *policy.Rules `json:"policy,omitempty"` // what it may not develop; nil: nothing is barred

	// whether fragments are judged singly or together, and why; nil: the observer of before, singly, without markers
	// and bias
	Observer *hypnagogia.Bill `json:"observer,omitempty"`
}

// Holds are the times for which a wake keeps the agent awake when the wake reached the dream itself and names none.
type Holds struct {
	Alarm  time.Duration `json:"alarm,omitempty"`  // of an alarm (agent.alarm_hold); 0: a minute
	Client time.Duration `json:"client,omitempty"` // of a client's request (agent.client_timeout); 0: a minute
	Lock   time.Duration `json:"lock,omitempty"`   // the wake lock (agent.wake_lock)
}

// of is how long a wake of this cause holds; 0: as long as one that does not say.
func (h *Holds) of(cause presence.Cause) time.Duration {
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

// Validate says what is wrong with an order.
func (o Spec) Validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if o.Version != SpecVersion {
		fault("version is %d; this program understands %d", o.Version, SpecVersion)
	}
	if o.Dream == "" || o.Agent == "" || o.Handle == "" {
		fault("dream %q, agent %q and handle %q must not be empty", o.Dream, o.Agent, o.Handle)
	}
	if o.Tier != dream.Core && o.Tier != dream.Hardened {
		fault("tier %q must be core or hardened", o.Tier)
	}
	if o.AsOf.IsZero() {
		fault("as_of is missing")
	}
	if _, err := time.Parse(time.DateOnly, o.Day); err != nil {
		fault("day %q must be written YYYY-MM-DD", o.Day)
	}
	for _, role := range dream.Roles {
		if o.Models[role] == "" {
			fault("no model for the role %s", role)
		}
	}
	if o.Budget < 0 || o.DayLimit < 0 {
		fault("budget is %s and day_limit %s; they must not be negative", o.Budget, o.DayLimit)
	}
	if o.ResumeTTL < 0 {
		fault("resume_ttl is %s; it must not be negative", o.ResumeTTL)
	}
	if h := o.Holds; h != nil && (h.Alarm < 0 || h.Client < 0 || h.Lock < 0) {
		fault("holds are alarm %s, client %s and lock %s; they must not be negative", h.Alarm, h.Client, h.Lock)
	}
	if o.Stretches < 0 {
		fault("sittings is %d; it must not be negative", o.Stretches)
	}
	if o.Behaviour != "" && !slices.Contains(dream.Behaviours, o.Behaviour) {
		fault("behaviour %q must be one of %v, or empty", o.Behaviour, dream.Behaviours)
	}
	for _, hook := range o.Hooks {
		if err := hook.Validate(); err != nil {
			faults = append(faults, err)
		}
	}
	if o.Steering != nil {
		if err := o.Steering.Validate(); err != nil {
			faults = append(faults, err)
		}
	}
	for _, role := range dream.Roles {
		if way, named := o.Loosening[role]; named && !slices.Contains(dream.Loosenings, way) {
			fault("loosening of the role %s is %q; it must be one of %v", role, way, dream.Loosenings)
		}
	}
	if o.Observer != nil && o.Observer.Way != dream.BySingle && o.Observer.Way != dream.ByTogether {
		fault("the observer's way is %q; it must be %s or %s", o.Observer.Way, dream.BySingle, dream.ByTogether)
	}
	if !o.Review.Valid() {
		fault("review is %q; it must be one of %v, or empty", o.Review, dream.Reviews)
	}
	if r := o.Redreams; r != nil && (r.Dream == "" || r.Dream == o.Dream || !slices.Contains(dream.Redreamt, r.From)) {
		fault("it goes on from %q, from %q; it must be another dream, and one of %v", r.Dream, r.From, dream.Redreamt)
	}
	if o.Depth != nil {
		faults = append(faults, o.Depth.Prior.Validate())
	}
	if o.Curriculum != nil {
		faults = append(faults, o.Curriculum.Validate())
	}
	if o.Policy != nil {
		faults = append(faults, o.Policy.Validate())
	}
	return errors.Join(append(faults, o.Knobs.Validate())...)
}

// Record is the record of the order's night before it has begun.
func (o Spec) Record(theme string, feeling dream.Affect, now time.Time) *dream.Record {
	n := &dream.Record{
		Head: dream.Head{
			ID:    o.Dream,
			Agent: o.Agent,
			Kind:  dream.KindRecord,
			At:    now.UTC(),
			State: dream.Live,
			Taint: dream.FromDream,
			Dream: o.Dream,
		},
		Workflow: o.Dream,
		Tier:     o.Tier,
		Theme:    theme,
		Seed:     o.Seed,
		AsOf:     o.AsOf,
		Budget:   o.Budget,
		Paid:     !o.Free,
		Redreams: o.Redreams,
	}
	n.Affect(feeling, o.AsOf)
	if o.Review.Holds() {
		n.Review = o.Review
	}
	for _, role := range dream.Roles {
		n.Models = append(n.Models, string(role)+"="+o.Models[role])
	}
	return n
}

// Stretch names the dream run that acts; every deed carries it, and the store fences by it.
type Stretch struct {
	Agent string `json:"agent"`
	Dream string `json:"dream"`
	Run   string `json:"run"`
	Epoch int64  `json:"epoch,omitempty"` // of the agent when the sitting lay down; a higher one stops its deeds

	Now time.Time `json:"now,omitzero"` // the workflow's when it asked
}

// Seat is the sitting itself: whatever embeds one can be asked for it.
func (s Stretch) Seat() Stretch { return s }

func (s Stretch) fence() memory.Fence {
	return memory.Fence{Dream: s.Dream, Run: s.Run, Epoch: s.Epoch}
}

// End is a way for a paid deed to end that is no error.
type End string

// The ends. EndCap names its cap in Done.Scope; EndCut means that the activity was cancelled, EndWoken that the agent
// was woken. What a call had said by then is kept until it is judged (Done.Cut).
const (
	EndDone       End = ""
	EndCap        End = "cap"
	EndCut        End = "cut"
	EndWoken      End = "woken"
	EndUnreadable End = "unreadable" // the answer could not be read, nor its repair
)

// Done is how a paid deed ended.
type Done struct {
	End    End    `json:"end,omitempty"`
	Scope  string `json:"scope,omitempty"`
	Reason string `json:"reason,omitempty"`
	Reused bool   `json:"reused,omitempty"`

	Unasked bool `json:"unasked,omitempty"` // there was nothing to ask anybody for

	Cut *Cut `json:"cut,omitempty"` // how it was interrupted
}

// Interrupted says whether the deed was cut off rather than ended.
func (d Done) Interrupted() bool { return d.End == EndCut || d.End == EndWoken }

// Made is an item that a deed made: its id and what the law needs to go on.
type Made struct {
	ID    string  `json:"id"`
	Score float64 `json:"score"`
	Kept  bool    `json:"kept"`

	Chosen bool `json:"chosen,omitempty"` // rated promote at lucid capture: to be developed tonight

	Sense *hypnagogia.Sense `json:"sense,omitempty"` // of a judged partial: how much sense it still made
}

// Kept counts the kept ones.
func Kept(made []Made) int {
	n := 0
	for _, m := range made {
		if m.Kept {
			n++
		}
	}
	return n
}
