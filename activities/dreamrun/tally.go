package dreamrun

import (
	"time"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
)

// finalTallies are the tallies of a dream that ends, from the spend ledger: of the phase it ended in, which was not
// closed, and of all phases when the workflow could not provide them.
func finalTallies(e activities.Ending, rows []spend.Row, now time.Time) []dream.Tally {
	tallies := append([]dream.Tally(nil), e.Tallies...)
	if len(tallies) == 0 {
		for _, phase := range dream.Phases {
			if spent := sumUp(dream.Tally{Phase: phase}, rows); spent.Calls > 0 || spent.Spent > 0 {
				tallies = append(tallies, dream.Tally{Phase: phase, State: stillRunning})
			}
		}
	}
	for i, t := range tallies {
		if t.State != stillRunning {
			continue
		}
		t = sumUp(t, rows)
		t.State, t.Reason, t.Ended = brokenOff, e.Reason, now
		if e.Outcome == dream.Exhausted {
			t.State = "exhausted"
		}
		tallies[i] = t
	}
	return tallies
}

// States of a phase: running, and ended before its regular end.
const (
	stillRunning = "running"
	brokenOff    = "stopped"
)

// sumUp sets the figures of a phase from the spend ledger's rows.
func sumUp(t dream.Tally, rows []spend.Row) dream.Tally {
	t.Calls = 0
	t.Spent = 0
	t.In = 0
	t.Cached = 0
	t.Out = 0
	for _, row := range rows {
		if row.Phase != string(t.Phase) {
			continue
		}
		t.Spent += row.Counted
		t.In += row.Tokens.In
		t.Cached += row.Tokens.Cached
		t.Out += row.Tokens.Out
		if row.State == spend.Settled || row.State == spend.Partial {
			t.Calls += row.Calls()
		}
	}
	return t
}

// total is what all rows count.
func total(rows []spend.Row) (sum budget.Micros) {
	for _, row := range rows {
		sum += row.Counted
	}
	return sum
}
