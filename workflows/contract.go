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
	"github.com/seed-56a03226/oneiros/internal/dream"
)

// Names on the wire: recorded in histories, typed by people into other tools.
const (
	AgentType = "Agent"
	DreamType = "Dream"

	TaskQueue = "oneiros" // the one queue by default (decision 10)

	UpdateDream    = "dream"       // on an agent: begin this order; answers Begun
	SignalEnded    = "dream-ended" // on an agent: a dream of yours has ended; carries Ended
	SignalActive   = "active"      // on an agent: somebody used it; idleness counts from now
	SignalSettings = "settings"    // on an agent: new Settings
	QueryLife      = "life"        // on an agent: Life
	QueryProgress  = "progress"    // on a dream: Progress
)

// Search attributes, registered by temporald; other clusters may lack them (Order.Searchable).
var (
	AttrAgent   = temporal.NewSearchAttributeKeyKeyword("OneirosAgent")
	AttrPhase   = temporal.NewSearchAttributeKeyKeyword("OneirosPhase")
	AttrDepth   = temporal.NewSearchAttributeKeyKeyword("OneirosDepth")
	AttrOutcome = temporal.NewSearchAttributeKeyKeyword("OneirosOutcome")
	AttrSpend   = temporal.NewSearchAttributeKeyInt64("OneirosSpendMicros")
	AttrLife    = temporal.NewSearchAttributeKeyKeyword("OneirosLife")
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
	Cycle     int           `json:"cycle"`
	Fragments int           `json:"fragments"`
	Spent     budget.Micros `json:"spent"`
	Tallies   []dream.Tally `json:"tallies"`
	Outcome   dream.Outcome `json:"outcome"`
	Reason    string        `json:"reason,omitempty"`
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

// Ended tells an agent's life that a dream is over.
type Ended struct {
	Dream   string        `json:"dream"`
	Outcome dream.Outcome `json:"outcome"`
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
}

// Register lists every workflow; it serves worker, replayer and test environment alike.
func Register(r worker.WorkflowRegistry) {
	r.RegisterWorkflowWithOptions(Agent, workflow.RegisterOptions{Name: AgentType})
	r.RegisterWorkflowWithOptions(Dream, workflow.RegisterOptions{Name: DreamType})
}

// RegisterDeeds lists every activity under its name on the wire: "Onset.Partial", "Bed.Rise".
func RegisterDeeds(r worker.ActivityRegistry, p activities.Ports, lives activities.Lives, planner activities.Planner) {
	p = activities.Shelve(p)
	r.RegisterActivityWithOptions(&activities.Bed{Ports: p, Lives: lives, Planner: planner}, prefixed("Bed."))
	r.RegisterActivityWithOptions(&activities.Chronicle{Ports: p}, prefixed("Chronicle."))
	r.RegisterActivityWithOptions(&activities.Onset{Ports: p}, prefixed("Onset."))
	r.RegisterActivityWithOptions(&activities.Replay{Ports: p}, prefixed("Replay."))
	r.RegisterActivityWithOptions(&activities.Imagination{Ports: p}, prefixed("Imagination."))
	r.RegisterActivityWithOptions(&activities.Integration{Ports: p}, prefixed("Integration."))
	r.RegisterActivityWithOptions(&activities.Awakening{Ports: p}, prefixed("Awakening."))
}

func prefixed(name string) activity.RegisterOptions { return activity.RegisterOptions{Name: name} }
