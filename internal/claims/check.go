package claims

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/recall/words"
)

// Limits of a check.
const (
	LongestName = 80                   // bytes of When and of Then
	LongestWait = 366 * 24 * time.Hour // of Within
	MostCounted = 100                  // of Least
)

// Validate returns everything that is wrong with a check.
func Validate(c dream.Check) error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	for _, f := range []struct{ field, name string }{{"when", c.When}, {"then", c.Then}} {
		switch {
		case f.name == "" && f.field == "when":
		case len(f.name) > LongestName:
			fault("%s is %d bytes long; %d at most", f.field, len(f.name), LongestName)
		case len(NameOf(f.name)) == 0:
			fault("%s is %q; it must name something, not only words such as \"it\" or \"the\"", f.field, f.name)
		}
	}
	if c.Within < 0 || c.Within > LongestWait {
		fault("within is %s; it must lie between 0 and %s", c.Within, LongestWait)
	}
	if c.Within%time.Minute != 0 {
		fault("within is %s; it must be a number of whole minutes", c.Within)
	}
	if c.When == "" && c.Within != 0 {
		fault("within is %s without when; the horizon says how long to wait", c.Within)
	}
	if c.Least < 0 || c.Least > MostCounted {
		fault("at_least is %d; it must lie between 0 and %d", c.Least, MostCounted)
	}
	if c.When != "" && c.Within == 0 && c.Least > 1 {
		fault("at_least is %d for the same episode; it needs within", c.Least)
	}
	if c.When != "" && slices.Equal(NameOf(c.When), NameOf(c.Then)) && c.Within == 0 {
		fault("when and then are both %q; in the same episode that is always so", c.When)
	}
	return errors.Join(faults...)
}

// Key identifies what a check says, whatever words it uses for it: two checks with the same key are one claim. Two
// names in the same episode are one claim in either order, although each order waits for another episode.
func Key(c dream.Check) string {
	w, t := strings.Join(NameOf(c.When), " "), strings.Join(NameOf(c.Then), " ")
	if c.Within == 0 && w > t && w != "" && c.Least <= 1 { // together has no order
		w, t = t, w
	}
	return fmt.Sprintf("%s>%s/%s/%d/%t", w, t, c.Within, max(1, c.Least), c.Not)
}

// Name is what is looked for in episodes: the terms of a name, in order.
type Name []string

// NameOf reads a name; empty when it holds nothing but stop words.
func NameOf(text string) Name { return words.Of(text).Terms }

// Episode is what a check sees of an episode.
type Episode struct {
	ID    string
	At    time.Time
	Terms []string // of its text, in order, without stop words
}

// Names says whether an episode names something: its terms stand there one after the other.
func (e Episode) Names(n Name) bool {
	for i := 0; i+len(n) <= len(e.Terms); i++ {
		if len(n) > 0 && slices.Equal(e.Terms[i:i+len(n)], n) {
			return true
		}
	}
	return false
}

// Outcome is what became of a prediction.
type Outcome string

// The outcomes.
const (
	Open  Outcome = "open"      // it may still come true or not
	Right Outcome = "correct"   // what it says has happened
	Wrong Outcome = "incorrect" // it has not, and would have been seen
	Void  Outcome = "void"      // nobody could have seen it
)

// Result is an outcome with the episodes that show it.
type Result struct {
	Outcome  Outcome
	Evidence []string  // ids of episodes: the one that began the wait, and those that name Then
	At       time.Time // when it was decided: of the last episode, or the end of the wait
	Reason   string    // of a void outcome
}

// Resolve says what became of a check that was foretold at from for the time until horizon. lived are the episodes that
// may be evidence, oldest first; covered says whether enough of them were seen between two times for their silence to
// mean something.
func Resolve(c dream.Check, from, horizon, now time.Time, lived []Episode,
	covered func(from, to time.Time) bool,
) Result {
	lived = between(lived, from, now)
	wait, until := from, horizon
	var evidence []string
	if c.When != "" {
		when := NameOf(c.When)
		first := slices.IndexFunc(lived, func(e Episode) bool { return e.Names(when) })
		if first < 0 || lived[first].At.After(horizon) {
			if now.Before(horizon) {
				return Result{Outcome: Open}
			}
			return Result{Outcome: Void, At: horizon, Reason: fmt.Sprintf("no episode named %s until the horizon", c.When)}
		}
		wait = lived[first].At
		until = wait.Add(c.Within)
		evidence = append(evidence, lived[first].ID)
		lived = lived[first:]
		if c.Within > 0 {
			lived = lived[1:]
		}
	}
	then, found, last := NameOf(c.Then), 0, wait
	for _, e := range lived {
		if e.At.After(until) {
			break
		}
		if found < max(1, c.Least) && e.Names(then) {
			found++
			last = e.At
			if len(evidence) == 0 || evidence[len(evidence)-1] != e.ID {
				evidence = append(evidence, e.ID)
			}
		}
	}
	happened := found >= max(1, c.Least)
	switch {
	case happened:
		return Result{Outcome: verdict(!c.Not), Evidence: evidence, At: last}
	case !now.After(until):
		return Result{Outcome: Open}
	case until.After(wait) && !covered(wait, until): // the same episode is seen whole
		return Result{
			Outcome: Void, At: until, Evidence: evidence,
			Reason: "too few episodes came in that time for their silence to mean anything",
		}
	}
	return Result{Outcome: verdict(c.Not), Evidence: evidence, At: until}
}

func verdict(right bool) Outcome {
	if right {
		return Right
	}
	return Wrong
}

// between are the episodes after from and not after to.
func between(lived []Episode, from, to time.Time) []Episode {
	after := func(t time.Time) int {
		return sort.Search(len(lived), func(i int) bool { return lived[i].At.After(t) })
	}
	first := after(from)
	return lived[first:max(first, after(to))]
}

// Trials are the outcomes of a check that repeats itself: each time that its condition is met anew after from, one
// outcome, as long as now allows to tell. The waits do not overlap, so that no episode decides two. A check without
// When has one trial for each time of the given length.
func Trials(c dream.Check, from, now time.Time, length time.Duration, lived []Episode,
	covered func(from, to time.Time) bool,
) []Result {
	var all []Result
	for {
		horizon := now
		if c.When == "" {
			horizon = from.Add(length)
		}
		r := Resolve(c, from, horizon, now, lived, covered)
		if r.Outcome == Open || r.Outcome == Void && r.Evidence == nil && c.When != "" {
			return all // the condition is not met yet, or its wait is not over
		}
		all = append(all, r)
		if !r.At.After(from) {
			return all
		}
		from = r.At
	}
}
