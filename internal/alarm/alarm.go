// Package alarm holds the rules of feeds: which readings are valid, when a rule fires, and how often alarms end
// onsets.
package alarm

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Watch is the state of a feed between readings, small and JSON-encodable. Since is when the watch began, for a feed
// without readings. Up lists the rules that are true now.
type Watch struct {
	Since    time.Time            `json:"since"`
	Readings []dream.Reading      `json:"readings,omitempty"` // by time, oldest first; bounded by Keep
	Up       []string             `json:"up,omitempty"`       // by Key, sorted
	Rose     map[string]time.Time `json:"rose,omitempty"`     // by Key: since when they are true
	// by rule name: the time of the newest reading that the rule could judge
	LastJudged map[string]time.Time `json:"took,omitempty"`
}

// FiredRule is a rule that has become true.
type FiredRule struct {
	Rule   string         `json:"rule"`
	Kind   dream.RuleKind `json:"kind"`
	Metric string         `json:"metric,omitempty"`
	At     time.Time      `json:"at"`               // of the newest reading; of a stale feed's last reading
	From   *float64       `json:"from,omitempty"`   // the earlier number of a change
	Number *float64       `json:"number,omitempty"` // the newest number
	State  string         `json:"state,omitempty"`
}

// String describes what happened: "price: 100 to 106".
func (f FiredRule) String() string {
	text := f.Rule
	if f.Metric != "" && f.Metric != f.Rule {
		text += " of " + f.Metric
	}
	short := func(n float64) string { return strconv.FormatFloat(n, 'g', 6, 64) }
	switch {
	case f.Kind == dream.Stale:
		return text + ": no reading since " + f.At.UTC().Format(time.RFC3339)
	case f.State != "":
		return fmt.Sprintf("%s: %q", text, f.State)
	case f.From != nil && f.Number != nil:
		return text + ": " + short(*f.From) + " to " + short(*f.Number)
	case f.Number != nil:
		return text + ": " + short(*f.Number)
	}
	return text
}

// Update adds new readings and returns the new watch and the rules that fired, in order. A rule that stays true fires
// once, and again only after it was false. Late readings count in the windows of changes, but only the newest reading
// of a metric is judged by itself, so that a condition that has passed raises no alarm. A reading without a time, or
// with one in the future, counts as now; readings that Sane refuses are ignored. A value without a metric is named by
// WithMetrics.
func (w Watch) Update(rules []dream.Rule, fresh []dream.Reading, now time.Time) (Watch, []FiredRule) {
	next := Watch{Since: w.Since, Up: w.Up, Rose: w.Rose}
	for _, r := range w.Readings {
		// otherwise a clock that was set back would disable the rules
		next.Readings = append(next.Readings, dated(r, now))
	}
	var fired []FiredRule
	judgeAt := func(at time.Time) {
		var news []FiredRule
		next.Up, news = Judge(rules, next, at)
		next.Rose = trueSince(next.Up, next.Rose, at)
		fired = append(fired, news...)
	}
	clock := w.Since
	for _, r := range next.Readings {
		clock = latest(clock, r.At)
	}
	sane := inOrder(WithMetrics(fresh, rules), now)
	next.LastJudged = w.took(rules, sane)
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
		judgeAt(clock) // a change within the older window may no longer hold
		for _, r := range newest {
			next.Readings = insert(next.Readings, r)
		}
		judgeAt(clock)
	}
	judgeAt(now)
	next.Readings = Keep(next.Readings, rules, now)
	return next, fired
}

// Carry is the watch under new rules: a rule that changed begins as not true.
func (w Watch) Carry(before, after []dream.Rule) Watch {
	next := Watch{Since: w.Since}
	same := slices.DeleteFunc(slices.Clone(after), func(r dream.Rule) bool { return !slices.Contains(before, r) })
	for _, key := range w.Up {
		if slices.ContainsFunc(same, func(r dream.Rule) bool { return owns(r, key) }) {
			next.Up = append(next.Up, key)
		}
	}
	next.Readings = WithMetrics(w.Readings, after) // a value without a metric may match a rule now
	next.Rose, next.LastJudged = trueSince(next.Up, w.Rose, w.Since), w.took(same, nil)
	next.LastJudged = next.took(after, next.Readings)
	return next
}

// trueSince is since when rules are true; those that were not true before begin at at.
func trueSince(up []string, before map[string]time.Time, at time.Time) map[string]time.Time {
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

// took is when each rule last had a reading that it can judge, including the new ones.
func (w Watch) took(rules []dream.Rule, fresh []dream.Reading) map[string]time.Time {
	var took map[string]time.Time
	for _, rule := range rules {
		at, ever := w.LastJudged[rule.Name]
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

// inOrder are the valid readings, sorted by time.
func inOrder(readings []dream.Reading, now time.Time) series {
	var sane series
	for _, r := range readings {
		if ValidateReading(r) == nil {
			sane = append(sane, dated(r, now))
		}
	}
	slices.SortStableFunc(sane, func(a, b dream.Reading) int { return a.At.Compare(b.At) })
	return sane
}

// groups are the readings of one moment, each metric at most once per group, so that they can be judged together.
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

// insert adds a reading after those of the same time.
func insert(readings []dream.Reading, r dream.Reading) []dream.Reading {
	i, _ := slices.BinarySearchFunc(readings, r, func(a, b dream.Reading) int { return cmp.Or(a.At.Compare(b.At), -1) })
	return slices.Insert(readings, i, r)
}

// Limits of a feed: its workflow carries the readings in payloads, which Temporal limits to 2 MiB.
const (
	MostReadings = 64 // in one document or push
	LongestWord  = 64 // bytes of a metric's name or a state
)

// ValidateReading returns what is wrong with a reading.
func ValidateReading(r dream.Reading) error {
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
