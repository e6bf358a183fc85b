package week_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/testsuite/week"
)

// report sums up a week.
type report struct {
	agents, nights, resumed, journal, events int
	wakes, alarms, dreamt, windows           int
	connections, planned                     int // during dreams
	forward, back                            int // agents whose clock went forward, and back
	outcomes                                 map[dream.Outcome]int
	zones                                    map[string]int
	billed, ledger                           budget.Micros
	rows, days, fewest                       int
	runs, continued, longest, largest        int
	dreamEvents, dreamBytes                  int
	again, leased                            int // agents that dreamt after their last lease, of those that had any
	untimely, overtaken                      []string
	early, late, missed, restless            int // of the untimely
	slots                                    int // that dreams took
}

// fault records an agent whose week was not correct.
func (r *report) fault(who string, err error) {
	r.untimely = append(r.untimely, who+": "+err.Error())
	for wrong, n := range map[error]*int{
		week.ErrEarly: &r.early, week.ErrLate: &r.late, week.ErrMissed: &r.missed,
		week.ErrRest: &r.restless,
	} {
		if errors.Is(err, wrong) {
			*n++
		}
	}
}

// figures is the line for docs/measurements. An overlap of two dreams has ended the test before.
func (r *report) figures(t *testing.T, days int, took time.Duration) {
	t.Helper()
	t.Logf(
		"\n    figures: %d agents, %d days, %d dreams, %d wakes; overlapping 0 of %d slots taken; agents with a dream begun early %d, late %d, missed %d, "+
			"not asleep in time %d, left out because the server overtook a timer %d; lasted %s",
		r.agents,
		days,
		r.nights,
		r.wakes,
		r.slots,
		r.early,
		r.late,
		r.missed,
		r.restless,
		len(r.overtaken),
		took.Round(time.Second),
	)
}

func (r *report) add(
	a *week.Sleeper,
	l *week.Observed,
	nights []week.ObservedDream,
	spent week.Spent,
	journal, events int,
) {
	r.agents++
	r.nights += len(nights)
	r.zones[a.Zone.String()]++
	switch {
	case a.TurnBy > 0:
		r.forward++
	case a.TurnBy < 0:
		r.back++
	}
	dreamt, all := a.Nights(nights)
	r.dreamt, r.windows = r.dreamt+dreamt, r.windows+all
	for _, n := range nights {
		r.outcomes[n.Outcome]++
		r.resumed += max(0, len(n.Stretches)-1)
	}
	r.connections, r.planned = r.connections+l.Connections, r.planned+len(a.Connections)
	r.wakes, r.alarms = r.wakes+l.Wakes, r.alarms+l.AgentState.Alarms
	r.journal, r.events = r.journal+journal, r.events+events
	r.billed += spent.Billed
	r.ledger += spent.Ledger
	r.rows += spent.Rows
	r.days += len(spent.Days)
	if a.Hours.Name == "nights" && len(a.Visits) == 0 && (r.fewest == 0 || len(spent.Days) < r.fewest) {
		r.fewest = len(spent.Days)
	}
	if len(l.Held) > 0 {
		r.leased++
	}
	if n := len(l.Held); n > 0 && len(nights) > 0 &&
		nights[len(nights)-1].End().After(
			slices.MaxFunc(l.Held, func(a, b week.Held) int { return a.To.Compare(b.To) }).To) {
		r.again++
	}
}

func (r *report) run(run week.Run) {
	r.runs++
	if run.Continued {
		r.continued++
	}
	r.longest, r.largest = max(r.longest, run.Events), max(r.largest, run.Bytes)
}

func (r *report) dream(run week.Run) {
	r.dreamEvents, r.dreamBytes = max(r.dreamEvents, run.Events), max(r.dreamBytes, run.Bytes)
}

// need checks that the conditions of the proof have occurred.
func (r *report) need(t *testing.T, agents, days int) {
	t.Helper()
	require.Empty(t, r.untimely, "a dream that did not begin when it was due")
	require.LessOrEqual(t, len(r.overtaken), agents/50, "timers that the server overtook: %v", r.overtaken)
	require.Equal(t, agents, r.agents)
	require.NotZero(t, r.forward, "no agent's clock went forward")
	require.NotZero(t, r.back, "no agent's clock went back")
	require.NotZero(t, r.resumed, "no dream was resumed")
	require.NotZero(t, r.outcomes[dream.Interrupted], "no dream ended because it was not resumed")
	require.NotZero(t, r.alarms)
	require.Equal(t, days, r.fewest, "agents who sleep at night paid on so many days at least")
}

func (r *report) print(t *testing.T) {
	t.Helper()
	n := float64(r.nights)
	t.Logf(
		"\n    %d dreams, %d of %d windows of open hours dreamt in; %v; %d wakes, %d of them alarms; %d of %d planned came during a dream, %d stretches resumed",
		r.nights,
		r.dreamt,
		r.windows,
		r.outcomes,
		r.wakes,
		r.alarms,
		r.connections,
		r.planned,
		r.resumed,
	)
	t.Logf(
		"\n    clocks went forward for %d agents, back for %d; zones %v; %d of %d visited agents had time to dream after their last lease, and did",
		r.forward,
		r.back,
		r.zones,
		r.again,
		r.leased,
	)
	t.Logf("\n    provider %s, ledger %s, %d rows on %d agent-days; every balance and allowance agrees", r.billed,
		r.ledger, r.rows, r.days)
	t.Logf(
		"\n    lives: %d runs, %d continued as new, the longest %d events and the largest %d bytes; dreams: at most %d events and %d bytes",
		r.runs,
		r.continued,
		r.longest,
		r.largest,
		r.dreamEvents,
		r.dreamBytes,
	)
	t.Logf(
		"\n    dreams that did not begin when they were due: %d; agents whose timers the server itself overtook, left out of this: %d %v",
		len(r.untimely),
		len(r.overtaken),
		r.overtaken,
	)
	t.Logf("\n    a night adds %.2f journal entries and %.1f events", float64(r.journal)/n, float64(r.events)/n)
}
