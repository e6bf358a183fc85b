// Package event is the catalogue of event types and their JSON.
package event

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
)

// Schema is the version of the envelope and of every payload. Fields are only added.
const Schema = 1

// Subsystem is the subsystem of every event of the dream engine.
const Subsystem = "hypnagogia"

// Event is the envelope. ID makes it idempotent: the store keeps the first event of an id and ignores the others. Seq
// is set by the store: 1, 2, 3, … per agent without gaps.
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

// New puts a payload into an envelope. Derive the id from the activity, so that a repeated activity announces once. A
// payload that JSON cannot represent, such as NaN, is replaced by an object with the error.
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

// DreamStarted is the first event of a dream.
type DreamStarted struct {
	Tier   dream.Tier    `json:"tier"`
	Seed   uint64        `json:"seed"`
	Budget budget.Micros `json:"budget_micros"`

	Redreams string      `json:"redreams,omitempty"` // the dream that it continues from
	From     dream.Phase `json:"from,omitempty"`     // the first phase that runs again
}

// OnsetStarted announces the beginning of the onset.
type OnsetStarted struct {
	Depth    dream.Stage   `json:"depth"`
	Budget   budget.Micros `json:"budget_allocated_micros"`
	Affect   mood.PAD      `json:"pad_snapshot"`
	Bias     mood.Bias     `json:"fragment_bias"`
	Selected int           `json:"selected"`
	Shown    int           `json:"shown"`
}

// OnsetSkipped says why a dream goes straight to NREM.
type OnsetSkipped struct {
	Reason string `json:"reason"`
}

// DepthChanged announces a move between Hori stages.
type DepthChanged struct {
	From        dream.Stage `json:"from"`
	To          dream.Stage `json:"to"`
	Temperature float64     `json:"current_temperature"`
}

// DaliInterrupt announces that a cycle's partials were cut off and judged.
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

// SomaticMarkerFired announces that a fragment matched a somatic marker.
type SomaticMarkerFired struct {
	Marker   string  `json:"marker_id"`
	Fragment string  `json:"fragment_id"`
	Cosine   float64 `json:"cosine"` // of the marker's place, in events of 0.1; else 0
	// standard deviations by which a memory of the marker shares more of the fragment's words than other memories do
	Deviations float64       `json:"deviations,omitempty"`
	Threshold  float64       `json:"threshold"` // the deviations it had to reach; in events of 0.1, the cosine
	Strength   float64       `json:"strength"`  // of the affect
	Valence    dream.Valence `json:"valence"`   // the outcome: good or bad
	Count      int           `json:"count"`     // episodes that the marker was learned from
	Boost      float64       `json:"relevance_boost"`
}

// ObserverDrifted is the alarm of an observer whose outcomes are outside their limits, once per 50 outcomes.
type ObserverDrifted struct {
	Judge     string   `json:"judge"`
	Outcomes  int      `json:"outcomes"`
	Factor    float64  `json:"bias"`
	Requested float64  `json:"requested"`
	Drift     float64  `json:"drift"`
	Validated float64  `json:"promoted_and_validated"`
	Alarms    []string `json:"alarms"`
}

// OnsetCompleted announces the end of the onset.
type OnsetCompleted struct {
	Fragments int           `json:"total_fragments"`
	Spent     budget.Micros `json:"budget_consumed_micros"`
	Seconds   float64       `json:"duration_secs"`
	Cycles    int           `json:"dali_cycles_run"`
	Reason    string        `json:"reason,omitempty"` // why it ended early; empty if it did not
}

// PhaseStarted announces the beginning of NREM, REM or integration.
type PhaseStarted struct {
	Phase  dream.Phase   `json:"phase"`
	Budget budget.Micros `json:"budget_allocated_micros"`
}

// PhaseCompleted announces the end of NREM, REM or integration.
type PhaseCompleted struct {
	Phase dream.Phase   `json:"phase"`
	Made  int           `json:"made"`
	Kept  int           `json:"kept"`
	Calls int           `json:"calls"`
	Spent budget.Micros `json:"budget_consumed_micros"`
	State string        `json:"state"` // ran, skipped, exhausted

	Reason string `json:"reason,omitempty"` // why it ended early, or made nothing; empty otherwise
}

// PatternFound announces a pattern consolidated in NREM.
type PatternFound struct {
	Prediction string  `json:"prediction_id"`
	Confidence float64 `json:"confidence"`
	Direction  string  `json:"direction"` // forward or backward
}

// GistExtracted announces the gist of a fading entry.
type GistExtracted struct {
	Gist   string `json:"gist_id"`
	Source string `json:"source_id"`
}

// Why an item was archived.
const (
	Faded     = "faded"     // its strength fell, and a gist replaced it
	Unfounded = "unfounded" // a hypothesis without outcomes, archived for a newer one
)

// ItemArchived announces that a dream archived an existing item.
type ItemArchived struct {
	Item   string     `json:"item_id"`
	Kind   dream.Kind `json:"kind"`
	Newer  string     `json:"newer_id,omitempty"` // what replaced it
	Reason string     `json:"reason"`             // faded or unfounded
}

// ItemRestored announces that a person restored an item that a dream had archived.
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

// HypothesisChanged announces that the outcome of a prediction changed a hypothesis that rests on it, or that it was
// promoted, or ended.
type HypothesisChanged struct {
	Hypothesis string  `json:"hypothesis_id"`
	Prediction string  `json:"prediction_id"` // empty where a claim or the time changed it
	Confidence float64 `json:"confidence"`    // after the change
	Status     string  `json:"status"`        // staged, promoted, refuted, lapsed or retired

	Reason   string   `json:"reason,omitempty"`       // why it ended
	Claims   []string `json:"claim_ids,omitempty"`    // the claims that decide it; absent for one in prose
	Playbook []string `json:"playbook_ids,omitempty"` // the entries that it is or was promoted by
}

// PredictionResolved announces the outcome of a prediction.
type PredictionResolved struct {
	Prediction string      `json:"prediction_id"`
	Source     string      `json:"source"` // creative or analytical
	Phase      dream.Phase `json:"phase,omitempty"`
	Status     string      `json:"status"` // correct, incorrect or void
	Confidence float64     `json:"confidence"`
	Residual   *float64    `json:"residual,omitempty"` // outcome (1 or 0) minus confidence; absent when void
	By         string      `json:"by"`                 // person, tool/NAME, rule/FEED/RULE, check, judge/MODEL, limit or horizon
	Again      bool        `json:"again,omitempty"`    // it had a different outcome before
}

// ReasoningReviewed announces what a dream found of the reasoning behind a resolved prediction.
type ReasoningReviewed struct {
	Prediction string `json:"prediction_id"`
	// aligned-correct, aligned-incorrect, misaligned-correct (luck) or misaligned-incorrect
	Quadrant string `json:"quadrant"`
	By       string `json:"by"` // the model, or program
}

// ClaimTried announces one more outcome of a claim.
type ClaimTried struct {
	Claim    string    `json:"claim_id"`
	Right    bool      `json:"right"`
	At       time.Time `json:"decided_at"` // of the episode that decided it, or the end of the wait
	Hits     int       `json:"hits"`       // so far, this one included
	Misses   int       `json:"misses"`
	Chance   float64   `json:"chance"` // the rate to beat
	Wealth   float64   `json:"wealth"` // after it
	Evidence []string  `json:"evidence_ids,omitempty"`
}

// ClaimPassed announces that a claim came true more often than chance explains and has entered the playbook.
type ClaimPassed struct {
	Claim    string  `json:"claim_id"`
	Playbook string  `json:"playbook_id"`
	Hits     int     `json:"hits"`
	Misses   int     `json:"misses"`
	Chance   float64 `json:"chance"`
	Wealth   float64 `json:"wealth"`
	Claims   int     `json:"claims"` // ever made by the agent, among which it was weighed
}

// ClaimEnded announces that a claim is no longer watched.
type ClaimEnded struct {
	Claim    string `json:"claim_id"`
	Status   string `json:"status"` // retired, dropped or lapsed
	Reason   string `json:"reason"`
	Hits     int    `json:"hits"`
	Misses   int    `json:"misses"`
	Playbook string `json:"playbook_id,omitempty"` // the entry that it leaves
}

// HypnopompicStarted announces the beginning of the return.
type HypnopompicStarted struct {
	Insights int `json:"insights_surfacing"`
}

// HypnopompicCompleted announces the end of the return.
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

// Spent announces what a phase has spent so far; timelines are drawn from it.
type Spent struct {
	Tally dream.Tally `json:"tally"`
}

// DreamQuality announces what the newest dreams of an agent yield: its metrics and how they read.
type DreamQuality struct {
	Dreams  int             `json:"dreams"` // measured
	Metrics []QualityMetric `json:"metrics"`
}

// QualityMetric is one metric of DreamQuality.
type QualityMetric struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Of    int     `json:"of"`    // items that it is computed from
	State string  `json:"state"` // healthy, outside, alarm or too few
}

// DreamEnded is the last event of a dream, whatever the outcome.
type DreamEnded struct {
	Outcome dream.Outcome `json:"outcome"`
	Reason  string        `json:"reason,omitempty"`
	Spent   budget.Micros `json:"spent_micros"`
	Kept    int           `json:"kept"`
}

// DreamUndone is the alarm of a dream that made recall worse and was undone; its money stays spent.
type DreamUndone struct {
	Requested int `json:"checked"`  // memories that the probe checked
	Before    int `json:"before"`   // found when the dream began
	After     int `json:"after"`    // found when it ended
	Lost      int `json:"lost"`     // lost because of the dream
	Gained    int `json:"gained"`   // found only afterwards
	Margin    int `json:"margin"`   // how many more may be lost or pushed back than gained
	Archived  int `json:"archived"` // items made by the dream, now archived
	Restored  int `json:"restored"` // items restored to their state before the dream
	Kept      int `json:"kept"`     // items changed since: they stay as they are

	Behind int `json:"behind,omitempty"` // memories still found, but ranked below an item of the dream
}

// EmptyDreamsRepeated is the alarm of repeated empty dreams: the number in a row, including this one.
type EmptyDreamsRepeated struct {
	Dreams int `json:"dreams"`
}

// AlarmAbort replaces OnsetCompleted when an alarm ended the onset.
type AlarmAbort struct {
	Trigger   string        `json:"trigger"` // feed and rule
	Fragments int           `json:"fragments_saved"`
	Spent     budget.Micros `json:"budget_consumed_micros"`
}

// DreamInterrupted is the last event of a stretch that was woken. The four phases of the wake are in milliseconds.
type DreamInterrupted struct {
	Cause        string      `json:"cause"` // connect, alarm or operator
	Epoch        int64       `json:"epoch"`
	Stretch      int         `json:"stretch"`
	Phase        dream.Phase `json:"phase"`
	Cycle        int         `json:"cycle,omitempty"`
	Light        bool        `json:"light"`  // no call was running
	Forced       bool        `json:"forced"` // a call did not stop in time
	Receipt      float64     `json:"receipt_ms"`
	Stop         float64     `json:"stop_ms"`
	Preserve     float64     `json:"preserve_ms"`
	Switch       float64     `json:"switch_ms"`
	Partials     int         `json:"partials"`          // interrupted calls whose text was judged
	Significance float64     `json:"significance"`      // of the most significant of them
	Journal      string      `json:"journal,omitempty"` // the journal entry made of it; empty when it was erased
	Delta        float64     `json:"pad_delta"`         // the mood shift of the wake
	Until        time.Time   `json:"resumable_until"`

	// a later wake came before this one was recorded, and hides how far it moved the mood
	DeltaUnknown bool `json:"pad_delta_unknown,omitempty"`
}

// DreamResumed is the first event of a later stretch of an interrupted dream.
type DreamResumed struct {
	Stretch int           `json:"stretch"`
	Phase   dream.Phase   `json:"phase"`
	Left    budget.Micros `json:"budget_left_micros"`
}

// AgentAwake announces that an agent is awake, and who woke it.
type AgentAwake struct {
	Epoch int64  `json:"epoch"`
	Cause string `json:"cause"`
	Dream string `json:"dream,omitempty"` // the dream that was interrupted
}

// AgentAsleep announces that nothing holds the agent awake any more.
type AgentAsleep struct {
	Epoch int64 `json:"epoch"`
}

// AlarmRaised announces that a rule of the agent's feed fired.
type AlarmRaised struct {
	Feed string `json:"feed"`
	Rule string `json:"rule"`
	Kind string `json:"kind"`
}

// FragmentFlagged announces that a policy rule or a hook flagged a fragment.
type FragmentFlagged struct {
	Fragment string `json:"fragment_id"`
	By       string `json:"by"`   // "policy/<rule>" or "hook/<name>"
	Bars     bool   `json:"bars"` // it may never be developed
}

// WritesLost announces that the store went back to an earlier state: a copy was put back, or a server without its newest
// writes has taken over. What was written after Since, and at Last, is lost; until Noticed it may be.
type WritesLost struct {
	Since   time.Time `json:"since,omitzero"` // zero: not known
	Last    time.Time `json:"last"`
	Noticed time.Time `json:"noticed"`
}

// MemoriesEmbedded announces that every memory of the agent has a vector, after an import or a change of embedder.
type MemoriesEmbedded struct {
	Space    string `json:"space"`
	Embedded int    `json:"embedded"` // memories that were embedded
	Took     int64  `json:"took_ms"`  // since the process that finished it began
}

// MemoriesRenewed announces that a dream delayed the fading of knowledge used since the last dream.
type MemoriesRenewed struct {
	Memories int `json:"memories"`
}

// OutputBarred announces that the policy bars an item of a later phase: it is archived, and neither kept nor staged
// nor surfaced.
type OutputBarred struct {
	Item string     `json:"item_id"`
	Kind dream.Kind `json:"kind"` // scenario, prediction, hypothesis, gist or journal
	By   string     `json:"by"`   // "policy/<rule>"
}

// HookTimedOut announces that a hook gave no answer in time, and the default that applied.
type HookTimedOut struct {
	Hook    string `json:"hook"`
	Border  string `json:"border"`  // entry, capture or exit
	Default string `json:"default"` // allow or refuse
}

// EventType of each payload is its wire name.
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
func (WritesLost) EventType() string           { return "WritesLost" }
func (ScenarioImagined) EventType() string     { return "ScenarioImagined" }
func (HypothesisStaged) EventType() string     { return "HypothesisStaged" }
func (HypothesisChanged) EventType() string    { return "HypothesisChanged" }
func (PredictionResolved) EventType() string   { return "PredictionResolved" }
func (ReasoningReviewed) EventType() string    { return "ReasoningReviewed" }
func (ClaimTried) EventType() string           { return "ClaimTried" }
func (ClaimPassed) EventType() string          { return "ClaimPassed" }
func (ClaimEnded) EventType() string           { return "ClaimEnded" }
func (HypnopompicStarted) EventType() string   { return "HypnopompicStarted" }
func (HypnopompicCompleted) EventType() string { return "HypnopompicCompleted" }
func (DreamAborted) EventType() string         { return "DreamAborted" }
func (Spent) EventType() string                { return "Spent" }
func (DreamQuality) EventType() string         { return "DreamQuality" }
func (DreamEnded) EventType() string           { return "DreamEnded" }
func (DreamUndone) EventType() string          { return "DreamUndone" }
func (EmptyDreamsRepeated) EventType() string  { return "EmptyDreamsRepeated" }
func (AlarmAbort) EventType() string           { return "AlarmAbort" }
func (DreamInterrupted) EventType() string     { return "DreamInterrupted" }
func (DreamResumed) EventType() string         { return "DreamResumed" }
func (AgentAwake) EventType() string           { return "AgentAwake" }
func (AgentAsleep) EventType() string          { return "AgentAsleep" }
func (AlarmRaised) EventType() string          { return "AlarmRaised" }
func (FragmentFlagged) EventType() string      { return "FragmentFlagged" }
func (OutputBarred) EventType() string         { return "OutputBarred" }
func (HookTimedOut) EventType() string         { return "HookTimedOut" }
