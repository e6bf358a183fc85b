package telemetry

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Tracing makes spans of what this process does. They name agents, models, counts and failures by their kind, after the
// GenAI conventions of OpenTelemetry; no text of a prompt, an answer or a memory is in them. A nil Tracing makes none.
type Tracing struct {
	provider *sdktrace.TracerProvider
	Tracer   trace.Tracer
}

// endpoints are the variables of OpenTelemetry that say where spans go.
var endpoints = []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"}

// NewTracing sends spans over OTLP to where OTEL_EXPORTER_OTLP_ENDPOINT says, with the other variables of that
// exporter; nil where it says nothing.
func NewTracing(ctx context.Context, version string) (*Tracing, error) {
	reported := false
	for _, name := range endpoints {
		reported = reported || os.Getenv(name) != ""
	}
	if !reported || os.Getenv("OTEL_SDK_DISABLED") == "true" {
		return nil, nil
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("send traces as OTEL_EXPORTER_OTLP_ENDPOINT says: %w", err)
	}
	return TracingTo(ctx, sdktrace.NewBatchSpanProcessor(exporter), version)
}

// TracingTo hands spans to a processor.
func TracingTo(ctx context.Context, to sdktrace.SpanProcessor, version string) (*Tracing, error) {
	of, err := resource.New(
		ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "oneiros"),
			attribute.String("service.version", version)),
		resource.WithFromEnv(), // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win
	)
	if err != nil {
		return nil, fmt.Errorf("name this process in traces: %w", err)
	}
	p := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(to), sdktrace.WithResource(of))
	return &Tracing{provider: p, Tracer: p.Tracer("github.com/seed-56a03226/oneiros")}, nil
}

// flushWithin bounds how long the last spans may take to be sent.
const flushWithin = 3 * time.Second

// Close sends what is left.
func (t *Tracing) Close() error {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushWithin)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("send the last traces: %w", err)
	}
	return nil
}

var carrier = propagation.TraceContext{}

// Arrived begins the span of a request to the server; a client's own trace goes on in it. What it answers is called
// with the status.
func (t *Tracing) Arrived(ctx context.Context, method, route string,
	header map[string][]string,
) (context.Context, func(status int, more ...attribute.KeyValue)) {
	ctx = carrier.Extract(ctx, propagation.HeaderCarrier(header))
	ctx, span := t.Tracer.Start(ctx, method+" "+route, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(
		attribute.String("http.request.method", method), attribute.String("http.route", route),
	))
	return ctx, func(status int, more ...attribute.KeyValue) {
		span.SetAttributes(append(more, attribute.Int("http.response.status_code", status))...)
		if status >= 500 {
			span.SetAttributes(attribute.String("error.type", strconv.Itoa(status)))
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}
