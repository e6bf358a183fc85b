package screen

import (
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/event"
)

// wakeEvents happen between the stretches of a dream.
var wakeEvents = []shown{
	show(func(e occurrence, p event.AlarmRaised) caption {
		return caption{"alarm", red, fmt.Sprintf("%s/%s fired (%s)", p.Feed, p.Rule, p.Kind)}
	}),
	show(func(e occurrence, p event.AlarmAbort) caption {
		return caption{
			"onset", red,
			fmt.Sprintf("ended by the alarm %s: %s saved, %s", p.Trigger, count(p.Fragments, "fragment"), p.Spent),
		}
	}),
	show(func(e occurrence, p event.AgentAwake) caption {
		text := fmt.Sprintf("by %s, epoch %d", CauseName(p.Cause), p.Epoch)
		if p.Dream != "" {
			text += ", out of " + p.Dream
		}
		return caption{"awake", gold, text}
	}),
	show(func(e occurrence, p event.AgentAsleep) caption {
		return caption{"asleep", faint, "nobody holds the agent awake any more"}
	}),
	show(func(e occurrence, p event.DreamInterrupted) caption {
		return caption{"woken", amber, interruption(p, e.At, e.st)}
	}),
	show(func(e occurrence, p event.DreamResumed) caption {
		return caption{"resumed", green, fmt.Sprintf("stretch %d, from %s, %s left", p.Stretch, phaseName(p.Phase), p.Left)}
	}),
}

// interruption puts the most important first, since a narrow terminal cuts the rest.
func interruption(p event.DreamInterrupted, at time.Time, st Style) string {
	text := fmt.Sprintf("by %s in %s (%s)", CauseName(p.Cause), phaseName(p.Phase), SleepName(p.Light))
	if p.Until.IsZero() {
		text += ", for good"
	} else {
		text += ", resumable to " + st.futureTime(p.Until, at)
	}
	text += fmt.Sprintf("; %s: receipt %s, stop %s, preserve %s, switch %s",
		Millis(p.Receipt+p.Stop+p.Preserve+p.Switch), Millis(p.Receipt), Millis(p.Stop), Millis(p.Preserve),
		Millis(p.Switch))
	if p.Forced {
		text += ", forced"
	}
	if p.Partials > 0 {
		text += fmt.Sprintf("; %s cut, worth %s", count(p.Partials, "thought"), score(p.Significance))
	}
	if p.Delta > 0 {
		text += "; mood moved by " + score(p.Delta)
	}
	return text
}

// CauseName names what woke an agent.
func CauseName(cause string) string {
	switch cause {
	case "":
		return "somebody"
	case "connect", "knock": // the former name stands in records of earlier builds
		return "a client"
	}
	return "an " + cause
}

// SleepName says how deep an interrupted dream was.
func SleepName(light bool) string {
	if light {
		return "light"
	}
	return "deep"
}

// Millis writes a number of milliseconds for people: 0.62 ms, 4.2 ms, 131 ms, 1.2 s.
func Millis(ms float64) string {
	switch {
	case ms <= 0:
		return "0 ms"
	case ms < 1:
		return fmt.Sprintf("%.2f ms", ms)
	case ms < 100:
		return fmt.Sprintf("%.1f ms", ms)
	case ms < 1000:
		return fmt.Sprintf("%.0f ms", ms)
	}
	return fmt.Sprintf("%.1f s", ms/1000)
}

// futureTime formats a future time: the clock alone within a day.
func (st Style) futureTime(at, now time.Time) string {
	if at.Sub(now) < 24*time.Hour {
		return st.clock(at, "15:04")
	}
	return st.clock(at, "2 Jan 15:04")
}
