package cli

import (
	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Page is how many events are read at once.
const Page = 500

// ReasonOf returns why a dream ended, after a colon; empty when no reason is kept.
func ReasonOf(n *dream.Record) string {
	if n.Reason == "" {
		return ""
	}
	return ": " + n.Reason
}
