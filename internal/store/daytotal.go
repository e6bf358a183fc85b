package store

import (
	"fmt"

	"github.com/seed-56a03226/oneiros/activities/port/spend"
)

// DayChecked says what Faults of a DayCounter has compared.
const DayChecked = "what agents have spent by day"

// faultsShown is how many days a report of faults names.
const faultsShown = 10

// DayCounter adds up rows of the spend ledger by agent and day.
type DayCounter struct {
	days map[dayOf]*spend.DayTotal
}

type dayOf struct{ agent, day string }

// Add counts a row.
func (c *DayCounter) Add(r spend.Row) {
	if c.days == nil {
		c.days = map[dayOf]*spend.DayTotal{}
	}
	key := dayOf{r.Agent, r.Day}
	t := c.days[key]
	if t == nil {
		t = &spend.DayTotal{Agent: r.Agent, Day: r.Day}
		c.days[key] = t
	}
	t.Add(r)
}

// Differing returns the days whose kept total is not what was counted: as it was counted, and zero where nothing was.
func (c *DayCounter) Differing(kept []spend.DayTotal) (counted []spend.DayTotal) {
	left := len(c.days)
	for _, k := range kept {
		t := c.days[dayOf{k.Agent, k.Day}]
		if t == nil {
			t = &spend.DayTotal{Agent: k.Agent, Day: k.Day}
		} else {
			left--
		}
		if *t != k {
			counted = append(counted, *t)
		}
	}
	if left == 0 {
		return counted
	}
	compared := map[dayOf]bool{}
	for _, k := range kept {
		compared[dayOf{k.Agent, k.Day}] = true
	}
	for key, t := range c.days {
		if !compared[key] {
			counted = append(counted, *t)
		}
	}
	return counted
}

// Faults describes the days whose kept total is not what was counted.
func (c *DayCounter) Faults(kept []spend.DayTotal) []string { return DayFaults(c.Differing(kept)) }

// DayFaults describes days whose kept total is not what its rows add up to.
func DayFaults(counted []spend.DayTotal) (faults []string) {
	for _, t := range counted[:min(len(counted), faultsShown)] {
		faults = append(faults, fmt.Sprintf("the total of %s on %s is not the %d calls and %s of its rows", t.Agent,
			t.Day, t.Calls, spend.Add(spend.Add(t.Reserved, t.Settled), t.Unknown)))
	}
	if more := len(counted) - len(faults); more > 0 {
		faults = append(faults, fmt.Sprintf("the totals of %d more days are not those of their rows either", more))
	}
	return faults
}
