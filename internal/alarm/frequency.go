package alarm

import (
	"github.com/seed-56a03226/oneiros/internal/event"
)

// S4's range of the alarm abort frequency: healthy below 5 % of the onset cycles, alarm above 15 %.
const (
	HealthyBelow = .05
	AlarmAbove   = .15
)

// Verdict is what a frequency means.
type Verdict string

// The verdicts. Between S4's two limits a frequency is raised.
const (
	Unknown Verdict = "unknown" // no onset has ended
	Healthy Verdict = "healthy"
	Raised  Verdict = "raised"
	TooMany Verdict = "alarm"
)

// Frequency is how often alarms ended onsets.
type Frequency struct {
	Dreams  int     `json:"dreams"` // that had an onset which ended
	Onsets  int     `json:"onsets"`
	Aborted int     `json:"aborted"`
	Share   float64 `json:"share"` // of the onsets; 0 when there were none
	Verdict Verdict `json:"verdict"`
}

// Frequent counts the onsets of the newest dreams of one agent, at most last (0: all), from its events by sequence. An
// onset ends with exactly one of OnsetCompleted and AlarmAbort; a dream of several sittings may have several.
func Frequent(events []event.Event, last int) Frequency {
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
				continue // an older dream; one that is counted already may still have an earlier sitting
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
