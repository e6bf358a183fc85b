// Package ablation runs the same dreams with one thing changed at a time, for the same money, and measures the
// results.
package ablation

import (
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Arm is one way of dreaming.
type Arm struct {
	Name  string
	Onset bool            // begins with an onset; else NREM has the onset's money
	Whole bool            // NREM and REM follow; else there is money for the onset only
	Way   dream.Loosening // of the generator in the onset
	TopP  float64         // above 0: sent in the place of min-p, in every call
}

// The arms that are compared over whole nights.
const (
	Without = "no onset"
	With    = "heat, min-p"
)

// nucleus is the top-p of the arm that has no min-p: what the min-p paper compares with (arXiv 2407.01082).
const nucleus = .9

// Arms lists the arms in the order in which they begin.
var Arms = []Arm{
	{Name: With, Onset: true, Whole: true, Way: dream.ByTemperatureMinP},
	{Name: "heat, top-p", Onset: true, Way: dream.ByTemperatureMinP, TopP: nucleus},
	{Name: "verbalised", Onset: true, Way: dream.Verbalised},
	{Name: "two-phase", Onset: true, Way: dream.TwoPhase},
	{Name: Without, Whole: true, Way: dream.ByTemperatureMinP},
}

// Head says how a record was made.
type Head struct {
	Model       string        `json:"model"` // as its maker calls it
	Embedder    string        `json:"embedder"`
	Day         string        `json:"day"`
	In          budget.Micros `json:"in"`  // price of a million tokens of prompts
	Out         budget.Micros `json:"out"` // and of answers
	Judges      bool          `json:"judges"`
	Cycles      int           `json:"cycles"`
	Partials    int           `json:"partials"`
	Tokens      int           `json:"tokens"` // of a partial
	Temperature [2]float64    `json:"heat"`   // of the induction, and of the first cycle
	MinP        float64       `json:"min_p"`
	Scenarios   int           `json:"scenarios"`
	Characters  int           `json:"characters"` // of memory shown
	Scorer      string        `json:"scorer,omitempty"`
	AgentState  string        `json:"life"`
}

// Night is one dream, read from ledger and store.
type Night struct {
	Arm     string                        `json:"arm"`
	Seed    uint64                        `json:"seed"`
	Outcome dream.Outcome                 `json:"outcome"`
	Reason  string                        `json:"reason,omitempty"`
	Spent   map[dream.Phase]budget.Micros `json:"spent"`
	Calls   int                           `json:"calls"`
	In      int64                         `json:"in"`  // tokens
	Out     int64                         `json:"out"` // tokens
	Silent  int                           `json:"silent"`
	Seconds int                           `json:"seconds"`
	Ideas   []Idea                        `json:"ideas"` // in the order of their making
}

// Idea is a fragment of the onset, or a scenario of REM.
type Idea struct {
	Phase  dream.Phase `json:"phase"`
	Name   string      `json:"name"` // its cycle and turn
	Text   string      `json:"text"`
	Kept   bool        `json:"kept"`   // a fragment by the observer, a scenario by REM
	Memory float64     `json:"memory"` // distance to the nearest memory
	// share of its four-word runs that stand in the prompt or a memory
	Recited   *float64 `json:"recited,omitempty"`
	Surface   float64  `json:"surface"`             // how much it looks like language, by rules alone
	Coherence float64  `json:"coherence,omitempty"` // as the observer had it; 0 of scenarios
	// mean log-probability of its tokens under the plain model, behind the same prompt for all
	LogProb   *float64 `json:"log_prob,omitempty"`
	Effective string   `json:"effective,omitempty"` // the sampling that was sent
	Place     []byte   `json:"place"`               // its vector, a signed byte a number
}

// Money is what a night spent in these phases; in all phases when none is named.
func (n Night) Money(phases ...dream.Phase) budget.Micros {
	var sum budget.Micros
	for phase, spent := range n.Spent {
		named := len(phases) == 0
		for _, p := range phases {
			named = named || p == phase
		}
		if named {
			sum += spent
		}
	}
	return sum
}

// Next is the arm that dreams next: the one that has spent least. Arms are compared by what their onsets cost. The
// arm without an onset is compared by the cost of whole nights, with the arm that is otherwise the same.
func Next(nights []Night) Arm {
	onset, whole := map[string]budget.Micros{}, map[string]budget.Micros{}
	for _, n := range nights {
		onset[n.Arm] += n.Money(dream.Onset)
		whole[n.Arm] += n.Money()
	}
	next, least := Arms[0], -1.0
	for _, a := range Arms {
		spent := float64(onset[a.Name])
		if !a.Onset && whole[With] > 0 {
			spent = float64(whole[a.Name]) / float64(whole[With]) * float64(onset[With])
		}
		if least < 0 || spent < least {
			next, least = a, spent
		}
	}
	return next
}
