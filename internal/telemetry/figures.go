package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
)

// Figure is a metric, as documented in the handbook.
type Figure struct {
	Name   string
	Labels []string // without the agent's
	Tells  string
}

// figures are the metrics computed from events. The values of every label except the agent's are from a fixed set.
type figures struct {
	byAgent bool
	list    []Figure

	events, started, ended, interrupted, empty           *prometheus.CounterVec
	spent, calls, fragments, flagged, depths, barred     *prometheus.CounterVec
	scenarios, hypotheses, predictions, reviewed         *prometheus.CounterVec
	wakes, alarms, aborts, markers, silent, drifted, ill *prometheus.CounterVec

	dreaming, stage *prometheus.GaugeVec
	wake            *prometheus.HistogramVec
}

func newFigures(r prometheus.Registerer, byAgent bool) figures {
	names := func(labels []string) []string {
		if byAgent {
			return append([]string{"agent"}, labels...)
		}
		return labels
	}
	var list []Figure
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		list = append(list, Figure{"oneiros_" + name + "_total", labels, help})
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "oneiros_" + name + "_total", Help: help},
			names(labels))
		r.MustRegister(v)
		if !byAgent {
			beginAtNought(v, labels)
		}
		return v
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		list = append(list, Figure{"oneiros_" + name, labels, help})
		v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "oneiros_" + name, Help: help}, names(labels))
		r.MustRegister(v)
		return v
	}
	f := figures{
		byAgent: byAgent,
		events:  counter("events", "Events, by type.", "type"),
		started: counter("dreams_started", "Dreams that began, by tier.", "tier"),
		ended:   counter("dreams", "Dreams that ended for good, by outcome.", "outcome"),
		interrupted: counter("dreams_interrupted",
			"Sittings that were woken, by cause and by whether a call had to be stopped (deep) or not (light).",
			"cause", "sleep"),
		empty: counter("empty_alarms", "Alarms of repeated emptiness: nights in a row that kept nothing."),
		spent: counter("spend_micros",
			"Micro-dollars that dreams spent, by phase; unphased is what no phase told before the end.", "phase"),
		calls:     counter("calls", "Paid calls of dreams, by phase.", "phase"),
		fragments: counter("fragments", "Fragments, captured or discarded.", "fate"),
		flagged: counter("fragments_flagged",
			"Remarks of the policy and of hooks on fragments, by whether they bar them.", "by", "bars"),
		barred: counter("outputs_barred", "What phases after the onset wrote and the policy bars, by kind.",
			"output"),
		depths:      counter("depth_changes", "Moves between Hori stages, by the stage moved to.", "to"),
		scenarios:   counter("scenarios", "Scenarios of REM, kept or let go.", "fate"),
		hypotheses:  counter("hypotheses", "Hypotheses staged, and moved by outcomes to a status.", "status"),
		predictions: counter("predictions_resolved", "Predictions resolved, by source and status.", "source", "status"),
		reviewed: counter("review_items",
			"Things a dream made that waited for a person (asked), and what was decided (accepted, refused).",
			"review"),
		wakes:   counter("wakes", "Times an agent awoke, by cause.", "cause"),
		alarms:  counter("alarms", "Rules over feeds that fired, by kind.", "kind"),
		aborts:  counter("onset_alarm_aborts", "Onsets that an alarm ended."),
		markers: counter("somatic_markers_fired", "Fragments that touched strong feeling with a known outcome."),
		silent:  counter("hooks_silent", "Hooks that gave no answer in time, by border.", "border"),
		drifted: counter("observer_drifts", "Alarms of an observer whose outcomes lie beyond their limits."),
		ill:     counter("events_unread", "Events whose data could not be read."),
		dreaming: gauge("dreams_under_way",
			"Dreams under way, of those that began or went on since this process counts."),
		stage: gauge("onsets_at_stage", "Onsets under way, by the Hori stage they are at.", "stage"),
	}
	wake := Figure{
		"oneiros_wake_seconds",
		[]string{"phase"},
		"How long waking out of a dream took, by phase: receipt, stop, preserve, switch, and all of them as total.",
	}
	f.wake = prometheus.NewHistogramVec(
		prometheus.HistogramOpts{Name: wake.Name, Help: wake.Tells, Buckets: wakeBuckets}, names(wake.Labels))
	r.MustRegister(f.wake)
	f.list = append(list, wake)
	return f
}

// beginAtNought creates the series of all label values at zero, because Prometheus does not see the first increase of a
// series that appears with it.
func beginAtNought(v *prometheus.CounterVec, labels []string) {
	switch {
	case len(labels) == 0:
		v.WithLabelValues()
	case len(labels) == 1:
		for w := range known[labels[0]] {
			v.WithLabelValues(w)
		}
	}
}

// wakeBuckets have a bound at each target and maximum of the four phases and of the whole: 1 and 5 ms, 100 and 500, 50
// and 100, 10 and 50, 170 and 655; 200 ms is the soft limit of a wake and 1 s the hard one.
var wakeBuckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .17, .2, .5, .655, 1, 2.5}

// other replaces an unknown label value, so that no label grows without bound.
const other = "other"

// known are the values of each label. Everything else is other.
var known = map[string]map[string]bool{
	"type": set(event.Types()...),
	"tier": set(dream.Core, dream.Hardened),
	"outcome": set(dream.Completed, dream.Empty, dream.Exhausted, dream.Aborted, dream.Canceled, dream.Interrupted,
		dream.Undone),
	"phase":   set(append([]dream.Phase{"unphased"}, dream.Phases...)...),
	"cause":   set("knock", "alarm", "operator"),
	"to":      set(dream.Shallow, dream.Transitional, dream.Peak, dream.TooDeep),
	"source":  set(dream.Creative, dream.Analytical),
	"verdict": set(dream.PredictionRight, dream.PredictionWrong, dream.PredictionVoid),
	"status":  set(dream.HypothesisStaged, dream.HypothesisPromoted, dream.HypothesisRefuted),
	"output":  set(dream.KindScenario, dream.KindPrediction, dream.KindHypothesis, dream.KindGist, dream.KindJournal),
	"review":  set("asked", "accepted", "refused"),
	"border":  set("entry", "capture", "exit"),
	"end":     set("answered", "refused", "broken", "dropped", "failed"),
	"recall":  set("recalled", "words", "off", "budget", "busy", "failed", "nothing"),
	"why":     set("budget", "failed", "space"),
	"kind": set(dream.RiseFall, dream.RelativeMove, dream.RelativeDrop, dream.Above, dream.Below, dream.StateIs,
		dream.Stale),
}

func set[S ~string](words ...S) map[string]bool {
	m := map[string]bool{}
	for _, w := range words {
		m[string(w)] = true
	}
	return m
}

func word[S ~string](label string, s S) string {
	if known[label][string(s)] {
		return string(s)
	}
	return other
}

// archive holds the metrics of this process's archiver.
type archive struct {
	archived, failed prometheus.Counter
	last             prometheus.Gauge
}

func newArchive(r prometheus.Registerer) archive {
	a := archive{
		archived: prometheus.NewCounter(
			prometheus.CounterOpts{Name: "oneiros_archive_events_total", Help: "Events that this process archived."}),
		failed: prometheus.NewCounter(
			prometheus.CounterOpts{Name: "oneiros_archive_faults_total", Help: "Passes of the archiver that failed."}),
		last: prometheus.NewGauge(
			prometheus.GaugeOpts{
				Name: "oneiros_archive_last_success_timestamp_seconds",
				Help: "When a pass of the archiver last left nothing behind; 0: not yet.",
			}),
	}
	r.MustRegister(a.archived, a.failed, a.last)
	return a
}

// Archived records a pass of the archiver: how many events it wrote, and whether it failed.
func (a archive) Archived(events int, err error) {
	a.archived.Add(float64(events))
	if err != nil {
		a.failed.Inc()
		return
	}
	a.last.SetToCurrentTime()
}
