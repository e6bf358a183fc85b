package alarm

import (
	"cmp"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Limits of Keep: the state of a feed's workflow stays far below Temporal's warning at 512 KiB.
const (
	exactly    = 48   // readings in a window that are all kept
	slicesOf   = 16   // parts of a fuller window; the lowest, highest and newest of each are kept
	mostKept   = 2048 // readings of a feed
	mostMetric = 16   // metrics of a feed: the most recent ones
)

// Keep returns the readings that rules still need, sorted by time: the newest value of every metric that a rule uses,
// and the windows of changes. A window with more than 48 readings is reduced to the extremes of its sixteenths, so
// that every change inside it is still found and only its age is less exact.
func Keep(readings []dream.Reading, rules []dream.Rule, now time.Time) []dream.Reading {
	answer := sorted(readings)
	must, keep := map[place]bool{}, map[place]bool{}
	for _, metric := range watched(readings, rules) {
		if r, ok := last(answer.numbers[metric]); ok {
			must[placed(r)] = true
		}
		if r, ok := last(answer.states[metric]); ok {
			must[placed(r)] = true
		}
		for _, rule := range rules {
			if changes(rule.Kind) && (rule.Metric == "" || rule.Metric == metric) {
				for _, r := range thinned(valuesWithin(answer.numbers[metric], rule.Window, now),
					max(1, rule.Window/slicesOf)) {
					keep[placed(r)] = true
				}
			}
		}
	}
	var kept []dream.Reading
	for _, r := range slices.Backward(readings) {
		p := placed(r)
		if must[p] || keep[p] && len(kept) < mostKept {
			kept = append(kept, r)
		}
		delete(must, p) // a repeated value of the same moment is kept once
	}
	slices.Reverse(kept)
	return kept
}

// place identifies a reading: two readings of a metric at the same moment differ by their value.
type place struct {
	metric string
	at     int64
	number *float64
	state  string
}

func placed(r dream.Reading) place { return place{r.Metric, r.At.UnixNano(), r.Number, r.State} }

// watched are the metrics that a rule uses, most recent first, limited.
func watched(readings []dream.Reading, rules []dream.Rule) []string {
	var found []string
	for _, r := range slices.Backward(readings) {
		if looksAt(rules, r.Metric) && !slices.Contains(found, r.Metric) {
			found = append(found, r.Metric)
			if len(found) == mostMetric {
				break
			}
		}
	}
	return found
}

// SplitReadings separates the readings that some rule uses from the others.
func SplitReadings(readings []dream.Reading, rules []dream.Rule) (used, others []dream.Reading) {
	for _, r := range readings {
		if looksAt(rules, r.Metric) {
			used = append(used, r)
		} else {
			others = append(others, r)
		}
	}
	return used, others
}

func looksAt(rules []dream.Rule, metric string) bool {
	return slices.ContainsFunc(rules, func(r dream.Rule) bool { return r.Metric == "" || r.Metric == metric })
}

// thinned are the lowest, highest and newest value of each part of a window with many readings. The parts are aligned
// to the clock, not to the window, so that repeating it changes nothing.
func thinned(inside []dream.Reading, width time.Duration) []dream.Reading {
	if len(inside) <= exactly {
		return inside
	}
	var kept []dream.Reading
	for len(inside) > 0 {
		slice := inside[0].At.Truncate(width)
		end := slices.IndexFunc(inside, func(r dream.Reading) bool { return !r.At.Truncate(width).Equal(slice) })
		if end < 0 {
			end = len(inside)
		}
		byNumber := func(a, b dream.Reading) int { return cmp.Compare(*a.Number, *b.Number) }
		kept = append(kept, slices.MinFunc(inside[:end], byNumber), slices.MaxFunc(inside[:end], byNumber),
			inside[end-1])
		inside = inside[end:]
	}
	return kept
}

func changes(kind dream.RuleKind) bool {
	return kind == dream.RiseFall || kind == dream.RelativeMove || kind == dream.RelativeDrop
}
