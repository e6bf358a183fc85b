package telemetry

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// Figure is a metric, as documented in the handbook.
type Figure struct {
	Name   string
	Labels []string // without the agent's
	Help   string
}

// family are metrics of one kind, registered together.
type family struct {
	to      prometheus.Registerer
	leading []string // labels before those of each metric
	zero    bool     // counters are created at zero
	list    []Figure
}

// add lists a metric and returns its labels.
func (f *family) add(name, help string, labels []string) []string {
	f.list = append(f.list, Figure{name, labels, help})
	return slices.Concat(f.leading, labels)
}

func (f *family) counter(name, help string, labels ...string) *prometheus.CounterVec {
	name = "oneiros_" + name + "_total"
	v := promauto.With(f.to).NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, f.add(name, help, labels))
	if f.zero {
		createAtZero(v, labels)
	}
	return v
}

func (f *family) gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	name = "oneiros_" + name
	return promauto.With(f.to).NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, f.add(name, help, labels))
}

func (f *family) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	name = "oneiros_" + name
	return promauto.With(f.to).NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets},
		f.add(name, help, labels))
}

// figures are the metrics computed from events. The values of every label except the agent's are from a fixed set.
type figures struct {
	family
	byAgent  bool
	counters map[string]*prometheus.CounterVec // by name

	dreaming, stage *prometheus.GaugeVec
	wake            *prometheus.HistogramVec
}

func newFigures(r prometheus.Registerer, byAgent bool) figures {
	f := figures{
		family:   family{to: r, zero: !byAgent},
		byAgent:  byAgent,
		counters: map[string]*prometheus.CounterVec{},
	}
	if byAgent {
		f.leading = []string{"agent"}
	}
	count := func(name, help string, labels ...string) { f.counters[name] = f.counter(name, help, labels...) }
	count("events", "Events, by type.", "type")
	count("dreams_started", "Dreams that began, by tier.", "tier")
	count("dreams", "Dreams that ended for good, by outcome.", "outcome")
	count("dreams_interrupted",
		"Stretches of dreams that a wake interrupted, by cause and by whether a call had to be stopped (deep) or "+
			"not (light).",
		"cause", "sleep")
	count("empty_alarms", "Alarms because several dreams in a row kept nothing.")
	count("spend_micros",
		"Micro-dollars that dreams spent, by phase; unphased is what no phase had reported when the dream ended.",
		"phase")
	count("calls", "Paid calls of dreams, by phase.", "phase")
	count("fragments", "Fragments, captured or discarded.", "fate")
	count("fragments_flagged",
		"Objections of the policy and of hooks to fragments, by whether they bar the fragment.", "by", "bars")
	count("outputs_barred", "Outputs of the phases after the onset that the policy bars, by kind.",
		"output")
	count("depth_changes", "Changes of the Hori stage, by the new stage.", "to")
	count("scenarios", "Scenarios of REM, kept or discarded.", "fate")
	count("hypotheses",
		"Hypotheses by their new status: staged by a dream, or changed by an outcome.", "status")
	count("predictions_resolved", "Predictions resolved, by source and status.", "source", "status")
	count("claims", "Claims that passed the gate or ended, by their new status.", "standing")
	count("dream_quality",
		"Readings of the quality metrics of an agent's newest dreams, one for each dream that ends.", "metric",
		"reading")
	count("review_items",
		"Proposals of dreams submitted for review (asked), and the decisions (accepted, refused).",
		"review")
	count("wakes", "Wakes of agents, by cause.", "cause")
	count("alarms", "Rules over feeds that fired, by kind.", "kind")
	count("onset_alarm_aborts", "Onsets that an alarm ended.")
	count("somatic_markers_fired", "Fragments that matched a somatic marker.")
	count("hooks_silent", "Hooks that did not respond in time, by border.", "border")
	count("observer_drifts", "Alarms because an observer's outcomes are outside their limits.")
	count("events_unread", "Events whose data could not be read.")
	if f.zero {
		f.createPairsAtZero()
	}
	f.dreaming = f.gauge("dreams_under_way",
		"Running dreams, of those that began or resumed after this process did.")
	f.stage = f.gauge("onsets_at_stage", "Running onsets, by their Hori stage.", "stage")
	f.wake = f.histogram("wake_seconds",
		"Duration of a wake out of a dream, by phase: receipt, stop, preserve, switch, and their total.", wakeBuckets,
		"phase")
	if f.zero {
		for _, phase := range []string{"receipt", "stop", "preserve", "switch", "total"} {
			f.wake.WithLabelValues(phase)
		}
	}
	return f
}

// createAtZero creates the series of all label values at zero, because Prometheus does not see the first increase of a
// series that appears with it.
func createAtZero(v *prometheus.CounterVec, labels []string) {
	switch {
	case len(labels) == 0:
		v.WithLabelValues()
	case len(labels) == 1:
		for w := range labelValues[labels[0]] {
			v.WithLabelValues(w)
		}
	}
}

// createPairsAtZero does the same for counters with two labels, and for those whose label has other values elsewhere.
func (f *figures) createPairsAtZero() {
	f.pairs("dreams_interrupted", labelValues["cause"], set("light", "deep"))
	f.pairs("fragments_flagged", set("policy", "hook", other), set("true", "false"))
	f.pairs("predictions_resolved", labelValues["source"], labelValues["verdict"])
	f.pairs("dream_quality", labelValues["metric"], labelValues["reading"])
	for _, fate := range []string{"captured", "discarded"} {
		f.counters["fragments"].WithLabelValues(fate)
	}
	for _, fate := range []string{"kept", "let_go"} {
		f.counters["scenarios"].WithLabelValues(fate)
	}
}

func (f *figures) pairs(name string, first, second map[string]bool) {
	for a := range first {
		for b := range second {
			f.counters[name].WithLabelValues(a, b)
		}
	}
}

// wakeBuckets have a bound at each target and maximum of the four phases and of the whole: 1 and 5 ms, 100 and 500, 50
// and 100, 10 and 50, 170 and 655; 200 ms is the soft limit of a wake and 1 s the hard one.
var wakeBuckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .17, .2, .5, .655, 1, 2.5}

// other replaces an unknown label value, so that no label grows without bound.
const other = "other"

// labelValues are the values of each label. Everything else is other.
var labelValues = map[string]map[string]bool{
	"type": set(event.Types()...),
	"tier": set(dream.Core, dream.Hardened),
	"outcome": set(dream.Completed, dream.Empty, dream.Exhausted, dream.Aborted, dream.Canceled, dream.Interrupted,
		dream.Undone),
	"phase":   set(append([]dream.Phase{"unphased"}, dream.Phases...)...),
	"reason":  set("rate_limit_exceeded", "too_many_streams", "overloaded"),
	"cause":   set("connect", "alarm", "operator"),
	"to":      set(dream.Shallow, dream.Transitional, dream.Peak, dream.TooDeep),
	"source":  set(dream.Creative, dream.Analytical),
	"verdict": set(dream.PredictionRight, dream.PredictionWrong, dream.PredictionVoid),
	"status": set(dream.HypothesisStaged, dream.HypothesisPromoted, dream.HypothesisRefuted, dream.HypothesisLapsed,
		dream.HypothesisRetired),
	"output":   set(dream.KindScenario, dream.KindPrediction, dream.KindHypothesis, dream.KindGist, dream.KindJournal),
	"standing": set(dream.ClaimPassed, dream.ClaimRetired, dream.ClaimDropped, dream.ClaimLapsed),
	"metric": set("fragment_yield", "novelty", "playbook_distance", "seed_use", "staging_rate", "validation",
		"cost_per_fragment", "alarm_aborts"),
	"reading": set("healthy", "outside", "alarm", "too few"),
	"review":  set("requested", "accepted", "refused"),
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
	if labelValues[label][string(s)] {
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
	made := promauto.With(r)
	return archive{
		archived: made.NewCounter(
			prometheus.CounterOpts{Name: "oneiros_archive_events_total", Help: "Events that this process archived."}),
		failed: made.NewCounter(
			prometheus.CounterOpts{Name: "oneiros_archive_faults_total", Help: "Passes of the archiver that failed."}),
		last: made.NewGauge(
			prometheus.GaugeOpts{
				Name: "oneiros_archive_last_success_timestamp_seconds",
				Help: "Time of the last successful pass of the archiver; 0: none yet.",
			}),
	}
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

// retention holds the metrics of what was swept in the deployment.
type retention struct {
	removed *prometheus.GaugeVec
	swept   prometheus.Gauge
	broken  prometheus.Gauge
	every   prometheus.Gauge
}

func newRetention(r prometheus.Registerer) retention {
	made := promauto.With(r)
	return retention{
		removed: made.NewGaugeVec(prometheus.GaugeOpts{
			Name: "oneiros_retention_removed",
			Help: "What was removed or folded because of its age, by all passes of the deployment together.",
		}, []string{"kind"}),
		swept: made.NewGauge(prometheus.GaugeOpts{
			Name: "oneiros_retention_last_success_timestamp_seconds",
			Help: "Time at which the newest pass over what has become old was completed; 0: none yet.",
		}),
		broken: made.NewGauge(prometheus.GaugeOpts{
			Name: "oneiros_retention_failed",
			Help: "1 when the newest pass over what has become old failed.",
		}),
		every: made.NewGauge(prometheus.GaugeOpts{
			Name: "oneiros_retention_every_seconds",
			Help: "How often a worker looks for what has become old (retention.every); 0: this process does not.",
		}),
	}
}

// Swept reports what the sweeps of the deployment have done, and how often there is to be one.
func (r retention) Swept(state memory.SweepState, every time.Duration) {
	r.every.Set(every.Seconds())
	for kind, n := range map[string]int{
		"attempts":  state.Total.Attempts,
		"events":    state.Total.Events,
		"revisions": state.Total.Revisions,
		"items":     state.Total.Items,
	} {
		r.removed.WithLabelValues(kind).Set(float64(n))
	}
	if !state.Ended.IsZero() {
		r.swept.Set(float64(state.Ended.Unix()))
	}
	failed := 0.0
	if state.Failure != "" {
		failed = 1
	}
	r.broken.Set(failed)
}

// continuity holds the metrics of what the store has lost.
type continuity struct{ noticed, since, reentered prometheus.Gauge }

func newContinuity(r prometheus.Registerer) continuity {
	gauge := func(name, help string) prometheus.Gauge {
		return promauto.With(r).NewGauge(prometheus.GaugeOpts{Name: "oneiros_store_" + name, Help: help})
	}
	return continuity{
		noticed: gauge("writes_lost_timestamp_seconds",
			"Time at which it was last noticed that the store has lost writes; 0: never."),
		since: gauge("writes_lost_since_timestamp_seconds",
			"Time from which on these writes are lost; 0: none are, or the time is not known."),
		reentered: gauge("purchases_reentered_micros",
			"Micro-dollars of purchases that the store had lost, of the newest losses, and that are in its ledger again."),
	}
}

// Lost reports what the store has lost.
func (c continuity) Lost(state memory.Continuity) {
	newest := state.Newest()
	if !newest.Noticed.IsZero() {
		c.noticed.Set(float64(newest.Noticed.UnixMilli()) / 1000)
	}
	if !newest.Since.IsZero() {
		c.since.Set(float64(newest.Since.UnixMilli()) / 1000)
	}
	sum := 0.0
	for _, l := range state.Losses {
		sum += float64(l.Reentered.Amount)
	}
	c.reentered.Set(sum)
}
