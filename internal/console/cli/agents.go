package cli

import (
	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// YesNo writes a bool as yes or no.
func YesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// OutcomeOf describes how a dream ended, or that it goes on.
func OutcomeOf(n *dream.Record) string {
	if n.Outcome == dream.Dreaming {
		return "dreaming"
	}
	return string(n.Outcome)
}
