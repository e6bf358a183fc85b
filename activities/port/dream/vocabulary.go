// Package dream holds the domain types: agents, the items of their memory, and the records and settings of dreams.
package dream

import "strings"

// Phase is a phase of a dream.
type Phase string

// The phases. Return is the hypnopompic return.
const (
	Onset       Phase = "onset"
	NREM        Phase = "nrem"
	REM         Phase = "rem"
	Integration Phase = "integration"
	Return      Phase = "return"
)

// Phases in the order of a dream.
var Phases = []Phase{Onset, NREM, REM, Integration, Return}

// Stage is the depth of the onset, by the Hori classification of sleep onset.
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

// The outcomes. The empty outcome means that the dream is still running.
const (
	Dreaming    Outcome = ""
	Completed   Outcome = "completed"   // every phase ran and something was kept
	Empty       Outcome = "empty"       // every phase ran and nothing was kept; never reported as success
	Exhausted   Outcome = "exhausted"   // a cap ended it early; earlier results are kept
	Aborted     Outcome = "aborted"     // it failed; its allowance is given back
	Canceled    Outcome = "canceled"    // an operator ended it, or another dream held the slot
	Undone      Outcome = "undone"      // it made recall worse, and was undone when it ended
	Interrupted Outcome = "interrupted" // a client, an alarm or an operator woke the agent
)

// Taint says from whom an item's words originally come.
type Taint string

// The taints. Items made by a dream have the taint dream.
const (
	FromHuman Taint = "human"
	FromAgent Taint = "agent"
	FromTool  Taint = "tool"
	FromWeb   Taint = "web"
	FromDream Taint = "dream"
)

// State is whether an item still counts. Items are archived, not deleted.
type State string

// The states.
const (
	Live       State = "live"
	Superseded State = "superseded" // a newer item replaced it
	Archived   State = "archived"   // faded, undone or refuted; still readable
	Proposed   State = "proposed"   // proposed by a dream; a person has not decided yet
)

// Role is a use of a model; each role may have its own model.
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

// RoleNames lists all roles for a message.
func RoleNames() string {
	names := make([]string, len(Roles))
	for i, r := range Roles {
		names[i] = string(r)
	}
	return strings.Join(names, ", ")
}
