// Package workflows says what happens next in an agent's nights, and the names that others call it by.
package workflows

import (
	"strings"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/presence"
)

// Names on the wire: recorded in histories, typed by people into other tools.
const (
	AgentType = "Agent"
	DreamType = "Dream"

	TaskQueue = "oneiros" // the one queue by default

	UpdateDream     = "dream"       // on an agent: begin this order; answers Begun
	SignalEnded     = "dream-ended" // on an agent: a dream of yours has ended; carries Ended
	SignalActive    = "active"      // on an agent: somebody used it; idleness counts from now
	SignalSettings  = "settings"    // on an agent: new Settings
	UpdateWake      = "wake"        // on an agent or a dream: wake up; carries Wake, answers Awoken
	SignalWake      = "wake"        // the same, where no answer is wanted; both may carry nothing at all
	SignalAlarm     = "alarm"       // on an agent or a dream: an alarm; carries Wake
	SignalSleep     = "sleep"       // on an agent: nobody is connected any more, look again
	SignalVisited   = "visited"     // on an agent: somebody came whom the store found awake already, look who
	SignalResume    = "resume"      // on a dream: go on; on an agent: let its interrupted dream go on
	SignalRelease   = "let-go"      // on a dream that was interrupted: end for good; carries the reason, a text
	UpdateResume    = "resume"      // on an agent: go on with the interrupted dream; answers Begun
	SignalTrigger   = "trigger"     // on an agent: a trigger calls for a dream; carries activities.Fire
	QueryAgentState = "life"        // on an agent: Life
	QueryProgress   = "progress"    // on a dream: Progress
)

// Search attributes, registered by temporald; other clusters may lack them (Order.Searchable).
var (
	AttrAgent      = temporal.NewSearchAttributeKeyKeyword("OneirosAgent")
	AttrPhase      = temporal.NewSearchAttributeKeyKeyword("OneirosPhase")
	AttrDepth      = temporal.NewSearchAttributeKeyKeyword("OneirosDepth")
	AttrOutcome    = temporal.NewSearchAttributeKeyKeyword("OneirosOutcome")
	AttrSpend      = temporal.NewSearchAttributeKeyInt64("OneirosSpendMicros")
	AttrAgentState = temporal.NewSearchAttributeKeyKeyword("OneirosLife")
)

// AgentID is the workflow id of an agent's life: "agent/echo".
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

// HandleOf reads the handle out of a dream id; empty when it is none.
func HandleOf(dreamID string) string {
	parts := strings.Split(dreamID, "/")
	if len(parts) != 3 || parts[0] != "dream" {
		return ""
	}
	return parts[1]
}

// Progress is where a dream stands; it holds no text of memories.
type Progress struct {
	Dream     string        `json:"dream"`
	Phase     dream.Phase   `json:"phase"`
	Stage     dream.Stage   `json:"stage,omitempty"`
	Target    dream.Stage   `json:"target,omitempty"`    // the deepest that the onset descends to; empty: the peak
	Collapses int           `json:"collapses,omitempty"` // Dali cycles that went too deep
	Cycle     int           `json:"cycle"`
	Fragments int           `json:"fragments"`
	Spent     budget.Micros `json:"spent"`
	Tallies   []dream.Tally `json:"tallies"`
	Outcome   dream.Outcome `json:"outcome"`
	Reason    string        `json:"reason,omitempty"`
	Until     time.Time     `json:"until,omitzero"`  // an interrupted dream may be resumed until then
	Epoch     int64         `json:"epoch,omitempty"` // that woke it last
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

// Ended tells an agent's life that a sitting is over: for good, or, with Until, for as long as nobody resumes it.
type Ended struct {
	Dream   string         `json:"dream"`
	Outcome dream.Outcome  `json:"outcome"`
	Until   time.Time      `json:"until,omitzero"`
	Epoch   int64          `json:"epoch,omitempty"` // that woke it
	Cause   presence.Cause `json:"cause,omitempty"`
}

// Wake asks an agent, or one dream, to wake up.
type Wake = activities.Wake

// Awoken answers a wake.
type Awoken struct {
	Epoch int64     `json:"epoch"`
	State string    `json:"state"`           // awake
	Dream string    `json:"dream,omitempty"` // the dream that was interrupted
	Until time.Time `json:"until,omitzero"`  // it may be resumed until then
}

// Begun names the dream that has begun.
type Begun struct {
	Dream    string `json:"dream"`
	Workflow string `json:"workflow"`
	Run      string `json:"run"`
}

// Settings are the knobs of an agent's life, frozen when they are sent.
type Settings struct {
	Auto        bool          `json:"auto"`         // dream without being asked
	IdleTimeout time.Duration `json:"idle_timeout"` // after the last activity
	MinGap      time.Duration `json:"min_gap"`      // between the end of a dream and the next automatic one
	Searchable  bool          `json:"searchable"`

	ClientTimeout time.Duration `json:"client_timeout,omitempty"` // how long one request keeps an agent awake
	// after any client activity no dream begins for so long
	WakeLock time.Duration `json:"wake_lock,omitempty"`
	// how long an alarm keeps an agent awake that nobody visits
	AlarmHold   time.Duration `json:"alarm_hold,omitempty"`
	ResumeAfter time.Duration `json:"resume_after,omitempty"` // quiet time before an interrupted dream goes on
	// dreams by themselves begin up to so much later, each agent its own
	Jitter time.Duration `json:"jitter,omitempty"`
	// dreams by themselves begin only then: "22:00-07:00", the agent's zone; none: always
	Windows []string `json:"windows,omitempty"`
	Quiet   []string `json:"quiet,omitempty"` // and never then

	Triggers []dream.Trigger  `json:"triggers,omitzero"` // the agent's own; nil: idleness alone
	Zone     string           `json:"zone,omitempty"`    // the agent's, for its schedules; empty: UTC
	Eager    *circadian.Eager `json:"eager,omitempty"`   // when an urgent agent need not idle for as long; nil: never

	// after a plan that failed, such as when the store was away; 0: after MinGap
	TryAgain time.Duration `json:"try_again,omitempty"`
}

// Register lists every workflow; it serves worker, replayer and test environment alike.
func Register(r worker.WorkflowRegistry) {
	r.RegisterWorkflowWithOptions(Agent, workflow.RegisterOptions{Name: AgentType})
	r.RegisterWorkflowWithOptions(Dream, workflow.RegisterOptions{Name: DreamType})
	RegisterFeed(r)
}

// RegisterActivities lists every activity under its name on the wire: "Onset.Partial", "Bed.Rise".
func RegisterActivities(r worker.ActivityRegistry, p activities.Ports, agentStates activities.Executions,
	planner activities.Planner,
) {
	p = activities.Shelve(p)
	r.RegisterActivityWithOptions(&activities.DreamRun{Ports: p, Executions: agentStates, Planner: planner},
		prefixed("Bed."))
	r.RegisterActivityWithOptions(&activities.Chronicle{Ports: p}, prefixed("Chronicle."))
	r.RegisterActivityWithOptions(&activities.Onset{Ports: p}, prefixed("Onset."))
	r.RegisterActivityWithOptions(&activities.Replay{Ports: p}, prefixed("Replay."))
	r.RegisterActivityWithOptions(&activities.Imagination{Ports: p}, prefixed("Imagination."))
	r.RegisterActivityWithOptions(&activities.Integration{Ports: p}, prefixed("Integration."))
	r.RegisterActivityWithOptions(&activities.Awakening{Ports: p}, prefixed("Awakening."))
	r.RegisterActivityWithOptions(&activities.Frontier{Ports: p}, prefixed("Frontier."))
}

func prefixed(name string) activity.RegisterOptions { return activity.RegisterOptions{Name: name} }
