package telemetry

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// CapUse is which share of the caps is spent or reserved: 1 is all of it. Of the agents' caps it is the highest share
// of an agent. 0: nothing, or there is no such cap.
type CapUse struct{ AgentDay, AgentMonth, FleetDay float64 }

// capsEvery is how often the caps are looked at: a fleet of ten thousand agents takes a tenth of a second.
const capsEvery = 30 * time.Second

// caps holds the metrics of the caps.
type caps struct {
	ask  func(context.Context) (CapUse, error)
	used *prometheus.GaugeVec

	mu     sync.Mutex
	looked time.Time
}

func newCaps(r prometheus.Registerer, ask func(context.Context) (CapUse, error)) *caps {
	return &caps{ask: ask, used: promauto.With(r).NewGaugeVec(prometheus.GaugeOpts{
		Name: "oneiros_cap_used_ratio",
		Help: "Share of a cap that is spent or reserved, 1 is all: of the agent nearest to its cap of the day " +
			"(agent_day) or month (agent_month), and of all agents' day (fleet_day).",
	}, []string{"cap"})}
}

// look asks for the use. When the store does not answer, the figures stay as they were.
func (c *caps) look(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if now.Sub(c.looked) < capsEvery {
		return
	}
	use, err := c.ask(ctx)
	if err != nil {
		return
	}
	c.looked = now
	c.used.WithLabelValues("agent_day").Set(use.AgentDay)
	c.used.WithLabelValues("agent_month").Set(use.AgentMonth)
	c.used.WithLabelValues("fleet_day").Set(use.FleetDay)
}

// writable holds the metric of a write.
type writable struct {
	write func(context.Context) error
	shown prometheus.Gauge
}

func newWritable(r prometheus.Registerer, write func(context.Context) error) *writable {
	return &writable{write: write, shown: promauto.With(r).NewGauge(prometheus.GaugeOpts{
		Name: "oneiros_store_writable",
		Help: "Whether the store took a write at this scrape: 1 or 0. At 0 it is away, full, or may only be read.",
	})}
}

func (w *writable) look(ctx context.Context) { w.shown.Set(truth(w.write(ctx) == nil)) }
