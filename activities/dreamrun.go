package activities

import (
	"errors"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// BeginRequest begins a stretch.
type BeginRequest struct {
	Spec     Spec        `json:"spec"`
	Workflow string      `json:"workflow"`
	Run      string      `json:"run"`
	Stretch  int         `json:"stretch,omitempty"` // 2, 3, … when a dream is resumed
	Now      time.Time   `json:"now,omitzero"`      // the workflow's time
	Phase    dream.Phase `json:"phase,omitempty"`   // the phase in which it continues
}

// BeginResult says whether the stretch may run.
type BeginResult struct {
	// Empty when it may run. Otherwise canceled, exhausted or aborted, the outcome of a record that was closed before,
	// or interrupted when this stretch is over already.
	Refused   dream.Outcome `json:"refused,omitempty"`
	Reason    string        `json:"reason,omitempty"`
	Remaining budget.Micros `json:"remaining"` // what all caps above the phases still allow
	Epoch     int64         `json:"epoch,omitempty"`
	Awake     bool          `json:"awake,omitempty"` // refused because the agent is held awake
	// of a dream that is refused because it has ended
	Spent   budget.Micros `json:"spent,omitempty"`
	Tallies []dream.Tally `json:"tallies,omitempty"`
}

// MayRun says whether the stretch may begin.
func (r BeginResult) MayRun() bool { return r.Refused == dream.Dreaming }

// Ending is how a dream ends.
type Ending struct {
	Outcome dream.Outcome `json:"outcome"`
	Reason  string        `json:"reason,omitempty"`
	Kept    int           `json:"kept"`
	Tallies []dream.Tally `json:"tallies,omitempty"`
}

// FinishRequest is the input of DreamRun.Finish.
type FinishRequest struct {
	Stretch
	Ending Ending `json:"ending"`
}

// FinishResult is what the dream cost, over all phases and caps.
type FinishResult struct {
	Spent   budget.Micros `json:"spent"`
	Lost    int           `json:"lost"` // attempts without a known result; they count in full
	Tallies []dream.Tally `json:"tallies,omitempty"`
	Outcome dream.Outcome `json:"outcome,omitempty"` // if another end than was requested is recorded
	// the record's reason, which includes earlier dreams; empty: the request's
	Reason string `json:"reason,omitempty"`
}

// InterruptRequest ends a stretch that was woken.
type InterruptRequest struct {
	Stretch
	// the wake that reached the workflow; zero when it reached only the activities
	Wake    Wake          `json:"wake"`
	Number  int           `json:"number"` // of the stretch, from 1
	Phase   dream.Phase   `json:"phase"`
	Cycle   int           `json:"cycle,omitempty"`
	Kept    int           `json:"kept"`
	Tallies []dream.Tally `json:"tallies,omitempty"`
	Cuts    []CutCall     `json:"cuts,omitempty"`
	Light   bool          `json:"light,omitempty"`
	Forced  bool          `json:"forced,omitempty"`
	TTL     time.Duration `json:"ttl"`

	Onset bool `json:"onset,omitempty"` // an alarm during the onset ends the onset
}

// InterruptResult is until when the dream may be resumed, and what woke it.
type InterruptResult struct {
	Wake  Wake          `json:"wake"`
	Until time.Time     `json:"until,omitzero"` // zero: it cannot be resumed
	Left  budget.Micros `json:"left"`           // what all caps still allow
	Spent budget.Micros `json:"spent"`

	Tallies []dream.Tally `json:"tallies,omitempty"` // of the phases, from the spend ledger
}

// CutCall records how a call was interrupted; it holds no text.
type CutCall struct {
	Snapshot   string    `json:"snapshot,omitempty"` // key of the note; empty when no text had arrived
	At         time.Time `json:"at,omitzero"`        // when the wake request was received, from the notice
	Raised     time.Time `json:"raised,omitzero"`
	ReceivedAt time.Time `json:"received_at,omitzero"`
	Stopped    time.Time `json:"stopped,omitzero"` // when the stream was closed
	Saved      time.Time `json:"saved,omitzero"`   // when the snapshot was durable
}

// ProgressRequest is the input of Progress.Record. The end of a phase and the beginning of the next go in one
// write.
type ProgressRequest struct {
	Stretch
	Now   time.Time `json:"now"`
	Marks []Mark    `json:"marks"`
	Last  bool      `json:"last,omitempty"` // the dream is over: a wake does not stop this write
}

// Mark is a state change of one phase.
type Mark struct {
	Phase   dream.Phase   `json:"phase"`
	Name    string        `json:"name"`  // part of the event ids: "open", "cycle-1", "close", "skip"
	State   string        `json:"state"` // the tally's state: running, ran, skipped, exhausted
	Reason  string        `json:"reason,omitempty"`
	Cap     budget.Micros `json:"cap,omitempty"`
	Made    int           `json:"made,omitempty"`
	Kept    int           `json:"kept,omitempty"`
	Cycles  int           `json:"cycles,omitempty"`
	Failed  int           `json:"failed,omitempty"`
	Reused  int           `json:"reused,omitempty"`
	Started time.Time     `json:"started"`
	Onset   *GatherResult `json:"onset,omitempty"` // when an onset opens: its gathering
	Deeper  *Deeper       `json:"deeper,omitempty"`
	Moves   []Deeper      `json:"moves,omitempty"` // the move to TooDeep and back, announced around the Dali interrupt
	Dali    *Dali         `json:"dali,omitempty"`  // at the end of a Dali cycle

	Away time.Duration `json:"away,omitempty"` // how long the agent was awake since the phase began

	Surfacing int  `json:"surfacing,omitempty"` // when the return opens: the number of items that may surface
	Alarm     bool `json:"alarm,omitempty"`     // an alarm ended the onset
}

// Deeper is a move between Hori stages.
type Deeper struct {
	From        dream.Stage `json:"from"`
	To          dream.Stage `json:"to"`
	Temperature float64     `json:"temperature"`
}

// Dali is a finished cycle: the number of partials and of kept fragments, and the hottest temperature.
type Dali struct {
	Cycle       int     `json:"cycle"`
	Partials    int     `json:"partials"`
	Captured    int     `json:"captured"`
	Temperature float64 `json:"temperature"`
	TooDeep     string  `json:"too_deep,omitempty"` // why most of the cycle was incoherent
}

// ReusePhasesRequest is the input of DreamRun.ReusePhases.
type ReusePhasesRequest struct{ Stretch }

// ReusePhasesResult lists the items taken over. They are not copied: they still belong to the other dream.
type ReusePhasesResult struct {
	Fragments []MadeItem `json:"fragments,omitempty"` // kept, in order of capture
	Selected  []MadeItem `json:"selected,omitempty"`  // those rated promote at lucid capture
	Patterns  []MadeItem `json:"patterns,omitempty"`
	Scenarios []MadeItem `json:"scenarios,omitempty"` // kept, best first
	Staged    []MadeItem `json:"staged,omitempty"`
}

// Empty says whether there is nothing to continue with.
func (t ReusePhasesResult) Empty() bool {
	return len(t.Fragments)+len(t.Patterns)+len(t.Scenarios)+len(t.Staged) == 0
}

// ErrNoRedream says that a dream cannot be continued from a phase.
var ErrNoRedream = errors.New("cannot be dreamt anew")

// MostStretches is the most stretches that a dream may have. About that many fit into the eight hours for which an
// interrupted dream waits by default, if it is resumed after five minutes of quiet and half the jitter (two and a
// half minutes). Each adds fifty to seventy history events, so the longest dream stays below five thousand events and
// two megabytes, while a server warns at ten thousand and ten.
const MostStretches = 64
