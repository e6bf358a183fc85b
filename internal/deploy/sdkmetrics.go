package deploy

import (
	"log/slog"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/opentelemetry"

	"github.com/seed-56a03226/oneiros/internal/telemetry"
)

// countTemporal has Temporal's SDK count what this process does: how long tasks waited, how many slots are free, how
// often a workflow was in the cache. It returns what /metrics shows of it.
func countTemporal(o *client.Options, log *slog.Logger) (telemetry.Instruments, error) {
	made, err := telemetry.NewInstruments("temporal-sdk-go")
	if err != nil {
		return made, err
	}
	o.MetricsHandler = opentelemetry.NewMetricsHandler(opentelemetry.MetricsHandlerOptions{
		Meter:                made.Meter,
		OnError:              func(err error) { log.Warn("a metric of Temporal's SDK is not counted", "error", err) },
		UseMonotonicCounters: true,
	})
	return made, nil
}
