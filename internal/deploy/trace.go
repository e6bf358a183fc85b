package deploy

import (
	"errors"
	"fmt"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/opentelemetry"

	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/telemetry"
	"github.com/seed-56a03226/oneiros/workflows"
)

// traceTemporal carries spans through Temporal: from a request through the workflow that it starts or signals to the
// activities that call a provider.
func traceTemporal(o *client.Options, t *telemetry.Tracing) error {
	if t == nil {
		return nil
	}
	through, err := opentelemetry.NewTracingInterceptor(
		opentelemetry.TracerOptions{
			Tracer: t.Tracer, SpanStarter: telemetry.StartSpan,
			SpanContextKey: workflows.TraceKey{},
		})
	if err != nil {
		return fmt.Errorf("trace through Temporal: %w", err)
	}
	o.Interceptors = append(o.Interceptors, through)
	return nil
}

// repeated are the response headers that a span repeats. Names that clients choose are not among them.
var repeated = map[string]string{
	"X-Oneiros-Agent": "gen_ai.agent.name", "X-Oneiros-Recalled": "oneiros.recalled",
	"X-Oneiros-Recall-Skipped": "oneiros.recall_skipped", "X-Oneiros-Recall-Words-Only": "oneiros.recall_words_only",
	"X-Oneiros-Woke": "oneiros.woke",
}

// traced makes a span of every request that a route serves.
func traced(routes []front.Route, t *telemetry.Tracing) []front.Route {
	if t == nil {
		return routes
	}
	out := make([]front.Route, len(routes))
	for i, route := range routes {
		out[i] = route
		out[i].Serve = func(w http.ResponseWriter, r *http.Request) {
			ctx, over := t.Arrived(r.Context(), r.Method, route.Path, r.Header)
			route.Serve(w, r.WithContext(ctx))
			more := []attribute.KeyValue{
				attribute.String("oneiros.key", front.CallerOf(ctx).Key.ID),
				attribute.String("oneiros.request", front.RequestID(ctx)),
			}
			for header, name := range repeated {
				if value := w.Header().Get(header); value != "" {
					more = append(more, attribute.String(name, value))
				}
			}
			over(front.StatusOf(ctx), more...)
		}
	}
	return out
}

// closing closes all that a deployment has open, its traces first.
func (h *Deployment) closing() error { return errors.Join(h.tracing.Close(), h.store.Close()) }
