package telemetry

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// WebhookQueue is what webhooks have yet to send.
type WebhookQueue struct {
	Waiting int64         // events
	Failing int           // webhooks whose last try was in vain
	Oldest  time.Duration // age of the oldest event that waits; 0: none does
}

// MatrixQueue is how a bridge to Matrix is doing.
type MatrixQueue struct {
	Accounts  int           // that are configured
	Connected int           // of which the homeserver has answered lately
	Unsent    int64         // events of native rooms that were not handled
	Oldest    time.Duration // age of the oldest of them; 0: there is none
}

// outward holds the metrics of what goes out of rooms. A function is nil where there is nothing to tell.
type outward struct {
	webhooks func(context.Context) (WebhookQueue, error)
	matrix   func(context.Context) (MatrixQueue, bool, error)

	waiting, failing, oldest             prometheus.Gauge
	accounts, connected, unsent, longest prometheus.Gauge
}

func newOutward(r prometheus.Registerer, o Options) *outward {
	gauge := func(name, help string) prometheus.Gauge {
		return promauto.With(r).NewGauge(prometheus.GaugeOpts{Name: "oneiros_" + name, Help: help})
	}
	out := &outward{webhooks: o.Webhooks, matrix: o.Matrix}
	if o.Webhooks != nil {
		out.waiting = gauge("webhook_events_waiting", "Events of rooms that webhooks have yet to send.")
		out.failing = gauge("webhooks_failing", "Webhooks whose last try was in vain.")
		out.oldest = gauge("webhook_oldest_waiting_seconds",
			"Age of the oldest event that a webhook has yet to send; 0: none.")
	}
	if o.Matrix != nil {
		out.accounts = gauge("matrix_accounts", "Accounts that this process bridges to Matrix; 0: it runs no bridge.")
		out.connected = gauge("matrix_accounts_connected",
			"Of these the ones that the homeserver has answered within two minutes.")
		out.unsent = gauge("matrix_unsent_events", "Events of bridged rooms that were not sent to Matrix yet.")
		out.longest = gauge("matrix_oldest_unsent_seconds", "Age of the oldest of them; 0: there is none.")
	}
	return out
}

// look asks for the queues. Where the store does not answer, the figures stay as they were.
func (o *outward) look(ctx context.Context) {
	if o.webhooks != nil {
		q, err := o.webhooks(ctx)
		if err == nil {
			o.waiting.Set(float64(q.Waiting))
			o.failing.Set(float64(q.Failing))
			o.oldest.Set(q.Oldest.Seconds())
		}
	}
	if o.matrix == nil {
		return
	}
	q, bridges, err := o.matrix(ctx)
	if err != nil || !bridges {
		return
	}
	o.accounts.Set(float64(q.Accounts))
	o.connected.Set(float64(q.Connected))
	o.unsent.Set(float64(q.Unsent))
	o.longest.Set(q.Oldest.Seconds())
}
