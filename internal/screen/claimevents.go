package screen

import (
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/event"
)

// claimEvents say what becomes of claims, and what the newest dreams yield.
var claimEvents = []shown{
	show(func(e occurrence, p event.ReasoningReviewed) caption {
		return caption{"reasoning", blue, fmt.Sprintf("%s: %s, by %s", own(e, p.Prediction), p.Quadrant, p.By)}
	}),
	show(func(e occurrence, p event.ClaimTried) caption {
		format := "claim %s did not hold; %d of %d times it did"
		if p.Right {
			format = "claim %s held, %d of %d times"
		}
		return caption{"claim", teal, fmt.Sprintf(format, p.Claim, p.Hits, p.Hits+p.Misses)}
	}),
	show(func(e occurrence, p event.ClaimPassed) caption {
		return caption{"claim", gold, fmt.Sprintf(
			"claim %s beat chance and enters the playbook: %d of %d times, by chance at most %s",
			p.Claim, p.Hits, p.Hits+p.Misses, score(p.Chance))}
	}),
	show(func(e occurrence, p event.ClaimEnded) caption {
		return caption{"claim", teal, fmt.Sprintf("claim %s is %s: %s", p.Claim, p.Status, p.Reason)}
	}),
	show(func(e occurrence, p event.DreamQuality) caption {
		var alarms []string
		for _, m := range p.Metrics {
			if m.State == "alarm" {
				alarms = append(alarms, fmt.Sprintf("%s %.3g", strings.ReplaceAll(m.Name, "_", " "), m.Value))
			}
		}
		if len(alarms) == 0 {
			return caption{"quality", blue, fmt.Sprintf("no metric of the newest %d dreams is an alarm", p.Dreams)}
		}
		return caption{"quality", red, fmt.Sprintf("of the newest %d dreams: %s", p.Dreams, strings.Join(alarms, ", "))}
	}),
}

// causeOf is what changed a hypothesis, and why it ended.
func causeOf(e occurrence, p event.HypothesisChanged) string {
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
