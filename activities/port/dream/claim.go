package dream

import "time"

// Statuses of a claim.
const (
	ClaimTried   = "tried"   // its outcomes are counted
	ClaimPassed  = "passed"  // it came true more often than chance explains; a playbook entry says so
	ClaimRetired = "retired" // it had passed, and has stopped holding
	ClaimDropped = "dropped" // it came true no more often than chance
	ClaimLapsed  = "lapsed"  // nothing decides it, or nobody says it any more
)

// Claim is what all predictions with the same check say. Each time that its condition is met anew it is tried again.
type Claim struct {
	Head          // Sources are predictions that say it; At is when it was first said
	Check  Check  `json:"check"`
	Says   string `json:"says"`
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"` // why it ended

	From        time.Time `json:"from"` // what was lived until then is counted
	Hits        int       `json:"hits"`
	Misses      int       `json:"misses"`
	DecoyHits   int       `json:"decoy_hits"`
	DecoyMisses int       `json:"decoy_misses"`
	Chance      float64   `json:"chance"` // an upper bound of the rate at which it would come true by chance
	Wealth      float64   `json:"wealth"` // of a bettor who began with 1 and bets on it against chance
	Decoys      []Decoy   `json:"decoys,omitempty"`

	Outcomes []ClaimOutcome `json:"outcomes,omitempty"` // the newest, oldest first; at most MostOutcomes

	// whose talks the evidence is from (TalkOrigin); the entry in the playbook is told to nobody else, and to nobody at
	// all if they are several
	Owners []string `json:"owners,omitempty"`

	Passed   time.Time `json:"passed,omitzero"`
	Ended    time.Time `json:"ended,omitzero"`
	Decline  *Decline  `json:"decline,omitempty"`  // since it passed
	Playbook string    `json:"playbook,omitempty"` // the entry that says it
}

// MostOutcomes is how many of its outcomes a claim keeps; all are counted.
const MostOutcomes = 50

// Decoy says the same as a claim of another thing, so that it comes true as often as the claim would by chance.
type Decoy struct {
	Name string    `json:"instead"` // in place of the check's When, or of its Then if it has no When
	From time.Time `json:"from"`    // what was lived until then is counted
}

// ClaimOutcome is one trial of a claim.
type ClaimOutcome struct {
	At       time.Time `json:"at"`
	Right    bool      `json:"right"`
	Evidence []string  `json:"evidence,omitempty"` // ids of the episodes that show it
	Wealth   float64   `json:"wealth"`             // after it
}

// Decline is a watch over a claim that has passed: how much likelier chance makes its outcomes than knowledge.
type Decline struct {
	Chance float64 `json:"chance"`
	Keep   float64 `json:"keep"` // the rate that it must keep
	Level  float64 `json:"level"`
}

// Trials is how many outcomes the claim has.
func (c *Claim) Trials() int { return c.Hits + c.Misses }

// Watched says whether its outcomes are still counted.
func (c *Claim) Watched() bool { return c.Status == ClaimTried || c.Status == ClaimPassed }

// Marks of a claim.
func (c *Claim) Marks() Marks {
	return Marks{Score: float64(c.Hits+1) / float64(c.Trials()+2), Status: c.Status}
}

// Text of a claim.
func (c *Claim) Text() string { return c.Says }
