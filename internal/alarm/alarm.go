// Package alarm owns the rules over a feed that end an onset, and how often they do.
package alarm

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

// Watch is what is remembered of one feed between its readings: little, and all of it can be written as JSON. Since is
// when the watch began, for a feed that has not said anything yet. Up holds the rules that are true now.
type Watch struct {
	Since    time.Time            `json:"since"`
	Readings []dream.Reading      `json:"readings,omitempty"` // by time, oldest first; bounded by Keep
	Up       []string             `json:"up,omitempty"`       // by Key, sorted
	Rose     map[string]time.Time `json:"rose,omitempty"`     // by Key: since when those are up
	// by the rule's name: of the newest reading that it could judge; none: it never heard any
	Took map[string]time.Time `json:"took,omitempty"`
}

// Fired is a rule that has become true.
type Fired struct {
	Rule   string         `json:"rule"`
	Kind   dream.RuleKind `json:"kind"`
	Metric string         `json:"metric,omitempty"`
	At     time.Time      `json:"at"`               // of the newest reading; of a stale feed's last one
	From   *float64       `json:"from,omitempty"`   // the earlier number of a change
	Number *float64       `json:"number,omitempty"` // the newest number
	State  string         `json:"state,omitempty"`
}

// String tells what happened as a person would: "price: 100 to 106".
func (f Fired) String() string {
	text := f.Rule
	if f.Metric != "" && f.Metric != f.Rule {
		text += " of " + f.Metric
	}
	short := func(n float64) string { return strconv.FormatFloat(n, 'g', 6, 64) }
	switch {
	case f.Kind == dream.Stale:
		return text + ": nothing was heard since " + f.At.UTC().Format(time.RFC3339)
	case f.State != "":
		return fmt.Sprintf("%s: %q", text, f.State)
	case f.From != nil && f.Number != nil:
		return text + ": " + short(*f.From) + " to " + short(*f.Number)
	case f.Number != nil:
		return text + ": " + short(*f.Number)
	}
	return text
}

// Hear takes in what a feed has said by now and answers the watch after it, with what has fired, in order. A rule that
// stays true fires once; it fires again after it was false. Readings may come late: they count in the windows of
// changes, but only a reading that is the newest of its metric is judged by itself, so that a fault which is over
// raises nothing. Readings without a time, or with one that has not come yet, are of now; what Sane refuses is left
// out. A bare value has the name that Named gives it.
func (w Watch) Hear(rules []dream.Rule, fresh []dream.Reading, now time.Time) (Watch, []Fired) {
	next := Watch{Since: w.Since, Up: w.Up, Rose: w.Rose}
	for _, r := range w.Readings {
		next.Readings = append(next.Readings, dated(r, now)) // a clock that went back would otherwise blind the rules
	}
	var fired []Fired
	hear := func(at time.Time) {
		var news []Fired
		next.Up, news = Judge(rules, next, at)
		next.Rose = rose(next.Up, next.Rose, at)
		fired = append(fired, news...)
	}
	clock := w.Since
	for _, r := range next.Readings {
		clock = latest(clock, r.At)
	}
	sane := inOrder(Named(fresh, rules), now)
	next.Took = w.took(rules, sane)
	for _, group := range sane.groups() {
		var newest []dream.Reading
		for _, r := range group {
			if slices.ContainsFunc(next.Readings,
				func(o dream.Reading) bool { return o.Metric == r.Metric && o.At.After(r.At) }) {
				next.Readings = insert(next.Readings, r)
				continue
			}
			newest = append(newest, r)
		}
		if len(newest) == 0 {
			continue
		}
		clock = latest(clock, newest[0].At)
		hear(clock) // what was true of an older window may have passed since
		for _, r := range newest {
			next.Readings = insert(next.Readings, r)
		}
		hear(clock)
	}
	hear(now)
	next.Readings = Keep(next.Readings, rules, now)
	return next, fired
}

// Carry is the watch under new rules: a rule that is not what it was begins as if it had not been true.
func (w Watch) Carry(before, after []dream.Rule) Watch {
	next := Watch{Since: w.Since}
	same := slices.DeleteFunc(slices.Clone(after), func(r dream.Rule) bool { return !slices.Contains(before, r) })
	for _, key := range w.Up {
		if slices.ContainsFunc(same, func(r dream.Rule) bool { return owns(r, key) }) {
			next.Up = append(next.Up, key)
		}
	}
	next.Readings = Named(w.Readings, after) // a bare value may have found its rule
	next.Rose, next.Took = rose(next.Up, w.Rose, w.Since), w.took(same, nil)
	next.Took = next.took(after, next.Readings)
	return next
}

// rose is since when rules are up; those that were not before are since at.
func rose(up []string, before map[string]time.Time, at time.Time) map[string]time.Time {
	var rose map[string]time.Time
	for _, key := range up {
		if rose == nil {
			rose = make(map[string]time.Time, len(up))
		}
		since, was := before[key]
		rose[key] = since
		if !was {
			rose[key] = at
		}
	}
	return rose
}

// took is when each rule last heard something that it can judge, with what was said now.
func (w Watch) took(rules []dream.Rule, fresh []dream.Reading) map[string]time.Time {
	var took map[string]time.Time
	for _, rule := range rules {
		at, ever := w.Took[rule.Name]
		for _, r := range fresh {
			if judges(rule, r) {
				at, ever = latest(at, r.At), true
			}
		}
		if !ever {
			continue
		}
		if took == nil {
			took = make(map[string]time.Time, len(rules))
		}
		took[rule.Name] = at
	}
	return took
}

// series are readings by time.
type series []dream.Reading

// inOrder are the sane ones among readings.
func inOrder(readings []dream.Reading, now time.Time) series {
	var sane series
	for _, r := range readings {
		if Sane(r) == nil {
			sane = append(sane, dated(r, now))
		}
	}
	slices.SortStableFunc(sane, func(a, b dream.Reading) int { return a.At.Compare(b.At) })
	return sane
}

// groups are what was said at one moment, each metric once in a group, so that it can be judged together.
func (s series) groups() []series {
	var groups []series
	for _, r := range s {
		end := len(groups) - 1
		if end < 0 || !groups[end][0].At.Equal(r.At) ||
			slices.ContainsFunc(groups[end], func(o dream.Reading) bool { return o.Metric == r.Metric }) {
			groups = append(groups, series{r})
			continue
		}
		groups[end] = append(groups[end], r)
	}
	return groups
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func dated(r dream.Reading, now time.Time) dream.Reading {
	if r.At.IsZero() || r.At.After(now) {
		r.At = now
	}
	return r
}

// insert puts a reading behind those of its time.
func insert(readings []dream.Reading, r dream.Reading) []dream.Reading {
	i, _ := slices.BinarySearchFunc(readings, r, func(a, b dream.Reading) int { return cmp.Or(a.At.Compare(b.At), -1) })
	return slices.Insert(readings, i, r)
}

// Limits of what one feed may say: its probe carries it through Temporal, which refuses payloads of 2 MiB.
const (
	MostReadings = 64 // in one document or push
	LongestWord  = 64 // bytes of a metric's name or a state
)

// Sane says what is wrong with a reading.
func Sane(r dream.Reading) error {
	switch {
	case r.Number == nil && r.State == "":
		return fmt.Errorf("the reading of %q has neither a number nor a state", brief(r.Metric))
	case r.Number != nil && (math.IsNaN(*r.Number) || math.IsInf(*r.Number, 0)):
		return fmt.Errorf("the number of %q is %v; it must be finite", brief(r.Metric), *r.Number)
	case len(r.Metric) > LongestWord:
		return fmt.Errorf("the metric %q is %d bytes long; %d at most", brief(r.Metric), len(r.Metric), LongestWord)
	case len(r.State) > LongestWord:
		return fmt.Errorf("the state of %q is %d bytes long; %d at most: a state is a word", brief(r.Metric),
			len(r.State), LongestWord)
	}
	return nil
}

func brief(s string) string {
	if len(s) > LongestWord {
		return s[:LongestWord-3] + "..."
	}
	return s
}
