package screen

import (
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// figuresOf lists the possible texts of the second line, the longest first.
func figuresOf(s segment, t dream.Tally, begun bool) []string {
	if !begun {
		return []string{""}
	}
	if t.State == skipped {
		var texts []string
		for _, why := range skippedFor(t.Reason) {
			texts = append(texts, "skipped: "+why, "skip: "+why)
		}
		return append(texts, "skipped")
	}
	calls, cache, end := count(t.Calls, "call"), "", ""
	if share, any := cached(t); any {
		cache = fmt.Sprintf(" · %d%%", share)
	}
	switch t.State {
	case exhausted:
		end = " · cap reached"
	case stopped, failed:
		end = " · " + t.State
	}
	kept := count(t.Kept, s.keeps)
	if s.phase == dream.Onset {
		dali := fmt.Sprintf("%d Dali", t.Cycles)
		full := dali + " · " + kept
		return []string{
			full + " · " + calls + word(cache) + end, full + " · " + calls + end, full + end, full,
			dali + " " + kept, fmt.Sprintf("%dD %s", t.Cycles, kept),
		}
	}
	return []string{
		calls + word(cache) + " · " + kept + end, calls + word(cache) + end, calls + cache + end,
		calls + cache, calls,
	}
}

// skippedFor lists the texts for why a phase was skipped, the longest first.
func skippedFor(reason string) []string {
	if reason == "phase" { // the behavioural one
		return []string{"the agent's vitality is too low for an onset", "vitality too low", "vitality"}
	}
	return []string{Clean(reason)}
}

// word adds the label of a percentage.
func word(cache string) string {
	if cache == "" {
		return ""
	}
	return cache + " cache"
}

// cached is the percentage of prompt tokens that came from the provider's cache.
func cached(t dream.Tally) (int, bool) {
	if t.In <= 0 || t.Cached <= 0 {
		return 0, false
	}
	return int(100 * min(t.Cached, t.In) / t.In), true
}

// spendOf lists the ways to write spend and cap in the third line, the longest first.
func spendOf(t dream.Tally, begun bool) []string {
	switch {
	case !begun || t.State == skipped && t.Spent == 0:
		return []string{""}
	case t.Spent == 0 && (t.Cap == 0 || t.Calls > 0 && t.State != running):
		return []string{"free"}
	case t.Cap == budget.Unlimited || t.Cap == 0:
		return []string{money(t.Spent)}
	}
	spent, limit := money(t.Spent), money(t.Cap)
	tight := strings.ReplaceAll(spent+"/"+limit, "$0.", "$.")
	return []string{spent + " / " + limit + " cap", spent + " / " + limit, spent + "/" + limit, tight, spent}
}

func firstFitting(texts []string, columns int) string {
	for _, text := range texts {
		if width(text) <= columns {
			return text
		}
	}
	return cut(texts[len(texts)-1], columns)
}
