// Package eval holds the rules of an evaluation, which measures on an agent's own history whether nights help: how the
// history is divided, what the arms get, what an arm's results mean, and what will be visible before it starts.
package eval

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
)

// Version is the version of the result file and of the rules by which Judge reads it.
const Version = 1

// The arms of an evaluation.
const (
	Raw     = "raw"      // no nights
	Dedupe  = "dedupe"   // no nights; near copies are left out
	NREM    = "nrem"     // nights without onset and REM
	NoOnset = "no onset" // nights without onset
	All     = "all"      // nights as they are
	Placebo = "placebo"  // nights as they are, over a past whose sentences are shuffled among its days

	NoNREM        = "no nrem"        // nights without NREM
	NoREM         = "no rem"         // nights without REM
	NoIntegration = "no integration" // nights without integration
)

// Names returns the names of the arms that are played unless others are named, in the order in which they are played
// and shown.
func Names() []string { return []string{Raw, Dedupe, NREM, NoOnset, All, Placebo} }

// AllArms returns the names of all arms: the usual ones, and those that leave out one more phase.
func AllArms() []string { return append(Names(), NoNREM, NoREM, NoIntegration) }

// First is among how many of the first memories a question must find its own.
const First = 10

// Dreams says whether an arm has nights.
func Dreams(arm string) bool { return arm != Raw && arm != Dedupe }

// The settings of a plan where the user gives none.
const (
	// DefaultResamples is how many bootstraps an interval is computed from.
	DefaultResamples = 4000
	// DefaultRecallMargin is the loss of recall@10 that counts as none: one point.
	DefaultRecallMargin = .01
	// DefaultLiftMargin is the lift that counts as none: one outcome in ten. Our choice.
	DefaultLiftMargin = .10
)

// Result holds everything from which the verdict is computed.
type Result struct {
	Version int   `json:"version"`
	Plan    Plan  `json:"plan"`
	Arms    []Arm `json:"arms"`
	// every arm was played, or dropped for a reason that is stated
	Finished bool `json:"finished"`
}

// Plan is what was decided before the run.
type Plan struct {
	Subject      string            `json:"subject"`      // the agent's handle, or the name of the diary
	Nights       int               `json:"nights"`       // of each arm that dreams
	Days         int               `json:"days"`         // with entries, of the past and the judging days together
	JudgingDays  int               `json:"judging_days"` // with entries, at the end; no arm dreams of them
	From         time.Time         `json:"from"`         // of the first entry
	Split        time.Time         `json:"split"`        // end of the past; the judging days follow
	To           time.Time         `json:"to"`           // of the last entry
	Questions    int               `json:"questions"`    // asked of each arm at the split
	Seed         uint64            `json:"seed"`         // of the questions, the placebo and the bootstrap
	Resamples    int               `json:"resamples"`    // bootstraps of each interval
	RecallMargin float64           `json:"recall_margin"`
	LiftMargin   float64           `json:"lift_margin"`
	MostLost     int               `json:"most_lost"`     // questions that an arm may lose net where they are few
	Budget       budget.Micros     `json:"budget_micros"` // most money of one arm
	Models       map[string]string `json:"models"`        // name of the model by role
	Knobs        string            `json:"knobs"`         // hash of the settings of dreams
}

// Hash returns the configuration hash that is preregistered: SHA-256 over the plan and the version of the rules in
// canonical form, as 64 hexadecimal digits. A time counts by its instant, not by its zone.
func (p Plan) Hash() string {
	p.From, p.Split, p.To = p.From.UTC(), p.Split.UTC(), p.To.UTC()
	if len(p.Models) == 0 {
		p.Models = nil
	}
	// encoding/json writes fields in the order of the struct and maps sorted by key
	data, err := json.Marshal(struct {
		Version int  `json:"version"`
		Plan    Plan `json:"plan"`
	}{Version, p})
	if err != nil { // a margin that is no number, which Validate rejects
		data = fmt.Appendf(nil, "%d %+v", Version, p)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Arm is what one way of treating the history led to.
type Arm struct {
	Name    string        `json:"name"`
	Spent   budget.Micros `json:"spent_micros"`
	Nights  []Night       `json:"nights,omitempty"`
	Answers []Recalled    `json:"answers,omitempty"` // one of each question, at the split
	Claims  []Claim       `json:"claims,omitempty"`  // tried or passed at the split
	Dropped string        `json:"dropped,omitempty"` // why the arm could not be finished; empty when it was
}

// Night is one dream of an arm.
type Night struct {
	Day     string        `json:"day"` // that it ended, such as 2026-09-30
	Outcome string        `json:"outcome"`
	Reason  string        `json:"reason,omitempty"`
	Spent   budget.Micros `json:"spent_micros"`
	// tokens of the calls of its models, embedders left out; by them nights of a model that costs nothing are compared
	In  int64 `json:"tokens_in,omitempty"`
	Out int64 `json:"tokens_out,omitempty"`
}

// Recalled is where a question found the memory it was made of.
type Recalled struct {
	Question string `json:"question"` // id; the same in every arm
	Place    int    `json:"place"`    // among the first ten, from 1; 0 when it is not among them
}

// Claim is what an arm foretold, and what became of it on the judging days.
type Claim struct {
	ID     string `json:"id"`
	Says   string `json:"says"`
	Status string `json:"status"` // at the split: tried or passed
	// the names of its check; claims that share a word of them are resampled together
	When string `json:"when,omitempty"`
	Then string `json:"then,omitempty"`

	Hits        int `json:"hits"`         // outcomes that came true
	Trials      int `json:"trials"`       // outcomes
	DecoyHits   int `json:"decoy_hits"`   // the same of its decoys
	DecoyTrials int `json:"decoy_trials"` // the same of its decoys
}
