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

// What may be wrong with a run.
var (
	ErrFailed  = errors.New("a request failed that was not at a killed replica")
	ErrOverlap = errors.New("a dream began while a lease lived")
	ErrRest    = errors.New("an agent did not dream again in time")
	ErrTold    = errors.New("a client was told what is another's")
	ErrDreamt  = errors.New("a client was told what was dreamt")
	ErrGrown   = errors.New("a replica holds more and more")
)

const (
	// slack is how much later than it is due a dream may begin: what was under way on a killed replica is found missing
	// by Temporal only after 10 s for a workflow's task, and two busy cores take the rest.
	slack = 20 * time.Second
	// crossing is by how much a beginning may come after a grant when the grant has woken that dream: each is stamped
	// by its own process before the store puts them in order.
	crossing = time.Second
)

// Evidence is what was left behind by a run.
type Evidence struct {
	Turns   []Turn
	Leases  map[string][]Lease // by agent
	Nights  map[string][]week.Night
	Ends    map[string]map[string]time.Time // by agent and dream: when it ended for good
	Dreamt  map[string][]string             // by handle: the words of dreams
	Clients []string
	Until   time.Time // the agents were left alone until then
	Loads   []Load
}

// Judge says all that is wrong.
func (e Evidence) Judge() error {
	var faults []error
	faults = append(faults, e.failures()...)
	for _, agent := range e.agents() {
		faults = append(faults, e.overlaps(agent)...)
		for _, r := range e.Rests(agent) {
			if r.Due.Before(r.Next) && (r.Begun.IsZero() || r.Begun.After(r.Due)) {
				faults = append(faults,
					fmt.Errorf("%s was left alone at %s, was due to dream by %s and did at %s: %w", agent,
						clock(r.Left), clock(r.Due), clock(r.Begun), ErrRest))
			}
		}
	}
	return errors.Join(append(append(faults, e.secrets()...), e.grown()...)...)
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

// Excused says whether it was at a replica that was killed before it ended. Nobody is sent there any more once it is
// killed.
func (t Turn) Excused() bool {
	killed := t.Replica.Killed
	return !killed.IsZero() && !t.Ended.Before(killed) && t.Began.Before(killed.Add(time.Second))
}

// overlaps are the sittings that began while a lease lived.
func (e Evidence) overlaps(agent string) []error {
	var faults []error
	for _, n := range e.Nights[agent] {
		for _, s := range n.Stretches {
			for _, l := range e.Leases[agent] {
				if s.From.After(l.From) && s.From.Before(l.To) && !crossed(s, l) {
					faults = append(faults,
						fmt.Errorf("%s lay down at %s, and %s held it from %s to %s: %w", n.ID, clock(s.From),
							l.Client, clock(l.From), clock(l.To), ErrOverlap))
				}
			}
		}
	}
	return faults
}

// crossed says whether the lease was granted as the sitting began, and woke it.
func crossed(s week.Stretch, l Lease) bool {
	return s.Woken && s.From.After(l.From) && s.From.Before(l.From.Add(crossing))
}

// Rest is a stretch in which nobody held an agent, when it was due to dream at the latest, and when it did.
type Rest struct {
	Left, Due, Begun time.Time
	Next             time.Time // somebody came again, or the watch ended
	Gap              bool      // the least time between two dreams was waited for
}

// Rests are all those of an agent that were long enough for a dream to be due, or in which one began.
func (e Evidence) Rests(agent string) []Rest {
	var rests []Rest
	leases := e.Leases[agent]
	for i := 0; i < len(leases); {
		left := leases[i].To
		for i++; i < len(leases) && !leases[i].From.After(left); i++ {
			if leases[i].To.After(left) {
				left = leases[i].To
			}
		}
		r := Rest{Left: left, Next: e.Until}
		if i < len(leases) {
			r.Next = leases[i].From
		}
		e.rest(agent, &r)
		if !r.Begun.IsZero() || r.Due.Before(r.Next) {
			rests = append(rests, r)
		}
	}
	return rests
}

// rest finds when a dream was due and when one began. One that was woken goes on; another waits for the least gap.
func (e Evidence) rest(agent string, r *Rest) {
	var before time.Time // the end of the last dream that is over
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

// secrets looks for what another client has said, and for what was dreamt where it is not told as such, in every
// answer.
func (e Evidence) secrets() []error {
	var faults []error
	for _, t := range e.Turns {
		for _, other := range e.Clients {
			if other != t.Client && strings.Contains(t.Answer, Secret(other)) {
				faults = append(faults,
					fmt.Errorf("%s of %s to %s tells the secret of %s: %w", t.Kind, t.Agent, t.Client, other, ErrTold))
			}
		}
		if strings.Contains(t.Text, journal.Label) || t.Text == "" {
			continue
		}
		for _, words := range e.Dreamt[t.Agent] {
			if strings.Contains(t.Text, words) {
				faults = append(faults,
					fmt.Errorf("%s of %s to %s tells %q: %w", t.Kind, t.Agent, t.Client, words, ErrDreamt))
			}
		}
	}
	return faults
}

// grown compares the second quarter of the time with the last, by their medians.
func (e Evidence) grown() []error {
	if len(e.Loads) < 8 {
		return nil
	}
	early, late := e.Quarters()
	var faults []error
	if late.Goroutines > early.Goroutines*3/2+100 {
		faults = append(faults,
			fmt.Errorf("%d goroutines, and then %d: %w", early.Goroutines, late.Goroutines, ErrGrown))
	}
	if late.Resident > early.Resident*3/2+32<<20 {
		faults = append(faults, fmt.Errorf("%d bytes, and then %d: %w", early.Resident, late.Resident, ErrGrown))
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
