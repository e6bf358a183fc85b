package view

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/dreamrun"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/urgency"
	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/triggers"
	"github.com/seed-56a03226/oneiros/workflows"
)

// outlook is what the next dream of an agent depends on.
type outlook struct {
	now            time.Time
	agent          dream.Agent
	settings       workflows.Settings
	rhythm         circadian.Rhythm
	past           circadian.LastTimes
	windows, quiet circadian.Hours
	triggering     workflows.Triggering
	answered       bool // its workflow answered, so that triggering is complete
	fresh          int
	urgency        *circadian.Urgency
}

// idles reports whether idleness makes the agent dream.
func (o outlook) idles() bool {
	return slices.ContainsFunc(o.agent.Triggered(), func(t dream.Trigger) bool { return t.Kind == dream.OnIdle })
}

// urgencyShortens reports whether the agent's urgency shortens the idle time.
func (o outlook) urgencyShortens() bool {
	return o.settings.UrgencyRule != nil && o.urgency != nil && o.settings.UrgencyRule.Early(*o.urgency)
}

// quietly is the idle time that a requested dream waits for.
func (o outlook) quietly() time.Duration {
	if e := o.settings.UrgencyRule; e != nil && e.Idle > 0 {
		return min(e.Idle, o.settings.IdleTimeout)
	}
	return o.settings.IdleTimeout
}

// called is when the requested dream may begin; zero for never.
func (o outlook) called(at time.Time, kind dream.TriggerKind) time.Time {
	c := circadian.TriggerCall{At: at, Now: kind == dream.OnRequest, Quiet: o.quietly(), Jitter: o.rhythm.Jitter}
	if kind == triggers.OnUrgency {
		c.Jitter = 0
	}
	due := o.rhythm.CallDue(c, o.past)
	if c.Now {
		return due
	}
	return o.rhythm.Opening(due, cli.Location(o.agent.Zone), o.windows, o.quiet)
}

// lines are the states of the triggers, with that of a person's request.
func (o outlook) lines() []triggerLine {
	var lines []triggerLine
	for _, t := range append(slices.Clone(o.agent.Triggered()),
		dream.Trigger{Name: string(dream.OnRequest), Kind: dream.OnRequest}) {
		line := triggerLine{Trigger: t}
		if p := o.waiting(t.Name); p != nil {
			due := o.called(p.At, p.Kind).UTC()
			line.Due, line.Fires = &due, true
			line.Now = fmt.Sprintf("it called at %s, and waits", cli.Clock(p.At, o.now, o.agent.Zone))
			if p.Reason != "" {
				line.Now += ": " + p.Reason
			}
		} else {
			o.stands(&line)
		}
		lines = append(lines, line)
	}
	return lines
}

// waiting is the trigger's request that the next dream will answer; nil when there is none.
func (o outlook) waiting(trigger string) *triggers.Fire {
	if p := o.triggering.Pending; p != nil && p.Trigger == trigger {
		return p
	}
	if at := slices.IndexFunc(o.triggering.AlsoPending,
		func(f triggers.Fire) bool { return f.Trigger == trigger }); at >= 0 {
		return &o.triggering.AlsoPending[at]
	}
	return nil
}

func (o outlook) stands(line *triggerLine) {
	switch line.Kind {
	case dream.OnIdle:
		due := o.rhythm.Due(
			o.now,
			circadian.LastTimes{Active: o.past.Active, Dream: o.past.Dream, Try: o.past.Try},
		).At.UTC()
		if o.urgencyShortens() {
			due = o.rhythm.CheckAt(o.settings.UrgencyRule.Idle, o.past).UTC()
		}
		line.Due, line.Fires = &due, !due.After(o.now)
		switch since := cli.Clock(o.past.Active, o.now, o.agent.Zone); {
		case o.past.Active.IsZero():
			line.Now = "it was never used"
		case o.past.Active.Add(o.settings.IdleTimeout).After(o.now):
			line.Now = fmt.Sprintf("needs %s of quiet from %s on", cli.Span(o.settings.IdleTimeout), since)
		default:
			line.Now = fmt.Sprintf("quiet for long enough, since %s", since)
		}
		if o.urgencyShortens() {
			line.Now += fmt.Sprintf("; urgent, so that %s are enough", cli.Span(o.settings.UrgencyRule.Idle))
		}
	case dream.OnSchedule:
		appointment := dreamrun.Appointments([]dream.Trigger{line.Trigger}, o.agent.Zone, o.now)[0]
		for _, made := range o.triggering.Appointments {
			if made.Trigger == line.Name && made.At.Before(o.now) && !made.At.IsZero() &&
				o.settings.Zone == o.agent.Zone {
				appointment = made
				line.Fires = true
			}
		}
		switch {
		case appointment.Fault != "":
			line.Now = appointment.Fault
		case line.Fires:
			line.Due, line.Now = &appointment.At, "it was missed, and calls once when the agent sleeps"
		default:
			line.Due, line.Now = &appointment.At, "its time has not come"
		}
	case dream.OnEpisodes:
		line.Fires = o.fresh >= line.Episodes
		line.Now = fmt.Sprintf("%s since the last dream, of %d", cli.Count(o.fresh, "new episode"),
			line.Episodes)
	case dream.OnEvent:
		line.Now = "nothing of the kind waits since the last dream"
	case dream.OnRequest:
		line.Now = "no request waits"
	}
}

// first is when the next dream begins by itself, and by which trigger; empty for idleness or an interrupted dream.
func (o outlook) first(lines []triggerLine, due circadian.NextDream, auto bool) (time.Time, string) {
	at, by := due.At, ""
	if !due.Resume && (!auto || !o.idles()) {
		at = time.Time{}
	}
	take := func(when time.Time, name string) {
		if !due.Resume && !when.IsZero() && (at.IsZero() || when.Before(at)) {
			at, by = when, name
		}
	}
	if p := o.triggering.Pending; p != nil && (auto || p.Kind == dream.OnRequest) &&
		!(p.Kind == triggers.OnUrgency && o.past.Active.After(p.At)) {
		take(o.called(p.At, p.Kind), p.Trigger)
	}
	if !auto {
		return at, by
	}
	for _, line := range lines {
		if line.Kind == dream.OnSchedule && line.Due != nil && o.waiting(line.Name) == nil {
			take(o.called(*line.Due, line.Kind), line.Name)
		}
	}
	if o.urgencyShortens() && o.idles() {
		look := o.rhythm.CheckAt(o.settings.UrgencyRule.Idle, o.past)
		take(o.rhythm.Opening(look, cli.Location(o.agent.Zone), o.windows, o.quiet), string(triggers.OnUrgency))
	}
	return at, by
}

// delays lists what delays the next dream now, beside the agent's obstacles: the gap and the hours.
func (o outlook) delays() []string {
	var held []string
	last := o.past.Dream
	if o.past.Try.After(last) {
		last = o.past.Try
	}
	if end := last.Add(o.settings.MinGap); !last.IsZero() && end.After(o.now) {
		held = append(held,
			fmt.Sprintf("%s must pass since the last one (agent.min_gap), until %s", cli.Span(o.settings.MinGap),
				cli.Clock(end, o.now, o.agent.Zone)))
	}
	if open, next := circadian.Open(o.now, cli.Location(o.agent.Zone), o.windows, o.quiet); !open {
		held = append(held, "its hours are closed until "+cli.Clock(next, o.now, o.agent.Zone))
	}
	return held
}

// needs computes the urgency without any paid call.
func needs(ctx context.Context, app *cli.App, a dream.Agent) (circadian.Urgency, int, error) {
	n := urgency.Reader{Memory: app.Store, Reason: "placing their claims costs money, which nobody spends on a look"}
	if spec, err := EmbedderOf(ctx, app, a); err == nil && spec.Price != nil && *spec.Price == (budget.Price{}) {
		n.Place = app.Embed.For(a, "")
	}
	lived, err := n.Input(ctx, a.ID, app.Now())
	return circadian.UrgencyOf(lived), lived.Episodes, err
}

// UrgencyText describes an urgency by its terms.
func UrgencyText(n nextDream) string {
	u := n.Urgency
	if u == nil || n.Threshold == 0 {
		return ""
	}
	parts := make([]string, len(u.Terms))
	for i, t := range u.Terms {
		parts[i] = fmt.Sprintf("%s %s x %s", t.Name, cli.Score(t.Value), cli.Score(t.Weight))
	}
	text := fmt.Sprintf("%s of the %s that lets it dream early: %s", cli.Score(u.Value), cli.Score(n.Threshold),
		strings.Join(parts, ", "))
	if u.Input.Unplaced != "" {
		text += "; which residuals are novel is not known: " + u.Input.Unplaced
	}
	return text
}

// TriggersText describes the agent's triggers, one a line.
func TriggersText(n nextDream, a dream.Agent, now time.Time) string {
	if a.Triggers == nil {
		return ""
	}
	var parts []string
	for _, line := range n.Triggers {
		if line.Kind == dream.OnRequest && !line.Fires {
			continue
		}
		text := line.Name + " (" + Calls(line.Trigger)
		if line.Due != nil && line.Due.After(now) {
			text += ", next " + cli.Clock(*line.Due, now, a.Zone)
		}
		parts = append(parts, text+"): "+line.Now)
	}
	if len(parts) == 0 {
		return "none: it dreams only on request"
	}
	return strings.Join(parts, "\n")
}
