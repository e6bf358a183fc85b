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

// Tracing makes spans of this process's work. They contain agents, models, counts and kinds of failures, by
// OpenTelemetry's GenAI conventions, but no text of a prompt, a response or a memory. A nil Tracing makes none.
type Tracing struct {
	provider *sdktrace.TracerProvider
	Tracer   trace.Tracer
}

// endpoints are OpenTelemetry's environment variables for the destination of spans.
var endpoints = []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"}

// NewTracing sends spans over OTLP to OTEL_EXPORTER_OTLP_ENDPOINT, with the exporter's other variables; it returns nil
// when that is not set.
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

// TracingTo sends spans to a processor.
func TracingTo(ctx context.Context, to sdktrace.SpanProcessor, version string) (*Tracing, error) {
	of, err := resource.New(
		ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "oneiros"),
			attribute.String("service.version", version)),
		resource.WithFromEnv(), // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence
	)
	if err != nil {
		return nil, fmt.Errorf("name this process in traces: %w", err)
	}
	p := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(to), sdktrace.WithResource(of))
	return &Tracing{provider: p, Tracer: p.Tracer("github.com/seed-56a03226/oneiros")}, nil
}

// flushWithin is the timeout for sending the last spans.
const flushWithin = 3 * time.Second

// Close sends the remaining spans.
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

// Arrived begins the span of a request to the server, as part of the client's own trace if it sent one. The returned
// function is called with the status.
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
