package alarm

import (
	"cmp"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// WithMetrics are readings with missing metrics filled in: if all rules of a feed name the same metric, a value
// without one belongs to it. Rules about the silence of the whole feed are ignored.
func WithMetrics(readings []dream.Reading, rules []dream.Rule) []dream.Reading {
	metric := ""
	for _, r := range rules {
		if r.Kind == dream.Stale && r.Metric == "" {
			continue
		}
		if r.Metric == "" || metric != "" && metric != r.Metric {
			return readings
		}
		metric = r.Metric
	}
	named := slices.Clone(readings)
	for i, r := range named {
		named[i].Metric = cmp.Or(r.Metric, metric)
	}
	return named
}

// Uses says whether some rule uses a reading: it judges the reading's metric and its kind of value, number or state.
// A rule about silence accepts any value, so it counts only for metrics that no other rule names: otherwise it would
// hide typos.
func Uses(rules []dream.Rule, r dream.Reading) bool {
	values, looks := false, false
	for _, rule := range rules {
		if rule.Kind == dream.Stale {
			continue
		}
		if judges(rule, r) {
			return true
		}
		values, looks = true, looks || rule.Metric == "" || rule.Metric == r.Metric
	}
	return slices.ContainsFunc(rules, func(rule dream.Rule) bool {
		return rule.Kind == dream.Stale &&
			(rule.Metric == "" && !values || rule.Metric != "" && rule.Metric == r.Metric && !looks)
	})
}

// judges says whether a rule applies to a reading's metric and kind of value.
func judges(rule dream.Rule, r dream.Reading) bool {
	switch {
	case rule.Metric != "" && rule.Metric != r.Metric:
		return false
	case rule.Kind == dream.Stale:
		return true
	case rule.Kind == dream.StateIs:
		return r.State != ""
	}
	return r.Number != nil
}

// Unused are the readings that no rule uses.
func Unused(rules []dream.Rule, readings []dream.Reading) []dream.Reading {
	var unused []dream.Reading
	for _, r := range WithMetrics(readings, rules) {
		if !Uses(rules, r) {
			unused = append(unused, r)
		}
	}
	return unused
}

// UnusedReadings counts the readings that no rule uses.
type UnusedReadings struct {
	Readings int            `json:"readings"`
	Metrics  []UnusedMetric `json:"metrics,omitempty"` // most recent first; limited
}

// UnusedMetric is a metric that no rule uses, or one with the wrong kind of value.
type UnusedMetric struct {
	dream.Reading     // the newest
	Times         int `json:"times"`
}

// mostStray is how many unused metrics are named, enough to notice a feed that invents names.
const mostStray = 8

// Add counts one more reading.
func (u UnusedReadings) Add(r dream.Reading) UnusedReadings {
	next := UnusedReadings{Readings: u.Readings + 1, Metrics: []UnusedMetric{{Reading: r, Times: 1}}}
	for _, s := range u.Metrics {
		if s.Metric == r.Metric {
			next.Metrics[0].Times += s.Times
		} else if len(next.Metrics) < mostStray {
			next.Metrics = append(next.Metrics, s)
		}
	}
	return next
}

// Under removes the metrics that new rules use.
func (u UnusedReadings) Under(rules []dream.Rule) UnusedReadings {
	next := UnusedReadings{Readings: u.Readings}
	for _, s := range u.Metrics {
		if len(Unused(rules, []dream.Reading{s.Reading})) > 0 {
			next.Metrics = append(next.Metrics, s)
		} else {
			next.Readings -= s.Times
		}
	}
	return next
}

// DescribeUnused is the message that rules use none of some readings, and what they would use: "no rule takes lvel; the
// rules take numbers of level". Empty when there are no such readings.
func DescribeUnused(rules []dream.Rule, unused []dream.Reading) string {
	if len(unused) == 0 {
		return ""
	}
	var names []string
	for _, r := range unused {
		name := "words of " + r.Metric
		switch {
		case r.Metric == "":
			name = "a value without a name"
		case r.State == "" || !looksAt(rules, r.Metric):
			name = r.Metric
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if more := len(names) - mostStray; more > 0 {
		names = append(names[:mostStray], "and others")
	}
	text := "no rule takes " + strings.Join(names, ", ")
	if len(rules) == 0 {
		return text + ": the feed has no rules"
	}
	return text + "; the rules take " + strings.Join(inputsOf(rules), ", ")
}

// inputsOf are what rules use, in their order.
func inputsOf(rules []dream.Rule) []string {
	var wants []string
	for _, rule := range rules {
		want := "numbers"
		switch rule.Kind {
		case dream.StateIs:
			want = "words"
		case dream.Stale:
			want = "anything"
		}
		if rule.Metric != "" {
			want += " of " + rule.Metric
		}
		if !slices.Contains(wants, want) {
			wants = append(wants, want)
		}
	}
	return wants
}
