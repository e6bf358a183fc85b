package screen

import (
	"fmt"

	"github.com/seed-56a03226/oneiros/activities/port/event"
)

// reportReview describes what waits for a person, and what was decided.
func reportReview(e event.Event) (string, ink, string) {
	if e.Type == (event.ReviewRequested{}).EventType() {
		return read(e, func(p event.ReviewRequested) (string, ink, string) {
			return "review", amber, fmt.Sprintf("%s: a %s waits to be accepted", own(e, p.Item), p.Kind)
		})
	}
	return read(e, func(p event.ReviewDecided) (string, ink, string) {
		did := "rejected"
		if p.Accepted {
			did = "accepted"
		}
		return "review", amber, fmt.Sprintf("%s %s by %s", count(len(p.Items), "item"), did, p.By)
	})
}

// continuedFrom says which dream another one continues.
func continuedFrom(from, dreamID string) string {
	if dreamID == "" {
		return ""
	}
	return fmt.Sprintf(", anew from %s of %s", from, dreamID)
}
