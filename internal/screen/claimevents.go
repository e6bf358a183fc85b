package screen

import (
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/event"
)

// reportClaim describes what becomes of claims, and what the newest dreams yield.
func reportClaim(e event.Event, st Style) (about string, colour ink, text string) {
	switch e.Type {
	case "ReasoningReviewed":
		return read(e, func(p event.ReasoningReviewed) (string, ink, string) {
			return "reasoning", blue, fmt.Sprintf("%s: %s, by %s", own(e, p.Prediction), p.Quadrant, p.By)
		})
	case "ClaimTried":
		return read(e, func(p event.ClaimTried) (string, ink, string) {
			if p.Right {
				return "claim", teal, fmt.Sprintf("claim %s held, %d of %d times", p.Claim, p.Hits, p.Hits+p.Misses)
			}
			return "claim", teal, fmt.Sprintf("claim %s did not hold; %d of %d times it did", p.Claim, p.Hits, p.Hits+p.Misses)
		})
	case "ClaimPassed":
		return read(e, func(p event.ClaimPassed) (string, ink, string) {
			return "claim", gold, fmt.Sprintf("claim %s beat chance and enters the playbook: %d of %d times, by chance at most %s",
				p.Claim, p.Hits, p.Hits+p.Misses, score(p.Chance))
		})
	case "ClaimEnded":
		return read(e, func(p event.ClaimEnded) (string, ink, string) {
			return "claim", teal, fmt.Sprintf("claim %s is %s: %s", p.Claim, p.Status, p.Reason)
		})
	case "DreamQuality":
		return read(e, func(p event.DreamQuality) (string, ink, string) {
			var alarms []string
			for _, m := range p.Metrics {
				if m.State == "alarm" {
					alarms = append(alarms, fmt.Sprintf("%s %.3g", strings.ReplaceAll(m.Name, "_", " "), m.Value))
				}
			}
			if len(alarms) == 0 {
				return "quality", blue, fmt.Sprintf("no metric of the newest %d dreams is an alarm", p.Dreams)
			}
			return "quality", red, fmt.Sprintf("of the newest %d dreams: %s", p.Dreams, strings.Join(alarms, ", "))
		})
	}
	return reportWaking(e, st)
}

// causeOf is what changed a hypothesis, and why it ended.
func causeOf(e event.Event, p event.HypothesisChanged) string {
	cause := ""
	switch {
	case p.Prediction != "":
		cause = ", because of " + own(e, p.Prediction)
	case len(p.Claims) > 0:
		cause = ", because of " + strings.Join(p.Claims, " and ")
	}
	if p.Reason != "" {
		cause += ": " + p.Reason
	}
	return cause
}
