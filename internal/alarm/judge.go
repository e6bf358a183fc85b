package alarm

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Judge returns the rules that are true at now, by Key, and which of them were not true before. The readings are
// sorted by time. A rule without a metric judges each metric separately. A value applies until the next one: a change
// is measured from every value that applied at some time of the window, including the one at its beginning, so that a
// slow or unreachable feed hides no change.
func Judge(rules []dream.Rule, w Watch, now time.Time) (up []string, fired []FiredRule) {
	answer := sorted(w.Readings)
	for _, rule := range rules {
		for _, metric := range answer.of(rule) {
			key := Key(rule, metric)
			firing, is := answer.judge(rule, metric, w, now)
			if !is {
				continue
			}
			up = append(up, key)
			if !w.isUp(key) {
				firing.Rule, firing.Kind, firing.Metric = rule.Name, rule.Kind, metric
				fired = append(fired, firing)
			}
		}
	}
	slices.Sort(up)
	return up, fired
}

func (w Watch) isUp(key string) bool {
	_, is := slices.BinarySearch(w.Up, key)
	return is
}

// Key names a rule for a metric in Watch.Up: "price", or "price/eth" when the rule judges each metric.
func Key(rule dream.Rule, metric string) string {
	if rule.Metric != "" || metric == "" {
		return rule.Name
	}
	return rule.Name + "/" + metric
}

// owns says whether a key belongs to the rule; names of rules have no slash.
func owns(rule dream.Rule, key string) bool {
	name, _, _ := strings.Cut(key, "/")
	return name == rule.Name
}

// byMetric are readings by metric and by time.
type byMetric struct {
	metrics         []string // by name
	numbers, states map[string][]dream.Reading
	newest          map[string]time.Time // time of the newest by metric; of any metric under ""
}

func sorted(readings []dream.Reading) byMetric {
	s := byMetric{
		numbers: map[string][]dream.Reading{}, states: map[string][]dream.Reading{},
		newest: map[string]time.Time{},
	}
	for _, r := range readings {
		if !slices.Contains(s.metrics, r.Metric) {
			s.metrics = append(s.metrics, r.Metric)
		}
		if r.Number != nil {
			s.numbers[r.Metric] = append(s.numbers[r.Metric], r)
		}
		if r.State != "" {
			s.states[r.Metric] = append(s.states[r.Metric], r)
		}
		s.newest[r.Metric] = latest(s.newest[r.Metric], r.At)
		s.newest[""] = latest(s.newest[""], r.At)
	}
	slices.Sort(s.metrics)
	return s
}

// of are the metrics that a rule judges. Silence without a metric is that of the whole feed.
func (s byMetric) of(rule dream.Rule) []string {
	if rule.Metric != "" || rule.Kind == dream.Stale {
		return []string{rule.Metric}
	}
	return s.metrics
}

func (s byMetric) judge(rule dream.Rule, metric string, w Watch, now time.Time) (FiredRule, bool) {
	switch rule.Kind {
	case dream.Stale:
		since := latest(w.Since, s.newest[metric])
		return FiredRule{At: since}, now.Sub(since) >= rule.Window
	case dream.StateIs:
		newest, ok := last(s.states[metric])
		return FiredRule{At: newest.At, State: newest.State}, ok && strings.EqualFold(newest.State, rule.State)
	}
	newest, ok := last(s.numbers[metric])
	if !ok {
		return FiredRule{}, false
	}
	n := *newest.Number
	answer := FiredRule{At: newest.At, Number: newest.Number}
	margin := 0.0
	if w.isUp(Key(rule, metric)) {
		margin = rule.Margin
	}
	switch rule.Kind {
	case dream.Above:
		return answer, n > rule.Number-margin
	case dream.Below:
		return answer, n < rule.Number+margin
	}
	for _, r := range valuesWithin(s.numbers[metric], rule.Window, now) { // the largest change is reported
		if by := moved(rule.Kind, *r.Number, n); by >= rule.Number &&
			(answer.From == nil || by > moved(rule.Kind, *answer.From, n)) {
			answer.From = r.Number
		}
	}
	return answer, answer.From != nil
}

// valuesWithin are the values of a metric that applied at some time of the window before now.
func valuesWithin(numbers []dream.Reading, window time.Duration, now time.Time) []dream.Reading {
	i, _ := slices.BinarySearchFunc(numbers, window, func(r dream.Reading, window time.Duration) int {
		if now.Sub(r.At) >= window {
			return -1
		}
		return 1
	})
	return numbers[max(0, i-1):] // including the value at the beginning of the window
}

// moved is the size of a change as the kind of rule measures it. A change from zero has no share and counts as 0.
func moved(kind dream.RuleKind, from, to float64) float64 {
	switch {
	case kind == dream.RiseFall:
		return math.Abs(to - from)
	case from == 0:
		return 0
	case kind == dream.RelativeMove:
		return math.Abs(to-from) / math.Abs(from)
	case kind == dream.RelativeDrop:
		return (from - to) / math.Abs(from)
	}
	return 0
}

// Due is the next moment at which a rule could become true without a new reading; false when there is none.
func (w Watch) Due(rules []dream.Rule) (at time.Time, ok bool) {
	answer := sorted(w.Readings)
	for _, rule := range rules {
		if rule.Kind != dream.Stale || w.isUp(Key(rule, rule.Metric)) {
			continue
		}
		if due := latest(w.Since, answer.newest[rule.Metric]).Add(rule.Window); !ok || due.Before(at) {
			at, ok = due, true
		}
	}
	return at, ok
}

func last(readings []dream.Reading) (dream.Reading, bool) {
	if len(readings) == 0 {
		return dream.Reading{}, false
	}
	return readings[len(readings)-1], true
}
