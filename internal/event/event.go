// Package event is the catalogue of what can be announced, and its JSON.
package event

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/mood"
)

// Schema is the version of the envelope and of every payload below. Fields are only added.
const Schema = 1

// Subsystem tags every event of the dream engine (Subsystem::Hypnagogia).
const Subsystem = "hypnagogia"

// Event is the envelope. ID makes it idempotent: the store keeps the first event of an id and ignores the rest.
// Seq is given by the store: 1, 2, 3, … per agent without gaps.
type Event struct {
	ID        string          `json:"id"`
	Seq       int64           `json:"seq"`
	Schema    int             `json:"schema"`
	Subsystem string          `json:"subsystem"`
	Agent     string          `json:"agent"`
	Dream     string          `json:"dream,omitempty"`
	Type      string          `json:"type"`
	At        time.Time       `json:"at"`
	Data      json.RawMessage `json:"data"`
}

// Payload is the data of one type of event. None carries text of memories or dreams, only ids and numbers.
type Payload interface{ EventType() string }

// New seals a payload in an envelope. The id should be derived from the deed, so that a deed done twice announces once.
// A payload that JSON cannot carry, which is one with a number that is none, is announced with the fault in its place.
func New(id, agent, dreamID string, at time.Time, p Payload) Event {
	data, err := json.Marshal(p)
	if err != nil {
		data = fmt.Appendf(nil, `{"fault":%q}`, "not announced: "+err.Error())
	}
	return Event{
		ID:        id,
		Schema:    Schema,
		Subsystem: Subsystem,
		Agent:     agent,
		Dream:     dreamID,
		Type:      p.EventType(),
		At:        at.UTC(),
		Data:      data,
	}
}

// DreamStarted opens every sitting.
type DreamStarted struct {
	Tier   dream.Tier    `json:"tier"`
	Seed   uint64        `json:"seed"`
	Budget budget.Micros `json:"budget_micros"`

	Redreams string      `json:"redreams,omitempty"` // the dream that it goes on from
	From     dream.Phase `json:"from,omitempty"`     // the first phase that it dreams anew
}

// OnsetStarted announces the descent.
type OnsetStarted struct {
	Depth    dream.Stage   `json:"depth"`
	Budget   budget.Micros `json:"budget_allocated_micros"`
	Affect   mood.PAD      `json:"pad_snapshot"`
	Bias     mood.Bias     `json:"fragment_bias"`
	Selected int           `json:"selected"`
	Shown    int           `json:"shown"`
}

// OnsetSkipped says why a dream went straight to NREM.
type OnsetSkipped struct {
	Reason string `json:"reason"`
}

// DepthChanged announces a move between Hori stages (S4).
type DepthChanged struct {
	From        dream.Stage `json:"from"`
	To          dream.Stage `json:"to"`
	Temperature float64     `json:"current_temperature"`
}

// DaliInterrupt announces that a cycle's partials were halted and judged.
type DaliInterrupt struct {
	Cycle       int     `json:"cycle"`
	Captured    int     `json:"fragments_captured"`
	Partials    int     `json:"partials"`
	Temperature float64 `json:"peak_temperature"`
	// why the cycle went too deep: incoherent, repeating or unlikely; empty when it did not
	TooDeep string `json:"too_deep,omitempty"`
}

// FragmentCaptured announces a kept fragment.
type FragmentCaptured struct {
	Fragment  string   `json:"fragment_id"`
	Novelty   float64  `json:"novelty_score"`
	Distance  float64  `json:"semantic_distance"`
	Composite float64  `json:"composite_score"`
	Tone      mood.PAD `json:"emotional_tone"`
}

// FragmentDiscarded announces a rejected fragment.
type FragmentDiscarded struct {
	Fragment  string  `json:"fragment_id"`
	Reason    string  `json:"reason"`
	Composite float64 `json:"composite_score"`
}

// SomaticMarkerFired announces that a fragment touched what strong feeling with a known outcome had taught.
type SomaticMarkerFired struct {
	Marker    string        `json:"marker_id"`
	Fragment  string        `json:"fragment_id"`
	Cosine    float64       `json:"cosine"`
	Threshold float64       `json:"threshold"` // that it had to reach in this embedder's space
	Strength  float64       `json:"strength"`  // of the feeling
	Valence   dream.Valence `json:"valence"`   // how it came out: good or bad
	Count     int           `json:"count"`     // episodes that taught it
	Boost     float64       `json:"relevance_boost"`
}

// ObserverDrifted is the alarm of an observer whose outcomes lie beyond their limits, once for each 50 outcomes.
type ObserverDrifted struct {
	Judge     string   `json:"judge"`
	Outcomes  int      `json:"outcomes"`
	Factor    float64  `json:"bias"`
	Requested float64  `json:"asked"`
	Drift     float64  `json:"drift"`
	Validated float64  `json:"promoted_and_validated"`
	Alarms    []string `json:"alarms"`
}

// OnsetCompleted closes the onset.
type OnsetCompleted struct {
	Fragments int           `json:"total_fragments"`
	Spent     budget.Micros `json:"budget_consumed_micros"`
	Seconds   float64       `json:"duration_secs"`
	Cycles    int           `json:"dali_cycles_run"`
	Reason    string        `json:"reason,omitempty"` // set when it ended early
}

// PhaseStarted opens NREM, REM or integration.
type PhaseStarted struct {
	Phase  dream.Phase   `json:"phase"`
	Budget budget.Micros `json:"budget_allocated_micros"`
}

// PhaseCompleted closes NREM, REM or integration.
type PhaseCompleted struct {
	Phase dream.Phase   `json:"phase"`
	Made  int           `json:"made"`
	Kept  int           `json:"kept"`
	Calls int           `json:"calls"`
	Spent budget.Micros `json:"budget_consumed_micros"`
	State string        `json:"state"` // ran, skipped, exhausted
}

// PatternFound announces a pattern consolidated in NREM.
type PatternFound struct {
	Prediction string  `json:"prediction_id"`
	Confidence float64 `json:"confidence"`
	Direction  string  `json:"direction"` // forward or backward
}

// GistExtracted announces what a fading entry left behind.
type GistExtracted struct {
	Gist   string `json:"gist_id"`
	Source string `json:"source_id"`
}

// Why an item was archived.
const (
	Faded     = "faded"     // its strength fell, and a gist took its place
	Unfounded = "unfounded" // a hypothesis that nothing has spoken for, put aside for a newer one
)

// ItemArchived announces that a dream has put something aside that counted before it.
type ItemArchived struct {
	Item   string     `json:"item_id"`
	Kind   dream.Kind `json:"kind"`
	Newer  string     `json:"newer_id,omitempty"` // what took its place
	Reason string     `json:"reason"`             // faded or unfounded
}

// ItemRestored announces that a person has made something count again that a dream had archived.
type ItemRestored struct {
	Item string     `json:"item_id"`
	Kind dream.Kind `json:"kind"`
	By   string     `json:"by"` // person
}

// ScenarioImagined announces a scenario of REM.
type ScenarioImagined struct {
	Scenario  string  `json:"scenario_id"`
	Score     float64 `json:"score"`
	Kept      bool    `json:"kept"`
	Synthetic bool    `json:"synthetic"`

	Operation dream.Operation `json:"operation,omitempty"` // branch, refine or merge
	Parents   []string        `json:"parents,omitempty"`   // ids of the scenarios it was made from
}

// HypothesisStaged announces a claim staged for the playbook.
type HypothesisStaged struct {
	Hypothesis string  `json:"hypothesis_id"`
	Confidence float64 `json:"confidence"`
}

// HypothesisMoved announces that the outcome of a prediction moved a hypothesis that rests on it.
type HypothesisMoved struct {
	Hypothesis string  `json:"hypothesis_id"`
	Prediction string  `json:"prediction_id"`
	Confidence float64 `json:"confidence"` // after the move
	Status     string  `json:"status"`     // staged, promoted or refuted
}

// PredictionResolved announces what became of a prediction.
type PredictionResolved struct {
	Prediction string      `json:"prediction_id"`
	Source     string      `json:"source"` // creative or analytical
	Phase      dream.Phase `json:"phase,omitempty"`
	Status     string      `json:"status"` // correct, incorrect or void
	Confidence float64     `json:"confidence"`
	Residual   *float64    `json:"residual,omitempty"` // outcome (1 or 0) - confidence; none when it is void
	By         string      `json:"by"`                 // person, tool/NAME, rule/FEED/RULE or horizon
	Again      bool        `json:"again,omitempty"`    // it was resolved another way before
}

// HypnopompicStarted opens the return.
type HypnopompicStarted struct {
	Insights int `json:"insights_surfacing"`
}

// HypnopompicCompleted closes the return.
type HypnopompicCompleted struct {
	Insights     int     `json:"insights_surfaced"`
	Transitioned bool    `json:"mood_transitioned"`
	Delta        float64 `json:"pad_delta"`
}

// DreamAborted announces a failure: the dream's allowance is given back.
type DreamAborted struct {
	Phase  dream.Phase `json:"phase"`
	Reason string      `json:"reason"`
}

// Spent announces what a phase has cost so far; consumers draw the timeline from it.
type Spent struct {
	Tally dream.Tally `json:"tally"`
}

// DreamEnded closes every sitting, whatever the outcome.
type DreamEnded struct {
	Outcome dream.Outcome `json:"outcome"`
	Reason  string        `json:"reason,omitempty"`
	Spent   budget.Micros `json:"spent_micros"`
	Kept    int           `json:"kept"`
}

// NightUndone is the alarm of a night that made recall worse and was undone by itself; what it spent stays spent.
type NightUndone struct {
	Requested int `json:"asked"`    // memories that were asked for
	Before    int `json:"before"`   // of these, found when the night began
	After     int `json:"after"`    // and when it ended
	Lost      int `json:"lost"`     // by the night itself
	Gained    int `json:"gained"`   // found only after it
	Margin    int `json:"margin"`   // so many more may be lost, or come behind, than gained
	Archived  int `json:"archived"` // items that the night had made
	Restored  int `json:"restored"` // items that are as they were before it
	Kept      int `json:"kept"`     // items that something changed since: they stay as they are

	Behind int `json:"behind,omitempty"` // memories that were still found, but behind something that the night made
}

// NothingAgain is the alarm of repeated emptiness: so many nights in a row, this one included, kept nothing.
type NothingAgain struct {
	Nights int `json:"nights"`
}

// AlarmAbort replaces OnsetCompleted when an alarm ended the onset.
type AlarmAbort struct {
	Trigger   string        `json:"trigger"` // feed and rule
	Fragments int           `json:"fragments_saved"`
	Spent     budget.Micros `json:"budget_consumed_micros"`
}

// DreamInterrupted closes a sitting that was woken. The four phases of the wake are in milliseconds.
type DreamInterrupted struct {
	Cause        string      `json:"cause"` // knock, alarm or operator
	Epoch        int64       `json:"epoch"`
	Stretch      int         `json:"sitting"`
	Phase        dream.Phase `json:"phase"`
	Cycle        int         `json:"cycle,omitempty"`
	Light        bool        `json:"light"`  // no call was under way
	Forced       bool        `json:"forced"` // a call did not stop in time
	Receipt      float64     `json:"receipt_ms"`
	Stop         float64     `json:"stop_ms"`
	Preserve     float64     `json:"preserve_ms"`
	Switch       float64     `json:"switch_ms"`
	Partials     int         `json:"partials"`          // interrupted calls whose words were kept to be judged
	Significance float64     `json:"significance"`      // of the most significant of them
	Journal      string      `json:"journal,omitempty"` // the entry made of it; empty when it was erased
	Delta        float64     `json:"pad_delta"`         // the mood shift of a return of zero length
	Until        time.Time   `json:"resumable_until"`

	// another wake came before this was booked, and hides how far this one moved the mood
	DeltaUnknown bool `json:"pad_delta_unknown,omitempty"`
}

// DreamResumed opens a later sitting of an interrupted dream.
type DreamResumed struct {
	Stretch int           `json:"sitting"`
	Phase   dream.Phase   `json:"phase"`
	Left    budget.Micros `json:"budget_left_micros"`
}

// AgentAwake announces that an agent is awake, and who woke it.
type AgentAwake struct {
	Epoch int64  `json:"epoch"`
	Cause string `json:"cause"`
	Dream string `json:"dream,omitempty"` // the dream that was interrupted for it
}

// AgentAsleep announces that nobody holds the agent awake any more.
type AgentAsleep struct {
	Epoch int64 `json:"epoch"`
}

// AlarmRaised announces that a rule over the agent's feed fired.
type AlarmRaised struct {
	Feed string `json:"feed"`
	Rule string `json:"rule"`
	Kind string `json:"kind"`
}

// FragmentFlagged announces that a rule of the policy or a hook has said something of a fragment.
type FragmentFlagged struct {
	Fragment string `json:"fragment_id"`
	By       string `json:"by"`   // "policy/<rule>" or "hook/<name>"
	Bars     bool   `json:"bars"` // it is never developed
}

// MemoriesEmbedded announces that every memory of the agent has its vector again, after an import or a change of
// embedder.
type MemoriesEmbedded struct {
	Space    string `json:"space"`
	Embedded int    `json:"embedded"` // memories that were embedded for it
	Took     int64  `json:"took_ms"`  // since the process that finished it had begun
}

// MemoriesRenewed announces that a dream put off the fading of knowledge that was used since the dream before.
type MemoriesRenewed struct {
	Memories int `json:"memories"`
}

// OutputBarred announces that the policy bars what a phase after the onset wrote: it is archived, and neither kept nor
// staged nor surfaced.
type OutputBarred struct {
	Item string     `json:"item_id"`
	Kind dream.Kind `json:"kind"` // scenario, prediction, hypothesis, gist or journal
	By   string     `json:"by"`   // "policy/<rule>"
}

// HookSilent announces that a hook gave no answer in time, and what stood for it.
type HookSilent struct {
	Hook    string `json:"hook"`
	Border  string `json:"border"`  // entry, capture or exit
	Default string `json:"default"` // allow or refuse
}

// EventType of each payload is its name on the wire.
func (DreamStarted) EventType() string         { return "DreamStarted" }
func (OnsetStarted) EventType() string         { return "OnsetStarted" }
func (OnsetSkipped) EventType() string         { return "OnsetSkipped" }
func (DepthChanged) EventType() string         { return "DepthChanged" }
func (DaliInterrupt) EventType() string        { return "DaliInterrupt" }
func (FragmentCaptured) EventType() string     { return "FragmentCaptured" }
func (FragmentDiscarded) EventType() string    { return "FragmentDiscarded" }
func (SomaticMarkerFired) EventType() string   { return "SomaticMarkerFired" }
func (ObserverDrifted) EventType() string      { return "ObserverDrifted" }
func (OnsetCompleted) EventType() string       { return "OnsetCompleted" }
func (PhaseStarted) EventType() string         { return "PhaseStarted" }
func (PhaseCompleted) EventType() string       { return "PhaseCompleted" }
func (PatternFound) EventType() string         { return "PatternFound" }
func (GistExtracted) EventType() string        { return "GistExtracted" }
func (ItemArchived) EventType() string         { return "ItemArchived" }
func (ItemRestored) EventType() string         { return "ItemRestored" }
func (MemoriesRenewed) EventType() string      { return "MemoriesRenewed" }
func (MemoriesEmbedded) EventType() string     { return "MemoriesEmbedded" }
func (ScenarioImagined) EventType() string     { return "ScenarioImagined" }
func (HypothesisStaged) EventType() string     { return "HypothesisStaged" }
func (HypothesisMoved) EventType() string      { return "HypothesisMoved" }
func (PredictionResolved) EventType() string   { return "PredictionResolved" }
func (HypnopompicStarted) EventType() string   { return "HypnopompicStarted" }
func (HypnopompicCompleted) EventType() string { return "HypnopompicCompleted" }
func (DreamAborted) EventType() string         { return "DreamAborted" }
func (Spent) EventType() string                { return "Spent" }
func (DreamEnded) EventType() string           { return "DreamEnded" }
func (NightUndone) EventType() string          { return "NightUndone" }
func (NothingAgain) EventType() string         { return "NothingAgain" }
func (AlarmAbort) EventType() string           { return "AlarmAbort" }
func (DreamInterrupted) EventType() string     { return "DreamInterrupted" }
func (DreamResumed) EventType() string         { return "DreamResumed" }
func (AgentAwake) EventType() string           { return "AgentAwake" }
func (AgentAsleep) EventType() string          { return "AgentAsleep" }
func (AlarmRaised) EventType() string          { return "AlarmRaised" }
func (FragmentFlagged) EventType() string      { return "FragmentFlagged" }
func (OutputBarred) EventType() string         { return "OutputBarred" }
func (HookSilent) EventType() string           { return "HookSilent" }
