package psyche

import (
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

// Dream is a night as callers see it, in the public shape of a dream. Times are whole seconds since 1970, money is in
// micro-dollars. Callers without role operator see no reason and no Record: those may quote what was dreamt.
type Dream struct {
	ID     string `json:"id"`     // fits into an address: "dream_iris_0042"
	Object string `json:"object"` // "dream"
	// the id that the command line, Temporal and events know: "dream/iris/0042"
	Dream string `json:"dream"`
	Agent string `json:"agent"` // handle
	// pending, running, completed, failed or canceled
	Status dream.Status `json:"status"`
	// how it ended: completed, empty, exhausted, interrupted, aborted or canceled; empty while it goes on
	Outcome dream.Outcome `json:"outcome"`
	// why it ended so, or was interrupted; to operators
	Reason    string `json:"reason,omitempty"`
	Created   int64  `json:"created_at"`                            // when it was requested or began
	Ended     *int64 `json:"ended_at" jsonschema:"nullable"`        // null while it goes on or may
	Archived  *int64 `json:"archived_at" jsonschema:"nullable"`     // when it was put out of the lists
	Resumable *int64 `json:"resumable_until" jsonschema:"nullable"` // of an interrupted one that waits to go on
	Resumes   int    `json:"resumes"`                               // number of times it was resumed after an interruption
	Undone    bool   `json:"undone"`                                // what it had made no longer counts
	// how many surfaced on return; 0 to role client where it is told of none
	Insights int     `json:"insights"`
	Record   *Record `json:"record,omitempty" jsonschema:"description=To operators."`
}

// Record is what operators see of a dream beside its state. It holds what was asked for, and figures.
type Record struct {
	Theme  string     `json:"theme,omitempty"`
	Tier   dream.Tier `json:"tier"`             // core or hardened
	Models []string   `json:"models,omitempty"` // "role=provider/model"
	// a number of 64 bits in decimal digits: JSON's readers may hold only 53
	Seed     string         `json:"seed"`
	Redreams *dream.Redream `json:"redreams,omitempty"`
	Review   dream.Review   `json:"review,omitempty"`
	Budget   budget.Micros  `json:"budget_micros"` // hard cap
	Spent    budget.Micros  `json:"spent_micros"`  // of one that goes on: as far as its phases have told
	Paid     bool           `json:"paid"`          // false when every model states a price of zero
	Usage    Usage          `json:"usage"`
	Counters Counters       `json:"counters"`
	Phases   []dream.Tally  `json:"phases"`
	Depth    *dream.Depth   `json:"depth,omitempty"`
	// what changed in the agent, what was archived and what to do next; left out of lists
	Summary *screen.Summary `json:"summary,omitempty"`
}

// Usage is what all calls of a dream read and wrote, in tokens.
type Usage struct {
	Input  int64 `json:"input_tokens"`
	Cached int64 `json:"cached_tokens"` // of the input, what the provider had in its cache
	Output int64 `json:"output_tokens"`
}

// Counters add up the phases of a dream.
type Counters struct {
	Selected int `json:"selected"` // memory pieces that fitted the choice
	Shown    int `json:"shown"`    // memory pieces that fitted the model's window
	Calls    int `json:"calls"`
	Reused   int `json:"reused"` // steps answered from what was already bought
	Failed   int `json:"failed"`
	Made     int `json:"made"` // fragments, patterns, scenarios and hypotheses
	Kept     int `json:"kept"`
}

// view converts a record for a caller, without what it may not see.
func (d *Dreams) view(c Caller, a dream.Agent, n *dream.Record) Dream {
	now, operator := d.Now(), c.May(access.Operator, a.Handle)
	v := Dream{
		ID:       PublicID(n.ID),
		Object:   "dream",
		Dream:    n.ID,
		Agent:    a.Handle,
		Status:   n.Status(now),
		Outcome:  n.Outcome,
		Created:  n.At.Unix(),
		Archived: unixOf(n.Shelved),
		Resumes:  max(0, n.Stretches-1),
		Undone:   n.State == dream.Archived,
	}
	if v.Status.Over() {
		v.Ended = unixOf(n.Ended)
	} else if n.MayGoOn(now) {
		v.Resumable = unixOf(n.Until)
	}
	if operator || !d.hidesDreams(a) {
		v.Insights = len(n.Insights)
	}
	if operator {
		v.Reason, v.Record = n.Reason, dreamRecord(n, n.Phases, n.Spent)
	}
	return v
}

func dreamRecord(n *dream.Record, phases []dream.Tally, spent budget.Micros) *Record {
	r := &Record{
		Theme:    n.Theme,
		Tier:     n.Tier,
		Models:   n.Models,
		Seed:     digitsOf(n.Seed),
		Redreams: n.Redreams,
		Review:   n.Review,
		Budget:   n.Budget,
		Spent:    spent,
		Paid:     n.Paid,
		Counters: Counters{Selected: n.Selected, Shown: n.Shown},
		Phases:   append([]dream.Tally{}, phases...),
		Depth:    n.Depth,
	}
	for _, t := range phases {
		r.Usage.Input, r.Usage.Cached, r.Usage.Output = r.Usage.Input+t.In, r.Usage.Cached+t.Cached,
			r.Usage.Output+t.Out
		c := &r.Counters
		c.Calls, c.Reused, c.Failed = c.Calls+t.Calls, c.Reused+t.Reused, c.Failed+t.Failed
		if t.Phase != dream.Return { // what comes back on return was made and kept before
			c.Made, c.Kept = c.Made+t.Made, c.Kept+t.Kept
		}
	}
	return r
}

// unixOf is a time in seconds since 1970; nil for none.
func unixOf(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	s := t.Unix()
	return &s
}
