package dream

import (
	"encoding/json"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
)

// Border is a point of a dream at which hooks are called.
type Border string

// The borders: before the onset, after each Dali cycle and the induction, when the dream is over.
const (
	AtEntry   Border = "entry"
	AtCapture Border = "capture"
	AtExit    Border = "exit"
)

// Borders in the order of a dream.
var Borders = []Border{AtEntry, AtCapture, AtExit}

// HookEntry is the input of a hook before the onset: budget, depth table and affect.
type HookEntry struct {
	Agent     string                   `json:"agent"`
	Dream     string                   `json:"dream"`
	Tier      Tier                     `json:"tier"`
	AsOf      time.Time                `json:"as_of"`
	Budget    budget.Micros            `json:"budget_micros"`
	Onset     budget.Micros            `json:"onset_budget_micros"`
	Remaining budget.Micros            `json:"remaining_micros"` // of the day
	Behaviour Behaviour                `json:"behaviour"`        // empty: no limits
	Depths    map[Behaviour]DepthBound `json:"depth_table"`
	Cycles    int                      `json:"cycles"`
	Affect    mood.PAD                 `json:"affect"`
	Bias      mood.Bias                `json:"bias"`
	Memories  int                      `json:"memories"` // number of pieces shown
}

// HookCapture is the input of a hook after a cycle: the fragments kept since its last call.
type HookCapture struct {
	Agent     string         `json:"agent"`
	Dream     string         `json:"dream"`
	Cycle     int            `json:"cycle"` // 0: the induction
	Fragments []HookFragment `json:"fragments"`
}

// HookFragment is one fragment for a hook.
type HookFragment struct {
	ID         string   `json:"id"`
	Text       string   `json:"text,omitempty"` // only if the hook's rule asks for text
	Stage      Stage    `json:"stage"`
	Novelty    float64  `json:"novelty"`
	Composite  float64  `json:"composite"`
	Confidence float64  `json:"confidence"`
	Sources    []string `json:"sources,omitempty"`
	Taint      Taint    `json:"taint"`
	Model      string   `json:"model"`
}

// Concern holds one fragment for review.
type Concern struct {
	Fragment string `json:"fragment"`
	Reason   string `json:"reason"`
}

// HookExit is the input of a hook when a dream is over.
type HookExit struct {
	Agent      string        `json:"agent"`
	Dream      string        `json:"dream"`
	Outcome    Outcome       `json:"outcome"`
	Reason     string        `json:"reason,omitempty"`
	Budget     budget.Micros `json:"budget_micros"`
	Spent      budget.Micros `json:"spent_micros"`
	Fragments  int           `json:"fragments"` // captured, including held ones
	Held       int           `json:"held"`      // by hooks and the policy
	Scenarios  int           `json:"scenarios"` // kept
	Hypotheses int           `json:"hypotheses"`
	Stretches  int           `json:"stretches"`
	Phases     []Tally       `json:"phases"`
}

// DepthBound is a row of the depth table: the number of Dali cycles and the duration that an onset may have.
type DepthBound struct {
	CyclesLeast int
	CyclesMost  int
	Wall        time.Duration
	Allowed     bool
}

// wireBound is the JSON form of a row.
type wireBound struct {
	CyclesLeast int   `json:"cycles_least"`
	CyclesMost  int   `json:"cycles_most"`
	Wall        int64 `json:"wall_ms"`
	Allowed     bool  `json:"allowed"`
}

// MarshalJSON writes the wall in milliseconds.
func (b DepthBound) MarshalJSON() ([]byte, error) {
	return json.Marshal(wireBound{b.CyclesLeast, b.CyclesMost, b.Wall.Milliseconds(), b.Allowed})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (b *DepthBound) UnmarshalJSON(raw []byte) error {
	var w wireBound
	err := json.Unmarshal(raw, &w)
	*b = DepthBound{w.CyclesLeast, w.CyclesMost, time.Duration(w.Wall) * time.Millisecond, w.Allowed}
	return err
}
