package deploy

import (
	"context"
	"net/http"
	"sync"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
)

// How long each part may take to answer, and how long its answer is reused, so that probes cause no load.
const (
	readyWithin = 2 * time.Second
	readyFor    = 2 * time.Second
)

// statusRoutes returns the routes for liveness and readiness.
func statusRoutes(e *engine) []front.Route {
	return []front.Route{
		{Method: http.MethodGet, Path: "/healthz", Open: true, Serve: healthy},
		{Method: http.MethodGet, Path: "/readyz", Open: true, Serve: readyToTalk(e).serve},
		{Method: http.MethodGet, Path: "/metrics", Role: access.Operator, Serve: e.meter.Handler().ServeHTTP},
	}
}

// healthy answers as long as the process does.
func healthy(w http.ResponseWriter, _ *http.Request) {
	front.Answer(w, http.StatusOK, map[string]string{"status": "ok"})
}

// readiness keeps the last answer of each part.
type readiness struct {
	engine *engine
	parts  map[string]func(context.Context) string
	needs  []string // the parts without which the process is not ready

	mu     sync.Mutex
	looked time.Time
	output map[string]string
	ready  bool
}

// The parts, by the names that probes see.
const (
	partStore    = "store"
	partTemporal = "temporal"
	partProvider = "provider"
	partMatrix   = "matrix"
	partPlaces   = "places"
)

// readyToTalk is the readiness of a server, which needs the store. Without Temporal it works, and nobody dreams. The
// provider is the same for all servers: a balancer that took them out with it would leave nobody to answer what needs
// none, or to say what is wrong.
func readyToTalk(e *engine) *readiness {
	r := &readiness{engine: e, needs: []string{partStore}}
	r.parts = map[string]func(context.Context) string{
		partStore:    r.store,
		partTemporal: r.temporal,
		partProvider: r.provider,
		partPlaces:   r.places,
	}
	return r
}

// readyToWork is the readiness of a worker. Without a provider it goes on: Temporal tries the calls of dreams again.
func readyToWork(e *engine) *readiness {
	r := &readiness{engine: e, needs: []string{partStore, partTemporal}}
	r.parts = map[string]func(context.Context) string{partStore: r.store, partTemporal: r.temporal}
	return r
}

// readyToBridge is the readiness of a process that only bridges Matrix, which needs the store and the homeserver. What
// its provider does not answer is said in the room.
func readyToBridge(e *engine) *readiness {
	r := &readiness{engine: e, needs: []string{partStore, partMatrix}}
	r.parts = map[string]func(context.Context) string{
		partStore:    r.store,
		partProvider: r.provider,
		partMatrix:   r.matrix,
	}
	return r
}

// serve answers 200 when the process can do its work and 503 when it cannot.
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
	var mu sync.Mutex
	var asking sync.WaitGroup
	values := map[string]string{}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyWithin)
	defer cancel()
	for name, ask := range r.parts {
		asking.Go(func() {
			word := ask(ctx)
			mu.Lock()
			defer mu.Unlock()
			values[name] = word
		})
	}
	asking.Wait()
	r.output, r.ready = values, true
	for _, name := range r.needs {
		r.ready = r.ready && values[name] == partOK
	}
}

// What strangers learn of a part: no address, and no words of another program.
const (
	partOK   = "ok"
	partAway = "away"
	partFull = "full"
)

func partWord(err error) string {
	if why, ok := memory.WhyUnwritable(err); ok {
		return "takes no writes: " + string(why)
	}
	if err != nil {
		return partAway
	}
	return partOK
}

// store writes an allowance of nothing into the ledger, under a name of this process, and gives it back.
func (r *readiness) store(ctx context.Context) string {
	h := r.engine.deployment
	return partWord(bookable(ctx, h.store.ledger, "ready/"+h.Holder))
}

func (r *readiness) temporal(ctx context.Context) string {
	_, err := r.engine.client.CheckHealth(ctx, &client.CheckHealthRequest{})
	return partWord(err)
}

// places reports whether this server refused requests lately because it was full. It is ready all the same.
func (r *readiness) places(context.Context) string {
	if s := r.engine.api; s != nil && s.full(time.Now()) {
		return partFull
	}
	return partOK
}

// matrix reports whether the homeserver has answered one of the bridge's accounts lately.
func (r *readiness) matrix(ctx context.Context) string {
	q, bridges, err := matrixQueue(ctx, r.engine)
	if err == nil && (!bridges || q.Connected == 0) {
		return partAway
	}
	return partWord(err)
}

// provider reports whether the server of the talk model answers at all, with whatever status.
func (r *readiness) provider(ctx context.Context) string {
	c := r.engine.deployment.config
	spec, err := c.Lookup(c.TalkModel())
	if err != nil {
		return partAway
	}
	p, ok := c.Providers[spec.Provider]
	if !ok || p.ProviderURL() == "" { // built in, or run by this process
		return partOK
	}
	key, _ := c.Key(spec.Provider)
	answer, err := listModels(ctx, p, key)
	if err != nil {
		return partAway
	}
	_ = answer.Body.Close()
	if answer.StatusCode >= http.StatusInternalServerError {
		return partAway
	}
	return partOK
}
