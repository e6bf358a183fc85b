package console

import (
	"fmt"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/internal/alarm"
	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

// left says how much each cap still allows.
func (l agentView) left() string {
	var parts []string
	for _, c := range l.Left {
		text := fmt.Sprintf("%s of the %s", c.Left, c.Of)
		if c.Limit == budget.Unlimited {
			text = "no end of the " + c.Of
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

func (l agentView) vitality(a dream.Agent) string {
	text := fmt.Sprintf("%s, %s: %s", score(l.Vitality), l.Behaviour, onsetText(l.Behaviour, l.knobs, a.Tier))
	if a.Vitality != nil {
		text += " (set from outside)"
	}
	return text
}

func (l agentView) state() string {
	text := l.State
	if last := l.Status.Last; last != nil && text == "awake" {
		text += fmt.Sprintf(", epoch %d, woken by %s", last.Epoch, called(last.Client, last.Cause))
	}
	if l.Source == "store" && l.Why != "" {
		text += " by the store; " + l.Why
	} else if l.Why != "" {
		text += "; " + l.Why
	}
	return text
}

func (l agentView) lock(now time.Time, zone string) string {
	if !l.Status.Lock.After(now) {
		return ""
	}
	return "no dream begins before " + clock(l.Status.Lock, now, zone)
}

func (l agentView) interrupted(now time.Time, zone string) string {
	n := l.Interrupted
	if n == nil {
		return ""
	}
	return fmt.Sprintf("%s (%s); resumable until %s: oneiros dreams resume %s", n.ID, n.Reason,
		clock(n.Until, now, zone), n.ID)
}

func (l agentView) next(now time.Time, zone string) string {
	text := "none by itself"
	if l.Next.At != nil {
		what := "not before "
		if l.Next.Resume {
			what = "the interrupted one goes on, not before "
		}
		text = what + clock(*l.Next.At, now, zone)
		if l.Next.By != "" {
			text += " by " + l.Next.By
		}
	}
	if len(l.Next.Against) > 0 {
		text += "; " + strings.Join(l.Next.Against, "; ")
	}
	return text
}

func (l agentView) alarms() string {
	if l.Alarms.Onsets == 0 {
		return ""
	}
	f := l.Alarms
	return fmt.Sprintf("%d of %s ended by one, %.0f %%: %s", f.Aborted, plural(f.Onsets, "onset", "onsets"),
		100*f.Share, nervous(f))
}

// fewOnsets is how many onsets are too few to judge the rules: with fewer, a single alarm exceeds the limit on their
// frequency.
const fewOnsets = 5

// nervous says what a frequency of alarms means.
func nervous(f alarm.Frequency) string {
	switch {
	case f.Verdict == alarm.Healthy:
		return "healthy"
	case f.Onsets < fewOnsets:
		return "too few to tell"
	case f.Verdict == alarm.TooMany:
		return fmt.Sprintf("the rules are too nervous, above %.0f %%", 100*alarm.AlarmAbove)
	}
	return fmt.Sprintf("raised, above %.0f %%", 100*alarm.HealthyBelow)
}

// lastWakes shows the newest wakes out of a dream, each with its four phases.
func (app *App) lastWakes(l agentView, a dream.Agent) {
	if len(l.Wakes) == 0 {
		return
	}
	t := &table{columns: []column{
		{title: "WOKEN"},
		{title: "OUT OF", drop: 3},
		{title: "BY", drop: 2},
		{title: "IN"},
		{title: "SLEEP", drop: 1},
		{title: "RECEIPT", right: true},
		{title: "STOP", right: true},
		{title: "PRESERVE", right: true},
		{title: "SWITCH", right: true},
		{title: "TOGETHER", right: true},
	}}
	for _, w := range l.Wakes {
		sleep := screen.SleepName(w.Light)
		if w.Forced {
			sleep += ", forced"
		}
		t.add(when(w.At, a.Zone), short(w.Dream, a), w.Cause, string(w.Phase), sleep, screen.Millis(w.Receipt),
			screen.Millis(w.Stop),
			screen.Millis(w.Preserve), screen.Millis(w.Switch), screen.Millis(w.total()))
	}
	app.say("")
	t.draw(app.Out, app.Width, app.bold)
}
