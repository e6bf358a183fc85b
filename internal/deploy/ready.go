package deploy

import (
	"context"
	"net/http"
	"sync"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
)

// How long each part may take to answer, and how long its answer is reused, so that probes cause no load.
const (
	readyWithin = 2 * time.Second
	readyFor    = 2 * time.Second
)

// status returns the routes for liveness and readiness.
func (e *engine) status() []front.Route {
	r := &readiness{engine: e}
	return []front.Route{
		{Method: http.MethodGet, Path: "/healthz", Open: true, Serve: func(w http.ResponseWriter, _ *http.Request) {
			front.Answer(w, http.StatusOK, map[string]string{"status": "ok"})
		}},
		{Method: http.MethodGet, Path: "/readyz", Role: access.Client, Serve: r.serve},
		{Method: http.MethodGet, Path: "/metrics", Role: access.Operator, Serve: e.meter.Handler().ServeHTTP},
	}
}

// readiness keeps the last answer of each part.
type readiness struct {
	engine *engine
	mu     sync.Mutex
	looked time.Time
	output map[string]string
	ready  bool
}

// serve answers 200 when clients can talk and 503 when they cannot. Talk needs the store and a provider; without
// Temporal it works, and nobody dreams.
func (r *readiness) serve(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); now.Sub(r.looked) > readyFor {
		r.look(q.Context())
		r.looked = now
	}
	status, word := http.StatusOK, "ready"
	if !r.ready {
		status, word = http.StatusServiceUnavailable, "not ready"
	}
	front.Answer(w, status, map[string]any{"status": word, "parts": r.output})
}

func (r *readiness) look(ctx context.Context) {
	parts := map[string]func(context.Context) bool{"store": r.store, "temporal": r.temporal, "provider": r.provider}
	var mu sync.Mutex
	var asking sync.WaitGroup
	values := map[string]string{}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyWithin)
	defer cancel()
	for name, ask := range parts {
		asking.Go(func() {
			word := "ok"
			if !ask(ctx) {
				word = "away"
			}
			mu.Lock()
			defer mu.Unlock()
			values[name] = word
		})
	}
	asking.Wait()
	r.output, r.ready = values, values["store"] == "ok" && values["provider"] == "ok"
}

func (r *readiness) store(ctx context.Context) bool {
	_, err := r.engine.deployment.store.Agents(ctx)
	return err == nil
}

func (r *readiness) temporal(ctx context.Context) bool {
	_, err := r.engine.client.CheckHealth(ctx, &client.CheckHealthRequest{})
	return err == nil
}

// provider reports whether the server of the talk model answers at all, with whatever status.
func (r *readiness) provider(ctx context.Context) bool {
	c := r.engine.deployment.config
	spec, err := c.Lookup(c.TalkModel())
	if err != nil {
		return false
	}
	p, ok := c.Providers[spec.Provider]
	if !ok || p.ProviderURL() == "" { // built in, or run by this process
		return true
	}
	key, _ := c.Key(spec.Provider)
	answer, err := listModels(ctx, p, key)
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode < http.StatusInternalServerError
}
