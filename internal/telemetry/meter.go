// Package telemetry measures a running house by its events, for whoever scrapes it in the format of Prometheus.
package telemetry

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/fabric"
)

// sweepWithin bounds how long a scrape waits for the store. Prometheus gives up after 10 s unless told otherwise.
const sweepWithin = 5 * time.Second

// Options of a meter.
type Options struct {
	Log     fabric.Log
	Version string // of the program

	// Agents lists them, where every figure of events is to carry its agent's handle. Nil: figures are of all agents
	// together. A label for each agent multiplies the series by their number, and tells their names to whoever may
	// scrape.
	Agents func(context.Context) ([]dream.Agent, error)
}

// Meter counts what was announced since it began. Several processes of one deployment each count all of it: scrape one
// of them, or take the maximum, never the sum.
type Meter struct {
	registry *prometheus.Registry
	agents   func(context.Context) ([]dream.Agent, error)

	mu      sync.Mutex // of a sweep
	sweep   fabric.Sweep
	begun   bool
	handles map[string]string
	nights  map[string]*dreamTrace

	figures
	archive
	serving
	store prometheus.Gauge
}

// New makes a meter that has counted nothing.
func New(o Options) *Meter {
	r := prometheus.NewRegistry()
	m := &Meter{
		registry: r,
		agents:   o.Agents,
		sweep:    fabric.Sweep{Log: o.Log},
		handles:  map[string]string{},
		nights:   map[string]*dreamTrace{},
		store: prometheus.NewGauge(
			prometheus.GaugeOpts{
				Name: "oneiros_store_reachable",
				Help: "Whether the store answered this scrape: 1 or 0. At 0 the figures of events are those of the scrape before.",
			}),
	}
	m.figures = newFigures(r, o.Agents != nil)
	m.archive = newArchive(r)
	m.serving = newServing(r)
	build := prometheus.NewGaugeVec(
		prometheus.GaugeOpts{Name: "oneiros_build_info", Help: "Always 1; the version is in the label."},
		[]string{"version"})
	build.WithLabelValues(o.Version).Set(1)
	r.MustRegister(m.store, build, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Figures are those that are told of events, for the handbook.
func (m *Meter) Figures() []Figure { return m.list }

// Begin lets the counting begin behind everything that was announced before. A meter that was not begun does so when it
// is first scraped.
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

// Count counts what has been announced since it last did.
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

// Handler answers GET /metrics. Each answer counts what has come since the one before; where the store is away it says
// so and answers with what it knows.
func (m *Meter) Handler() http.Handler {
	result := promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), sweepWithin)
		defer cancel()
		_ = m.Count(ctx) // the answer tells, by oneiros_store_reachable
		result.ServeHTTP(w, r)
	})
	return mux
}
