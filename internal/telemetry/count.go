package telemetry

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
)

// dreamTrace holds what is known of a dream until it ends.
type dreamTrace struct {
	spent map[dream.Phase]budget.Micros // as each phase reported last
	calls map[dream.Phase]int
	stage dream.Stage
	going bool      // a stretch is running
	first bool      // the dream was observed from its beginning
	until time.Time // for an interrupted dream: when it is given up
}

// labels puts the agent's handle before the values, if metrics are per agent.
func (m *Meter) labels(e event.Event, values ...string) []string {
	if !m.byAgent {
		return values
	}
	handle, found := m.handles[e.Agent]
	if !found {
		handle = other
	}
	return append([]string{handle}, values...)
}

// add counts with the counter of a name.
func (m *Meter) add(name string, n float64, e event.Event, values ...string) {
	m.counters[name].WithLabelValues(m.labels(e, values...)...).Add(n)
}

// read decodes the data of an event and counts it; unreadable data are counted separately.
func read[P event.Payload](m *Meter, e event.Event, count func(P)) {
	var p P
	if err := json.Unmarshal(e.Data, &p); err != nil {
		m.add("events_unread", 1, e)
		return
	}
	count(p)
}

// count counts one event. An event type without a case is counted by its type only.
func (m *Meter) count(e event.Event) {
	m.add("events", 1, e, word("type", e.Type))
	switch e.Type {
	case "DreamStarted":
		read(m, e, func(p event.DreamStarted) {
			m.add("dreams_started", 1, e, word("tier", p.Tier))
			m.dreamTrace(e).first = true
			m.trackStretch(e, true)
		})
	case "DreamResumed":
		m.trackStretch(e, true)
	case "DreamInterrupted":
		read(m, e, func(p event.DreamInterrupted) { m.countWake(e, p) })
	case "DreamEnded":
		read(m, e, func(p event.DreamEnded) { m.countEnd(e, p) })
	case "Spent":
		read(m, e, func(p event.Spent) { m.countTally(e, p.Tally) })
	case "EmptyDreamsRepeated":
		m.add("empty_alarms", 1, e)
	case "AgentAwake":
		read(m, e, func(p event.AgentAwake) { m.add("wakes", 1, e, word("cause", p.Cause)) })
	case "AlarmRaised":
		read(m, e, func(p event.AlarmRaised) { m.add("alarms", 1, e, word("kind", p.Kind)) })
	default:
		m.countFound(e)
	}
}

// countFound counts what a dream found, and what was decided about it.
func (m *Meter) countFound(e event.Event) {
	switch e.Type {
	case "OnsetStarted":
		read(m, e, func(p event.OnsetStarted) { m.trackStage(e, p.Depth) })
	case "DepthChanged":
		read(m, e, func(p event.DepthChanged) {
			m.add("depth_changes", 1, e, word("to", p.To))
			m.trackStage(e, p.To)
		})
	case "OnsetCompleted":
		m.trackStage(e, "")
	case "AlarmAbort":
		m.add("onset_alarm_aborts", 1, e)
		m.trackStage(e, "")
	case "FragmentCaptured":
		m.add("fragments", 1, e, "captured")
	case "FragmentDiscarded":
		m.add("fragments", 1, e, "discarded")
	case "FragmentFlagged":
		read(m, e, func(p event.FragmentFlagged) {
			by, _, _ := strings.Cut(p.By, "/") // without the rule's name, which a user has written
			if by != "policy" && by != "hook" {
				by = other
			}
			m.add("fragments_flagged", 1, e, by, strconv.FormatBool(p.Bars))
		})
	case "OutputBarred":
		read(m, e, func(p event.OutputBarred) { m.add("outputs_barred", 1, e, word("output", p.Kind)) })
	case "HookTimedOut":
		read(m, e, func(p event.HookTimedOut) { m.add("hooks_silent", 1, e, word("border", p.Border)) })
	case "SomaticMarkerFired":
		m.add("somatic_markers_fired", 1, e)
	case "ObserverDrifted":
		m.add("observer_drifts", 1, e)
	case "ScenarioImagined":
		read(m, e, func(p event.ScenarioImagined) { m.add("scenarios", 1, e, either(p.Kept, "kept", "let_go")) })
	case "HypothesisStaged":
		m.add("hypotheses", 1, e, dream.HypothesisStaged)
	case "HypothesisChanged":
		read(m, e, func(p event.HypothesisChanged) { m.add("hypotheses", 1, e, word("status", p.Status)) })
	case "ReviewRequested":
		m.add("review_items", 1, e, "requested")
	case "ReviewDecided":
		read(m, e, func(p event.ReviewDecided) {
			m.add("review_items", float64(len(p.Items)), e, either(p.Accepted, "accepted", "refused"))
		})
	case "PredictionResolved":
		read(m, e, func(p event.PredictionResolved) {
			m.add("predictions_resolved", 1, e, word("source", p.Source), word("verdict", p.Status))
		})
	case "ClaimPassed":
		m.add("claims", 1, e, word("standing", dream.ClaimPassed))
	case "ClaimEnded":
		read(m, e, func(p event.ClaimEnded) { m.add("claims", 1, e, word("standing", p.Status)) })
	case "DreamQuality":
		read(m, e, func(p event.DreamQuality) {
			for _, metric := range p.Metrics {
				m.add("dream_quality", 1, e, word("metric", metric.Name), word("reading", metric.State))
			}
		})
	}
}

func either(b bool, yes, no string) string {
	if b {
		return yes
	}
	return no
}

// dreamTrace returns the trace of a dream, by its agent and id.
func (m *Meter) dreamTrace(e event.Event) *dreamTrace {
	key := e.Agent + "\x00" + e.Dream
	n := m.traces[key]
	if n == nil {
		n = &dreamTrace{spent: map[dream.Phase]budget.Micros{}, calls: map[dream.Phase]int{}}
		m.traces[key] = n
	}
	return n
}

// trackStretch records that a stretch began or ended.
func (m *Meter) trackStretch(e event.Event, going bool) {
	n := m.dreamTrace(e)
	under := m.dreaming.WithLabelValues(m.labels(e)...)
	switch {
	case going && !n.going:
		under.Inc()
	case !going && n.going:
		under.Dec()
	}
	n.going = going
	if !going {
		m.trackStage(e, "")
	}
}

// trackStage records the stage an onset is at; none when it has ended.
func (m *Meter) trackStage(e event.Event, to dream.Stage) {
	n := m.dreamTrace(e)
	if n.stage != "" {
		m.stage.WithLabelValues(m.labels(e, word("to", n.stage))...).Dec()
	}
	if to != "" {
		m.stage.WithLabelValues(m.labels(e, word("to", to))...).Inc()
	}
	n.stage = to
}

// countTally counts what a phase did since its last report; reports are totals of the whole phase.
func (m *Meter) countTally(e event.Event, t dream.Tally) {
	n, phase := m.dreamTrace(e), word("phase", t.Phase)
	if more := t.Spent - n.spent[t.Phase]; more > 0 {
		m.add("spend_micros", float64(more), e, phase)
		n.spent[t.Phase] = t.Spent
	}
	if more := t.Calls - n.calls[t.Phase]; more > 0 {
		m.add("calls", float64(more), e, phase)
		n.calls[t.Phase] = t.Calls
	}
}

// countWake counts a wake out of a dream. The times in the event are milliseconds.
func (m *Meter) countWake(e event.Event, p event.DreamInterrupted) {
	m.add("dreams_interrupted", 1, e, word("cause", p.Cause), either(p.Light, "light", "deep"))
	for phase, ms := range map[string]float64{
		"receipt": p.Receipt, "stop": p.Stop, "preserve": p.Preserve, "switch": p.Switch,
		"total": p.Receipt + p.Stop + p.Preserve + p.Switch,
	} {
		m.wake.WithLabelValues(m.labels(e, phase)...).Observe(ms / 1000)
	}
	m.trackStretch(e, false)
	m.dreamTrace(e).until = p.Until
	for key, n := range m.traces { // interrupted dreams may be given up without an event
		if !n.going && n.until.Before(e.At) {
			delete(m.traces, key)
		}
	}
}

// countEnd counts a dream that ended, and the part of its spending that no phase reported.
func (m *Meter) countEnd(e event.Event, p event.DreamEnded) {
	m.add("dreams", 1, e, word("outcome", p.Outcome))
	m.trackStretch(e, false)
	n := m.dreamTrace(e)
	rest := p.Spent
	for _, spent := range n.spent {
		rest -= spent
	}
	if rest > 0 && n.first {
		m.add("spend_micros", float64(rest), e, "unphased")
	}
	delete(m.traces, e.Agent+"\x00"+e.Dream)
}
