package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Types exchanged between a dream and its hooks.
type (
	Border      = dream.Border       // where hooks are called
	HookEntry   = dream.HookEntry    // the input of the entry hook
	HookCapture = dream.HookCapture  // the input of the capture hook: the fragments of a cycle
	Captured    = dream.HookFragment // one of these fragments
	Concern     = dream.Concern      // why a hook holds a fragment
	HookExit    = dream.HookExit     // the input of the exit hook
)

// The borders at which hooks are called.
const (
	AtEntry   = dream.AtEntry
	AtCapture = dream.AtCapture
	AtExit    = dream.AtExit
)

// Borders in the order of a dream.
var Borders = dream.Borders

// What applies when a hook does not answer in time: the onset runs or is vetoed, fragments pass or are held.
const (
	SilentAllow  = "allow"
	SilentRefuse = "refuse"
)

// Limits of a hook's timeout. A wake does not wait for a hook: it cancels the call, which is repeated when the dream
// is resumed.
const (
	ShortestHook = 100 * time.Millisecond
	LongestHook  = 8 * time.Second
)

// HookRule is a hook in a dream's spec.
type HookRule struct {
	Name    string        `json:"name"`
	At      []Border      `json:"at"`
	Timeout time.Duration `json:"timeout"`
	Silent  string        `json:"silent"`         // SilentAllow or SilentRefuse; without effect at the exit
	Text    bool          `json:"text,omitempty"` // the hook receives the text of fragments, not only their numbers
}

// Validate returns every fault of a rule.
func (r HookRule) Validate() error {
	var faults []error
	if r.Name == "" || strings.ContainsAny(r.Name, "/ \t\n") {
		faults = append(faults, fmt.Errorf("hook name %q must be a word without a slash", r.Name))
	}
	if len(r.At) == 0 {
		faults = append(faults, fmt.Errorf("hook %s has no border; use some of %v", r.Name, Borders))
	}
	for _, at := range r.At {
		if !slices.Contains(Borders, at) {
			faults = append(faults, fmt.Errorf("hook %s has the border %q; the borders are %v", r.Name, at, Borders))
		}
	}
	if r.Timeout < ShortestHook || r.Timeout > LongestHook {
		faults = append(faults,
			fmt.Errorf("hook %s has a timeout of %s; it must lie between %s and %s", r.Name, r.Timeout, ShortestHook,
				LongestHook))
	}
	if r.Silent != SilentAllow && r.Silent != SilentRefuse {
		faults = append(faults,
			fmt.Errorf("hook %s says %q when silent; say %s or %s", r.Name, r.Silent, SilentAllow, SilentRefuse))
	}
	return errors.Join(faults...)
}

// Hook is called at the borders of a dream. It receives copies, so it can answer but change nothing. It must be safe
// for concurrent use and should stop when its context ends, by its timeout or a wake.
type Hook interface {
	// Entry may veto the onset by returning a reason; "" lets it run.
	Entry(ctx context.Context, e HookEntry) (veto string, err error)
	// Capture may hold fragments for review by returning a reason for each; all others pass.
	Capture(ctx context.Context, c HookCapture) ([]Concern, error)
	// Exit receives the result of the dream.
	Exit(ctx context.Context, x HookExit) error
}

// Hooks are the hooks configured in this process, by name.
type Hooks map[string]Hook

// EntryHookRequest is the input of Hooks.Entry.
type EntryHookRequest struct {
	Stretch
	Onset     budget.Micros `json:"onset"`
	Remaining budget.Micros `json:"remaining"`
	Cycles    int           `json:"cycles"`
	Gathered  GatherResult  `json:"gathered"`
}

// CaptureHookRequest is the input of Hooks.Capture.
type CaptureHookRequest struct {
	Stretch
	Cycle     int      `json:"cycle"`
	Fragments []string `json:"fragments"`
}

// ExitHookRequest is the input of Hooks.Exit.
type ExitHookRequest struct {
	Stretch
	Ending Ending        `json:"ending"`
	Cost   FinishResult  `json:"cost"`
	Rules  []HookRule    `json:"rules"` // from the spec, whose note may be removed by now
	Handle string        `json:"handle"`
	Budget budget.Micros `json:"budget"`
}
