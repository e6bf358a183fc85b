// Package telemetry provides Prometheus metrics and OpenTelemetry traces of a running deployment.
package telemetry

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/fabric"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// sweepWithin is how long a scrape waits for the store. The default timeout of Prometheus is 10 s.
const sweepWithin = 5 * time.Second

// Options of a meter.
type Options struct {
	Log     fabric.Log
	Version string // of the program

	Beside prometheus.Gatherer // shown at /metrics, too; nil: nothing

	// Agents lists the agents when metrics carry the agent's handle as a label. Nil: metrics cover all agents together.
	// A label for each agent multiplies the number of series, and shows the handles to everyone who may scrape.
	Agents func(context.Context) ([]dream.Agent, error)

	// Write writes into the store and takes it out again. Nil: there is no metric of it.
	Write func(context.Context) error

	// Caps tells how much of the caps is used. Nil: there are no metrics of it.
	Caps func(context.Context) (CapUse, error)

	// Webhooks tells what webhooks have yet to send. Nil: there are no metrics of it.
	Webhooks func(context.Context) (WebhookQueue, error)

	// Matrix tells how the bridge to Matrix is doing; false where this process runs none. Nil: there are no metrics of it.
	Matrix func(context.Context) (MatrixQueue, bool, error)

	// Server tells how the store's server is doing. Nil: the store has none, and there are no metrics of it.
	Server func(context.Context) (memory.Condition, error)
}

// Meter counts events from its start on. Each process of a deployment counts all events: scrape one process, or take
// the maximum, never the sum.
type Meter struct {
	registry *prometheus.Registry
	beside   prometheus.Gatherer
	agents   func(context.Context) ([]dream.Agent, error)

	mu      sync.Mutex // held during a sweep
	sweep   fabric.Sweep
	begun   bool
	handles map[string]string
	traces  map[string]*dreamTrace

	figures
	archive
	retention
	continuity
	serving
	store    prometheus.Gauge
	writable *writable    // nil: there is none
	caps     *caps        // nil: there are none
	server   *storeServer // nil: there is none
	outward  *outward
}

// New returns a meter with all counts at zero.
func New(o Options) *Meter {
	r := prometheus.NewRegistry()
	m := &Meter{
		registry: r,
		beside:   o.Beside,
		agents:   o.Agents,
		sweep:    fabric.Sweep{Log: o.Log},
		handles:  map[string]string{},
		traces:   map[string]*dreamTrace{},
		store: prometheus.NewGauge(
			prometheus.GaugeOpts{
				Name: "oneiros_store_reachable",
				Help: "Whether the store answered this scrape: 1 or 0. At 0 the figures of events are those of the scrape before.",
			}),
	}
	m.figures = newFigures(r, o.Agents != nil)
	m.archive = newArchive(r)
	m.retention = newRetention(r)
	m.continuity = newContinuity(r)
	m.serving = newServing(r)
	if o.Write != nil {
		m.writable = newWritable(r, o.Write)
	}
	if o.Caps != nil {
		m.caps = newCaps(r, o.Caps)
	}
	m.outward = newOutward(r, o)
	if o.Server != nil {
		m.server = newStoreServer(r, o.Server)
	}
	build := prometheus.NewGaugeVec(
		prometheus.GaugeOpts{Name: "oneiros_build_info", Help: "Always 1; the version is in the label."},
		[]string{"version"})
	build.WithLabelValues(o.Version).Set(1)
	r.MustRegister(m.store, build, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Figures lists the metrics computed from events, for the handbook.
func (m *Meter) Figures() []Figure { return m.list }

// Begin skips all existing events, so that only later ones are counted. Without a call to Begin the first scrape does
// so.
func (m *Meter) Begin(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.begin(ctx)
}

func (m *Meter) begin(ctx context.Context) error {
	if m.begun {
		return nil
	}
	err := m.sweep.Skip(ctx)
	m.begun = err == nil
	return err
}

// Count counts the events since the last call.
func (m *Meter) Count(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	err := m.begin(ctx)
	if err == nil {
		err = m.learnHandles(ctx)
	}
	if err == nil {
		err = m.sweep.Once(ctx, func(e event.Event) error {
			m.count(e)
			return nil
		})
	}
	m.store.Set(0)
	if err == nil {
		m.store.Set(1)
	}
	return err
}

func (m *Meter) learnHandles(ctx context.Context) error {
	if m.agents == nil {
		return nil
	}
	all, err := m.agents(ctx)
	for _, a := range all {
		m.handles[a.ID] = a.Handle
	}
	return err
}

// Handler serves GET /metrics. Each response includes all new events. When the store is unreachable, the response says
// so and contains the last known counts.
func (m *Meter) Handler() http.Handler {
	shown := prometheus.Gatherers{m.registry}
	if m.beside != nil {
		shown = append(shown, m.beside)
	}
	result := promhttp.HandlerFor(shown, promhttp.HandlerOpts{})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), sweepWithin)
		defer cancel()
		_ = m.Count(ctx) // oneiros_store_reachable shows the failure
		if m.writable != nil {
			m.writable.look(ctx)
		}
		if m.caps != nil {
			m.caps.look(ctx)
		}
		if m.server != nil {
			m.server.look(ctx)
		}
		m.outward.look(ctx)
		result.ServeHTTP(w, r)
	})
	return mux
}
