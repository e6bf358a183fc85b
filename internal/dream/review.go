package dream

import (
	"slices"

	"github.com/seed-56a03226/oneiros/internal/mood"
)

// Review says what becomes of what a dream would leave behind: everything but its own record, which are the night, its
// fragments and its scenarios.
type Review string

// The ways. The empty one is ReviewAuto.
const (
	ReviewAuto  Review = "auto"         // it counts at once
	ReviewAsk   Review = "review"       // it waits as Proposed until a person accepts or rejects it
	JournalOnly Review = "journal-only" // the dream writes its journal and its record, and nothing else
)

// Reviews are the ways in a fixed order.
var Reviews = []Review{ReviewAuto, ReviewAsk, JournalOnly}

// Holds says whether anything is kept from counting at once.
func (r Review) Holds() bool { return r == ReviewAsk || r == JournalOnly }

// Valid says whether it is one of the ways, or empty.
func (r Review) Valid() bool { return r == "" || slices.Contains(Reviews, r) }

// States are all of them, for whoever looks for everything that there is.
var States = []State{Live, Superseded, Archived, Proposed}

// Outlives says whether a kind of item goes on to count when the dream that made it is over.
func (k Kind) Outlives() bool {
	return k != KindFragment && k != KindScenario && k != KindRecord && k != KindProposal
}

// What a proposal would do.
const (
	ProposeArchive = "archive" // let go of a faded entry
	ProposeMood    = "mood"    // move the agent's mood
)

// Proposal is a change that a dream would have made and that waits for a person. It holds no text: Of names the item.
type Proposal struct {
	Head
	Does  string    `json:"does"`               // ProposeArchive or ProposeMood
	Of    string    `json:"of,omitempty"`       // the item to be changed
	Was   int       `json:"was,omitempty"`      // its revision then
	Newer string    `json:"newer_id,omitempty"` // what takes its place
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

// Redream names the dream that another goes on from, and the first phase that is dreamt anew.
type Redream struct {
	Dream string `json:"dream"`
	From  Phase  `json:"from"`
}

// Redreamt lists the phases that a dream can be dreamt anew from: an onset anew is another dream.
var Redreamt = Phases[1:]

// Taken says whether a phase is taken over from the other dream.
func (r *Redream) Taken(phase Phase) bool {
	return r != nil && slices.Index(Phases, phase) < slices.Index(Phases, r.From)
}
