// Package dream holds the nouns of a night: agents, what they remember, what a dream makes of it, and how a dream ends.
package dream

import "strings"

// Phase is a part of a dream, in the order they are dreamt.
type Phase string

// The phases. Return is the hypnopompic return.
const (
	Onset       Phase = "onset"
	NREM        Phase = "nrem"
	REM         Phase = "rem"
	Integration Phase = "integration"
	Return      Phase = "return"
)

// Phases in dreaming order.
var Phases = []Phase{Onset, NREM, REM, Integration, Return}

// Stage is the depth of the onset, by the Hori classification (S4, HoriStage).
type Stage string

// The stages, from relaxed wakefulness (H1-H2) to N2 (H7-H8).
const (
	Shallow      Stage = "shallow"
	Transitional Stage = "transitional"
	Peak         Stage = "peak"
	TooDeep      Stage = "too_deep"
)

// Tier says how much of the engine a dream uses: core is one induction call, hardened is everything.
type Tier string

// The tiers.
const (
	Core     Tier = "core"
	Hardened Tier = "hardened"
)

// Outcome says how a dream ended.
type Outcome string

// The outcomes. The empty outcome means that the dream is still going on.
const (
	Dreaming    Outcome = ""
	Completed   Outcome = "completed"   // every phase ran and something was kept
	Empty       Outcome = "empty"       // every phase ran and nothing was kept; never reported as success
	Exhausted   Outcome = "exhausted"   // a cap ended it early; what was made before is kept
	Aborted     Outcome = "aborted"     // failure: its allowance is given back
	Canceled    Outcome = "canceled"    // an operator ended it, or another dream held the slot
	Undone      Outcome = "undone"      // it made recall worse, and was taken back when it ended
	Interrupted Outcome = "interrupted" // a knock, an alarm or an operator woke the agent
)

// Taint says whose words an item carries at root.
type Taint string

// The taints. An item made by a dream is always tainted dream.
const (
	FromHuman Taint = "human"
	FromAgent Taint = "agent"
	FromTool  Taint = "tool"
	FromWeb   Taint = "web"
	FromDream Taint = "dream"
)

// Kind is the sort of thing that is remembered.
type Kind string

// The kinds.
const (
	KindEpisode    Kind = "episode"
	KindSemantic   Kind = "semantic"
	KindFragment   Kind = "fragment"
	KindScenario   Kind = "scenario"
	KindHypothesis Kind = "hypothesis"
	KindGist       Kind = "gist"
	KindPlaybook   Kind = "playbook"
	KindPrediction Kind = "prediction"
	KindJournal    Kind = "journal"
	KindRecord     Kind = "night"
	KindMarker     Kind = "marker"
	KindProposal   Kind = "proposal"
)

// Kinds in a fixed order: what is lived first, what is made after.
var Kinds = []Kind{
	KindEpisode, KindSemantic, KindFragment, KindScenario, KindHypothesis,
	KindGist, KindPlaybook, KindPrediction, KindJournal, KindRecord, KindMarker, KindProposal,
}

// State is whether an item still counts. Nothing is deleted, only archived (decision 8).
type State string

// The states.
const (
	Live       State = "live"
	Superseded State = "superseded" // a newer item took its place
	Archived   State = "archived"   // faded, undone or refuted; still readable
	Proposed   State = "proposed"   // a dream would have it count; a person has yet to say so
)

// Role names a use of a model; each role may name a model of its own.
type Role string

// The roles.
const (
	Generator  Role = "generator"
	Observer   Role = "observer"
	Replayer   Role = "replay"
	Imaginer   Role = "imagination"
	Integrator Role = "integration"
	Embedder   Role = "embedder"
)

// Roles in a fixed order.
var Roles = []Role{Generator, Observer, Replayer, Imaginer, Integrator, Embedder}

// RoleNames are all roles, as a sentence lists them.
func RoleNames() string {
	names := make([]string, len(Roles))
	for i, r := range Roles {
		names[i] = string(r)
	}
	return strings.Join(names, ", ")
}
