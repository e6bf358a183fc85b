package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/alarm"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

// LeftText says how much each cap still allows.
func (l AgentView) LeftText() string {
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

// VitalityText describes the agent's vitality.
func (l AgentView) VitalityText(a dream.Agent) string {
	text := fmt.Sprintf("%s, %s: %s", cli.Score(l.Vitality), l.Behaviour, OnsetText(l.Behaviour, l.knobs, a.Tier))
	if a.Vitality != nil {
		text += " (set from outside)"
	}
	return text
}

// StateText describes what the agent does.
func (l AgentView) StateText() string {
	text := l.State
	if last := l.Status.Last; last != nil && text == "awake" {
		text += fmt.Sprintf(", epoch %d, woken by %s", last.Epoch, Called(last.Client, last.Cause))
	}
	if l.Source == "store" && l.Why != "" {
		text += " by the store; " + l.Why
	} else if l.Why != "" {
		text += "; " + l.Why
	}
	return text
}

// Lock describes until when no dream begins.
func (l AgentView) Lock(now time.Time, zone string) string {
	if !l.Status.Lock.After(now) {
		return ""
	}
	return "no dream begins before " + cli.Clock(l.Status.Lock, now, zone)
}

// InterruptedText describes the dream that waits to be resumed.
func (l AgentView) InterruptedText(now time.Time, zone string) string {
	n := l.Interrupted
	if n == nil {
		return ""
	}
	return fmt.Sprintf("%s (%s); resumable until %s: oneiros dreams resume %s", n.ID, n.Reason,
		cli.Clock(n.Until, now, zone), n.ID)
}

// NextText describes when the next dream begins.
func (l AgentView) NextText(now time.Time, zone string) string {
	text := "none by itself"
	if l.Next.At != nil {
		what := "not before "
		if l.Next.Resume {
			what = "the interrupted one goes on, not before "
		}
		text = what + cli.Clock(*l.Next.At, now, zone)
		if l.Next.By != "" {
			text += " by " + l.Next.By
		}
	}
	if len(l.Next.Against) > 0 {
		text += "; " + strings.Join(l.Next.Against, "; ")
	}
	return text
}

// AlarmsText describes the alarms that wake the agent often.
func (l AgentView) AlarmsText() string {
	if l.Alarms.Onsets == 0 {
		return ""
	}
	f := l.Alarms
	return fmt.Sprintf("%d of %s ended by one, %.0f %%: %s", f.Aborted, cli.Count(f.Onsets, "onset"),
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
		return "too few to say"
	case f.Verdict == alarm.TooMany:
		return fmt.Sprintf("the rules are too nervous, above %.0f %%", 100*alarm.AlarmAbove)
	}
	return fmt.Sprintf("raised, above %.0f %%", 100*alarm.HealthyBelow)
}

// LastWakes shows the newest wakes out of a dream, each with its four phases.
func LastWakes(app *cli.App, l AgentView, a dream.Agent) {
	if len(l.Wakes) == 0 {
		return
	}
	t := cli.NewTable("WOKEN", "DREAM,drop=3", "BY,drop=2", "PHASE", "SLEEP,drop=1", "RECEIPT,right", "STOP,right",
		"PRESERVE,right", "SWITCH,right", "TOTAL,right")
	for _, w := range l.Wakes {
		sleep := screen.SleepName(w.Light)
		if w.Forced {
			sleep += ", forced"
		}
		t.Add(cli.When(w.At, a.Zone), cli.Short(w.Dream, a), w.Cause, string(w.Phase), sleep,
			screen.Millis(w.Receipt), screen.Millis(w.Stop), screen.Millis(w.Preserve), screen.Millis(w.Switch),
			screen.Millis(w.total()))
	}
	app.Say("")
	app.Draw(t)
}
