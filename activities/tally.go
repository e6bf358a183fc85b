package activities

import (
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/spend"
)

// finalTallies are the phases as they stand when the dream ends, by the ledger: the one it ended in, which closed no
// books of its own, and all of them when the workflow could not tell them.
func finalTallies(e Ending, rows []spend.Row, now time.Time) []dream.Tally {
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

// States of a phase: it is going on; it did not get to its end.
const (
	stillRunning = "running"
	brokenOff    = "stopped"
)

// sumUp takes the figures of a phase from the ledger's rows, those of other phases left out.
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
			t.Calls++
		}
	}
	return t
}
