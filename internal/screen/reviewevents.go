package screen

import (
	"fmt"

	"github.com/seed-56a03226/oneiros/activities/port/event"
)

// reviewEvents say what waits for a person, and what was decided.
var reviewEvents = []shown{
	show(func(e occurrence, p event.ReviewRequested) caption {
		return caption{"review", amber, fmt.Sprintf("%s: a %s waits to be accepted", own(e, p.Item), p.Kind)}
	}),
	show(func(e occurrence, p event.ReviewDecided) caption {
		did := "rejected"
		if p.Accepted {
			did = "accepted"
		}
		return caption{"review", amber, fmt.Sprintf("%s %s by %s", count(len(p.Items), "item"), did, p.By)}
	}),
}

// continuedFrom says which dream another one continues.
func continuedFrom(from, dreamID string) string {
	if dreamID == "" {
		return ""
	}
	return fmt.Sprintf(", anew from %s of %s", from, dreamID)
}
