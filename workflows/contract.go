// Package workflows holds the Temporal workflows of agents, dreams and feeds, and the names by which clients call
// them: types, signals, updates, queries and search attributes.
package workflows

import (
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/circadian"
)

// Names on the wire. They are recorded in histories and typed by people into other tools: they must not change.
const (
	AgentType = "Agent"
	DreamType = "Dream"

	TaskQueue = "oneiros" // the default queue of workflows and activities

	UpdateDream     = "dream"       // on an agent: begin the dream of this activities.Spec; answers StartedDream
	SignalEnded     = "dream-ended" // on an agent: a dream has ended or was interrupted; carries EndedDream
	SignalActive    = "active"      // on an agent: it was used; idleness counts from now
	SignalSettings  = "settings"    // on an agent: new Settings
	UpdateWake      = "wake"        // on an agent or a dream: wake up; carries Wake, answers WakeAnswer
	SignalWake      = "wake"        // the same without an answer; the payload of both may be empty
	SignalAlarm     = "alarm"       // on an agent or a dream: an alarm; carries Wake
	SignalSleep     = "sleep"       // on an agent: the last client left; look again who is connected
	SignalConnected = "connected"   // on an agent: a client connected while the store already held the agent awake
	SignalResume    = "resume"      // on a dream: resume; on an agent: resume its interrupted dream
	SignalRelease   = "release"     // on an interrupted dream: end for good; carries the reason, a text
	UpdateResume    = "resume"      // on an agent: resume the interrupted dream; answers StartedDream
	SignalTrigger   = "trigger"     // on an agent: a trigger calls for a dream; carries triggers.Fire
	QueryAgentState = "state"       // on an agent: AgentState
	QueryProgress   = "progress"    // on a dream: Progress
)

// Search attributes, registered by temporald. Other clusters may lack them (Spec.Searchable).
var (
	AttrAgent      = temporal.NewSearchAttributeKeyKeyword("OneirosAgent")
	AttrPhase      = temporal.NewSearchAttributeKeyKeyword("OneirosPhase")
	AttrDepth      = temporal.NewSearchAttributeKeyKeyword("OneirosDepth")
	AttrOutcome    = temporal.NewSearchAttributeKeyKeyword("OneirosOutcome")
	AttrSpend      = temporal.NewSearchAttributeKeyInt64("OneirosSpendMicros")
	AttrAgentState = temporal.NewSearchAttributeKeyKeyword("OneirosState")
	// AttrInterruptedOn has every day on which a dream was interrupted, YYYY-MM-DD in UTC. No day is taken away again.
	// Clusters of an earlier release may lack this one alone (Spec.Interruptions).
	AttrInterruptedOn = temporal.NewSearchAttributeKeyKeywordList("OneirosInterruptedOn")
)

// AgentID is the workflow id of an agent: "agent/echo".
func AgentID(handle string) string { return "agent/" + handle }

// DreamID is the id of a dream and of its workflow: "dream/echo/0042".
func DreamID(handle string, number int64) string {
	digits := "0000"
	text := ""
	for n := number; n > 0; n /= 10 {
		text = string(rune('0'+n%10)) + text
	}
	if len(text) < len(digits) {
		text = digits[len(text):] + text
	}
	return "dream/" + handle + "/" + text
}

// HandleOf is the handle in a dream id; empty when the id is malformed.
func HandleOf(dreamID string) string {
	parts := strings.Split(dreamID, "/")
	if len(parts) != 3 || parts[0] != "dream" {
		return ""
	}
	return parts[1]
}

// Progress is the state of a dream; it holds no text of memories.
type Progress struct {
	Dream     string        `json:"dream"`
	Phase     dream.Phase   `json:"phase"`
	Stage     dream.Stage   `json:"stage,omitempty"`
	Target    dream.Stage   `json:"target,omitempty"`    // the deepest stage of the onset; empty: the peak
	Collapses int           `json:"collapses,omitempty"` // Dali cycles that went too deep
	Cycle     int           `json:"cycle"`
	Fragments int           `json:"fragments"`
	Spent     budget.Micros `json:"spent"`
	Tallies   []dream.Tally `json:"tallies"`
	Outcome   dream.Outcome `json:"outcome"`
	Reason    string        `json:"reason,omitempty"`
	Until     time.Time     `json:"until,omitzero"`  // the deadline for resuming an interrupted dream
	Epoch     int64         `json:"epoch,omitempty"` // of the wake that interrupted it last
}

// Result is how a dream ended.
type Result struct {
	Dream   string        `json:"dream"`
	Outcome dream.Outcome `json:"outcome"`
	Reason  string        `json:"reason,omitempty"`
	Spent   budget.Micros `json:"spent"`
	Kept    int           `json:"kept"`
	Tallies []dream.Tally `json:"tallies"`
}

// EndedDream reports to an agent's workflow that a dream has ended or, with Until, was interrupted and may be resumed
// until then.
type EndedDream struct {
	Dream   string         `json:"dream"`
	Outcome dream.Outcome  `json:"outcome"`
	Until   time.Time      `json:"until,omitzero"`
	Epoch   int64          `json:"epoch,omitempty"` // of the wake that interrupted it
	Cause   presence.Cause `json:"cause,omitempty"`
}

// Wake is the payload of the wake and alarm signals and of the wake update.
type Wake = activities.Wake

// WakeAnswer is the answer to the wake update.
type WakeAnswer struct {
	Epoch int64     `json:"epoch"`
	State string    `json:"state"`           // a state of AgentState, usually awake
	Dream string    `json:"dream,omitempty"` // the dream that was interrupted
	Until time.Time `json:"until,omitzero"`  // the deadline for resuming it
}

// StartedDream names a dream that has begun.
type StartedDream struct {
	Dream    string `json:"dream"`
	Workflow string `json:"workflow"`
	Run      string `json:"run"`
}

// Settings are the knobs of an agent's workflow, as they were when they were sent.
type Settings struct {
	Auto        bool          `json:"auto"`         // dream without a request
	IdleTimeout time.Duration `json:"idle_timeout"` // quiet time after the last use before an automatic dream
	MinGap      time.Duration `json:"min_gap"`      // between the end of a dream and the next automatic one
	Searchable  bool          `json:"searchable"`

	ClientTimeout time.Duration `json:"client_timeout,omitempty"` // how long one request keeps an agent awake
	// no dream begins for this long after any use by a client
	WakeLock time.Duration `json:"wake_lock,omitempty"`
	// how long an alarm keeps an agent awake that no client uses
	AlarmHold   time.Duration `json:"alarm_hold,omitempty"`
	ResumeAfter time.Duration `json:"resume_after,omitempty"` // quiet time before an interrupted dream is resumed
	// the most by which an automatic dream is delayed; each agent has its own delay
	Jitter time.Duration `json:"jitter,omitempty"`
	// automatic dreams begin only within these hours, such as "22:00-07:00" in the agent's zone; none: always
	Windows []string `json:"windows,omitempty"`
	Quiet   []string `json:"quiet,omitempty"` // and never within these

	Triggers    []dream.Trigger        `json:"triggers,omitzero"` // the agent's own; nil: only idleness begins a dream
	Zone        string                 `json:"zone,omitempty"`    // of the schedules; empty: UTC
	UrgencyRule *circadian.UrgencyRule `json:"eager,omitempty"`   // the shorter idle time of an urgent agent; nil: none

	// the delay after a plan that failed, for example because the store was unreachable; 0: MinGap
	TryAgain time.Duration `json:"try_again,omitempty"`
}

// Register registers every workflow with a worker, a replayer or a test environment. Under Worker Versioning each run
// stays on the build that began it. A dream ends there; agents and feeds move to the current build when they continue
// as new (continueAsNew).
func Register(r worker.WorkflowRegistry) {
	r.RegisterWorkflowWithOptions(Agent, pinned(AgentType))
	r.RegisterWorkflowWithOptions(Dream, pinned(DreamType))
	RegisterFeed(r)
	r.RegisterWorkflowWithOptions(Attend, pinned(AttendType))
}

func pinned(name string) workflow.RegisterOptions {
	return workflow.RegisterOptions{Name: name, VersioningBehavior: workflow.VersioningBehaviorPinned}
}

// shouldContinue says whether a run should continue as new: its history is long, or another build is current.
func shouldContinue(ctx workflow.Context) bool {
	info := workflow.GetInfo(ctx)
	return info.GetContinueAsNewSuggested() || info.GetTargetWorkerDeploymentVersionChanged()
}

// continueAsNew ends a run with the next one, on the current build.
func continueAsNew(ctx workflow.Context, workflowType string, request any) error {
	if !workflow.GetInfo(ctx).GetTargetWorkerDeploymentVersionChanged() {
		return workflow.NewContinueAsNewError(ctx, workflowType, request)
	}
	return workflow.NewContinueAsNewErrorWithOptions(ctx, workflow.ContinueAsNewErrorOptions{
		InitialVersioningBehavior: workflow.ContinueAsNewVersioningBehaviorAutoUpgrade,
	}, workflowType, request)
}
