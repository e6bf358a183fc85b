package deploy

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/archive"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/telemetry"
)

// openArchive returns how the console opens the archive; nil when none is configured.
func (h *Deployment) openArchive() func() (*archive.Archive, error) {
	if h.config.Archive.URL == "" {
		return nil
	}
	return func() (*archive.Archive, error) {
		bucket, err := archive.OpenReadOnly(h.config.Archive.URL)
		return &archive.Archive{Log: h.store, Bucket: bucket, Now: time.Now, Every: h.config.Archive.Every}, err
	}
}

// How long one pass of the archiver may take, and the last one when the process ends. The next pass takes up what one
// left.
const (
	passWithin = 10 * time.Minute
	lastWithin = 5 * time.Second
	passAgain  = 30 * time.Second // after a failed pass, unless the next one is due sooner
)

// archiveEvents writes announced events into the archive until ctx ends, and then once more what has come since.
func (e *engine) archiveEvents(ctx context.Context) {
	every := e.deployment.config.Archive.Every
	if e.deployment.config.Archive.URL == "" {
		return
	}
	var a *archive.Archive
	text := ""
	for {
		err := e.pass(ctx, &a, passWithin)
		wait := every
		if err != nil && ctx.Err() == nil {
			if text != err.Error() { // log each error once, not in every pass
				e.log.Warn("events could not be archived; they are kept, and the archive catches up", "error", err)
			}
			text, wait = err.Error(), min(every, passAgain)
		} else if err == nil {
			text = ""
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			if err := e.pass(context.WithoutCancel(ctx), &a, lastWithin); err != nil {
				e.log.Info("the newest events are not archived yet; the next worker does it", "error", err)
			}
			return
		}
	}
}

// pass archives all waiting events. A bucket that could not be opened is opened again in the next pass.
func (e *engine) pass(ctx context.Context, a **archive.Archive, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var done archive.Report
	var err error
	if *a == nil {
		var bucket archive.Bucket
		bucket, err = archive.Open(ctx, e.deployment.config.Archive.URL)
		if err == nil {
			*a = &archive.Archive{Log: e.deployment.store, Bucket: bucket, Now: time.Now}
		}
	}
	if err == nil {
		done, err = (*a).Once(ctx)
	}
	if e.meter != nil {
		e.meter.Archived(done.Events, err)
	}
	return err
}

// measure starts counting for metrics and traces.
func (e *engine) measure(ctx context.Context) error {
	o := telemetry.Options{Log: e.deployment.store, Version: Version, Beside: e.sdk.Shown}
	if e.deployment.config.Metrics.Agents {
		o.Agents = e.deployment.store.Agents
	}
	if s, ok := e.deployment.store.store.(memory.Conditioned); ok {
		o.Server = s.Condition
	}
	o.Write = func(ctx context.Context) error {
		return bookable(ctx, e.deployment.store.ledger, "metrics/"+e.deployment.Holder)
	}
	o.Caps = e.deployment.capUse
	o.Webhooks = func(ctx context.Context) (telemetry.WebhookQueue, error) {
		return webhookQueue(ctx, e.deployment.store.Rooms(), time.Now())
	}
	if e.deployment.config.Matrix.Homeserver != "" {
		o.Matrix = func(ctx context.Context) (telemetry.MatrixQueue, bool, error) { return matrixQueue(ctx, e) }
	}
	e.meter = telemetry.New(o)
	for name, q := range e.deployment.queues {
		load := e.meter.Load("provider " + name)
		q.Watch(load.Queue, load.Waited)
	}
	if err := e.meter.Begin(ctx); err != nil {
		return exit.Errorf(exit.Unreachable, "begin to count events: %w", err)
	}
	return nil
}

// placeArchive reports where events are archived.
func (e *engine) placeArchive() {
	kept := e.deployment.config.Archive
	if kept.URL == "" {
		return
	}
	if bucket, err := archive.OpenReadOnly(kept.URL); err == nil {
		e.place("archive", fmt.Sprintf("%s, every %s", bucket.Where(), kept.Every))
	}
}

// serveMetrics serves GET /metrics, and beside it /healthz and /readyz for probes, where configured. When the port is
// taken, most often by another process of this host, this process serves none: each counts the whole deployment.
func (e *engine) serveMetrics(ctx context.Context, ready *readiness) error {
	at := e.deployment.config.Metrics.Listen
	if at == "" || !e.counts {
		return nil
	}
	if e.meter == nil {
		if err := e.measure(ctx); err != nil {
			return err
		}
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", e.meter.Handler())
	mux.HandleFunc("GET /healthz", healthy)
	mux.HandleFunc("GET /readyz", ready.serve)
	if e.serveHTTP(ctx, at, "metrics", "not served here", mux) {
		e.places[len(e.places)-1].Where += "/metrics"
	}
	return nil
}
