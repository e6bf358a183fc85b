package soak

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/internal/journal"
	"github.com/seed-56a03226/oneiros/testsuite/chaos"
)

// Figures count what happened.
type Figures struct {
	Kinds           map[Kind]int
	Answered        map[string]int // complete answers, by wire
	PassedOn        map[string]int // those of them by replicas that pass every wire on
	WentOn          int            // those of them that went on from a kept response
	Excused, Failed int            // requests at killed replicas, and elsewhere
	Wakes           int            // requests that woke their agent
	// answers that contain a client's own secret, as requested; and those marked as dream content
	Own, Labelled      int
	Leases             int
	Dreams, Stretches  int
	Woken              int // stretches that a wake ended
	Crossed            int // stretches that began while the lease that woke them was granted
	QuietSpells, Begun int // quiet spells in which a dream was due or began; those in which it began
	Gaps               int // of them, those that waited for the gap
	Late               []time.Duration
	Worse              []string // those that began later than an undisturbed agent would
}

// Count counts.
func Count(e Evidence) Figures {
	f := Figures{Kinds: map[Kind]int{}, Answered: map[string]int{}, PassedOn: map[string]int{}}
	for _, t := range e.Turns {
		f.turn(t)
	}
	for agent, leases := range e.Leases {
		f.Leases += len(leases)
		for _, n := range e.Nights[agent] {
			f.Dreams++
			for _, s := range n.Stretches {
				f.Stretches++
				if s.Woken {
					f.Woken++
				}
				if slices.ContainsFunc(leases, func(l Lease) bool { return crossed(s, l) }) {
					f.Crossed++
				}
			}
		}
		for _, r := range e.QuietSpells(agent) {
			f.rest(agent, r)
		}
	}
	slices.Sort(f.Late)
	return f
}

func (f *Figures) turn(t Turn) {
	f.Kinds[t.Kind]++
	if t.Wire != "" && t.Kind != HungUp && t.Fault == "" {
		f.Answered[t.Wire]++
		if t.WentOn {
			f.WentOn++
		}
		if passesOn(t.Replica.Place) {
			f.PassedOn[t.Wire]++
		}
	}
	switch {
	case t.Fault != "" && t.Excused():
		f.Excused++
	case t.Fault != "":
		f.Failed++
	}
	if t.Woke {
		f.Wakes++
	}
	if t.Asks && strings.Contains(t.Text, Secret(t.Client)) {
		f.Own++
	}
	if strings.Contains(t.Text, journal.Label) {
		f.Labelled++
	}
}

func (f *Figures) rest(agent string, r QuietSpell) {
	f.QuietSpells++
	if r.Gap {
		f.Gaps++
	}
	if !r.Begun.IsZero() {
		f.Begun++
		if !r.Gap {
			late := r.Begun.Sub(r.Left)
			f.Late = append(f.Late, late)
			if late > idleTimeout+2*jitter {
				f.Worse = append(f.Worse,
					fmt.Sprintf("%s left at %s, started %s later", agent, clock(r.Left), short(late)))
			}
		}
	}
}

// Report writes down the figures of a run.
func Report(s *Soak, e Evidence, books chaos.Evidence, calm, after Load) string {
	f := Count(e)
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, "\n"+format, args...) }
	line("seed %d: %d clients, %d agents, %d replicas, %s; %d kills", s.Seed, s.Clients, s.Size.Agents, s.Replicas,
		s.For, len(s.Fleet.Deaths()))
	line("%d requests: %v; %d woke their agent; %d failed at a killed replica, %d elsewhere", len(e.Turns), f.Kinds,
		f.Wakes, f.Excused, f.Failed)
	line("complete answers by wire: %v; where every wire is passed on: %v", f.Answered, f.PassedOn)
	line("%d of them went on from a kept response", f.WentOn)
	line("%d leases seen; %d dreams, %d stretches, %d of them woken, %d of these as they began", f.Leases, f.Dreams,
		f.Stretches, f.Woken, f.Crossed)
	line(
		"%d quiet spells in which a dream was due or began, %d began, %d waited for the gap",
		f.QuietSpells,
		f.Begun,
		f.Gaps,
	)
	if n := len(f.Late); n > 0 {
		line("from the end of the last lease to the dream: %s median, %s p90, %s at most", short(f.Late[n/2]),
			short(f.Late[n*9/10]), short(f.Late[n-1]))
	}
	for _, worse := range f.Worse {
		line("late: %s", worse)
	}
	for _, killed := range s.Fleet.Deaths() {
		line("replica %s killed at %s", killed.Name, clock(killed.Killed))
	}
	line("%d answers told a client its own secret, %d told a dream as a dream", f.Own, f.Labelled)
	var ledger budget.Micros
	states := map[string]int{}
	for _, row := range books.Rows {
		ledger += row.Counted
		states[string(row.State)]++
	}
	line("till %s, ledger %s; %d calls, attempts %v", books.Book.Total, ledger, len(books.Book.Calls), states)
	line("the first replica: %d goroutines and %d MiB before, %d and %d MiB after", calm.Goroutines,
		calm.Resident>>20, after.Goroutines, after.Resident>>20)
	if len(e.Loads) >= 8 {
		early, late := e.Quarters()
		line("medians of its second quarter %d and %d MiB, of its last %d and %d MiB", early.Goroutines,
			early.Resident>>20, late.Goroutines, late.Resident>>20)
	}
	return b.String()
}

func short(d time.Duration) string { return d.Round(10 * time.Millisecond).String() }
