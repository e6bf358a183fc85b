package alarm

import (
	"github.com/seed-56a03226/oneiros/activities/port/event"
)

// Limits of the share of onsets that alarms end: healthy below 5 %, alarm above 15 %.
const (
	HealthyBelow = .05
	AlarmAbove   = .15
)

// Verdict is the assessment of a frequency.
type Verdict string

// The verdicts. Between the two limits a frequency is raised.
const (
	Unknown Verdict = "unknown" // no onset has ended yet
	Healthy Verdict = "healthy"
	Raised  Verdict = "raised"
	TooMany Verdict = "alarm"
)

// Frequency is how often alarms ended onsets.
type Frequency struct {
	Dreams  int     `json:"dreams"` // dreams with an ended onset
	Onsets  int     `json:"onsets"`
	Aborted int     `json:"aborted"`
	Share   float64 `json:"share"` // aborted per onset; 0 without onsets
	Verdict Verdict `json:"verdict"`
}

// CountAlarmAborts counts the onsets of an agent's newest dreams, at most last of them (0: all), from its events in
// order. An onset ends with either OnsetCompleted or AlarmAbort; a dream with several stretches may have several.
func CountAlarmAborts(events []event.Event, last int) Frequency {
	completed, aborted := event.OnsetCompleted{}.EventType(), event.AlarmAbort{}.EventType()
	var f Frequency
	seen := map[string]bool{}
	for i := len(events) - 1; i >= 0; i-- {
		e := events[i]
		if e.Type != completed && e.Type != aborted {
			continue
		}
		if !seen[e.Dream] {
			if last > 0 && len(seen) == last {
				continue // an older dream; the earlier stretches of counted dreams still count
			}
			seen[e.Dream] = true
		}
		f.Onsets++
		if e.Type == aborted {
			f.Aborted++
		}
	}
	f.Dreams, f.Verdict = len(seen), Unknown
	if f.Onsets == 0 {
		return f
	}
	f.Share = float64(f.Aborted) / float64(f.Onsets)
	switch {
	case f.Share < HealthyBelow:
		f.Verdict = Healthy
	case f.Share > AlarmAbove:
		f.Verdict = TooMany
	default:
		f.Verdict = Raised
	}
	return f
}
