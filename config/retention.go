package config

import (
	"errors"
	"time"
)

// Retention says how long history is kept; 0 is for ever.
type Retention struct {
	Ledger time.Duration `json:"ledger"` // rows of the spend ledger, before they are folded into sums
	Events time.Duration `json:"events"`
	Undo   time.Duration `json:"undo"`   // earlier revisions of memories
	Dreams time.Duration `json:"dreams"` // fragments and scenarios of ended dreams
	// answers of the Responses API, which later requests may go on from
	Responses time.Duration `json:"responses"`
	Every     time.Duration `json:"every"` // interval between two passes
}

// shortest is the least that history is kept: what happened today is needed to answer a repeated request.
const shortest = 24 * time.Hour

// validate refuses ages that would remove what is still in use, and what a dream that can be undone has made.
func (r Retention) validate() error {
	var faults faultList
	for _, age := range []struct {
		key string
		is  time.Duration
	}{{"ledger", r.Ledger}, {"events", r.Events}, {"undo", r.Undo}, {"dreams", r.Dreams}, {"responses", r.Responses}} {
		if age.is > 0 && age.is < shortest {
			faults.add("retention.%s is %s; it must be %s or longer, or never", age.key, spanText(age.is),
				spanText(shortest))
		}
	}
	if r.Dreams > 0 && (r.Undo == 0 || r.Dreams < r.Undo) {
		faults.add("retention.dreams is %s and retention.undo %s; what a dream left cannot go while it can be undone: "+
			"retention.dreams must be as long, or never", lasts(r.Dreams), lasts(r.Undo))
	}
	return errors.Join(faults...)
}

func lasts(age time.Duration) string {
	if age == 0 {
		return never
	}
	return spanText(age)
}
