package chaos

import (
	"fmt"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
)

// stated are the outcomes that a dream may have in the end.
var stated = []dream.Outcome{
	dream.Completed, dream.Empty, dream.Interrupted, dream.Exhausted, dream.Aborted,
	dream.Canceled,
}

// outcomes checks that workflow, record and log agree on how every dream ended.
func (e *Evidence) outcomes() []error {
	var faults []error
	spent, last := map[string]budget.Micros{}, map[string]time.Time{}
	for _, row := range e.Rows {
		spent[row.Dream] += row.Counted
		if row.Ended.After(last[row.Dream]) {
			last[row.Dream] = row.Ended
		}
	}
	for _, d := range e.Dreams {
		n := d.Record
		fault := func(format string, args ...any) {
			faults = append(faults, fmt.Errorf("%s: %s", n.ID, fmt.Sprintf(format, args...)))
		}
		if !slices.Contains(stated, n.Outcome) || n.Ended.IsZero() || n.Outcome != dream.Completed && n.Reason == "" {
			fault("its record says outcome %q, reason %q, ended %s", n.Outcome, n.Reason, n.Ended)
		}
		// a late bill is at most what was reserved
		if late := last[n.ID].After(n.Ended); n.Spent < spent[n.ID] || n.Spent > spent[n.ID] && !late {
			fault("its record says %s were spent and the ledger counts %s", n.Spent, spent[n.ID])
		}
		if d.Begun && !d.Closed {
			fault("its workflow still runs")
		}
		if r := d.Result; r != nil && (r.Outcome != n.Outcome || r.Reason != n.Reason || r.Spent != n.Spent) {
			fault("its workflow says %s (%s) for %s, its record %s (%s) for %s", r.Outcome, r.Reason, r.Spent,
				n.Outcome, n.Reason, n.Spent)
		}
		ends, starts := len(e.events(d, event.DreamEnded{}.EventType())),
			len(e.events(d, event.DreamStarted{}.EventType()))
		if d.Begun && (ends != 1 || starts > 1) {
			fault("its log announces %d beginnings and %d ends", starts, ends)
		}
		if !d.Begun && spent[n.ID] != 0 {
			fault("it was never begun and the ledger counts %s", spent[n.ID])
		}
	}
	return faults
}

// allowances checks that an agent's day has counted what its ended dreams spent, and nothing of the aborted ones.
func (e *Evidence) allowances() []error {
	var faults []error
	want := map[string]budget.Micros{}
	for _, d := range e.Dreams {
		if d.Begun && !d.Spec.Free && e.has(d, event.DreamStarted{}.EventType()) && d.Record.Outcome != dream.Aborted {
			want[d.Spec.Agent+"/"+d.Spec.Day] += d.Record.Spent
		}
	}
	for day, taken := range e.Allowances {
		if taken != want[day] {
			faults = append(faults,
				fmt.Errorf("the allowance taken of %s is %s and should be %s", day, taken, want[day]))
		}
	}
	return faults
}

// eventOrder checks that every agent's events are numbered without a gap and that none is recorded twice.
func (e *Evidence) eventOrder() []error {
	var faults []error
	for agent, events := range e.Events {
		seen := map[string]bool{}
		for i, one := range events {
			if one.Seq != int64(i+1) {
				faults = append(faults, fmt.Errorf("event %d of %s has the number %d", i+1, agent, one.Seq))
			}
			if seen[one.ID] {
				faults = append(faults, fmt.Errorf("event %s of %s is recorded twice", one.ID, agent))
			}
			seen[one.ID] = true
		}
	}
	return faults
}
