package cli

import (
	"time"
)

// Clock formats a time near now: to the second, with the day when it is another.
func Clock(t, now time.Time, zone string) string {
	l := Location(zone)
	if t.In(l).Format(time.DateOnly) == now.In(l).Format(time.DateOnly) {
		return t.In(l).Format("15:04:05")
	}
	return t.In(l).Format("2006-01-02 15:04:05")
}
