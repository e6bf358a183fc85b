package cli

import (
	"time"
)

// Millis converts a duration for --json.
func Millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
