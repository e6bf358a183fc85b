package soak

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/internal/journal"
	"github.com/seed-56a03226/oneiros/testsuite/week"
)

// The faults that a run may have.
var (
	ErrFailed    = errors.New("a request failed that was not at a killed replica")
	ErrOverlap   = errors.New("a dream began while a lease was held")
	ErrNoDream   = errors.New("an agent did not dream again in time")
	ErrLeak      = errors.New("a client was sent another client's secret")
	ErrDreamText = errors.New("a client was sent dream text")
	ErrGrowth    = errors.New("a replica's memory or goroutines grow")
)

const (
	// slack is how much later than it is due a dream may begin: Temporal notices a workflow task lost on a killed
	// replica only after 10 s, and two busy cores take the rest.
	slack = 20 * time.Second
	// crossing is how much later than a grant a dream may begin when the grant has woken that dream: each time is
	// taken by its own process before the store puts them in order.
	crossing = time.Second
)

// Evidence is what a run has left behind.
type Evidence struct {
	Turns     []Turn
	Leases    map[string][]Lease // by agent
	Nights    map[string][]week.ObservedDream
	Ends      map[string]map[string]time.Time // by agent and dream: when it finally ended
	DreamText map[string][]string             // by handle: the words of dreams
	Clients   []string
	Until     time.Time // no client came to the agents until then
	Loads     []Load
}

// Judge returns all faults.
func (e Evidence) Judge() error {
	var faults []error
	faults = append(faults, e.failures()...)
	for _, agent := range e.agents() {
		faults = append(faults, e.overlaps(agent)...)
		for _, r := range e.QuietSpells(agent) {
			if r.Due.Before(r.Next) && (r.Begun.IsZero() || r.Begun.After(r.Due)) {
				faults = append(faults,
					fmt.Errorf("%s was last held at %s, was due to dream by %s and did at %s: %w", agent,
						clock(r.Left), clock(r.Due), clock(r.Begun), ErrNoDream))
			}
		}
	}
	return errors.Join(append(append(faults, e.secrets()...), e.growth()...)...)
}

func (e Evidence) agents() []string {
	var all []string
	for agent := range e.Leases {
		all = append(all, agent)
	}
	slices.Sort(all)
	return all
}

func clock(at time.Time) string { return at.UTC().Format("15:04:05.000") }

func (e Evidence) failures() []error {
	var faults []error
	for _, t := range e.Turns {
		if t.Fault != "" && !t.Excused() {
			faults = append(faults,
				fmt.Errorf("%s, %s at %s of %s from %s to %s: %s: %w", t.Client, t.Kind, t.Replica.Name, t.Agent,
					clock(t.Began), clock(t.Ended), t.Fault, ErrFailed))
		}
	}
	return faults
}

// Excused says whether the request was at a replica that was killed before it ended. No request is sent to a replica
// after its kill.
func (t Turn) Excused() bool {
	killed := t.Replica.Killed
	return !killed.IsZero() && !t.Ended.Before(killed) && t.Began.Before(killed.Add(time.Second))
}

// overlaps are the stretches that began while a lease was held.
func (e Evidence) overlaps(agent string) []error {
	var faults []error
	for _, n := range e.Nights[agent] {
		for _, s := range n.Stretches {
			for _, l := range e.Leases[agent] {
				if s.From.After(l.From) && s.From.Before(l.To) && !crossed(s, l) {
					faults = append(faults,
						fmt.Errorf("%s began at %s, and %s held the agent from %s to %s: %w", n.ID, clock(s.From),
							l.Client, clock(l.From), clock(l.To), ErrOverlap))
				}
			}
		}
	}
	return faults
}

// crossed says whether the lease was granted as the stretch began, and woke it.
func crossed(s week.Stretch, l Lease) bool {
	return s.Woken && s.From.After(l.From) && s.From.Before(l.From.Add(crossing))
}

// QuietSpell is a time in which no client held an agent, when it was due to dream at the latest, and when it did.
type QuietSpell struct {
	Left, Due, Begun time.Time
	Next             time.Time // a client came again, or the watch ended
	Gap              bool      // the minimum time between two dreams applied
}

// QuietSpells are all those of an agent that were long enough for a dream to be due, or in which one began.
func (e Evidence) QuietSpells(agent string) []QuietSpell {
	var rests []QuietSpell
	leases := e.Leases[agent]
	for i := 0; i < len(leases); {
		left := leases[i].To
		for i++; i < len(leases) && !leases[i].From.After(left); i++ {
			if leases[i].To.After(left) {
				left = leases[i].To
			}
		}
		r := QuietSpell{Left: left, Next: e.Until}
		if i < len(leases) {
			r.Next = leases[i].From
		}
		e.findDream(agent, &r)
		if !r.Begun.IsZero() || r.Due.Before(r.Next) {
			rests = append(rests, r)
		}
	}
	return rests
}

// findDream finds when a dream was due and when one began. A woken dream resumes; a new one waits for the minimum
// gap.
func (e Evidence) findDream(agent string, r *QuietSpell) {
	var before time.Time // the end of the last finished dream
	waits := false
	for _, n := range e.Nights[agent] {
		began, within := false, false
		for _, s := range n.Stretches {
			began = began || s.From.Before(r.Left)
			if !s.From.Before(r.Left) && s.From.Before(r.Next) {
				within = true
				if r.Begun.IsZero() || s.From.Before(r.Begun) {
					r.Begun = s.From
				}
			}
		}
		switch ended, over := e.Ends[agent][n.ID]; {
		case !began:
		case within || !over || !ended.Before(r.Next):
			waits = true
		case ended.After(before):
			before = ended
		}
	}
	r.Due = r.Left.Add(idleTimeout + jitter + slack)
	if due := before.Add(minGap + jitter + slack); !waits && !before.IsZero() && due.After(r.Due) {
		r.Due, r.Gap = due, true
	}
}

// secrets looks in every answer for another client's secret, and for dream text that is not marked as such.
func (e Evidence) secrets() []error {
	var faults []error
	for _, t := range e.Turns {
		for _, other := range e.Clients {
			if other != t.Client && strings.Contains(t.Answer, Secret(other)) {
				faults = append(
					faults,
					fmt.Errorf(
						"%s of %s to %s contains the secret of %s: %w",
						t.Kind,
						t.Agent,
						t.Client,
						other,
						ErrLeak,
					),
				)
			}
		}
		if strings.Contains(t.Text, journal.Label) || t.Text == "" {
			continue
		}
		for _, words := range e.DreamText[t.Agent] {
			if strings.Contains(t.Text, words) {
				faults = append(faults,
					fmt.Errorf("%s of %s to %s contains %q: %w", t.Kind, t.Agent, t.Client, words, ErrDreamText))
			}
		}
	}
	return faults
}

// growth compares the medians of the second and the last quarter of the run.
func (e Evidence) growth() []error {
	if len(e.Loads) < 8 {
		return nil
	}
	early, late := e.Quarters()
	var faults []error
	if late.Goroutines > early.Goroutines*3/2+100 {
		faults = append(faults,
			fmt.Errorf("%d goroutines, and then %d: %w", early.Goroutines, late.Goroutines, ErrGrowth))
	}
	if late.Resident > early.Resident*3/2+32<<20 {
		faults = append(faults, fmt.Errorf("%d bytes, and then %d: %w", early.Resident, late.Resident, ErrGrowth))
	}
	return faults
}

// Quarters are the medians of the second quarter of the time and of the last.
func (e Evidence) Quarters() (early, late Load) {
	n := len(e.Loads) / 4
	return median(e.Loads[n : 2*n]), median(e.Loads[len(e.Loads)-n:])
}

func median(loads []Load) Load {
	var threads, bytes []int
	for _, l := range loads {
		threads, bytes = append(threads, l.Goroutines), append(bytes, l.Resident)
	}
	slices.Sort(threads)
	slices.Sort(bytes)
	return Load{Goroutines: threads[len(threads)/2], Resident: bytes[len(bytes)/2]}
}
