package telemetry

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
)

// Instruments are OpenTelemetry instruments of a library, such as Temporal's SDK, shown at /metrics by Options.Beside.
type Instruments struct {
	Meter metric.Meter // makes the instruments
	Shown prometheus.Gatherer
}

// seconds are the buckets of durations: from what a call within a machine takes to what a queue without a worker takes.
var seconds = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}

// NewInstruments makes a meter of that name. Its histograms take seconds.
func NewInstruments(name string) (Instruments, error) {
	r := prometheus.NewRegistry()
	reader, err := exporter.New(exporter.WithRegisterer(r), exporter.WithoutScopeInfo(), exporter.WithoutTargetInfo())
	if err != nil {
		return Instruments{}, fmt.Errorf("show the metrics of %s: %w", name, err)
	}
	durations := sdk.NewView(sdk.Instrument{Kind: sdk.InstrumentKindHistogram},
		sdk.Stream{Aggregation: sdk.AggregationExplicitBucketHistogram{Boundaries: seconds}})
	provider := sdk.NewMeterProvider(sdk.WithReader(reader), sdk.WithView(durations))
	return Instruments{Meter: provider.Meter(name), Shown: r}, nil
}
