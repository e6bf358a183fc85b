package telemetry_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/telemetry"
)

// The file is also what the queries of the alerts are tried on: a deployment of a test has no homeserver.
func TestWhatGoesOutOfRoomsIsShown(t *testing.T) {
	t.Parallel()
	b := setup(t, "echo")
	text := scrape(t, b.meter(telemetry.Options{
		Version: "test",
		Webhooks: func(context.Context) (telemetry.WebhookQueue, error) {
			return telemetry.WebhookQueue{Waiting: 7, Failing: 2, Oldest: 90 * time.Second}, nil
		},
		Matrix: func(context.Context) (telemetry.MatrixQueue, bool, error) {
			return telemetry.MatrixQueue{Accounts: 3, Connected: 2, Unsent: 5, Oldest: time.Minute}, true, nil
		},
	}))
	var shown strings.Builder
	for line := range strings.Lines(text) {
		if strings.Contains(line, "oneiros_webhook") || strings.Contains(line, "oneiros_matrix") {
			shown.WriteString(line)
		}
	}
	const golden = "testdata/outward.prom"
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(shown.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), shown.String())
}
