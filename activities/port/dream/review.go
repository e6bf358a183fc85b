package dream

import (
	"slices"

	"github.com/seed-56a03226/oneiros/activities/port/mood"
)

// Review is whether the results of a dream need a person's review. The dream's own record, its fragments and its
// scenarios are stored in any case.
type Review string

// The modes. Empty means ReviewAuto.
const (
	ReviewAuto  Review = "auto"         // results count at once
	ReviewAsk   Review = "review"       // results wait as Proposed until a person accepts or rejects them
	JournalOnly Review = "journal-only" // the dream writes only its journal and its record
)

// Reviews are the modes in a fixed order.
var Reviews = []Review{ReviewAuto, ReviewAsk, JournalOnly}

// Holds says whether results do not count at once.
func (r Review) Holds() bool { return r == ReviewAsk || r == JournalOnly }

// Valid says whether it is one of the modes or empty.
func (r Review) Valid() bool { return r == "" || slices.Contains(Reviews, r) }

// States are all states, for queries that cover everything.
var States = []State{Live, Superseded, Archived, Proposed}

// Outlives says whether items of a kind count beyond their dream.
func (k Kind) Outlives() bool {
	return k != KindFragment && k != KindScenario && k != KindRecord && k != KindProposal
}

// What a proposal would do.
const (
	ProposeArchive = "archive" // archive a faded entry
	ProposeMood    = "mood"    // move the agent's mood
)

// Proposal is a change that a dream proposes and a person decides. It holds no text: Of names the item.
type Proposal struct {
	Head
	Does  string    `json:"does"`               // ProposeArchive or ProposeMood
	Of    string    `json:"of,omitempty"`       // the item to change
	Was   int       `json:"was,omitempty"`      // the item's revision at that time
	Newer string    `json:"newer_id,omitempty"` // what replaces it
	From  *mood.PAD `json:"from,omitempty"`
	To    *mood.PAD `json:"to,omitempty"`

	Decided string `json:"decided,omitempty"` // accepted or rejected
}

// Marks of a proposal.
func (p *Proposal) Marks() Marks { return Marks{Status: p.Does} }

// Text of a proposal.
func (p *Proposal) Text() string {
	if p.Does == ProposeMood {
		return "move the mood"
	}
	return "archive " + p.Of
}

// Redream names the dream that another dream continues, and the first phase that is dreamt anew.
type Redream struct {
	Dream string `json:"dream"`
	From  Phase  `json:"from"`
}

// Redreamt lists the phases that a dream can be dreamt anew from. An onset dreamt anew would be a new dream.
var Redreamt = Phases[1:]

// Taken says whether a phase is taken over from the other dream.
func (r *Redream) Taken(phase Phase) bool {
	return r != nil && slices.Index(Phases, phase) < slices.Index(Phases, r.From)
}
