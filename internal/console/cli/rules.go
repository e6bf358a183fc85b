package cli

import (
	"strings"
	"time"
)

// LongestRuleName is what alarm.Validate allows.
const LongestRuleName = 32

// Span formats a duration without trailing zeros: 10m, 1h.
func Span(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
